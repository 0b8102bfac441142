// The list of open requests. Each row has the command in full and its answers. What is approved was in view to its end, for a
// moment at least, and did not change or move in it.
import { html, useState, useEffect, useRef } from '/preact.js';
import { span, ago, count, get, fateText, memo, useClock } from '/words.js';

const armed_after = 400;  // ms in view

// Who is told when something comes into view or leaves it, and which rows in view start to count anew after a move.
const watched = new WeakMap();
const inView = new Set();
// Where the page itself scrolls, the bar of the chosen ones covers its last lines: these do not count as seen.
const watcher = new IntersectionObserver(entries => { for (const entry of entries) watched.get(entry.target)?.(entry.isIntersecting); }, { rootMargin: '0px 0px -64px 0px' });

/// Rows stand elsewhere now: what was aimed at one of them does not count for another.
export function moved() { for (const again of [...inView]) again(); }
addEventListener('resize', moved);

/// Whether the end of a text has been in view long enough. `version`: another one is another text.
function useArmed(end, version) {
  const [armed, arm] = useState(false);
  useEffect(() => {
    let timer;
    const again = () => {
      arm(false);
      clearTimeout(timer);
      timer = setTimeout(() => arm(true), armed_after);
    };
    watched.set(end.current, seen => {
      clearTimeout(timer);
      arm(false);
      if (seen) { inView.add(again); again(); } else inView.delete(again);
    });
    arm(false);
    const what = end.current;
    watcher.observe(what);
    return () => { clearTimeout(timer); inView.delete(again); watcher.unobserve(what); };
  }, [version]);
  return armed;
}

const is_change = tool => tool === 'Edit' || tool === 'MultiEdit';
const kindOf = (line, tool) => is_change(tool) ? { '+': ' put', '-': ' cut' }[line[0]] ?? '' : '';

/// What the terminal shows of a request, line by line. Where a line is wrapped, the rest stays behind its margin: a text cannot
/// pass for a part of what surrounds it.
export function Lines({ text, tool }) {
  return html`<pre>${text.replace(/\n$/, '').split('\n').map(line => {
    const said = /^ *\| ?(.*)$/.exec(line);
    return said ? html`<span class=${'line said' + kindOf(said[1], tool)}>${said[1] || ' '}</span>` : html`<span class="line">${line.trim()}</span>`;
  })}</pre>`;
}

/// The same text in blocks, each with its label. Only a line of ours has two spaces before it, so that no input can pass for one.
export function blocksOf(request) {
  const [, asks, ...rest] = request.content.replace(/\n$/, '').split('\n');
  const blocks = [];
  for (const line of rest) {
    const said = /^ *\| ?(.*)$/.exec(line);
    if (!said) blocks.push({ label: line.trim(), ours: /^ {2}\S/.test(line), said: [] });
    else if (blocks.length) blocks[blocks.length - 1].said.push(said[1]);
    else blocks.push({ label: '', said: [said[1]] });
  }
  const is = (block, words) => block.ours && block.label.endsWith(words);
  return {
    asks: asks.trim().replace(/ with$/, ''),
    shown: blocks.filter(block => !is(block, "'s suggestions, not applied by an approval:") && !(block.ours && !block.said.length && block.label === 'its folder: ' + request.folder))
      .map(block => is(block, "'s description, not checked by anybody:") ? { ...block, label: 'says, unchecked:', words: true } : block.label === 'command:' ? { ...block, label: '' } : block),
    suggested: blocks.find(block => is(block, "'s suggestions, not applied by an approval:")),
  };
}

function Blocks({ blocks, tool }) {
  return blocks.map(({ label, said, words }) => html`<div class="block">${label && html`<span class="label">${label}</span>`}
    ${said.length > 0 && html`<pre class=${words ? 'words' : ''}>${said.map(line => html`<span class=${'line said' + kindOf(line, words ? '' : tool)}>${line || ' '}</span>`)}</pre>`}</div>`);
}

function Parts({ parts }) {
  if (!parts.length) return null;
  return html`<ol class="parts">${parts.map(({ part, rule, missing }) => html`
    <li class=${rule ? '' : 'missing'}><code>${part}</code> <span class=${rule ? 'quiet' : 'warn'}>${rule ? 'allowed by ' + rule : missing || 'no rule covers it'}</span></li>`)}</ol>`;
}

