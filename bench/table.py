"""Medians over the rounds of `bench/calls`, and the ratios that mean something."""

import json
import sys
from collections import defaultdict
from statistics import median

PURE = "haft, pure, 10 tools"
BARE = "jsonschema crate, validate"
SQLITE = "SQLite, one commit per insert"

seen = defaultdict(list)
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        one = json.loads(line)
        seen[one["name"]].append(one)


def middle(name, figure):
    found = [one[figure] for one in seen[name] if one.get(figure) is not None]
    return median(found) if found else None


def shown(number, form="{:.1f}"):
    return "" if number is None else form.format(number)


def times(name, figure, of):
    one, other = middle(name, figure), middle(of, figure)
    return one / other if one and other else None


def row(*cells):
    widths = (38, 10, 10, 10, 10, 8, 9, 9)
    print("".join(f"{cell:<{w}}" if w == 38 else f"{cell:>{w}}" for cell, w in zip(cells, widths)))


durable = [name for name in seen if "irreversible" in name or name == SQLITE]
row("in process", "µs", "cpu µs", "p50 µs", "p99 µs", "allocs", "× haft", "× bare")
for name in [name for name in seen if name not in durable]:
    figures = [shown(middle(name, key)) for key in ("us", "cpu_us", "p50_us", "p99_us")]
    allocations = shown(middle(name, "allocations"), "{:.0f}")
    ratios = [shown(times(name, "cpu_us", of), "{:.2f}") for of in (PURE, BARE)]
    row(name, *figures, allocations, *ratios)
print("\n× haft and × bare: processor time, over that of haft and of bare validation\n")
row("durable", "calls/s", "cpu µs", "p50 µs", "p99 µs", "", "× SQLite")
for name in durable:
    each = middle(name, "us")
    figures = [shown(middle(name, key)) for key in ("cpu_us", "p50_us", "p99_us")]
    # Of a round each, since the disk's speed changes from one to the next.
    pairs = zip(seen[SQLITE], seen[name])
    ratio = median(bare["us"] / one["us"] for bare, one in pairs) if seen[SQLITE] else None
    row(name, shown(1e6 / each if each else None, "{:.0f}"), *figures, "", shown(ratio, "{:.2f}"))
