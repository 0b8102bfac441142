// One writer as the real client is one: its lock library, its options, its way to write. Arguments: inbox, sender, count, mean
// pause in ms, how to write ("replace" | "rewrite"), asks every n-th (0: never). Prints one JSON line a message: {text, ok[, error]}.
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const lockfile = require('proper-lockfile');

const [inbox, sender, count, pause, style, askEvery] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const retries = { retries: 10, minTimeout: 5, maxTimeout: 100 };

function text(n) {
  if (+askEvery && n % +askEvery === 0) {
    return JSON.stringify({
      type: 'permission_request', request_id: `perm-${Date.now()}-${sender.replace(/\W/g, '')}${n}`, agent_id: sender, tool_name: 'Bash',
      tool_use_id: `toolu_${n}`, description: 'status', input: { command: `git status ${sender} ${n}` }, permission_suggestions: [],
    });
  }
  return `message ${n} of ${sender}: grüße 😀`;
}

async function append(entry) {
  try {
    fs.writeFileSync(inbox, '[]', { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const release = await lockfile.lock(inbox, { lockfilePath: `${inbox}.lock`, retries });
  try {
    const entries = JSON.parse(fs.readFileSync(inbox, 'utf8'));
    entries.push(entry);
    const bytes = JSON.stringify(entries, null, 2);
    if (style === 'replace') {
      const temporary = `${inbox}.tmp.${crypto.randomBytes(4).toString('hex')}`;
      fs.writeFileSync(temporary, bytes);
      fs.renameSync(temporary, inbox);
    } else {
      fs.writeFileSync(inbox, bytes);
    }
  } finally {
    await release();
  }
}

(async () => {
  for (let n = 1; n <= +count; n++) {
    await sleep(Math.random() * 2 * +pause);
    const message = text(n);
    const entry = {
      from: sender, text: message, timestamp: new Date().toISOString(), color: 'blue', msgV: 1, msg_id: crypto.randomUUID(),
      type: 'message', read: false,
    };
    let line = { text: message, ok: true };
    try {
      await append(entry);
    } catch (error) {
      line = { text: message, ok: false, error: error.code || String(error) };
    }
    process.stdout.write(JSON.stringify(line) + '\n');
  }
})();
