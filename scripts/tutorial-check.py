#!/usr/bin/env python3
"""Follows docs/tutorial.md as a reader does: pastes its files, runs its commands, compares what they say.

A block after a sentence that names a file in backticks is that file. A `console` block is commands, after
`$ `, and lines that each must say. Commands of the sections that need a model or stay running are left out.
"""

import os
import re
import subprocess
import sys
import tempfile

haft, page = os.path.abspath(sys.argv[1]), open(sys.argv[2], encoding="utf-8").read()
page = page.split("## 4. ")[0]
block = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1$", re.M | re.S)
place = re.compile(r"`(toolset/[\w./-]+)`")
kept = tempfile.TemporaryDirectory()
folder = kept.name
os.symlink(haft, os.path.join(folder, "haft"))
env = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
where = os.path.join(folder, "work")
os.mkdir(where)
done = {"files": 0, "commands": 0}


def run(command, expected):
    global where
    ran = subprocess.run(["bash", "-c", command], cwd=where, env=env, capture_output=True, text=True, timeout=120)
    said = ran.stdout + ran.stderr
    refused = any(line.startswith("error") for line in expected)
    if refused != (ran.returncode != 0):
        sys.exit(f"docs/tutorial.md: `{command}` ended with {ran.returncode}:\n{said}")
    for line in expected:
        if line not in said:
            sys.exit(f"docs/tutorial.md: `{command}` does not say `{line}`, but:\n{said}")
    # Where a reader has gone, they stay.
    if gone := re.search(r"&& cd (\S+)$", command):
        where = os.path.join(where, gone.group(1))
    done["commands"] += 1


at = 0
for found in block.finditer(page):
    before, (kind, text) = page[at : found.start()], found.group(2, 3)
    at = found.end()
    if kind == "console":
        command, expected = None, []
        for line in text.splitlines() + ["$ "]:
            if line.startswith("$ "):
                if command:
                    run(command, expected)
                command, expected = line[2:], []
            else:
                expected.append(line)
        continue
    named = place.findall(before)
    if not named:
        sys.exit(f"docs/tutorial.md: a block of {kind} is no file and no command:\n{text}")
    with open(os.path.join(where, named[-1]), "w", encoding="utf-8") as file:
        file.write(text)
    done["files"] += 1

if done["files"] < 5 or done["commands"] < 7:
    sys.exit(f"docs/tutorial.md: only {done} were found; is the page still in its form?")
print(f"as the tutorial says: {done['files']} files, {done['commands']} commands")
