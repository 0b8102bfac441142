// Words and small parts that every view shares: durations, answers of the page's process, what a team's state means.
import { html, Component, useState, useEffect, useRef } from '/preact.js';

export const span = ms => {
  const s = Math.max(Math.floor(ms / 1000), 0);
  return s < 60 ? s + 's' : s < 3600 ? Math.floor(s / 60) + 'm' : s < 86400 ? Math.floor(s / 3600) + 'h ' + Math.floor(s % 3600 / 60) + 'm'
    : Math.floor(s / 86400) + 'd ' + Math.floor(s % 86400 / 3600) + 'h';
};
export const ago = ms => ms ? span(Date.now() - ms) : '-';
export const count = (number, one, many = one + 's') => number + ' ' + (number === 1 ? one : many);
export const get = async path => {
  const answer = await fetch(path).catch(() => null);
  return answer ? await answer.json() : { ok: false, message: 'the page is not served any more' };
};

/// Such as "Approved by rule Bash(ls)", "Denied by carol: not today".
export const fateText = ({ state, by, rule, reason }) => ((state || 'not open any more') + (rule ? ' by rule ' + rule : by ? ' by ' + by : '')
  + (reason && !rule ? ': ' + reason : '')).replace(/^./, letter => letter.toUpperCase());

/// One line of a message; of a report in JSON, its words.
export const plainText = ({ subject, text, type }) => {
  if (subject) return subject;
  if (text.startsWith('{') && type !== 'unsent_report') {
    try {
      const { idleReason, summary, failureReason } = JSON.parse(text);
      return [idleReason ? { available: 'idle', failed: 'failed', interrupted: 'interrupted' }[idleReason] ?? String(idleReason) : type, failureReason ?? summary].filter(Boolean).join(': ');
    } catch { /* not whole: shown as it is */ }
  }
  return text.trim().split('\n')[0];
};

/// The component, drawn again only if a property is another one.
export const memo = Inner => class extends Component {
  shouldComponentUpdate(next) { return Object.keys(next).some(name => next[name] !== this.props[name]); }
  render(props) { return html`<${Inner} ...${props} />`; }
};

// One timer for all texts that change by time.
const clocks = new Set();
setInterval(() => { for (const tick of clocks) tick(); }, 1000);

/// What `text` says, kept up to date each second.
export function useClock(text) {
  const [, set] = useState('');
  const now = text();
  useEffect(() => {
    const tick = () => set(text());
    clocks.add(tick);
    return () => clocks.delete(tick);
  });
  return now;
}

export const Ago = ({ ms }) => html`<span class="ago">${useClock(() => ago(ms))}</span>`;

/// What `path` answers, again when `when` changes, at most once a second.
export function useLook(path, when) {
  const [answer, set] = useState(null);
  const last = useRef({ path: '', at: 0 });
  useEffect(() => {
    if (!path) { set(null); return undefined; }
    const fetching = setTimeout(() => {
      last.current = { path, at: Date.now() };
      get(path).then(it => { if (last.current.path === path) set(it); });
    }, last.current.path === path ? Math.max(last.current.at + 1000 - Date.now(), 0) : 0);
    return () => clearTimeout(fetching);
  }, [path, when]);
  return answer;
}

export const Refused = ({ answer }) => answer && !answer.ok ? html`<p class="warn" role="alert">${answer.message}</p>` : null;

// A worker's state: the word, and how urgent it is.
const doings = { waiting: ['waits for you', 'warn'], busy: ['works', 'good'], idle: ['idle', 'quiet'], failed: ['failed', 'bad'],
  unresponsive: ['silent', 'bad'], gone: ['gone', 'quiet'] };
export const doingOf = worker => {
  const [word, look] = doings[worker.doing] ?? [worker.doing, 'quiet'];
  return { look, word: worker.doing === 'waiting' && worker.pending > 1 ? 'waits for you: ' + worker.pending
    : worker.doing === 'unresponsive' && worker.last_seen_ms ? word + ' ' + ago(worker.last_seen_ms) : word };
};

export const leadOf = team => {
  const { state, since_ms } = team.lead;
  const long = since_ms ? ' ' + ago(since_ms) : '';
  return state === 'offline' ? { look: team.chat.queued ? 'bad' : 'quiet', word: 'gone' + long + ': chat is kept' } : { look: state === 'busy' ? 'good' : 'quiet', word: state + long };
};

/// What is wrong, in a few words each; the team's name is apart.
export const troubleOf = team => {
  const list = team.trouble.map(word => word === 'the lead is offline' ? 'lead ' + leadOf(team).word : word);
  for (const worker of team.members)
    if (worker.doing === 'failed' || worker.doing === 'unresponsive') list.push(worker.member + ' ' + doingOf(worker).word + (worker.pending ? ', ' + count(worker.pending, 'request') : ''));
  return list;
};
