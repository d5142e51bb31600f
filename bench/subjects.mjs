// The Node libraries of `bench/calls`: the same tool, call and answer through each of them.
//
//     node subjects.mjs FIXTURE_FOLDER SECONDS MODULES_FOLDER
//
// Prints one line of JSON per subject. A library that is not there is left out, and says so.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, seconds, modules] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const require = createRequire(join(modules, 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const version = (name) =>
  JSON.parse(readFileSync(join(modules, 'node_modules', name, 'package.json'), 'utf8')).version;
const read = (name) => readFileSync(join(folder, name), 'utf8');
const [text, answer] = [read('args.json'), read('result.json')];
const value = JSON.parse(text);

const microseconds = () => Number(process.hrtime.bigint()) / 1e3;
const processor = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Times a call for a while; `calls` is how many tool calls one of them makes. */
async function repeat(call, calls = 1) {
  for (const warm = microseconds(); microseconds() - warm < seconds * 5e5; ) await call();
  const took = [];
  const worked = processor();
  const start = microseconds();
  let before = start;
  while (before - start < seconds * 1e6) {
    await call();
    const now = microseconds();
    took.push(now - before);
    before = now;
  }
  const [wall, cpu] = [before - start, processor() - worked];
  took.sort((a, b) => a - b);
  const at = (percent) => took[Math.min(took.length - 1, Math.floor((took.length * percent) / 100))];
  const of = (time) => time / calls;
  return {
    us: of(wall / took.length), cpu_us: of(cpu / took.length), p50_us: of(at(50)), p99_us: of(at(99)),
  };
}

const say = (name, of, figures) =>
  console.log(JSON.stringify({ name, version: version(of), ...figures }));

async function schema() {
  const { z } = await load('zod');
  const day = z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/);
  return z.strictObject({
    query: z.string().min(1).max(200),
    namespace: z.enum(['docs', 'tickets', 'wiki', 'runbooks']),
    filters: z
      .strictObject({
        tags: z.array(z.string().min(1).max(40)).max(10).optional(),
        date_range: z.strictObject({ start: day, end: day }).optional(),
      })
      .optional(),
    top_k: z.number().int().min(1).max(10).default(5),
    return_fields: z.array(z.enum(['title', 'url', 'snippet', 'score', 'updated_at'])).max(5).optional(),
    include_snippets: z.boolean().default(true),
  });
}

/** One step of a model that asks for many calls, less the same step when it asks for none. */
async function aiSdk() {
  const { generateText, tool } = await load('ai');
  const calls = 64;
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const model = (content, reason) => ({
    specificationVersion: 'v3', provider: 'none', modelId: 'none', supportedUrls: {},
    doGenerate: async () => ({
      content, usage, warnings: [], finishReason: { unified: reason, raw: reason },
    }),
  });
  const asked = Array.from({ length: calls }, (_, at) => ({
    type: 'tool-call', toolCallId: `call_${at}`, toolName: 'kb_search', input: text,
  }));
  const inputSchema = await schema();
  const tools = { kb_search: tool({ description: 'search', inputSchema, execute: async () => answer }) };
  const step = (model) => () => generateText({ model, tools, prompt: 'search' });
  const [none, many] = [
    step(model([{ type: 'text', text: 'done' }], 'stop')),
    step(model(asked, 'tool-calls')),
  ];
  const { toolResults } = await many();
  if (toolResults.length !== calls || toolResults[0].output !== answer) throw new Error('not run');
  const [base, all] = [await repeat(none), await repeat(many)];
  const less = (key) => (all[key] - base[key]) / calls;
  say('Vercel AI SDK, one more call', 'ai', {
    us: less('us'), cpu_us: less('cpu_us'), p50_us: less('p50_us'), p99_us: less('p99_us'),
  });
}

async function mcp() {
  const sdk = '@modelcontextprotocol/sdk';
  const { McpServer } = await load(`${sdk}/server/mcp.js`);
  const { Client } = await load(`${sdk}/client/index.js`);
  const { InMemoryTransport } = await load(`${sdk}/inMemory.js`);
  const server = new McpServer({ name: 'bench', version: '1' });
  const inputSchema = (await schema()).shape;
  server.registerTool('kb_search', { description: 'search', inputSchema }, async () => ({
    content: [{ type: 'text', text: answer }],
  }));
  const client = new Client({ name: 'bench', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  const call = () => client.callTool({ name: 'kb_search', arguments: value });
  if ((await call()).content[0].text !== answer) throw new Error('not run');
  say('MCP TypeScript SDK in memory', sdk, await repeat(call));
}

for (const subject of [aiSdk, mcp]) {
  try {
    await subject();
  } catch (why) {
    console.error(`${subject.name} is left out: ${String(why).slice(0, 300)}`);
  }
}
process.exit(0);
