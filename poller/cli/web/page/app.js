// The page's frame: who is let in, the stream of rows, what is wrong, and which of its views is shown.
import { html, render, useState, useEffect, useReducer, useRef } from '/preact.js';
import { moved } from '/requests.js';
import { Now } from '/now.js';
import { Workers, Chat, Way, Answers } from '/look.js';
import { Plots } from '/plots.js';
import { count, troubleOf, useClock } from '/words.js';

// What the daemon has, as the stream tells it. Requests that were decided stay in their place until the list is tidied, so
// that nothing moves under somebody's finger. New ones come last, whenever they were asked.
const state = { requests: new Map(), teams: new Map(), samples: [], daemon: null, open: false, session: true };
let redraw = () => {};
let due = 0;
const changed = () => { due ||= setTimeout(() => { due = 0; redraw(); }, 16); };  // no animation frame: a tab in the background has none, and its title counts

// The last short message; it is drawn over the page.
const told = { text: '', until: 0 };
function say(text) {
  Object.assign(told, { text, until: Date.now() + Math.max(6000, text.length * 80) });
  changed();
}

function takeRequests({ all, put, gone }) {
  const before = state.requests.size;
  const set = (key, request) => state.requests.set(key, request);
  const end = (key, fate) => {
    const request = state.requests.get(key);
    if (request && !request.fate) { set(key, { ...request, fate }); moved(); }
  };
  if (all) {
    const there = new Set(put.map(request => request.key));
    for (const key of [...state.requests.keys()]) if (!there.has(key)) end(key, { state: 'not open any more' });
  }
  const fresh = [];
  for (const request of put) {
    const known = state.requests.get(request.key);
    if (!known) fresh.push(request);
    else if (JSON.stringify({ ...known, fate: undefined, at: undefined }) !== JSON.stringify(request)) { set(request.key, { ...request, at: performance.now() }); moved(); }
    else if (known.fate) set(request.key, { ...known, fate: undefined });
  }
  fresh.sort((a, b) => a.asked_ms - b.asked_ms || (a.key < b.key ? -1 : 1));
  for (const request of fresh) set(request.key, { ...request, at: performance.now() });
  for (const { key, ...fate } of gone) end(key, fate);
  const over = [...state.requests.values()].filter(request => request.fate);
  for (const request of over.slice(0, Math.max(over.length - 200, 0))) { state.requests.delete(request.key); moved(); }
  if (fresh.length && before) say(fresh.length === 1 ? 'A new request: ' + fresh[0].subject : fresh.length + ' new requests');
}

function tidy() {
  if (![...state.requests.values()].some(request => request.fate)) return;
  for (const [key, request] of state.requests) if (request.fate) state.requests.delete(key);
  moved();
  changed();
}

// Rows that were answered leave when nobody can aim at anything: the page comes back into view, or nothing was touched for long.
let touched = Date.now();
for (const name of ['pointermove', 'pointerdown', 'keydown', 'wheel']) addEventListener(name, () => { touched = Date.now(); }, { passive: true });
document.addEventListener('visibilitychange', () => { if (!document.hidden) tidy(); });
setInterval(() => { if (Date.now() - touched > 120000) tidy(); }, 10000);

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
    const answer = await fetch('/api/decisions?limit=1').catch(() => null);
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
    if (answer && !answer.ok && (await fetch('/api/decisions?limit=1')).status === 401) { state.session = false; changed(); return; }
  }
  listen();
}

const views = [['requests', 'Now'], ['answers', 'Answers'], ['workers', 'Workers'], ['chat', 'Chat'], ['way', 'Trace'], ['plots', 'Plots']];

