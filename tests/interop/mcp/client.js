// One of the public clients of the protocol against a server: node client.js PEERS GENERATION REVISION PROGRAM ARGS…
// GENERATION: 1 or 2, of the client's library. REVISION: legacy, modern or auto (generation 2). Calls come as JSON on the
// standard input, one {name, arguments, cancel_ms?} a line; each gives a line. Every answer is validated against what
// tools/list says of it.
'use strict';
const { createRequire } = require('module');
const readline = require('readline');

const [peers, generation, revision, program, ...args] = process.argv.slice(2);
const need = createRequire(peers + '/');
const Ajv = need('ajv/dist/2020').default;

function makeClient() {
  if (generation === '1') {
    const { Client } = need('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = need('@modelcontextprotocol/sdk/client/stdio.js');
    return [new Client({ name: 'test', version: '1' }), StdioClientTransport];
  }
  const { Client } = need('@modelcontextprotocol/client');
  const { StdioClientTransport } = need('@modelcontextprotocol/client/stdio');
  const mode = revision === 'modern' ? { pin: '2026-07-28' } : revision;
  return [new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } }), StdioClientTransport];
}

function say(object) {
  process.stdout.write(JSON.stringify(object) + '\n');
}

async function call(client, check, { name, arguments: given, cancel_ms }) {
  const stop = new AbortController();
  // clock: a person gives up after a while; the call waits much longer by itself
  if (cancel_ms !== undefined) setTimeout(() => stop.abort('given up'), cancel_ms);
  let progress = 0;
  const options = { signal: stop.signal, timeout: 60000, resetTimeoutOnProgress: true, onprogress: () => { progress += 1; } };
  const ask = { name, arguments: given };
  try {
    const result = await (generation === '1' ? client.callTool(ask, undefined, options) : client.callTool(ask, options));
    const text = result.content[0].text;
    const known = check.get(name);
    if (!result.isError && !known(result.structuredContent)) throw new Error('does not fit its schema: ' + JSON.stringify(known.errors));
    if (!result.isError && JSON.stringify(JSON.parse(text)) !== JSON.stringify(result.structuredContent)) throw new Error('text and structure differ');
    const notes = result.content.slice(1).map((one) => one.text);
    say({ name, refused: result.isError === true, text: result.isError ? text : undefined, answer: result.structuredContent, notes, progress });
  } catch (problem) {
    say({ name, failed: String(problem) });
  }
}

async function main() {
  const [client, Transport] = makeClient();
  const errors = [];
  client.onerror = (problem) => errors.push(String(problem));
  await client.connect(new Transport({ command: program, args, env: process.env, stderr: 'inherit' }));
  const { tools } = await client.listTools();
  const again = await client.listTools();
  if (JSON.stringify(tools) !== JSON.stringify(again.tools)) throw new Error('another list');
  const ajv = new Ajv({ strict: false });
  const check = new Map(tools.map((tool) => [tool.name, ajv.compile(tool.outputSchema)]));
  for (const tool of tools) ajv.compile(tool.inputSchema);
  say({ tools: tools.map((tool) => tool.name), server: client.getServerVersion()?.name ?? null, instructions: client.getInstructions() ?? null });
  for await (const line of readline.createInterface({ input: process.stdin })) await call(client, check, JSON.parse(line));
  await client.close();
  say({ errors });
}

main().catch((problem) => {
  say({ failed: String(problem), stack: problem.stack });
  process.exit(1);
});
