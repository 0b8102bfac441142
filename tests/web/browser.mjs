// A browser at the end of a pipe: each line is the body of an async function with `page`, `context`, `browser` and `axe` in its
// scope; its result comes back as a line of JSON.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [modules, program] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP rebound.test 127.0.0.1'] });
const said = [];
const context = await browser.newContext({ bypassCSP: false, reducedMotion: 'reduce' });
context.on('weberror', problem => said.push(String(problem.error())));
context.on('console', message => { if (message.type() === 'error') said.push(message.text()); });
const page = await context.newPage();
const Body = Object.getPrototypeOf(async () => {}).constructor;

/// What is wrong for those who do not see or do not use a mouse, in a word or two each.
const axe = async (on = page) => {
  await on.evaluate(source);  // past the page's policy, which holds for its own scripts
  const { violations } = await on.evaluate(() => window.axe.run(document));
  return violations.map(one => `${one.id}: ${one.nodes.map(node => node.html).slice(0, 3).join(' | ')}`);
};

console.log(JSON.stringify({ version: browser.version() }));
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { value: await new Body('page', 'context', 'browser', 'axe', 'said', JSON.parse(line))(page, context, browser, axe, said) ?? null };
  } catch (problem) {
    answer = { error: String(problem.stack ?? problem) };
  }
  console.log(JSON.stringify(answer));
}
await browser.close();
