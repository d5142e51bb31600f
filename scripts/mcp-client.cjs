// Connects to a haft server with the official TypeScript client, over HTTP or a pipe.
//
// usage: mcp-client.cjs http URL KEY
//        mcp-client.cjs stdio COMMAND ARGUMENTS…
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [way, first, ...rest] = process.argv.slice(2);
const check = (right, what) => {
  if (!right) throw new Error(what);
};

async function main() {
  const transport =
    way === "stdio"
      ? new StdioClientTransport({ command: first, args: rest })
      : new StreamableHTTPClientTransport(new URL(first), {
          requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } },
        });
  const client = new Client({ name: "haft-check", version: "1" }, { capabilities: {} });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const name = "core__image_draft_prompt";
  check(tools.some((tool) => tool.name === name), `${name} is not listed`);
  const result = await client.callTool({ name, arguments: { subject: "a paper lantern", style: "watercolour" } });
  check(!result.isError && result.structuredContent, `the call came to ${JSON.stringify(result)}`);
  const { resources } = await client.listResources();
  const read = await client.readResource({ uri: resources[0].uri });
  check(read.contents[0].text.includes("tools"), `discovery says ${JSON.stringify(read)}`);
  await client.close();
  console.log(`  the official TypeScript client, ${way}: ${tools.length} tools`);
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`error: ${error.message}`);
    process.exit(1);
  },
);
