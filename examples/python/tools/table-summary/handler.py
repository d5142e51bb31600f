#!/usr/bin/env python3
"""Summarises a table. One line of JSON in, one line of JSON out: see docs/process-tools.md."""
import csv
import io
import json
import math
import sys


class Refused(Exception):
    """What the caller can put right."""


def execute(args, context):
    reader = csv.reader(io.StringIO(args["text"]), delimiter=args["delimiter"])
    lines = [line for line in reader if line]
    names, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise Refused(f"line {number} has {len(row)} values, and there are {len(names)} columns")
    return {"rows": len(rows), "columns": [column(name, rows, at) for at, name in enumerate(names)]}


def column(name, rows, at):
    values = [row[at].strip() for row in rows]
    there = [value for value in values if value]
    summary = {"name": name, "kind": "text", "empty": len(values) - len(there)}
    numbers = [number(value) for value in there]
    if there and None not in numbers:
        mean = math.fsum(numbers) / len(numbers)
        return summary | {"kind": "number", "min": min(numbers), "max": max(numbers), "mean": round(mean, 6)}
    return summary | {"distinct": len(set(there))}


def number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value


def answer(request):
    try:
        return {"ok": True, "data": execute(request["args"], request["context"])}
    except Refused as why:
        return {"ok": False, "error": {"kind": "invalid_arguments", "message": str(why)}}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **answer(request)}), flush=True)
