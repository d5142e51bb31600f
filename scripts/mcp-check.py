"""Holds the results of the conformance suites against the list of what may fail.

usage: mcp-check.py <summary.json> <run/scenario, one a line>
"""

import json
import sys

# What each run must at least have: fewer would mean that scenarios were lost, not that they passed.
LEAST = {"v016-all": 32, "req-2025-11-25": 30, "req-2026-07-28": 37}

summary = json.load(open(sys.argv[1]))
expected = set(sys.argv[2].split())
wrong = []
for run, least in LEAST.items():
    found = summary.get(run)
    if found is None:
        wrong.append(f"{run} did not run")
        continue
    if found["scenarios_passed"] < least:
        wrong.append(f"{run}: {found['scenarios_passed']} scenarios passed, {least} must")
    for failed in found["failed"]:
        name = f"{run}/{failed['scenario']}"
        if name in expected:
            expected.discard(name)
        else:
            wrong.append(f"{name}: {failed['failures']}")
    print(f"  {run}: {found['scenarios_passed']} of {found['scenarios_total']}, {found['checks']}")
wrong += [f"{name} passes now; take it off the list" for name in sorted(expected)]
for line in wrong:
    print(f"error: {line}", file=sys.stderr)
sys.exit(1 if wrong else 0)
