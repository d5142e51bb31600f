"""The SDKs' own converters on the definitions of `bench/render`, and the table.

    render.py time DEFINITIONS.json TOOLS
    render.py table LINES
"""

import copy
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import median


def openai_strict():
    from openai.lib._pydantic import _ensure_strict_json_schema as strict

    def tool(one):
        schema = copy.deepcopy(one["schema"])
        parameters = strict(schema, path=(), root=schema)
        said = {"name": one["name"], "description": one["description"], "parameters": parameters}
        return {"type": "function", "function": {**said, "strict": True}}

    return tool


def anthropic_strict():
    from anthropic.lib._parse._transform import transform_schema

    def tool(one):
        schema = transform_schema(copy.deepcopy(one["schema"]))
        return {"name": one["name"], "description": one["description"], "input_schema": schema, "strict": True}

    return tool


def gemini():
    from google.genai import types

    def tool(one):
        schema = types.Schema.from_json_schema(json_schema=types.JSONSchema(**one["schema"]))
        declared = types.FunctionDeclaration(name=one["name"], description=one["description"], parameters=schema)
        return declared.model_dump(mode="json", exclude_none=True, by_alias=True)

    return tool


CONVERTERS = [
    ("openai-strict", "openai for Python", openai_strict),
    ("anthropic-strict", "anthropic for Python", anthropic_strict),
    ("gemini", "google-genai for Python", gemini),
]


def measure(file, count):
    warnings.simplefilter("ignore")
    tools = json.loads(Path(file).read_text(encoding="utf-8"))[:count]
    for target, name, make in CONVERTERS:
        try:
            convert = make()
        except ImportError as why:
            print(f"{name} is left out: {why}", file=sys.stderr)
            continue
        best, shown = float("inf"), 0
        for _ in range(3):
            worked, shown, written = time.process_time(), 0, 0
            for one in tools:
                try:
                    written += len(json.dumps(convert(one)))
                    shown += 1
                except Exception:
                    # What it cannot convert, nobody is shown.
                    pass
            best = min(best, time.process_time() - worked)
        print(json.dumps({"target": target, "name": name, "ms": best * 1e3, "tools": len(tools), "shown": shown}))


def table(lines):
    seen = defaultdict(lambda: defaultdict(list))
    for line in Path(lines).read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        seen[one["target"]][one["name"]].append(one)
    print(f"{'':<26}{'':<26}{'ms':>10}{'shown':>8}{'haft is':>10}")
    for target, subjects in seen.items():
        ours = subjects["haft, rendered anew"]
        for name, all in subjects.items():
            ratio = median(a["ms"] and b["ms"] / a["ms"] for a, b in zip(ours, all))
            ms = median(one["ms"] for one in all)
            print(f"{target:<26}{name:<26}{ms:>10.3f}{all[0]['shown']:>8}{ratio:>9.1f}×")
    print("\nms: of processor time for the whole catalog, its JSON written; haft is: so many times as fast anew")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "time":
        measure(rest[0], int(rest[1]))
    else:
        table(rest[0])
