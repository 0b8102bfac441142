// What is looked at: workers, chat, the way of a message, and what was decided.
import { html, useState, useEffect } from '/preact.js';
import { ago, get } from '/requests.js';

/// What `path` answers, again when `when` changes.
function useLook(path, when) {
  const [answer, set] = useState(null);
  useEffect(() => {
    let late = false;
    if (!path) { set(null); return undefined; }
    get(path).then(it => { if (!late) set(it); });
    return () => { late = true; };
  }, [path, when]);
  return answer;
}

const Refused = ({ answer }) => answer && !answer.ok ? html`<p class="warn" role="alert">${answer.message}</p>` : null;

export function Workers({ state }) {
  const teams = [...state.teams.values()];
  if (!teams.length) return html`<p class="quiet">No team is served.</p>`;
  return html`<h2 class="unseen">Workers</h2>${teams.map(team => html`<section key=${team.key}><h2>${team.team}</h2>
    <p>${team.role}${team.role_reason && ': ' + team.role_reason} · lead ${team.lead.member} is ${team.lead.state} for ${ago(team.lead.since_ms)}${' · '}${team.requests} requests · ${team.chat.queued} messages wait${team.chat.queued ? ' for ' + ago(team.chat.oldest_queued_ms) : ''}</p>
    ${team.way && html`<p class="quiet">The way to the lead: ${team.way}</p>`}
    ${team.trouble.length > 0 && html`<p class="warn">${team.trouble.join(', ')}</p>`}
    <div class="table" tabindex="0" role="region" aria-label=${'Workers of ' + team.team}><table><thead><tr><th scope="col">Worker</th><th scope="col">Does</th><th scope="col">Requests</th><th scope="col">Heard of</th><th scope="col">Task</th><th scope="col">Mode</th></tr></thead>
      <tbody>${team.members.map(worker => html`<tr key=${worker.member}><th scope="row">${worker.member}</th><td>${worker.doing}${worker.detail && ': ' + worker.detail}</td>
        <td>${worker.pending}</td><td>${ago(worker.last_seen_ms)}</td><td>${worker.task}</td><td>${worker.mode}</td></tr>`)}</tbody></table></div></section>`)}`;
}

function TeamChoice({ state, team, set }) {
  return html`<label>Team<select value=${team} onChange=${event => set(event.target.value)}><option value="">all</option>
    ${[...state.teams.keys()].map(name => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

export function Chat({ state }) {
  const [team, set] = useState('');
  const counts = JSON.stringify([...state.teams.values()].map(one => one.chat));
  const answer = useLook('/api/history' + (team && '?team=' + encodeURIComponent(team)), counts);
  return html`<h2 class="unseen">Chat</h2><div class="tools"><${TeamChoice} state=${state} team=${team} set=${set} /></div><${Refused} answer=${answer} />
    ${answer?.ok && !answer.rows.length && html`<p class="quiet">No message has come.</p>`}
    ${answer?.ok && html`<ul class="requests">${[...answer.rows].reverse().map(one => html`<li key=${one.message_key}><div class="row">
      <span class="age quiet">${ago(one.received_ms)}</span><b>${one.sender} → ${one.inbox}</b>
      <span class="who">${one.type} it ${one.sentence} · <a href=${'#/way/' + one.message_key}>trace</a></span></div>
      <div class="card">${one.subject ? html`<p>${one.subject}</p>` : html`<pre>${one.text}${one.is_cut ? '…' : ''}</pre>`}</div></li>`)}</ul>`}`;
}

export function Way({ argument }) {
  const [id, set] = useState(argument || '');
  const [wanted, want] = useState(argument || '');
  useEffect(() => { if (argument) { set(argument); want(argument); } }, [argument]);
  const answer = useLook(wanted && '/api/trace?id=' + encodeURIComponent(wanted), '');
  return html`<h2 class="unseen">Trace</h2><form class="tools" onSubmit=${event => { event.preventDefault(); want(id.trim()); }}>
    <label>A message's key, the beginning of one, or the id of an request or a shutdown<input value=${id} onInput=${event => set(event.target.value)} /></label>
    <button>Trace</button></form><${Refused} answer=${answer} />
    ${answer?.ok && html`<pre tabindex="0" role="region" aria-label="Its way">${answer.text}</pre>`}`;
}

export function Answers({ state }) {
  const over = [...state.requests.values()].filter(request => request.fate).length;
  const answer = useLook('/api/decisions', over);
  return html`<h2 class="unseen">Answers</h2><${Refused} answer=${answer} />
    ${answer?.ok && !answer.rows.length && html`<p class="quiet">Nothing was decided yet.</p>`}
    ${answer?.ok && answer.rows.length > 0 && html`<div class="table" tabindex="0" role="region" aria-label="Answers"><table><thead><tr><th scope="col">Ago</th><th scope="col">What</th><th scope="col">Who asked</th><th scope="col">Answer</th><th scope="col">Trace</th></tr></thead>
      <tbody>${answer.rows.map(one => html`<tr key=${one.key}><td>${ago(one.decided_ms)}</td><td><code>${one.subject}</code></td><td>${one.member}, ${one.team}</td>
        <td>${one.state} by ${one.decided_by}${one.rule && ' (' + one.rule + ')'}${one.reason && ': ' + one.reason}</td>
        <td><a href=${'#/way/' + one.key} aria-label=${'Trace ' + one.request_id}>trace</a></td></tr>`)}</tbody></table></div>`}`;
}
