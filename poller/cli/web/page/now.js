// The one screen that is left open: what waits, teams and workers beside it, what just happened below.
import { html } from '/preact.js';
import { Requests } from '/requests.js';
import { Ago, count, ago, fateText, plainText, useClock, useLook, doingOf, leadOf } from '/words.js';

const most_workers = 10;  // of a team, at a glance
const most_news = 12;

const Dot = ({ look }) => html`<i class=${'dot ' + look} aria-hidden="true"></i>`;

/// Those that need somebody come first where not all can be shown; shown are they by name, so that nothing moves.
function atAGlance(members) {
  const need = worker => ['failed', 'unresponsive', 'waiting', 'busy', 'idle'].indexOf(worker.doing);
  const here = members.filter(worker => worker.doing !== 'gone');
  const first = [...here].sort((a, b) => need(a) - need(b)).slice(0, most_workers);
  return { shown: here.filter(worker => first.includes(worker)), more: here.length - first.length };
}

function Team({ team }) {
  useClock(() => ago(team.lead.since_ms));
  const { shown, more } = atAGlance(team.members);
  const lead = leadOf(team);
  return html`<section class="team"><h3>${team.team}${team.role !== 'leader' && html` <small class="quiet">${team.role}</small>`}</h3>
    ${team.trouble.filter(word => word !== 'the lead is offline').map(word => html`<p class="bad">${word}</p>`)}
    <ul class="glance">
      <li><${Dot} look=${lead.look} /><b>${team.lead.member || 'lead'}</b><span class=${lead.look}>lead, ${lead.word}</span></li>
      ${shown.map(worker => { const doing = doingOf(worker); return html`<li key=${worker.member}><${Dot} look=${doing.look} /><b>${worker.member}</b><span class=${doing.look}>${doing.word}${worker.doing === 'failed' && worker.detail && ': ' + worker.detail}</span></li>`; })}
    </ul>
    ${!shown.length && html`<p class="quiet">No worker yet: the first message of one makes it known.</p>`}
    ${more > 0 && html`<p><a href="#/workers">${more} more</a></p>`}
    ${team.chat.queued > 0 && html`<p class="quiet">${count(team.chat.queued, 'message')} for the lead, the oldest ${ago(team.chat.oldest_queued_ms)}</p>`}
  </section>`;
}

export function Event({ one }) {
  return html`<li><${Ago} ms=${one.at} /><span class=${'mark ' + one.look} aria-hidden="true">${one.mark}</span>
    <span class="what"><span class="subject">${one.what}</span> <span class="quiet">${one.who}</span></span><span class=${'came ' + one.look}>${one.came}</span>
    <a href=${'#/way/' + one.key} aria-label=${'Trace ' + one.what.slice(0, 60)}>trace</a></li>`;
}

export const ofDecision = one => {
  const look = { approved: 'good', denied: 'bad' }[one.state] ?? 'warn';
  return { at: one.decided_ms, key: one.key, what: one.subject, who: one.member + ', ' + one.team, look, mark: { good: '✓', bad: '✗', warn: '–' }[look],
    came: fateText({ state: one.state, by: one.decided_by, rule: one.rule, reason: one.reason }) };
};
/// Whose it is, and for whom. A text that its worker did not send is for nobody.
export const fromTo = one => one.sender + (one.type === 'unsent_report' ? ', not sent' : ' to ' + one.inbox);
export const ofMessage = one => ({ at: one.received_ms, key: one.message_key, what: plainText(one), who: fromTo(one),
  look: 'quiet', mark: '✉', came: one.delivery === 'none' ? one.disposition : one.delivery });

/// Answers, and messages that are neither a request nor its answer.
function News({ state }) {
  const teams = [...state.teams.values()];
  const decisions = useLook(state.daemon && '/api/decisions?limit=' + most_news, JSON.stringify(teams.map(team => team.decided)) + [...state.requests.values()].filter(request => request.fate).length);
  const chat = useLook(state.daemon && '/api/history?limit=' + 4 * most_news, JSON.stringify(teams.map(team => team.chat)));
  const news = [...(decisions?.rows ?? []).map(ofDecision), ...(chat?.rows ?? []).filter(one => one.disposition !== 'control').map(ofMessage)].sort((a, b) => b.at - a.at).slice(0, most_news);
  return html`<section class="panel news" aria-labelledby="news-title"><h2 id="news-title">Just happened</h2>
    ${!news.length ? html`<p class="quiet">Nothing yet. Answers and messages appear here.</p>` : html`<ul class="events">${news.map(one => html`<${Event} key=${one.mark + one.key} one=${one} />`)}</ul>`}</section>`;
}

export function Now({ state, tidy, say, wanted }) {
  const teams = [...state.teams.values()];
  return html`<main class="now"><h1 class="unseen">Now</h1><${Requests} state=${state} tidy=${tidy} say=${say} wanted=${wanted} />
    <section class="panel teams" aria-labelledby="teams-title"><h2 id="teams-title">Teams</h2>
      ${teams.length ? teams.map(team => html`<${Team} key=${team.key} team=${team} />`) : html`<p class="quiet">No team is served. <code>inbox-poller doctor</code> says why.</p>`}</section>
    <${News} state=${state} /></main>`;
}
