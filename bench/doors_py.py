"""The same tool behind FastMCP: `doors_py.py PORT RESULT.json`."""

import logging
import sys
from typing import Annotated, Literal

import uvicorn
from fastmcp import FastMCP
from pydantic import BaseModel, Field

logging.disable(logging.WARNING)
with open(sys.argv[2], encoding="utf-8") as file:
    ANSWER = file.read()

Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class Dates(BaseModel):
    start: Day
    end: Day


class Filters(BaseModel):
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=40)]], Field(max_length=10)] = []
    date_range: Dates | None = None


server = FastMCP("bench")


@server.tool
async def kb_search(
    query: Annotated[str, Field(min_length=1, max_length=200)],
    namespace: Literal["docs", "tickets", "wiki", "runbooks"],
    filters: Filters | None = None,
    top_k: Annotated[int, Field(ge=1, le=10)] = 5,
    return_fields: list[Literal["title", "url", "snippet", "score", "updated_at"]] = [],
    include_snippets: bool = True,
) -> str:
    """searches the knowledge base"""
    return ANSWER


app = server.http_app(path="/mcp", stateless_http=True, json_response=True)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False, loop="uvloop", http="httptools")
