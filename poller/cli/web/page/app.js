// The page's frame: who is let in, the stream of rows, and which of its views is shown.
import { html, render, useState, useEffect, useReducer } from '/preact.js';
import { Requests } from '/requests.js';
import { Workers, Chat, Way, Answers } from '/look.js';
import { Plots } from '/plots.js';

// What the daemon has, as the stream tells it. Requests that were decided stay in their place until the list is tidied, so
// that nothing moves under somebody's finger.
const state = { requests: new Map(), teams: new Map(), samples: [], daemon: null, open: false, session: true, said: '', moved: 0 };
let redraw = () => {};
let due = 0;
const changed = () => { due ||= requestAnimationFrame(() => { due = 0; redraw(); }); };

function say(text) { state.said = text; changed(); }

function takeRequests({ all, put, gone }) {
  const before = state.requests.size;
  if (all) {
    const there = new Set(put.map(request => request.key));
    for (const [key, request] of state.requests) if (!there.has(key) && !request.fate) request.fate = { state: 'not open any more' };
  }
  let fresh = 0;
  for (const request of put) {
    const known = state.requests.get(request.key);
    if (known && JSON.stringify({ ...known, fate: undefined, at: undefined }) === JSON.stringify(request)) { delete known.fate; continue; }
    fresh += known ? 0 : 1;
    state.requests.set(request.key, { ...request, at: performance.now() });
  }
  for (const { key, ...fate } of gone) {
    const request = state.requests.get(key);
    if (request && !request.fate) request.fate = fate;
  }
  const over = [...state.requests.values()].filter(request => request.fate);
  for (const request of over.slice(0, Math.max(over.length - 200, 0))) state.requests.delete(request.key);
  if (!before && all && !put.length) state.requests.clear();
  if (fresh && before) say(fresh === 1 ? 'A new request: ' + put[put.length - 1].subject : fresh + ' new requests');
}

function tidy() {
  for (const [key, request] of state.requests) if (request.fate) state.requests.delete(key);
  state.moved = performance.now();
  changed();
}

function takeTeams({ all, put, gone }) {
  if (all) state.teams.clear();
  for (const team of put) state.teams.set(team.key, team);
  for (const { key } of gone) state.teams.delete(key);
}

function listen() {
  const events = new EventSource('/api/events');
  const on = (name, take) => events.addEventListener(name, event => { take(JSON.parse(event.data)); changed(); });
  on('daemon', it => { state.daemon = it; });
  on('requests', takeRequests);
  on('teams', takeTeams);
  on('samples', it => { state.samples = it; });
  on('sample', it => { state.samples = [...state.samples.slice(-8639), it]; });
  events.onopen = () => { state.open = true; changed(); };
  events.onerror = async () => {
    state.open = false;
    changed();
    if (events.readyState !== EventSource.CLOSED) return;  // it tries again by itself
    // Refused, or the page is being started: a session that is over has to be told apart from a page that is away.
    const answer = await fetch('/api/decisions').catch(() => null);
    if (answer?.status === 401) { state.session = false; changed(); } else setTimeout(listen, 2000);
  };
}

async function enter() {
  const token = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (token) {
    history.replaceState(null, '', '/');  // neither the history nor a screenshot has it
    const answer = await fetch('/api/session', {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Inbox-Poller-Token': token }, body: '{}' }).catch(() => null);
    // A link that was used before may be followed by whoever has the session already.
    if (answer && !answer.ok && (await fetch('/api/decisions')).status === 401) { state.session = false; changed(); return; }
  }
  listen();
}

const views = [['requests', 'Requests'], ['answers', 'Answers'], ['workers', 'Workers'], ['chat', 'Chat'], ['way', 'Trace'], ['plots', 'Plots']];

function Help({ onClose }) {
  return html`<dialog open aria-label="Keys"><h2>Keys</h2><table><tbody>
    ${[['j k', 'the next request, the one before'], ['Enter', 'open or close it'], ['a', 'approve it: asks back with what would run'],
       ['d', 'deny it: to the reason'], ['Shift A', 'always: asks back with the rule'], ['/', 'to the filter'], ['1 … 6', 'the views'], ['?', 'this help']]
      .map(([key, what]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${what}</td></tr>`)}
    </tbody></table><p><button onClick=${onClose}>Close</button></p></dialog>`;
}

function Page() {
  const [, again] = useReducer(count => count + 1, 0);
  const [view, go] = useState(() => location.hash.slice(2) || 'requests');
  const [help, setHelp] = useState(false);
  useEffect(() => {
    redraw = again;
    const moved = () => go(location.hash.slice(2) || 'requests');
    const clock = setInterval(again, 5000);  // ages
    const keys = event => {
      if (event.target.closest('input, textarea, select, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') setHelp(true);
      const number = Number(event.key);
      if (number >= 1 && number <= views.length) location.hash = '#/' + views[number - 1][0];
    };
    addEventListener('hashchange', moved);
    addEventListener('keydown', keys);
    again();
    return () => { clearInterval(clock); removeEventListener('hashchange', moved); removeEventListener('keydown', keys); };
  }, []);
  const open = [...state.requests.values()].filter(request => !request.fate).length;
  useEffect(() => { document.title = (open ? '(' + open + ') ' : '') + 'InboxPoller'; }, [open]);
  const [name, key] = view.split('/');
  if (!state.session)
    return html`<main><h1>InboxPoller</h1><p role="alert">This browser has no session here, or it is over. Open the link that
      <code> inbox-poller web --link </code> prints: each link lets one browser in.</p></main>`;
  const body = { answers: Answers, workers: Workers, chat: Chat, way: Way, plots: Plots }[name];
  return html`
    <header><h1>InboxPoller</h1><nav aria-label="Views">${views.map(([to, title]) => html`
      <a href=${'#/' + to} aria-current=${to === (body ? name : 'requests') ? 'page' : null}>${title}${to === 'requests' && open ? ` (${open})` : ''}</a>`)}</nav>
      <button onClick=${() => setHelp(true)}>Keys</button></header>
    ${(!state.open || (state.daemon && !state.daemon.up)) && html`<div class="away" role="alert">${state.open
      ? 'The daemon does not answer: ' + state.daemon.why + '. What is shown may be old.' : 'Connecting …'}</div>`}
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}
    <main>${body ? html`<${body} state=${state} argument=${key} />`
                 : html`<${Requests} state=${state} tidy=${tidy} say=${say} wanted=${name === 'request' ? key : ''} />`}</main>
    <div class="unseen" aria-live="polite">${state.said}</div>`;
}

document.getElementById('page').replaceChildren();
render(html`<${Page} />`, document.getElementById('page'));
addEventListener('hashchange', () => { if (location.hash.startsWith('#token=')) location.reload(); });  // another link, in the same tab
enter();
