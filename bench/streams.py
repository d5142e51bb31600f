"""The recordings of `bench/streams`, the Python SDK on them, and the table.

    streams.py write FOLDER          two recordings of 10,000 argument deltas each
    streams.py time RECORDING SECONDS
    streams.py table LINES
"""

import json
import random
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

PIECE = 16 << 10
QUESTION = [{"role": "user", "content": "Write it down."}]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "write_note", "parameters": SCHEMA}}]


def chunk(delta, reason=None):
    """As OpenAI writes them, with what nobody reads."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {
        "id": "chatcmpl-0f1e2d3c4b5a69788796a5b4c3d2",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "gpt-measured-2026-01-01",
        "service_tier": "default",
        "system_fingerprint": "fp_a1b2c3d4e5",
        "choices": [choice],
        "usage": None,
        "obfuscation": "Zk3v9QpA",
    }


def recording(calls, deltas, dice):
    """So many calls, each in so many pieces, one call after the other."""
    chunks = [chunk({"role": "assistant", "content": None})]
    pieces = ["the ", "ledger", " wrote", "\\n", " twice", "é", "42", " of", " it", "\\\"", " and so"]
    for call in range(calls):
        middle = [dice.choice(pieces) for _ in range(deltas - 2)]
        for place, piece in enumerate(['{"text":"', *middle, '"}']):
            one = {"index": call, "function": {"arguments": piece}}
            if place == 0:
                one |= {"id": f"call_{call:06d}", "type": "function"}
                one["function"]["name"] = "write_note"
            chunks.append(chunk({"tool_calls": [one]}))
    chunks.append(chunk({}, "tool_calls"))
    events = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in chunks]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])


def write(folder):
    dice = random.Random(20260101)
    Path(folder, "one.sse").write_text(recording(1, 10_000, dice), encoding="utf-8")
    Path(folder, "many.sse").write_text(recording(50, 200, dice), encoding="utf-8")


def measure(file, seconds):
    try:
        import httpx2 as httpx  # What newer SDKs bring.
    except ImportError:
        import httpx
    import openai

    body = Path(file).read_bytes()
    pieces = [body[at : at + PIECE] for at in range(0, len(body), PIECE)]

    class Recorded(httpx.SyncByteStream):
        def __iter__(self):
            yield from pieces

    def answer(_):
        kind = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=kind, stream=Recorded())

    client = openai.OpenAI(
        api_key="none",
        base_url="http://recorded.invalid/v1",
        max_retries=0,
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )

    def iterated():
        count, calls = 0, defaultdict(list)
        asked = client.chat.completions.create(model="m", messages=QUESTION, tools=TOOLS, stream=True)
        for one in asked:
            count += 1
            for call in one.choices[0].delta.tool_calls or []:
                calls[call.index].append(call.function.arguments or "")
        return count, sum(len(json.loads("".join(one))["text"]) for one in calls.values())

    def accumulated():
        count = 0
        with client.chat.completions.stream(model="m", messages=QUESTION, tools=TOOLS) as stream:
            for event in stream:
                count += event.type == "chunk"
            calls = stream.get_final_completion().choices[0].message.tool_calls
        return count, sum(len(json.loads(call.function.arguments)["text"]) for call in calls)

    ways = [("Python SDK, stream(): assembles", accumulated), ("Python SDK, iterated and joined", iterated)]
    for name, way in ways:
        rounds, begun, worked = 0, time.perf_counter(), time.process_time()
        while not rounds or time.perf_counter() - begun < seconds:
            count, characters = way()
            rounds += 1
        clock, worked = time.perf_counter() - begun, time.process_time() - worked
        figures = {"chunks_per_s": count * rounds / clock, "chunks_per_cpu_s": count * rounds / worked}
        print(json.dumps({"name": name, "chunks": count, "characters": characters, **figures}))


def table(lines):
    seen = defaultdict(lambda: defaultdict(list))
    for line in Path(lines).read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        seen[one["stream"]][one["name"]].append(one)
    for stream, subjects in seen.items():
        read = {(one["chunks"], one["characters"]) for all in subjects.values() for one in all}
        if len(read) != 1:
            sys.exit(f"the subjects disagree on `{stream}`: {read}")
        (chunks, characters), ours = read.pop(), subjects["haft-wire"]
        print(f"\n{stream}: {chunks} chunks, {characters} characters of arguments")
        print(f"{'':<38}{'chunks/s':>12}{'per cpu s':>12}{'haft is':>10}")
        for name, all in subjects.items():
            rates = [median(one[key] for one in all) for key in ("chunks_per_s", "chunks_per_cpu_s")]
            # Of a round each, since the machine's speed changes from one to the next.
            pairs = [(a["chunks_per_cpu_s"], b["chunks_per_cpu_s"]) for a, b in zip(ours, all)]
            ratio = median(a / b for a, b in pairs)
            print(f"{name:<38}{rates[0]:>12,.0f}{rates[1]:>12,.0f}{ratio:>9.1f}×")
    print("\nhaft is: how many times as many chunks it assembles in a second of processor time")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "write":
        write(rest[0])
    elif what == "time":
        measure(rest[0], float(rest[1]))
    else:
        table(rest[0])
