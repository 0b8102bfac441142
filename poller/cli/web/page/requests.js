// The list of open requests, and one of them whole. What is approved was in view to its end, for a moment at least, and did
// not change or move in it.
import { html, useState, useEffect, useRef } from '/preact.js';

const armed_after = 400;  // ms in view
export const span = ms => {
  const s = Math.max(Math.floor(ms / 1000), 0);
  return s < 60 ? s + 's' : s < 3600 ? Math.floor(s / 60) + 'm' : s < 86400 ? Math.floor(s / 3600) + 'h ' + Math.floor(s % 3600 / 60) + 'm'
    : Math.floor(s / 86400) + 'd ' + Math.floor(s % 86400 / 3600) + 'h';
};
export const ago = ms => ms ? span(Date.now() - ms) : '-';
export const get = async path => {
  const answer = await fetch(path).catch(() => null);
  return answer ? await answer.json() : { ok: false, message: 'the page is not served any more' };
};

/// What the terminal shows of an request, line by line. Where a line is wrapped, the rest stays behind its margin: a text cannot
/// pass for a part of what surrounds it.
export function Lines({ text, tool }) {
  const is_change = tool === 'Edit' || tool === 'MultiEdit';
  return html`<pre tabindex="0" role="region" aria-label="What is asked">${text.replace(/\n$/, '').split('\n').map(line => {
    const said = /^ *\| ?(.*)$/.exec(line);
    if (!said) return html`<span class="line">${line.trim()}</span>`;
    const kind = is_change ? { '+': ' put', '-': ' cut' }[said[1][0]] ?? '' : '';
    return html`<span class=${'line said' + kind}>${said[1] || ' '}</span>`;
  })}</pre>`;
}

function Parts({ parts }) {
  if (!parts.length) return null;
  return html`<h3>Its parts</h3><ol class="parts">${parts.map(({ part, rule, missing }) => html`
    <li class=${rule ? '' : 'missing'}><code>${part}</code> <span class=${rule ? 'quiet' : 'warn'}>${rule ? 'allowed by ' + rule : missing || 'no rule covers it'}</span></li>`)}</ol>`;
}

const fateText = ({ state, by, rule, reason }) => [state || 'not open any more', by && 'by ' + by, rule && '(' + rule + ')', reason && ': ' + reason].filter(Boolean).join(' ');

/// Asks back; the answer that does nothing has the focus.
function Question({ title, children, yes, onYes, onNo }) {
  const box = useRef();
  useEffect(() => { box.current.showModal(); box.current.querySelector('button.stay').focus(); }, []);
  return html`<dialog ref=${box} aria-label=${title} onClose=${onNo}><h2>${title}</h2>${children}
    <div class="actions"><button class="stay" onClick=${onNo}>Do nothing</button><button class="yes" onClick=${onYes}>${yes}</button></div></dialog>`;
}

