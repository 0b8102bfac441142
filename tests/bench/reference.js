// The reference: a small poller in Node that does what the notes on the clients' mailbox describe of a lead.
//
// What it follows: every 500 ms each inbox is read as a whole, without a lock, and parsed with JSON.parse; where something is
// unread, the lock is taken with the clients' own library (proper-lockfile, ten retries from 5 to 100 ms), the file is read
// and parsed again, all entries are marked as read, the whole array is written back with JSON.stringify(array, null, 2)
// in place and without a sync, the lock is let go, and what was unread is handed to the consumer over a Unix socket, a line
// of JSON a message. With "allow", permission requests are answered with yes: the answer is appended to the asker's inbox
// in the same way.
//
// What it leaves out: a ledger, an fsync, a model, a screen. It is thus faster and less safe than a client. It does not
// leave out what it may: the first read is without the lock, so that an inbox without news costs one read and one parse;
// and it hands over what it saw under the lock, where the clients hand over what they saw before it and lose what was
// written between the two. So the counts can be checked.
//
// Arguments: consumer's socket, "allow" or "-", inboxes (files, or folders: every *.json in them). On SIGTERM it prints one
// JSON object: {lock_ns: how long each lock was held, polls, late_ms: the longest time between two looks at one inbox}.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');
const crypto = require('crypto');
const lockfile = require('proper-lockfile');

const [socket, allow, ...places] = process.argv.slice(2);
const interval = 500;
const retries = { retries: 10, minTimeout: 5, maxTimeout: 100 };
const held = [];
let consumer;
let polls = 0;
let latest = 0;

async function underLock(inbox, change) {
  const release = await lockfile.lock(inbox, { lockfilePath: `${inbox}.lock`, retries });
  const begin = process.hrtime.bigint();
  try {
    const entries = JSON.parse(await fs.promises.readFile(inbox, 'utf8'));
    const result = change(entries);
    await fs.promises.writeFile(inbox, JSON.stringify(entries, null, 2));
    return result;
  } finally {
    await release();
    held.push(Number(process.hrtime.bigint() - begin));
  }
}

function requestIn(entry) {
  if (allow !== 'allow' || !entry.text.startsWith('{')) return undefined;
  const payload = JSON.parse(entry.text);
  return payload.type === 'permission_request' ? payload : undefined;
}

async function answer(folder, request) {
  const inbox = path.join(folder, `${request.agent_id}.json`);
  try {
    fs.writeFileSync(inbox, '[]', { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const text = JSON.stringify({
    type: 'permission_response', request_id: request.request_id, subtype: 'success',
    response: { updated_input: request.input, permission_updates: [] },
  });
  await underLock(inbox, (entries) => entries.push({
    from: 'team-lead', text, timestamp: new Date().toISOString(), msgV: 1, msg_id: crypto.randomUUID(), type: 'message', read: false,
  }));
}

async function poll(inbox) {
  let entries;
  try {
    entries = JSON.parse(await fs.promises.readFile(inbox, 'utf8'));
  } catch (error) {
    return; // not there, or half written: the next look will tell
  }
  polls++;
  if (!entries.some((entry) => !entry.read)) return;
  let unread;
  try {
    unread = await underLock(inbox, (all) => {
      const found = all.filter((entry) => !entry.read);
      const copies = found.map((entry) => ({ ...entry }));
      for (const entry of found) entry.read = true;
      return copies;
    });
  } catch (error) {
    if (error.code === 'ELOCKED') return; // the next look
    throw error;
  }
  let lines = '';
  for (const entry of unread) {
    const request = requestIn(entry);
    if (request) await answer(path.dirname(inbox), request);
    else lines += JSON.stringify(entry) + '\n';
  }
  if (lines) consumer.write(lines);
}

function serve(inbox) {
  let busy = false;
  let last = Date.now();
  setInterval(async () => {
    if (busy) return; // the look before has not ended
    busy = true;
    latest = Math.max(latest, Date.now() - last);
    last = Date.now();
    await poll(inbox);
    busy = false;
  }, interval);
}

const inboxes = places.flatMap((place) => (fs.statSync(place, { throwIfNoEntry: false })?.isDirectory()
  ? fs.readdirSync(place).filter((name) => name.endsWith('.json')).map((name) => path.join(place, name)) : [place]));

function begin() {
  consumer = net.connect(socket);
  consumer.once('error', (error) => {
    if (!['ENOENT', 'ECONNREFUSED'].includes(error.code)) throw error;
    setTimeout(begin, 20); // the consumer may be started after us
  });
  // Each inbox has its own moment, as separate clients would have.
  consumer.once('connect', () => inboxes.forEach((inbox, n) => setTimeout(() => serve(inbox), (n * interval) / inboxes.length)));
}
begin();
process.on('SIGTERM', () => {
  process.stdout.write(JSON.stringify({ lock_ns: held, polls, late_ms: latest }) + '\n', () => process.exit(0));
});
