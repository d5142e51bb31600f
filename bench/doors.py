"""Drives the servers of `bench/doors` and prints medians and ratios; see README.md."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from statistics import median

PROGRAM, FIXTURE, PYTHON = sys.argv[1:4]
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
SECONDS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "haft_bench_00000000000000000000000000000000"
AT_ONCE = (1, 16, 64)
NEW, OLD = "2026-07-28", "2025-06-18"

with open(os.path.join(FIXTURE, "args.json"), encoding="utf-8") as file:
    ARGUMENTS = json.load(file)
with open(os.path.join(FIXTURE, "result.json"), encoding="utf-8") as file:
    TITLE = re.search(r'"title": *"([^"]*)"', file.read())[1]
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def rpc(name, **more):
    params = {"name": name, "arguments": ARGUMENTS, **more}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def headers(version, name):
    both = {"Accept": "application/json, text/event-stream", "mcp-protocol-version": version}
    return both | ({"Mcp-Method": "tools/call", "Mcp-Name": name} if version == NEW else {})


BEARER = {"Authorization": f"Bearer {KEY}"}
CALL = {"tool": "kb_search", "arguments": ARGUMENTS}
CALLS = "/v1/agents/default/calls"


def haft(store, tools):
    return lambda port: [PROGRAM, "haft", str(port), FIXTURE, store, str(tools)]


def bare(how):
    return lambda port: [PROGRAM, "mcp", str(port), FIXTURE, how]


def fastmcp(port):
    return [PYTHON, os.path.join(HERE, "doors_py.py"), str(port), os.path.join(FIXTURE, "result.json")]


def subject(command, path, body, sent, session=False):
    return {"command": command, "path": path, "body": body, "headers": sent, "session": session}


ECHO, CALLED, SDK = "axum, JSON echoed", "haft, POST /calls", "rmcp, bare"
MCP, FAST, KEPT = "haft, MCP", "FastMCP", "rmcp, bare, in a session"
TOOL = "bench__kb_search"
SUBJECTS = {
    ECHO: subject(lambda port: [PROGRAM, "echo", str(port)], "/echo", CALL, {}),
    CALLED: subject(haft("memory", 10), CALLS, CALL, BEARER),
    CALLED + ", SQLite": subject(haft("sqlite", 10), CALLS, CALL, BEARER),
    CALLED + ", 1,000 tools": subject(haft("memory", 1000), CALLS, CALL, BEARER),
    f"{SDK}, {NEW}": subject(bare("alone"), "/mcp", rpc("kb_search", _meta=META), headers(NEW, "kb_search")),
    f"{SDK}, {OLD}": subject(bare("alone"), "/mcp", rpc("kb_search"), headers(OLD, "kb_search")),
    KEPT: subject(bare("sessions"), "/mcp", rpc("kb_search"), headers(OLD, "kb_search"), True),
    f"{MCP}, {NEW}": subject(haft("memory", 10), "/mcp", rpc(TOOL, _meta=META), headers(NEW, TOOL) | BEARER),
    f"{MCP}, {OLD}": subject(haft("memory", 10), "/mcp", rpc(TOOL), headers(OLD, TOOL) | BEARER, True),
    f"{FAST}, {OLD}": subject(fastmcp, "/mcp", rpc("kb_search"), headers(OLD, "kb_search")),
}
BESIDE = [
    (CALLED, ECHO), (CALLED + ", SQLite", ECHO), (CALLED + ", 1,000 tools", CALLED),
    (f"{MCP}, {NEW}", f"{SDK}, {NEW}"), (f"{MCP}, {OLD}", KEPT), (f"{MCP}, {OLD}", f"{SDK}, {OLD}"),
    (f"{MCP}, {OLD}", f"{FAST}, {OLD}"), (CALLED, f"{FAST}, {OLD}"),
]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def worked(pid):
    """Seconds of processor time, of all threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024


def post(port, path, body, sent):
    sent = {"Content-Type": "application/json", **sent}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), sent)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers, answer.read().decode()