/// How long it can still be answered: a number for the eye, and a bar.
function Left({ request }) {
  const { deadline_ms: end, asked_ms: start } = request;
  const text = useClock(() => {
    const left = end - Date.now();
    return !end ? 'no limit' : left <= 0 ? 'over' : left >= 120000 ? span(left) : Math.floor(left / 60000) + ':' + String(Math.floor(left / 1000) % 60).padStart(2, '0');
  });
  if (request.fate) return html`<div class="left quiet"><b>done</b></div>`;
  const left = end ? Math.min(Math.max((end - Date.now()) / Math.max(end - start, 1), 0), 1) : 1;
  const look = !end ? 'quiet' : end - Date.now() < 30000 ? 'bad' : left < .34 || end - Date.now() < 120000 ? 'warn' : 'good';
  return html`<div class=${'left ' + look} role="group" aria-label="Time left"><b>${text}</b>${end > 0 && html`<small> left</small><i aria-hidden="true"><s style=${{ width: Math.round(left * 100) + '%' }}></s></i>`}</div>`;
}

/// Asks back; the answer that does nothing has the focus. What is long has to be seen to its end before the yes counts.
function Question({ title, yes, verdict, requests, rule, onYes, onNo }) {
  const box = useRef();
  const end = useRef();
  const reason = useRef();
  const [told, tell] = useState('');
  const armed = useArmed(end, '');
  const denies = verdict === 'deny';
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    box.current.querySelector(denies ? 'input' : 'button.stay').focus();
    return () => before?.isConnected && before.focus();
  }, []);
  const go = () => {
    if (!denies) return armed ? onYes({}) : tell('Read it to its end first.');
    const words = reason.current.value.trim();
    return words ? onYes({ reason: words }) : tell('Say why: the worker reads it.');
  };
  return html`<dialog ref=${box} aria-label=${title} onClose=${onNo}><h2>${title}</h2>
    ${rule && html`<p>The rule: <code>${rule.rule}</code></p><p>${count(rule.covers.length, 'open request')} that it covers:</p>
      <ul>${rule.covers.slice(0, 20).map(one => html`<li><code>${one}</code></li>`)}</ul>`}
    <div class="whole" tabindex="0" role="region" aria-label="What is asked">${requests.map(one => html`<${Lines} text=${one.content} tool=${one.tool} />`)}<div class="end" ref=${end}></div></div>
    ${denies && html`<label class="field">Why not: the worker reads it<input ref=${reason} placeholder="what to do instead" onKeyDown=${event => event.key === 'Enter' && go()} /></label>`}
    <p class="warn" role="status">${told}</p>
    <div class="actions"><button class="stay" onClick=${onNo}>Do nothing</button>
      <button class=${denies ? 'no' : 'yes'} aria-disabled=${!denies && !armed} onClick=${go}>${yes}</button></div></dialog>`;
}

const answer = async (request, verdict, more) => {
  const reply = await fetch('/api/answer', { method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key: request.key, team: request.team, kind: request.kind, verdict, ...more }) }).catch(() => null);
  return reply ? await reply.json() : { message: 'the page is not served any more; nothing was answered' };
};

