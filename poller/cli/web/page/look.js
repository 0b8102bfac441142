// What is looked at behind a click: workers, chat, the way of a message, and what was decided.
import { html, useState, useEffect } from '/preact.js';
import { Ago, ago, count, useLook, Refused, doingOf, leadOf, troubleOf } from '/words.js';
import { Event, fromTo, ofDecision, ofMessage } from '/now.js';

export function Workers({ state }) {
  const teams = [...state.teams.values()];
  if (!teams.length) return html`<h2>Workers</h2><p>No team is served.</p><p class="quiet"><code>inbox-poller doctor</code> says why.</p>`;
  return html`${teams.map(team => html`<section key=${team.key} class="panel"><h2>${team.team}</h2>
    ${troubleOf(team).map(word => html`<p class="warn">${word}</p>`)}
    <p>${team.role}${team.role_reason && ': ' + team.role_reason} · lead ${team.lead.member} ${leadOf(team).word} · ${count(team.requests, 'request')} · ${count(team.chat.queued, 'message')} for the lead${team.chat.queued ? ', the oldest ' + ago(team.chat.oldest_queued_ms) : ''}</p>
    ${team.way && html`<details><summary>The way to the lead</summary><p class="quiet">${team.way}</p></details>`}
    ${!team.members.length && html`<p class="quiet">No worker yet: the first message of one makes it known.</p>`}
    ${team.members.length > 0 && html`<table class="workers"><thead><tr><th scope="col">Worker</th><th scope="col">Does</th><th scope="col">Open</th><th scope="col">Seen</th><th scope="col">Task</th><th scope="col">Mode</th></tr></thead>
      <tbody>${team.members.map(worker => { const doing = doingOf(worker); return html`<tr key=${worker.member}><th scope="row">${worker.member}</th>
        <td><span class=${doing.look}>${doing.word}</span>${worker.detail && html`<br /><span class="quiet">${worker.detail}</span>`}</td>
        <td>${worker.pending || ''}</td><td><${Ago} ms=${worker.last_seen_ms} /></td><td>${worker.task}</td><td>${worker.mode}</td></tr>`; })}</tbody></table>`}</section>`)}`;
}

function TeamChoice({ state, team, set }) {
  return html`<label>Team <select value=${team} onChange=${event => set(event.target.value)}><option value="">all</option>
    ${[...state.teams.keys()].map(name => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

export function Chat({ state }) {
  const [team, set] = useState('');
  const [opened, open] = useState('');
  const answer = useLook('/api/history' + (team && '?team=' + encodeURIComponent(team)), JSON.stringify([...state.teams.values()].map(one => one.chat)));
  return html`<section class="panel"><div class="tools"><h2>Chat</h2><${TeamChoice} state=${state} team=${team} set=${set} /></div><${Refused} answer=${answer} />
    ${answer?.ok && !answer.rows.length && html`<p>No message has come.</p><p class="quiet">What workers write to the lead appears here, with where it is now.</p>`}
    ${answer?.ok && html`<ul class="messages">${[...answer.rows].reverse().map(one => html`<li key=${one.message_key}>
      <button class="row" aria-expanded=${opened === one.message_key} onClick=${() => open(opened === one.message_key ? '' : one.message_key)}>${fromTo(one)}</button>
      <span class="quiet meta"><${Ago} ms=${one.received_ms} /> · ${ofMessage(one).came} · <a href=${'#/way/' + one.message_key}>trace</a></span>
      <pre class=${'words' + (opened === one.message_key ? '' : ' brief')}>${one.subject || one.text + (one.is_cut ? '…' : '')}</pre>
      ${opened === one.message_key && html`<p class="quiet">${one.type}, it ${one.sentence}</p>`}</li>`)}</ul>`}</section>`;
}

export function Way({ argument }) {
  const [id, set] = useState(argument || '');
  const [wanted, want] = useState(argument || '');
  useEffect(() => { if (argument) { set(argument); want(argument); } }, [argument]);
  const answer = useLook(wanted && '/api/trace?id=' + encodeURIComponent(wanted), '');
  return html`<section class="panel"><h2>Trace</h2><form class="tools" onSubmit=${event => { event.preventDefault(); want(id.trim()); }}>
    <label class="field">A message's key, the beginning of one, or the id of a request or a shutdown<input value=${id} onInput=${event => set(event.target.value)} /></label>
    <button>Trace</button></form><${Refused} answer=${answer} />
    ${!wanted && html`<p class="quiet">Each request, answer and message has a link here: it shows when it came, what was done, and where it is now.</p>`}
    ${answer?.ok && html`<pre tabindex="0" role="region" aria-label="Its way">${answer.text}</pre>`}</section>`;
}

export function Answers({ state }) {
  const teams = [...state.teams.values()];
  const answer = useLook('/api/decisions', JSON.stringify(teams.map(team => team.decided)) + [...state.requests.values()].filter(request => request.fate).length);
  return html`<section class="panel"><h2>Answers</h2><${Refused} answer=${answer} />
    ${answer?.ok && !answer.rows.length && html`<p>Nothing was decided yet.</p><p class="quiet">Who decided what, and by which rule, appears here.</p>`}
    ${answer?.ok && answer.rows.length > 0 && html`<ul class="events">${answer.rows.map(one => html`<${Event} key=${one.key} one=${ofDecision(one)} />`)}</ul>`}</section>`;
}