function Card({ request, state, say, hand }) {
  const actions = useRef();
  const end = useRef();  // of what has to be read
  const reason = useRef();
  const [armed, arm] = useState(false);
  const [told, tell] = useState('');
  const [asking, setAsking] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {  // again when it is another text, or the list was moved
    arm(false);
    let timer;
    const seen = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry.isIntersecting) timer = setTimeout(() => arm(true), armed_after); else arm(false);
    });
    seen.observe(end.current);
    return () => { clearTimeout(timer); seen.disconnect(); };
  }, [request.content, request.at, state.moved]);
  const over = Boolean(request.fate) || Boolean(request.cannot);
  const ready = armed && !over && !busy;

  async function send(verdict, more = {}) {
    if (verdict === 'approve' ? !ready : over || busy) {
      actions.current.scrollIntoView({ block: 'nearest' });
      tell(over ? '' : 'Read it to its end first.');
      return;
    }
    setBusy(true);
    const answer = await fetch('/api/answer', { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ key: request.key, team: request.team, kind: request.kind, verdict, ...more }) }).catch(() => null);
    const words = answer ? await answer.json() : { message: 'the page is not served any more; nothing was answered' };
    setBusy(false);
    const text = words.ok ? `${words.state}: ${words.subject}${words.rule_added ? '; from now on: ' + words.rule_added : ''}` : words.message;
    tell(text);
    say(text);
  }
  function deny() {
    const words = reason.current.value.trim();
    if (words) return send('deny', { reason: words });
    tell('Say why: the worker reads it.');
    reason.current.focus();
  }
  async function always() {
    if (!ready) return send('approve');
    const rule = await get(`/api/rule?id=${encodeURIComponent(request.key)}&team=${encodeURIComponent(request.team)}&kind=${request.kind}`);
    if (rule.ok) setAsking({ rule }); else tell(rule.message);
  }
  const close = () => setAsking(null);
  const approve = () => ready ? setAsking({}) : send('approve');
  hand({ approve, always, deny: () => reason.current?.focus() });
  return html`<div class="card">
    <${Lines} text=${request.content} tool=${request.tool} />
    <${Parts} parts=${request.parts} />
    ${request.why && html`<p><b>Why you are asked:</b> ${request.why}</p>`}
    ${request.cannot && html`<p class="warn">It cannot be answered from here: ${request.cannot}</p>`}
    <p class="quiet">${request.kind} ${request.request_id}, asked ${ago(request.asked_ms)} ago${request.deadline_ms ? ', denied in ' + span(request.deadline_ms - Date.now()) : ''}${' · '}<a href=${'#/way/' + request.key}>trace</a></p>
    <div class="end" ref=${end}></div>
    <div ref=${actions}>${request.fate ? html`<p role="status"><b>It is ${fateText(request.fate)}</b></p>` : html`
      <div class="actions">
        <button class="yes" aria-disabled=${!ready} onClick=${() => send('approve')}>Approve</button>
        <button aria-disabled=${!ready} onClick=${always}>Always …</button>
        <label>Why not<input ref=${reason} disabled=${over} placeholder="what to do instead" onKeyDown=${event => event.key === 'Enter' && deny()} /></label>
        <button class="no" aria-disabled=${over || busy} onClick=${deny}>Deny</button></div>`}
      <p role="status" class="warn">${told}</p></div>
    ${asking && html`<${Question} title=${asking.rule ? 'Allow this from now on, in this session?' : 'Approve this?'} yes=${asking.rule ? 'Always' : 'Approve'} onNo=${close}
      onYes=${() => { close(); send('approve', asking.rule ? { rule: asking.rule.rule } : {}); }}>
      ${asking.rule ? html`<p>The rule: <code>${asking.rule.rule}</code></p><p>Open requests that it covers: ${asking.rule.covers.length}</p>
        <ul>${asking.rule.covers.slice(0, 20).map(one => html`<li><code>${one}</code></li>`)}</ul>` : ''}
      <${Lines} text=${request.content} tool=${request.tool} /><//>`}
  </div>`;
}

export function Requests({ state, tidy, say, wanted }) {
  const [filter, setFilter] = useState('');
  const [opened, open] = useState('');
  const input = useRef();
  const list = useRef();
  const keys = useRef({});
  const target = opened || wanted;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...state.requests.values()].sort((a, b) => a.asked_ms - b.asked_ms || (a.key < b.key ? -1 : 1))
    .filter(request => words.every(word => [request.subject, request.member, request.team, request.kind, request.request_id].some(text => text.toLowerCase().includes(word))));
  const over = rows.filter(request => request.fate).length;
  useEffect(() => {
    const press = event => {
      if (event.target.closest('input, textarea, select, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
      const buttons = [...list.current?.querySelectorAll('button.row') ?? []];
      const at = buttons.indexOf(document.activeElement.closest('li')?.querySelector('button.row'));
      const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && (event.key.length === 1 || at >= 0)) buttons[Math.min(Math.max(at + step, 0), buttons.length - 1)]?.focus();
      else if (event.key === '/') input.current.focus();
      else if (event.key === 'a') keys.current.approve?.();
      else if (event.key === 'A') keys.current.always?.();
      else if (event.key === 'd') keys.current.deny?.();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  useEffect(() => { if (wanted) document.getElementById('request-' + wanted)?.scrollIntoView(); }, [wanted, rows.length > 0]);
  if (!rows.some(request => request.key === target)) keys.current = {};
  return html`<h2 class="unseen">Requests</h2>
    <div class="tools"><label>Filter<input ref=${input} type="search" value=${filter} onInput=${event => setFilter(event.target.value)} /></label>
      ${over > 0 && html`<button onClick=${tidy}>Put away ${over} answered</button>`}</div>
    ${!rows.length && html`<p class="quiet">${state.requests.size ? 'No request fits the filter.' : 'Nothing is waiting for an answer.'}</p>`}
    <ul class="requests" ref=${list}>${rows.map(request => html`
      <li key=${request.key} id=${'request-' + request.key} class=${(request.fate ? 'over ' : '') + (request.key === target ? 'open' : '')}>
        <button class="row" aria-expanded=${request.key === target} onClick=${() => { open(request.key === target ? '-' : request.key); }}>
          <span class="age quiet">${ago(request.asked_ms)}</span><b>${request.subject}</b>
          <span class="who">${request.member} · ${request.team} · ${request.kind}${request.fate ? ' · ' + fateText(request.fate) : ''}</span></button>
        ${request.key === target && html`<${Card} request=${request} state=${state} say=${say} hand=${it => { keys.current = it; }} />`}</li>`)}</ul>`;
}
