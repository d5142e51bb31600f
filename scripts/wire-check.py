"""Asks the providers' SDKs about rendered tools: wire-check.py SDK_TYPES RENDERED."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

KINDS = {
    "openai": "openai.chat.tools",
    "openai-strict": "openai.chat.tools",
    "openai-responses": "openai.responses.tools",
    "openai-responses-strict": "openai.responses.tools",
    "openai-realtime": "openai.realtime.tools",
    "anthropic": "anthropic.custom_tools",
    "anthropic-strict": "anthropic.custom_tools",
    "gemini": "gemini.tools",
    "gemini-json-schema": "gemini.tools",
    "gemini-live": "gemini.tools",
    "mcp": "mcp.2025-11-25.ListToolsResult",
}


def is_known(finding):
    """The profile of strict mode that the checker has refuses {"type": "null"} as an alternative;
    OpenAI takes it."""
    return finding["rule"] == "openai_strict_profile" and finding["msg"].startswith("'null' is not valid")


def checked(sdk_types, batch):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(batch, file)
        file.flush()
        script = str(pathlib.Path(sdk_types) / "wire_validate.py")
        run = subprocess.run(
            [sys.executable, script, "--batch", file.name, "--lint"], capture_output=True, text=True, check=False
        )
    if run.returncode not in (0, 1):
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def descriptions(schema, found):
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            found.append(schema["description"])
        for value in schema.values():
            descriptions(value, found)
    elif isinstance(schema, list):
        for value in schema:
            descriptions(value, found)
    return found


def converted(name, tools):
    """What the SDKs' own converters to strict schemas would still change."""
    problems = []
    if name == "anthropic-strict":
        from anthropic.lib._parse._transform import transform_schema

        for tool in tools:
            schema = tool["input_schema"]
            try:
                again = transform_schema(copy.deepcopy(schema))
            except Exception as error:  # pylint: disable=broad-exception-caught
                problems.append(f"{tool['name']}: {error}")
                continue
            # What it cannot say it moves into descriptions.
            if sorted(descriptions(again, [])) != sorted(descriptions(schema, [])):
                problems.append(f"{tool['name']}: the SDK moves something into a description")
    elif name == "openai-strict":
        from openai.lib._pydantic import _ensure_strict_json_schema as strict

        for tool in tools:
            schema = tool["function"]["parameters"]
            again = copy.deepcopy(schema)
            if strict(again, path=(), root=again) != schema:
                problems.append(f"{tool['function']['name']}: the SDK would change it")
    return problems


def main(sdk_types, rendered):
    batch, failures = [], 0
    for file in sorted(pathlib.Path(rendered).glob("*/*.json")):
        kind = KINDS.get(file.stem)
        if kind is None:
            continue
        tools = json.loads(file.read_text(encoding="utf8"))
        name = f"{file.parent.name}/{file.stem}"
        for problem in converted(file.stem, tools)[:5]:
            failures += 1
            print(f"{name}: {problem}")
        batch.append({"id": name, "kind": kind, "value": {"tools": tools} if "ListTools" in kind else tools})
    for verdict in checked(sdk_types, batch):
        findings = verdict["errors"] + [f for f in verdict.get("lint", []) if not is_known(f)]
        failures += len(findings)
        for finding in findings[:5]:
            print(f"{verdict['id']}: {json.dumps(finding)}")
    print(f"{len(batch)} renderings, {failures} complaints of the SDKs")
    return 1 if failures or len(batch) < 2 * len(KINDS) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