function Help({ onClose }) {
  const box = useRef();
  useEffect(() => { box.current.showModal(); }, []);
  return html`<dialog ref=${box} aria-label="Keys" onClose=${onClose}><h2>Keys</h2><table><tbody>
    ${[['j k', 'the next open request, the one before'], ['Enter', 'its details'], ['a', 'approve it: asks back with what would run'],
       ['d', 'deny it, with a reason'], ['Shift A', 'always: asks back with the rule'], ['x', 'choose it; a and d then answer all that are chosen'], ['Escape', 'choose none'],
       ['/', 'to the filter'], ['1 … 6', 'the views'], ['?', 'this help']]
      .map(([key, what]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${what}</td></tr>`)}
    </tbody></table><p><button onClick=${onClose}>Close</button></p></dialog>`;
}

/// One line, always there: what is wrong, or that nothing is.
function Glance() {
  useClock(() => String(Math.floor(Date.now() / 5000)));
  const teams = [...state.teams.values()];
  const wrong = teams.flatMap(team => troubleOf(team).map(word => (teams.length > 1 ? team.team + ': ' : '') + word));
  if (!state.open) return html`<div class="glance-line away" role="alert">Connecting …</div>`;
  if (state.daemon && !state.daemon.up) return html`<div class="glance-line away" role="alert">The daemon does not answer: ${state.daemon.why}. What is shown may be old.</div>`;
  const workers = teams.flatMap(team => team.members.filter(worker => worker.doing !== 'gone'));
  const doing = [['waiting', 'waits', 'wait'], ['busy', 'works', 'work'], ['idle', 'is idle', 'are idle']]
    .map(([what, one, many]) => count(workers.filter(worker => worker.doing === what).length, one, many)).filter(text => !text.startsWith('0 '));
  return wrong.length ? html`<div class="glance-line bad" role="status"><b>${wrong[0]}</b>${wrong.length > 1 && html` · <a href="#/workers">${wrong.length - 1} more</a>`}</div>`
    : html`<div class="glance-line quiet" role="status">Nothing is wrong. ${count(teams.length, 'team')}, ${count(workers.length, 'worker')}${doing.length ? ': ' + doing.join(', ') : ''}</div>`;
}

function Page() {
  const [, again] = useReducer(number => number + 1, 0);
  const [view, go] = useState(() => location.hash.slice(2) || 'requests');
  const [help, setHelp] = useState(false);
  useEffect(() => {
    redraw = again;
    const goes = () => go(location.hash.slice(2) || 'requests');
    const keys = event => {
      if (event.target.closest('input:not([type=checkbox]), textarea, select, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') setHelp(true);
      const number = Number(event.key);
      if (number >= 1 && number <= views.length) location.hash = '#/' + views[number - 1][0];
    };
    addEventListener('hashchange', goes);
    addEventListener('keydown', keys);
    again();
    return () => { removeEventListener('hashchange', goes); removeEventListener('keydown', keys); };
  }, []);
  const open = [...state.requests.values()].filter(request => !request.fate).length;
  useEffect(() => { document.title = (open ? '(' + open + ') ' : '') + 'InboxPoller'; }, [open]);
  const [name, key] = view.split('/');
  if (!state.session)
    return html`<main class="view"><h1>InboxPoller</h1><p role="alert">This browser has no session here, or it is over. Open the link that
      <code> inbox-poller web --link </code> prints: each link lets one browser in.</p></main>`;
  const body = { answers: Answers, workers: Workers, chat: Chat, way: Way, plots: Plots }[name];
  return html`
    <header><a class="brand" href="#/requests" aria-label="InboxPoller, now"><img src="/icon.svg" alt="" width="20" height="20" /><span>InboxPoller</span></a>
      <nav aria-label="Views">${views.map(([to, title]) => html`
        <a href=${'#/' + to} aria-current=${to === (body ? name : 'requests') ? 'page' : null}>${title}${to === 'requests' && open ? html` <b class="number">${open}</b>` : ''}</a>`)}</nav>
      <button class="keys" onClick=${() => setHelp(true)}>Keys</button></header>
    <${Glance} />
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}
    ${body ? html`<main class="view"><h1 class="unseen">${views.find(([to]) => to === name)[1]}</h1><${body} state=${state} argument=${key} /></main>`
           : html`<${Now} state=${state} tidy=${tidy} say=${say} wanted=${name === 'request' ? key : ''} />`}
    <${Told} />`;
}

function Told() {
  const text = useClock(() => told.until > Date.now() ? told.text : '');
  return html`<div class=${'told' + (text ? '' : ' unseen')} role="status" aria-live="polite">${text}</div>`;
}

document.getElementById('page').replaceChildren();
render(html`<${Page} />`, document.getElementById('page'));
addEventListener('hashchange', () => { if (location.hash.startsWith('#token=')) location.reload(); });  // another link, in the same tab
enter();
