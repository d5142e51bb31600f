// The JavaScript SDK on a recording of `bench/streams`.
//
//     node streams.mjs RECORDING SECONDS MODULES_FOLDER
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [file, seconds, modules] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const require = createRequire(join(modules, 'package.json'));
const { default: OpenAI } = await import(pathToFileURL(require.resolve('openai')).href);

const PIECE = 16 << 10;
const body = readFileSync(file);
const pieces = [];
for (let at = 0; at < body.length; at += PIECE) pieces.push(body.subarray(at, at + PIECE));

/** What a provider would send, without a network in between. */
const recorded = async () => {
  let next = 0;
  const stream = new ReadableStream({
    pull: (to) => (next < pieces.length ? to.enqueue(pieces[next++]) : to.close()),
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
};
const client = new OpenAI({
  apiKey: 'none', baseURL: 'http://recorded.invalid/v1', maxRetries: 0, fetch: recorded,
});
const question = {
  model: 'm',
  messages: [{ role: 'user', content: 'Write it down.' }],
  tools: [{
    type: 'function',
    function: {
      name: 'write_note',
      parameters: { type: 'object', properties: { text: { type: 'string' } } },
    },
  }],
};
const length = (text) => [...JSON.parse(text).text].length;
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

async function accumulated() {
  let count = 0;
  const stream = client.chat.completions.stream(question);
  stream.on('chunk', () => (count += 1));
  const { choices } = await stream.finalChatCompletion();
  return [count, sum(choices[0].message.tool_calls.map((call) => length(call.function.arguments)))];
}

async function iterated() {
  let count = 0;
  const calls = new Map();
  for await (const one of await client.chat.completions.create({ ...question, stream: true })) {
    count += 1;
    for (const call of one.choices[0].delta.tool_calls ?? []) {
      if (!calls.has(call.index)) calls.set(call.index, []);
      calls.get(call.index).push(call.function?.arguments ?? '');
    }
  }
  return [count, sum([...calls.values()].map((all) => length(all.join(''))))];
}

for (const [name, way] of [
  ['JavaScript SDK, stream(): assembles', accumulated],
  ['JavaScript SDK, iterated and joined', iterated],
]) {
  let [chunks, characters] = await way();
  let rounds = 0;
  const [begun, before] = [performance.now(), process.cpuUsage()];
  for (; performance.now() - begun < seconds * 1e3 || !rounds; rounds += 1) {
    [chunks, characters] = await way();
  }
  const clock = (performance.now() - begun) / 1e3;
  const { user, system } = process.cpuUsage(before);
  const figures = {
    chunks_per_s: (chunks * rounds) / clock,
    chunks_per_cpu_s: (chunks * rounds) / ((user + system) / 1e6),
  };
  console.log(JSON.stringify({ name, chunks, characters, ...figures }));
}
