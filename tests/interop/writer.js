// Writers as real clients are: their lock library, their options, their way to write. Arguments: inboxes (separated by commas: one
// writer each, side by side), sender, count of messages for each, mean pause in ms, kind (below), asks every n-th (0: never).
// Prints one JSON line a message: {inbox, entry, ok[, error]}. Kind "hold": keeps the lock for `count` seconds, its library touching it
// every five, writes one message, and lets it go. Kind "die": is killed inside the lock, the file half written.
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const lockfile = require('proper-lockfile');

const [inboxes, sender, count, pause, kind, askEvery] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));  // clock: the pace of a peer; nothing is judged by it
const ladder = { retries: 10, minTimeout: 5, maxTimeout: 100 };

function byRename(inbox, bytes) {
  const temporary = `${inbox}.tmp.${crypto.randomBytes(4).toString('hex')}`;
  fs.writeFileSync(temporary, bytes);
  fs.renameSync(temporary, inbox);
}
const inPlace = (inbox, bytes) => fs.writeFileSync(inbox, bytes);

// options: for the library; null: its synchronous call, which knows no retries.
const kinds = {
  'replace': { options: { retries: ladder }, write: byRename },
  'rewrite': { options: { retries: ladder }, write: inPlace },
  '2.1.50': { options: null, write: inPlace },
  '2.1.329': { options: { retries: ladder }, write: byRename },
  'once': { options: {}, write: byRename },
  'once in place': { options: { stale: 5000 }, write: inPlace },
  'once anywhere': { options: { realpath: false, stale: 30000, update: 1000 }, write: byRename },
  'controller': { options: { retries: { retries: 5, minTimeout: 50, maxTimeout: 500 } }, write: inPlace },
  'qwen': { options: { retries: ladder, stale: 5000 }, write: (inbox, bytes) => inPlace(inbox, bytes + '\n') },
  'patient': { options: { retries: { retries: 600, minTimeout: 20, maxTimeout: 50 }, stale: 12000, update: 2000, realpath: false }, write: byRename },
  'hold': { options: { retries: ladder }, write: byRename },
  'die': { options: { retries: ladder }, write: (inbox, bytes) => {
    fs.writeFileSync(inbox, bytes.slice(0, -20));
    process.kill(process.pid, 'SIGKILL');
  } },
};
const { options, write } = kinds[kind];

function text(n) {
  if (+askEvery && n % +askEvery === 0) {
    return JSON.stringify({
      type: 'permission_request', request_id: `perm-${Date.now()}-${sender.replace(/\W/g, '')}${n}${crypto.randomBytes(2).toString('hex')}`,
      agent_id: sender, tool_name: 'Bash', tool_use_id: `toolu_${n}`, description: 'status',
      input: { command: `git status ${sender} ${n}` }, permission_suggestions: [],
    });
  }
  return `message ${n} of ${sender}: grüße 😀`;
}

async function append(inbox, entry) {
  try {
    fs.writeFileSync(inbox, '[]', { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const at = { lockfilePath: `${inbox}.lock`, ...options };
  const release = options ? await lockfile.lock(inbox, at) : lockfile.lockSync(inbox, at);
  try {
    if (kind === 'hold') await sleep(+count * 1000);
    const entries = JSON.parse(fs.readFileSync(inbox, 'utf8'));
    entries.push(entry);
    write(inbox, JSON.stringify(entries, null, 2));
  } finally {
    await release();
  }
}

async function writer(inbox) {
  for (let n = 1; n <= (kind === 'hold' ? 1 : +count); n++) {
    await sleep(Math.random() * 2 * +pause);
    const entry = {
      from: sender, text: text(n), timestamp: new Date().toISOString(), color: 'blue', msgV: 1, msg_id: crypto.randomUUID(),
      type: 'message', read: false,
    };
    const line = { inbox, entry, ok: true };
    try {
      await append(inbox, entry);
    } catch (error) {
      line.ok = false;
      line.error = error.code || String(error);
    }
    process.stdout.write(JSON.stringify(line) + '\n');
  }
}

Promise.all(inboxes.split(',').map(writer));
