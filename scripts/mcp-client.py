"""Connects to a haft server with the official Python client, over HTTP or a pipe.

usage: mcp-client.py legacy|auto http URL KEY
       mcp-client.py legacy|auto stdio COMMAND ARGUMENTS…
"""

import asyncio
import sys
import warnings

warnings.simplefilter("ignore")

import httpx2 as httpx  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

CALL = ("core__image_draft_prompt", {"subject": "a paper lantern", "style": "watercolour"})


def check(right, what):
    if not right:
        sys.exit(f"error: {what}")


async def talk(server, era):
    async with Client(server, mode=era) as client:
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        check(CALL[0] in names, f"{CALL[0]} is not among {names}")
        result = await client.call_tool(*CALL)
        check(not result.is_error and result.structured_content, f"the call came to {result}")
        resources = (await client.list_resources()).resources
        read = await client.read_resource(str(resources[0].uri))
        check("tools" in read.contents[0].text, f"discovery says {read}")
        prompts = (await client.list_prompts()).prompts
        check(prompts[0].name == "system", f"prompts: {prompts}")
        return len(names)


async def main():
    era, way, *rest = sys.argv[1:]
    if way == "stdio":
        found = await talk(StdioServerParameters(command=rest[0], args=rest[1:]), era)
    else:
        url, key = rest
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(headers=headers) as http:
            found = await talk(streamable_http_client(url, http_client=http), era)
    print(f"  the official Python client, {era}, {way}: {found} tools")


asyncio.run(main())