/// `acts`: what the list does for a row; it stays the same object.
const Row = memo(({ request, chosen, current, opened, acts }) => {
  const end = useRef();
  const [busy, setBusy] = useState(false);
  const armed = useArmed(end, request.at);
  const over = Boolean(request.fate) || Boolean(request.cannot);
  const ready = armed && !over && !busy;
  const { asks, shown, suggested } = blocksOf(request);
  const size = shown.reduce((sum, block) => sum + block.said.length, 0);
  const is_long = size > 6 || request.content.length > 400;
  const unread = () => {
    end.current.scrollIntoView({ block: 'nearest' });
    acts.say(over ? 'It cannot be answered.' : 'Read it to its end first.');
  };
  async function send(more = {}) {
    if (!ready) return unread();
    setBusy(true);
    acts.told(await answer(request, 'approve', more));
    return setBusy(false);
  }
  async function always() {
    if (!ready) return unread();
    const rule = await get(`/api/rule?id=${encodeURIComponent(request.key)}&team=${encodeURIComponent(request.team)}&kind=${request.kind}`);
    return rule.ok ? acts.ask({ verdict: 'approve', requests: [request], rule }) : acts.say(rule.message);
  }
  const deny = () => over ? acts.say('It is not open any more.') : acts.ask({ verdict: 'deny', requests: [request] });
  acts.keys.set(request.key, { approve: () => ready ? acts.ask({ verdict: 'approve', requests: [request] }) : unread(), always, deny });
  return html`<li id=${'request-' + request.key} class=${'request' + (request.fate ? ' over' : '') + (current ? ' current' : '')} data-key=${request.key}>
    <input type="checkbox" aria-label=${'Choose ' + request.subject} checked=${chosen} disabled=${over} onChange=${() => acts.choose(request.key)} />
    <${Left} request=${request} />
    <div class="what">
      <button class="row" aria-expanded=${opened} onClick=${() => acts.toggle(request.key)}>${asks}</button>
      <span class="quiet meta">${request.team}${request.folder && ' · ' + request.folder}${size > 6 ? ' · ' + size + ' lines' : ''}</span>
      <div class="text" tabindex=${is_long ? 0 : null} role=${is_long ? 'region' : null} aria-label=${is_long ? 'What is asked' : null}><${Blocks} blocks=${shown} tool=${request.tool} /><div class="end" ref=${end}></div></div>
      ${request.cannot ? html`<p class="warn">It cannot be answered from here: ${request.cannot}</p>` : request.why && html`<p class="quiet why">Why you are asked: ${request.why}</p>`}
      ${opened && html`<div class="more"><${Parts} parts=${request.parts} />
        ${suggested && html`<p class="quiet">${request.member} suggests, and an approval does not apply: <code>${suggested.said.join(' ')}</code></p>`}
        <p class="quiet">${request.kind} ${request.request_id}, asked ${ago(request.asked_ms)} ago${request.deadline_ms ? ', denied at ' + new Date(request.deadline_ms).toLocaleTimeString() + ' unless answered' : ''}${' · '}<a href=${'#/way/' + request.key}>trace</a></p></div>`}
    </div>
    <div class="actions">${request.fate ? html`<p role="status"><b>${fateText(request.fate)}</b></p>` : html`
      <button class="yes" aria-disabled=${!ready} onClick=${() => send()}>Approve</button>
      ${request.kind === 'permission' && html`<button aria-disabled=${!ready} onClick=${always}>Always …</button>`}
      <button class="no" aria-disabled=${over || busy} onClick=${deny}>Deny …</button>`}</div></li>`;
});

/// Sends the same answer to several, one after the other, and says what became of all.
async function answerAll(requests, verdict, more, say) {
  let done = 0;
  let refused = '';
  for (const request of requests) {
    const words = await answer(request, verdict, more);
    if (words.ok) done += 1; else refused = words.message;
  }
  say(`${done} ${verdict === 'deny' ? 'denied' : 'approved'}${refused && '; not answered: ' + refused}`);
}

const toldText = words => words.ok ? `${words.state}: ${words.subject}${words.rule_added ? '; from now on: ' + words.rule_added : ''}` : words.message;