class Server:
    """One server, on one processor; the load comes from the other."""

    def __init__(self, command):
        self.port = free_port()
        self.process = subprocess.Popen(["taskset", "-c", "0", *command(self.port)], stdout=subprocess.DEVNULL)
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"{command(self.port)} ended with {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"{command(self.port)} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(40)

    def begin(self, sent):
        """A session of the older protocol, and the headers that belong to it."""
        hello = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        ask = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        given, _ = post(self.port, "/mcp", ask, sent)
        sent = sent | {"mcp-session-id": given["mcp-session-id"]}
        post(self.port, "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, sent)
        return sent

    def load(self, one, sent, at_once, seconds):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as body:
            body.write(json.dumps(one["body"], separators=(",", ":")))
            body.flush()
            environment = os.environ | {"BODY": body.name, "HEADERS": "|".join(f"{k}={v}" for k, v in sent.items())}
            before = worked(self.process.pid)
            wrk = ["taskset", "-c", "1", "wrk", "-t1", f"-c{at_once}", f"-d{seconds}s", "--timeout", "20s"]
            wrk += ["-s", os.path.join(HERE, "doors.lua"), f"http://127.0.0.1:{self.port}{one['path']}"]
            said = subprocess.run(wrk, env=environment, capture_output=True, text=True, check=True).stdout
        figures = json.loads(re.search(r"FIGURES (.*)", said)[1])
        good = figures["answers"] - figures["refused"]
        return figures | {
            "good": good / figures["seconds"],
            "cpu_us": (worked(self.process.pid) - before) / max(good, 1) * 1e6,
            "memory": memory(self.process.pid),
        }


def timed(name, one, seen):
    with Server(one["command"]) as server:
        sent = server.begin(one["headers"]) if one["session"] else one["headers"]
        _, answer = post(server.port, one["path"], one["body"], sent)
        if ARGUMENTS["query"] not in answer and TITLE not in answer:
            sys.exit(f"{name} answers wrongly: {answer[:300]}")
        server.load(one, sent, 16, 1)
        for at_once in AT_ONCE:
            seen[name, at_once].append(server.load(one, sent, at_once, SECONDS))
            if seen[name, at_once][-1]["refused"] or seen[name, at_once][-1]["broken"]:
                print(f"note: {name}: {seen[name, at_once][-1]}", file=sys.stderr)


def overloaded(seen):
    """Ten times as many connections as fill the server, and more than it takes at once."""
    one = SUBJECTS[CALLED]
    with Server(one["command"]) as server:
        seen["rest"].append(memory(server.process.pid))
        server.load(one, one["headers"], 16, 1)
        peak = server.load(one, one["headers"], 64, SECONDS)
        for at_once in (640, 4096):
            under = server.load(one, one["headers"], at_once, SECONDS)
            seen[at_once].append((under["good"] / peak["good"], under["memory"] - peak["memory"], under["refused"]))


def sessions(seen):
    """What an idle session costs."""
    with Server(haft("memory", 1000)) as server:
        seen["thousand"].append(memory(server.process.pid))
        begin = lambda: post(server.port, "/v1/agents/default/sessions", {}, BEARER)
        for _ in range(50):
            begin()
        before = memory(server.process.pid)
        for _ in range(450):
            begin()
        seen["session"].append((memory(server.process.pid) - before) * 1024 / 450)


def middle(seen, name, at_once, figure):
    found = [one[figure] for one in seen[name, at_once]]
    return median(found) if found else None


def table(seen):
    print(f"{'':<34}{'at once':>8}{'good/s':>10}{'p50 µs':>9}{'p99 µs':>9}{'cpu µs':>9}{'MB':>7}")
    for (name, at_once) in seen:
        good, p50, p99, cpu, held = (
            middle(seen, name, at_once, key) for key in ("good", "p50_us", "p99_us", "cpu_us", "memory")
        )
        print(f"{name:<34}{at_once:>8}{good:>10.0f}{p50:>9.0f}{p99:>9.0f}{cpu:>9.1f}{held:>7.0f}")
    print(f"\n{'one / other':<62}{'at once':>8}{'good/s':>8}{'p99':>8}{'cpu':>8}")
    for one, other in BESIDE:
        for at_once in AT_ONCE:
            if not seen[one, at_once] or not seen[other, at_once]:
                continue
            # Within a round, since the machine changes from one to the next.
            pairs = list(zip(seen[one, at_once], seen[other, at_once]))
            good, late, cpu = (median(a[key] / b[key] for a, b in pairs) for key in ("good", "p99_us", "cpu_us"))
            print(f"{one + ' / ' + other:<62}{at_once:>8}{good:>8.2f}{late:>8.2f}{cpu:>8.2f}")


def main():
    # The connections of an overload need more files than a shell often allows.
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    seen, rest = defaultdict(list), defaultdict(list)
    needed = [PYTHON, "-c", "import fastmcp, uvloop, httptools"]
    python = os.path.exists(PYTHON) and subprocess.run(needed, capture_output=True, check=False).returncode == 0
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}, load {os.getloadavg()[0]:.2f}", file=sys.stderr)
        for name, one in SUBJECTS.items():
            if one["command"] is not fastmcp or python:
                timed(name, one, seen)
        overloaded(rest)
        sessions(rest)
    table(seen)
    print(f"\nat rest: {median(rest['rest']):.0f} MB with 10 tools, {median(rest['thousand']):.0f} MB with 1,000")
    print(f"an idle session: {median(rest['session']):.1f} kB")
    for at_once in (640, 4096):
        goods, more, refused = zip(*rest[at_once])
        print(
            f"{at_once} connections: {median(goods):.2f} of what 64 get, {median(more):+.0f} MB, "
            f"{median(refused):.0f} turned away"
        )


main()
