"""Imports an OpenAPI document and makes calls of it against a server on this machine."""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

haft, source = sys.argv[1:3]
seen = []


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        seen.append((self.command, self.path, self.rfile.read(length).decode()))
        body = b'{"message": "Not Found"}' if "missing" in self.path else b"{}"
        status = 404 if "missing" in self.path else 204 if self.command in ("PUT", "DELETE") else 200
        self.send_response(status)
        if status != 204:
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]

document = json.loads(pathlib.Path(source).read_text())
operations = sum(
    1 for item in document["paths"].values() for method in item if method in ("get", "put", "post", "patch", "delete", "head")
)
document["servers"] = [{"url": f"http://127.0.0.1:{port}"}]
work = pathlib.Path(tempfile.mkdtemp())
(work / "api.json").write_text(json.dumps(document))
(work / "haft.toml").write_text('toolset = "."\n[policy]\nallow = ["*"]\n[http]\nallow = ["127.0.0.1"]\n')
(work / "toolset.toml").write_text('namespace = "github"\n')


def run(*arguments, fails=False):
    done = subprocess.run([haft, *arguments], cwd=work, capture_output=True, text=True, timeout=600)
    if (done.returncode == 0) == fails:
        sys.exit(f"error: haft {' '.join(arguments)} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


print(run("import", "api.json", "--format", "openapi").splitlines()[-3:])
tools = sorted(folder.name for folder in (work / "tools").iterdir())
print(f"{operations} operations, {len(tools)} tools")
if operations != len(tools):
    sys.exit("error: not every operation became a tool")

# The output of GitHub's schemas is long; what is shown here is the request.
calls = [
    ("repos_get", {"owner": "a/b", "repo": ".github?x#y"}, ("GET", "/repos/a%2Fb/.github%3Fx%23y", "")),
    ("issues_create", {"owner": "o", "repo": "r", "title": "T & \"q\""}, ("POST", "/repos/o/r/issues", '{"title":"T & \\"q\\""}')),
    ("search_repos", {"q": "a b&c", "per_page": 5}, ("GET", "/search/repositories?per_page=5&q=a%20b%26c", "")),
    ("issues_lock", {"owner": "o", "repo": "r", "issue_number": 7}, ("PUT", "/repos/o/r/issues/7/lock", None)),
    ("repos_delete", {"owner": "o", "repo": "missing"}, ("DELETE", "/repos/o/missing", "")),
]
failed = 0
for tool, arguments, expected in calls:
    if tool not in [name.replace("-", "_") for name in tools]:
        sys.exit(f"error: there is no tool {tool}")
    seen.clear()
    done = subprocess.run(
        [haft, "call", tool, "--args", json.dumps(arguments), "--json"], cwd=work, capture_output=True, text=True, timeout=600
    )
    envelope = json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr[-800:]}
    if envelope.get("error", {}).get("kind") == "confirmation_required":
        asked = envelope["error"]["details"]["id"]
        token = run("confirmations", "approve", asked, "--as", "user:tester")
        token = [word for word in token.split() if len(word) > 40][-1]
        done = subprocess.run(
            [haft, "call", tool, "--args", json.dumps(arguments), "--confirm", token, "--json"],
            cwd=work, capture_output=True, text=True, timeout=600,
        )
        envelope = json.loads(done.stdout)
    found = seen[0] if seen else None
    good = found is not None and found[:2] == expected[:2] and expected[2] in (None, found[2])
    failed += not good
    kind = envelope.get("error", {}).get("kind", "ok") if not envelope.get("ok") else "ok"
    print("ok    " if good else "FAILED", tool, found, kind, "" if good else envelope)
sys.exit(1 if failed else 0)
