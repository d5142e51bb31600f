"""What haft says to providers, and their SDKs.

wire-check.py answers FIXTURES FOLDER      the recorded answers, as files DIALECT+NAME
wire-check.py all SDK_TYPES RENDERED       asks the SDKs about everything that was rendered
"""

import base64
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

CHOICES = {
    "openai": "openai.chat.tool_choice",
    "openai-responses": "openai.responses.tool_choice",
    "openai-realtime": "openai.realtime.tool_choice",
    "anthropic": "anthropic.tool_choice",
    "gemini": "gemini.tool_config",
}

# Messages one by one.
MESSAGES = {
    "openai": ["openai.chat.message"],
    "openai-responses": ["openai.responses.input_item"],
    "openai-realtime": ["openai.realtime.client_event"],
    "anthropic": ["anthropic.message"],
    "gemini": ["gemini.content"],
    "gemini-live": ["gemini.live.client_message"],
    "mcp": ["mcp.2025-11-25.CallToolResult", "mcp.2026-07-28.CallToolResult"],
}

# All messages of a conversation; the provider keeps the others'.
CONVERSATIONS = {
    "openai": "openai.chat.messages",
    "openai-responses": "openai.responses.input",
    "anthropic": "anthropic.messages",
    "gemini": "gemini.contents",
}

REQUESTS = {
    "openai": "openai.chat.request",
    "openai-responses": "openai.responses.request",
    "anthropic": "anthropic.request",
    "gemini": "gemini.request",
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


def answers(fixtures, folder):
    """The bodies and frames of the recorded streams."""
    pathlib.Path(folder).mkdir()
    for file in sorted(pathlib.Path(fixtures).glob("*/*.json")):
        fixture = json.loads(file.read_text(encoding="utf8"))
        if "server_frames" in fixture:
            frames = fixture["server_frames"]
            body = b"\n".join(f["text"].encode() if "text" in f else base64.b64decode(f.get("binary_b64", "")) for f in frames)
        else:
            body = base64.b64decode(fixture["response"]["body_b64"])
        dialect = file.parent.name.replace("openai_chat", "openai").replace("_", "-")
        (pathlib.Path(folder) / f"{dialect}+{file.stem}").write_bytes(body)
    return 0


def read(folder, pattern):
    """Name, dialect and value of what was written as DIALECT+NAME.json."""
    for file in sorted(pathlib.Path(folder).glob(pattern)):
        yield file.stem, file.stem.split("+")[0].split(".")[0], json.loads(file.read_text(encoding="utf8"))


def tools(rendered):
    """The list of tools for each target, and what the SDKs' converters say of it."""
    items, problems = [], []
    for file in sorted(pathlib.Path(rendered).glob("*/*.json")):
        kind = KINDS.get(file.stem)
        if kind is None or file.parent.name not in ("corpus", "studio"):
            continue
        value = json.loads(file.read_text(encoding="utf8"))
        name = f"{file.parent.name}/{file.stem}"
        problems += [f"{name}: {problem}" for problem in converted(file.stem, value)]
        items.append((name, kind, {"tools": value} if "ListTools" in kind else value))
    return items, problems


def results():
    """The golden files of answers to calls, which a test holds to the code."""
    for file in sorted(pathlib.Path("crates/haft-wire/src/results/snapshots").glob("*.snap")):
        dialect = file.stem.split("__")[-1]
        cases = json.loads(file.read_text(encoding="utf8").split("---\n", 2)[2])
        for case, messages in cases.items():
            for message in messages:
                for kind in MESSAGES.get(dialect, []):
                    yield f"results/{dialect}/{case}", kind, message


# Recorded answers that are repeated as they came, which no SDK would write itself.
AS_THEY_CAME = {
    "anthropic+duplicate_ids": "the provider gave one id to two calls, and each is answered by it",
    "gemini+args_lone_surrogate": "half a character, which the SDK cannot read back",
    "gemini+snake_case_wire": "the API takes both spellings, the SDK writes one",
    "gemini+unknown_part_type": "what was invented after the SDK",
    "openai+legacy_function_call": "the loop writes the older form as the newer one before it answers",
}


def conversations(rendered):
    """Recorded answers, repeated and answered."""
    for name, dialect, value in read(rendered, "conversations/*.json"):
        if name in AS_THEY_CAME:
            continue
        if dialect in CONVERSATIONS:
            yield name, CONVERSATIONS[dialect], value
        else:
            for message in value:
                yield name, MESSAGES[dialect][0], message


def everything(rendered):
    """All that was rendered but tools: name, kind, value."""
    for name, target, value in read(rendered, "corpus/*.choices.json"):
        dialect = target.removesuffix("-strict").removesuffix("-json-schema")
        for choice in value:
            yield f"choices/{name}", CHOICES[dialect], choice
    yield from results()
    yield from conversations(rendered)
    for name, dialect, value in read(rendered, "requests/*.json"):
        yield f"requests/{name}", REQUESTS[dialect], value


def ask(sdk_types, rendered):
    """Prints what the SDKs complain about."""
    shown, problems = tools(rendered)
    items = shown + list(everything(rendered))
    batch = [{"id": name, "kind": kind, "value": value} for name, kind, value in items]
    for verdict in checked(sdk_types, batch):
        findings = verdict["errors"] + [f for f in verdict.get("lint", []) if not is_known(f)]
        problems += [f"{verdict['id']} ({verdict['kind']}): {json.dumps(finding)}" for finding in findings[:5]]
    for problem in problems[:50]:
        print(problem)
    seen = {kind for _, kind, _ in items}
    wanted = {*KINDS.values(), *CHOICES.values(), *sum(MESSAGES.values(), []), *CONVERSATIONS.values(), *REQUESTS.values()}
    if missing := sorted(wanted - seen):
        problems.append(f"nothing was rendered of {missing}")
        print(problems[-1])
    print(f"{len(items)} renderings of {len(seen)} kinds, {len(problems)} complaints of the SDKs")
    return 1 if problems or len(shown) < 2 * len(KINDS) else 0


if __name__ == "__main__":
    sys.exit({"answers": answers, "all": ask}[sys.argv[1]](*sys.argv[2:]))
