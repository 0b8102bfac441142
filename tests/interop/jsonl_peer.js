// A worker of a JSONL team, written from docs/reference/mailboxes.md ("The lines") alone: node jsonl_peer.js FOLDER NAME.
// It takes the same orders as jsonl_peer.py and reports the same events; the head of that file lists them. It shares no code with it,
// and writes its lines as JSON.stringify does: everything but controls and quotes as raw UTF-8.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const LEAD = 'lead';
const DRAIN_EVERY_MS = 50;
const [folder, me] = process.argv.slice(2);
const config = path.join(folder, 'config.json');
let refusal = null;

const inbox = (name) => path.join(folder, 'inbox', `${name}.jsonl`);
const tell = (what) => fs.writeSync(1, `${JSON.stringify(what)}\n`);
const roster = () => JSON.parse(fs.readFileSync(config, 'utf8'));
const newId = () => crypto.randomBytes(4).toString('hex');

function setStatus(status) {
  const team = roster();
  for (const member of team.members) if (member.name === me) member.status = status;
  fs.writeFileSync(config, JSON.stringify(team, null, 2));
}

function send(to, type, content, more = {}) {
  const line = { type, from: me, content, timestamp: Date.now() / 1000, ...more };
  const file = fs.openSync(inbox(to), 'a');
  try {
    fs.writeSync(file, Buffer.from(`${JSON.stringify(line)}\n`));
  } finally {
    fs.closeSync(file);
  }
  tell({ sent: line });
}

function drain() {
  if (!fs.existsSync(inbox(me))) return [];
  const text = fs.readFileSync(inbox(me), 'utf8');
  if (text) fs.closeSync(fs.openSync(inbox(me), 'w'));
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

function take(line) {
  tell({ received: line });
  if (line.type !== 'shutdown_request') return;
  const answer = refusal;
  refusal = null;
  send(LEAD, 'shutdown_response', answer || 'bye', { request_id: line.request_id, approve: answer === null });
  if (answer === null) {
    setStatus('shutdown');
    process.exit(0);
  }
}

const orders = {
  message: ({ to, content }) => send(to, 'message', content),
  broadcast: ({ content }) => [LEAD, ...roster().members.map((member) => member.name)].filter((name) => name !== me)
    .forEach((name) => send(name, 'broadcast', content)),
  plan: ({ plan }) => send(LEAD, 'plan_approval_response', 'Plan submitted', { request_id: newId(), plan }),
  ask_to_stop: () => send(LEAD, 'shutdown_request', 'I am done', { request_id: newId() }),
  refuse: ({ content }) => { refusal = content; },
};

setStatus('working');
tell({ ready: me });
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const order = JSON.parse(line);
  orders[order.do](order);
}).on('close', () => process.exit(0));
setInterval(() => drain().forEach(take), DRAIN_EVERY_MS);
