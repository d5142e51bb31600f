"""The Python libraries of `bench/calls`: the same tool, call and answer through each of them.

    subjects.py FIXTURE_FOLDER SECONDS

Prints one line of JSON per subject. A library that is not there is left out, and says so.
"""

import asyncio
import json
import logging
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ.setdefault("FASTMCP_LOG_LEVEL", "ERROR")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from pydantic import BaseModel, ConfigDict, Field

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
TEXT = (folder / "args.json").read_text()
VALUE = json.loads(TEXT)
ANSWER = (folder / "result.json").read_text()

Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Tag = Annotated[str, Field(min_length=1, max_length=40)]
Query = Annotated[str, Field(min_length=1, max_length=200)]
Namespace = Literal["docs", "tickets", "wiki", "runbooks"]
Shown = Literal["title", "url", "snippet", "score", "updated_at"]
Top = Annotated[int, Field(ge=1, le=10)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Period(Strict):
    start: Day
    end: Day


class Filters(Strict):
    tags: Annotated[list[Tag], Field(max_length=10)] = []
    date_range: Period | None = None


class Arguments(Strict):
    query: Query
    namespace: Namespace
    filters: Filters | None = None
    top_k: Top = 5
    return_fields: Annotated[list[Shown], Field(max_length=5)] = []
    include_snippets: bool = True


async def kb_search(
    query: Query,
    namespace: Namespace,
    filters: Filters | None = None,
    top_k: Top = 5,
    return_fields: Annotated[list[Shown], Field(max_length=5)] = [],
    include_snippets: bool = True,
) -> str:
    """Search the knowledge base."""
    return ANSWER


def blocking_search(**_) -> str:
    """Search the knowledge base."""
    return ANSWER


def say(name, package, took, wall, processor):
    took.sort()
    at = lambda percent: took[min(len(took) - 1, len(took) * percent // 100)] * 1e6
    figures = {
        "us": wall / len(took) * 1e6,
        "cpu_us": processor / len(took) * 1e6,
        "p50_us": at(50),
        "p99_us": at(99),
    }
    print(json.dumps({"name": name, "version": version(package), **figures}), flush=True)


async def repeat(name, package, call):
    """Times an asynchronous call again and again, as an agent's loop makes it."""
    for _ in range(50):
        await call()
    took, worked = [], time.process_time()
    start = before = time.perf_counter()
    while before - start < seconds:
        await call()
        now = time.perf_counter()
        took.append(now - before)
        before = now
    say(name, package, took, before - start, time.process_time() - worked)


def repeat_blocking(name, package, call):
    for _ in range(50):
        call()
    took, worked = [], time.process_time()
    start = before = time.perf_counter()
    while before - start < seconds:
        call()
        now = time.perf_counter()
        took.append(now - before)
        before = now
    say(name, package, took, before - start, time.process_time() - worked)


async def pydantic_ai():
    from pydantic_ai import FunctionToolset, RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.usage import RunUsage

    tools = FunctionToolset([kb_search])
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    tool = (await tools.get_tools(context))["kb_search"]

    async def bare():
        arguments = tool.args_validator.validate_json(TEXT)
        return await tools.call_tool("kb_search", arguments, context, tool)

    assert await bare() == ANSWER
    await repeat("Pydantic AI, bare validate and call", "pydantic-ai-slim", bare)
    manager = await ToolManager(tools).for_run_step(context)
    part = ToolCallPart("kb_search", TEXT, "call_1")
    assert await manager.handle_call(part) == ANSWER
    await repeat(
        "Pydantic AI, ToolManager", "pydantic-ai-slim", lambda: manager.handle_call(part)
    )


async def openai_agents():
    from agents import function_tool
    from agents.tool_context import ToolContext

    tool = function_tool(kb_search, strict_mode=False)
    context = ToolContext(
        context=None, tool_name="kb_search", tool_call_id="call_1", tool_arguments=TEXT
    )
    assert await tool.on_invoke_tool(context, TEXT) == ANSWER
    await repeat(
        "OpenAI Agents SDK", "openai-agents", lambda: tool.on_invoke_tool(context, TEXT)
    )


async def langchain():
    from langchain_core.tools import StructuredTool

    said = {"name": "kb_search", "description": "search", "args_schema": Arguments}
    blocking = StructuredTool.from_function(blocking_search, **said)
    assert blocking.invoke(VALUE) == ANSWER
    repeat_blocking("LangChain, invoke", "langchain-core", lambda: blocking.invoke(VALUE))
    tool = StructuredTool.from_function(coroutine=kb_search, **said)
    await repeat("LangChain, ainvoke", "langchain-core", lambda: tool.ainvoke(VALUE))


async def fastmcp():
    from fastmcp import Client, FastMCP

    server = FastMCP("bench")
    server.tool(kb_search)
    call = lambda: server.call_tool("kb_search", VALUE)
    assert ANSWER in str((await call()).content[0].text)
    await repeat("FastMCP, server alone", "fastmcp", call)
    async with Client(server) as client:
        call = lambda: client.call_tool("kb_search", VALUE)
        assert ANSWER in (await call()).content[0].text
        await repeat("FastMCP, client in memory", "fastmcp", call)


async def main():
    for subject in (pydantic_ai, openai_agents, langchain, fastmcp):
        try:
            await subject()
        except Exception as why:
            print(f"{subject.__name__} is left out: {why!r}"[:300], file=sys.stderr)


asyncio.run(main())