export function Requests({ state, tidy, say, wanted }) {
  const [filter, setFilter] = useState('');
  const [opened, open] = useState('');
  const [current, go] = useState('');
  const [chosen, setChosen] = useState(new Set());
  const choose = next => { setChosen(next); moved(); };
  const [asking, ask] = useState(null);
  const input = useRef();
  const list = useRef();
  const now = useRef({});
  const acts = useRef(null);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...state.requests.values()]
    .filter(request => words.every(word => [request.subject, request.member, request.team, request.kind, request.request_id].some(text => text.toLowerCase().includes(word))));
  const over = [...state.requests.values()].filter(request => request.fate).length;
  const free = rows.filter(request => !request.fate && !request.cannot);
  const picked = [...state.requests.values()].filter(request => chosen.has(request.key) && !request.fate);
  now.current = { picked, current };
  acts.current ??= {
    keys: new Map(), say,
    ask: next => ask(before => before ?? next),  // a question that is open stays: its yes is for nothing else
    told: told => say(toldText(told)),
    choose: key => choose(before => { const after = new Set(before); if (!after.delete(key)) after.add(key); return after; }),
    toggle: key => { open(before => before === key ? '' : key); go(key); moved(); },
  };
  const askAll = verdict => acts.current.ask({ verdict, requests: now.current.picked });
  useEffect(() => {
    const press = event => {
      if (event.target.closest('input:not([type=checkbox]), textarea, select, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
      const here = document.activeElement.closest('li.request')?.dataset.key ?? now.current.current;
      const item = [...list.current?.children ?? []];
      const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
      const one = acts.current.keys.get(here);
      const several = now.current.picked.length > 0;
      if (step && (event.key.length === 1 || document.activeElement.closest('li.request'))) {
        let at = item.findIndex(li => li.dataset.key === here);
        do at += step; while (item[at]?.classList.contains('over'));
        const to = item[at < 0 && here === '' ? 0 : at];
        if (to) { to.querySelector('button.row').focus(); to.scrollIntoView({ block: 'nearest' }); go(to.dataset.key); }
      } else if (event.key === '/') input.current.focus();
      else if (event.key === 'Escape') choose(new Set());
      else if (event.key === 'x' && one) acts.current.choose(here);
      else if (event.key === 'a' && several) askAll('approve');
      else if (event.key === 'd' && several) askAll('deny');
      else if (event.key === 'A' && several) say('Always is for one request; Escape takes the choice away.');
      else if ('aAd'.includes(event.key) && !one) say('Press j first: it goes to a request.');
      else if (event.key === 'a') one.approve();
      else if (event.key === 'A') one.always();
      else if (event.key === 'd') one.deny();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  useEffect(() => { if (wanted) { open(wanted); go(wanted); moved(); } }, [wanted]);
  useEffect(() => { if (wanted) document.getElementById('request-' + wanted)?.scrollIntoView({ block: 'nearest' }); }, [wanted, rows.length > 0]);
  const noTeam = state.daemon?.up && !state.teams.size;
  return html`<section class="panel requests" aria-labelledby="requests-title">
    <div class="tools"><h2 id="requests-title">${free.length ? count(free.length, 'request') : 'Requests'}</h2>
      <label class="unseen" for="filter">Filter</label><input id="filter" ref=${input} type="search" placeholder="Filter" value=${filter} onInput=${event => { setFilter(event.target.value); moved(); }} />
      <label class="all"><input type="checkbox" disabled=${!free.length} checked=${free.length > 0 && free.every(request => chosen.has(request.key))}
        onChange=${event => choose(new Set(event.target.checked ? free.map(request => request.key) : []))} /> All</label>
      <button class="tidy" disabled=${!over} onClick=${tidy} aria-label=${`Put away ${over} answered`}>Put away ${over}</button></div>
    ${!rows.length && html`<div class="none">${state.requests.size ? html`<p>No request fits the filter.</p>` : noTeam ? html`<p>No team is served yet.</p><p class="quiet"><code>inbox-poller init</code> writes the settings of one.</p>`
      : html`<p>Nothing is waiting for an answer.</p><p class="quiet">Leave this page open. A request that no rule answers appears here by itself.</p>`}</div>`}
    <ul class="list" ref=${list} onFocusIn=${event => { const key = event.target.closest('li.request')?.dataset.key; if (key) go(key); }}>${rows.map(request => html`
      <${Row} key=${request.key} request=${request} chosen=${chosen.has(request.key)} current=${current === request.key} opened=${opened === request.key} acts=${acts.current} />`)}</ul>
    ${picked.length > 0 && html`<div class="several" role="group" aria-label="Several at once"><b class="chosen">${picked.length} chosen</b>
      <button class="yes" onClick=${() => askAll('approve')}>Approve ${picked.length} …</button><button class="no" onClick=${() => askAll('deny')}>Deny ${picked.length} …</button>
      <button onClick=${() => choose(new Set())}>None</button></div>`}
    ${asking && html`<${Question} key=${[asking.verdict, asking.rule?.rule, ...asking.requests.map(one => one.key)].join(' ')} ...${asking} onNo=${() => ask(null)}
      title=${asking.rule ? 'Allow this from now on, in this session?' : (asking.verdict === 'deny' ? 'Deny ' : 'Approve ') + (asking.requests.length === 1 ? 'this?' : `these ${asking.requests.length}?`)}
      yes=${asking.rule ? 'Always' : asking.verdict === 'deny' ? 'Deny' : 'Approve'}
      onYes=${more => {
        const { verdict, requests, rule } = asking;
        ask(null);
        choose(new Set());
        if (requests.length > 1) answerAll(requests, verdict, more, say);
        else answer(requests[0], verdict, rule ? { rule: rule.rule } : more).then(acts.current.told);
      }} />`}</section>`;
}
