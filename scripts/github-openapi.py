"""Imports an OpenAPI document and makes calls of it against a server on this machine, which compares what arrives."""
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

haft, source = sys.argv[1:3]
seen = []


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode()
        kept = {name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers}
        seen.append((self.requestline, kept, body))
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
here = [{"url": f"http://127.0.0.1:{port}"}]
document["servers"] = here
for item in document["paths"].values():
    for operation in item.values():
        if isinstance(operation, dict) and "servers" in operation:
            operation["servers"] = here
kept = tempfile.TemporaryDirectory()
work = pathlib.Path(kept.name)
(work / "api.json").write_text(json.dumps(document))
(work / "haft.toml").write_text('toolset = "."\n[policy]\nallow = ["*"]\n[http]\nallow = ["127.0.0.1"]\n')
(work / "toolset.toml").write_text('namespace = "github"\n')


def run(*arguments, fails=False, given=None):
    done = subprocess.run([haft, *arguments], cwd=work, capture_output=True, text=True, timeout=600, input=given)
    if (done.returncode == 0) == fails:
        sys.exit(f"error: haft {' '.join(arguments)} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


started = time.monotonic()
print(run("import", "api.json", "--format", "openapi", "--provider", "github").strip())
tools = sorted(folder.name for folder in (work / "tools").iterdir())
print(f"{operations} operations, {len(tools)} tools in {time.monotonic() - started:.1f} s")
if operations != len(tools):
    sys.exit("error: not every operation became a tool")
# Whoever calls names no connection: the agent has its own.
(work / "haft.toml").write_text(
    'toolset = "."\n[policy]\nallow = ["*"]\n[http]\nallow = ["127.0.0.1"]\n[[tenants]]\nid = "default"\n'
    '[[agents]]\nid = "default"\ntenant = "default"\nconnections = { github = "work" }\n'
)

# What is compared is the request, byte for byte: its line, its type and its body.
json_type, upload = "application/json", "application/octet-stream"
calls = [
    ("repos_get", {"owner": "a/b", "repo": ".github?x#y"}, "GET /repos/a%2Fb/.github%3Fx%23y", None, ""),
    ("issues_create", {"owner": "o", "repo": "r", "title": 'T & "q"'}, "POST /repos/o/r/issues", json_type, '{"title":"T & \\"q\\""}'),
    ("search_repos", {"q": "a b&c", "per_page": 5}, "GET /search/repositories?order=desc&page=1&per_page=5&q=a%20b%26c", None, ""),
    ("issues_lock", {"owner": "o", "repo": "r", "issue_number": 7}, "PUT /repos/o/r/issues/7/lock", None, ""),
    ("repos_delete", {"owner": "o", "repo": "missing"}, "DELETE /repos/o/missing", None, ""),
    ("markdown_render_raw", {"body": "# T"}, "POST /markdown/raw", "text/plain", "# T"),
    ("repos_upload_release_asset", {"owner": "o", "repo": "r", "release_id": 1, "name": "n", "body": "aGk="},
     "POST /repos/o/r/releases/1/assets?name=n", upload, "hi"),
]
# All were imported; those that are called are enough to compile.
called = {tool.replace("_", "-") for tool, *_ in calls}
for missing in called - set(tools):
    sys.exit(f"error: there is no tool {missing}")
for folder in set(tools) - called:
    shutil.rmtree(work / "tools" / folder)
run("connections", "add", "work", "--provider", "github", "--kind", "bearer", "--host", "127.0.0.1", given="token-of-this-check")
run("connections", "grant", "work", "--to", "*", "--tools", "*")
failed = 0
for tool, arguments, line, media, body in calls:
    seen.clear()
    command = [haft, "call", tool, "--args", json.dumps(arguments), "--json"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=600)
    envelope = json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr[-800:]}
    if envelope.get("error", {}).get("kind") == "confirmation_required":
        asked = envelope["error"]["details"]["confirmation"]["id"]
        token = run("confirmations", "approve", asked, "--as", "user:tester")
        token = [word for word in token.split() if len(word) > 40][-1]
        done = subprocess.run([*command, "--confirm", token], cwd=work, capture_output=True, text=True, timeout=600)
        envelope = json.loads(done.stdout)
    headers = {"authorization": "Bearer token-of-this-check"} | ({"content-type": media} if media else {})
    good = seen == [(f"{line} HTTP/1.1", headers, body)]
    failed += not good
    kind = "ok" if envelope.get("ok") else envelope.get("error", {}).get("kind", "ok")
    print("ok    " if good else "FAILED", tool, seen, kind, "" if good else envelope)
sys.exit(1 if failed else 0)
