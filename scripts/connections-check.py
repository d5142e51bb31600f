"""Tries connections with the built binary: `connections-check.py HAFT`.

The authorization server speaks OAuth 2 with PKCE over HTTP and believes nothing: a code is good once, for
the client, the redirect and the challenge that it was made for, and a refresh token is good once. The
browser is an HTTP client that follows redirects.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HAFT = sys.argv[1]
CLIENT = "haft-check"


class Provider(http.server.BaseHTTPRequestHandler):
    """The authorization server and the service behind it."""

    codes, refused, renewals = {}, [], 0
    refresh = access = None
    # What the next consent does: agree, deny, or lose the challenge that came with it.
    manner = "agree"

    def log_message(self, *_):
        pass

    def say(self, status, body, headers=()):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/authorize":
            return self.authorize(asked)
        if self.headers.get("authorization") != f"Bearer {Provider.access}":
            return self.say(401, {"message": "who are you"})
        return self.say(200, {"path": url.path})

    def authorize(self, asked):
        wrong = [
            name
            for name, good in {
                "response_type": asked.get("response_type") == "code",
                "client_id": asked.get("client_id") == CLIENT,
                "redirect_uri": asked.get("redirect_uri", "").startswith("http://127.0.0.1:"),
                "code_challenge_method": asked.get("code_challenge_method") == "S256",
                "code_challenge": len(asked.get("code_challenge", "")) == 43,
                "state": len(asked.get("state", "")) >= 32,
                "scope": asked.get("scope") == "read write",
            }.items()
            if not good
        ]
        if wrong:
            return self.say(400, {"wrong": wrong})
        answer = {"state": asked["state"]}
        if Provider.manner == "deny":
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(24)
            challenge = asked["code_challenge"] if Provider.manner == "agree" else "x" * 43
            Provider.codes[answer["code"]] = (challenge, asked["redirect_uri"])
        where = asked["redirect_uri"] + "?" + urllib.parse.urlencode(answer)
        return self.say(302, {}, [("location", where)])

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        asked = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
        why = self.token(asked)
        if why:
            Provider.refused.append(why)
            return self.say(400, {"error": "invalid_grant", "error_description": why})
        Provider.access, Provider.refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        # The first token ends at once, so that the first use renews it.
        life = 1 if asked["grant_type"] == "authorization_code" else 3600
        return self.say(
            200,
            {"access_token": Provider.access, "token_type": "Bearer", "expires_in": life, "refresh_token": Provider.refresh},
        )

    def token(self, asked):
        if asked.get("client_id") != CLIENT:
            return "another client"
        if asked.get("grant_type") == "refresh_token":
            if asked.get("refresh_token") != Provider.refresh:
                return "a refresh token that was used before"
            Provider.renewals += 1
            time.sleep(0.3)
            return None
        if asked.get("grant_type") != "authorization_code":
            return "another kind of grant"
        challenge, redirect = Provider.codes.pop(asked.get("code"), (None, None))
        if challenge is None:
            return "a code that is not known"
        if asked.get("redirect_uri") != redirect:
            return "another redirect"
        digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != challenge:
            return "the verifier is not that of the challenge"
        return None


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_address[1]}"
work = pathlib.Path(tempfile.mkdtemp())
running = []


def fail(why):
    for process in running:
        process.terminate()
    sys.exit(f"error: {why}")


def check(good, why):
    if not good:
        fail(why)


def haft(*arguments, code=0, says=()):
    done = subprocess.run([HAFT, *arguments], cwd=work, capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    line = f"haft {' '.join(arguments)}"
    check(done.returncode == code, f"`{line}` ended with {done.returncode}, not {code}\n{said[-2000:]}")
    for text in says:
        check(text in said, f"`{line}` does not say `{text}`:\n{said[-2000:]}")
    return said


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def project():
    tool = work / "toolset/tools/read-thing"
    tool.mkdir(parents=True)
    (work / "toolset/toolset.toml").write_text('namespace = "check"\n')
    (work / "haft.toml").write_text(
        'toolset = "toolset"\n[policy]\nallow = ["check__*"]\n[http]\nallow = ["127.0.0.1"]\n'
    )
    contract = {
        "toolId": "read_thing",
        "version": "1.0.0",
        "description": "Read a thing from the service.",
        "category": "retrieval",
        "sideEffects": "read_only",
        "idempotent": True,
        "requiresConfirmation": False,
        "allowedModes": ["text"],
        "latencyBudgetMs": 2000,
        "connection": {"provider": "demo", "hosts": ["127.0.0.1"], "required": True},
        "redaction": {"allow": ["path"], "allowArgs": ["thing"]},
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "required": ["thing"],
            "properties": {"thing": {"type": "string", "description": "Its name.", "maxLength": 20}},
        },
        "output": {
            "type": "object",
            "additionalProperties": False,
            "required": ["path"],
            "properties": {"path": {"type": "string", "description": "Where it was."}},
        },
        "gateway": {"kind": "http", "method": "GET", "url": base + "/things/{thing}"},
    }
    (tool / "schema.json").write_text(json.dumps(contract))
    (tool / "doc_summary.md").write_text("Reads a thing from the service that was connected.\n")
    sections = {
        "Summary": "Reads a thing.",
        "Preconditions": "- A connection is granted.",
        "Postconditions": "- Nothing has changed.",
        "Invariants": "- The same name reads the same thing.",
        "Failure Modes": "- `auth`: the service refuses.",
        "Examples": '```json\n{ "thing": "lamp" }\n```',
        "Common Mistakes": "- Reading twice.",
    }
    text = "# Read a thing\n\n" + "\n\n".join(f"## {name}\n{text}" for name, text in sections.items())
    (tool / "doc.md").write_text(text + "\n")


def consent(identity, manner, browse):
    """Adds a connection; `browse` is what happens in the browser between the question and the answer."""
    Provider.manner = manner
    process = subprocess.Popen(
        [HAFT, "connections", "add", identity, "--provider", "demo", "--kind", "authorization-code"]
        + ["--authorize-url", base + "/authorize", "--token-url", base + "/token", "--client-id", CLIENT]
        + ["--public", "--scope", "read", "--scope", "write", "--no-browser"],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    running.append(process)
    said, url = "", None
    for line in process.stdout:
        said += line
        if line.startswith("http"):
            url = line.strip()
            break
    check(url, f"no address for the browser: {said}")
    shown = browse(url)
    said += process.communicate(timeout=60)[0]
    running.remove(process)
    return process.returncode, said, shown


def strangers_first(url):
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    back = asked["redirect_uri"]
    check(get(back.replace("/callback", "/favicon.ico"))[0] == 404, "a browser's other requests are answered")
    for query in ("code=stolen", "code=stolen&state=guessed", "error=access_denied&state=guessed"):
        status, _ = get(f"{back}?{query}")
        check(status == 400, f"a stranger's `{query}` was answered with {status}")
    return get(url)


project()

# Consent. Who brings another state is sent away, and the one who is waited for is not kept out by it.
code, said, (status, page) = consent("demo", "agree", strangers_first)
check(code == 0 and status == 200 and "haft is connected" in page, f"{code} {status} {page} {said}")
check(not Provider.refused, Provider.refused)
check("grant demo" in said, said)
for secret in (Provider.access, Provider.refresh):
    check(secret not in said, "a token was printed")
    for file in work.rglob("*"):
        check(not file.is_file() or secret.encode() not in file.read_bytes(), f"{file} holds a token")

# A person who does not agree, and a code that somebody else asked for.
code, said, _ = consent("denied", "deny", get)
check(code == 3 and "access_denied" in said, f"{code} {said}")
code, said, _ = consent("stolen", "lose", get)
check(code == 3 and "refused" in said, f"{code} {said}")
check(Provider.refused == ["the verifier is not that of the challenge"], Provider.refused)
said = haft("connections", "list")
check("demo" in said and "denied" not in said and "stolen" not in said, said)

# Without a grant it is said what gives one, and to whom.
call = ["call", "read_thing", "--args", '{"thing": "lamp"}']
haft(*call, code=1, says=["haft connections add <id> --provider demo", "haft connections grant <id> --to agent:default --tools check__read_thing"])
haft(*call, "--connection", "demo", code=1, says=["haft connections grant <id> --to agent:default"])
haft("connections", "grant", "demo", "--to", "agent:*", "--tools", "read_thnig", says=["warning: `read_thnig` fits no tool"])
haft("connections", "grant", "demo", "--to", "agent:*", "--tools", "check__*")
haft("connections", "revoke", "demo", "--from", "user:nobody", says=["0 grants of `demo`"])

# The token has ended. However many ask at once, it is renewed once: the old one would be refused.
Provider.refused.clear()
at_once = [
    subprocess.Popen([HAFT, *call, "--connection", "demo"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(4)
]
for process in at_once:
    said = process.communicate(timeout=120)[0]
    check(process.returncode == 0 and "/things/lamp" in said, said)
check((Provider.renewals, Provider.refused) == (1, []), f"{Provider.renewals} renewals, {Provider.refused}")
haft("connections", "test", "demo", "--url", base + "/me", code=3, says=["host"])


def serve():
    """A server that is ready, its address, and its administrator's key."""
    log = open(work / "served", "w")
    serving = subprocess.Popen([HAFT, "serve", "--listen", "127.0.0.1:0"], cwd=work, stdout=log, stderr=subprocess.STDOUT)
    running.append(serving)
    lines = []
    for _ in range(300):
        lines = [line for line in (work / "served").read_text().splitlines() if "on http://" in line]
        if lines:
            break
        check(serving.poll() is None, (work / "served").read_text())
        time.sleep(0.1)
    check(lines, "the server is not ready within 30 seconds")
    return serving, lines[0].split("on ")[-1].strip(), next(work.rglob("admin.key")).read_text().strip()


# A running server sees what is granted and taken back.
serving, place, key = serve()


def through_server(connection="demo"):
    call = {"tool": "read_thing", "arguments": {"thing": "lamp"}, "connection": connection}
    request = urllib.request.Request(
        place + "/v1/agents/default/calls",
        data=json.dumps(call).encode(),
        headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def until(good, what, connection="demo"):
    for _ in range(50):
        answer = through_server(connection)
        if answer.get("ok") is good:
            return answer
        time.sleep(0.1)
    fail(f"{what}: {answer}")


# A grant to agents is none to the administrator: the refusal names whom to grant it to.
answer = until(False, "an administrator's key is no agent")
said = json.dumps(answer)
who = said.split("--to ")[1].split(" ")[0]
check(not who.startswith("agent:"), said)
haft("connections", "grant", "demo", "--to", who, "--tools", "read_thing")
until(True, "a grant reaches a running server within five seconds")
haft("connections", "revoke", "demo", "--from", who, says=["1 grant of `demo`"])
until(False, "what is taken back reaches a running server within five seconds")
# Its address is taken.
haft("serve", "--listen", place.split("//")[1], code=3, says=["is taken", "--listen 127.0.0.1:<port>"])
# A key that takes over under a running server: not one call fails.
haft("connections", "grant", "demo", "--to", who, "--tools", "read_thing")
until(True, "a grant reaches a running server within five seconds")
for _ in range(3):
    haft("connections", "rotate", "--key", says=["sealed with the new key"])
    answer = through_server()
    check(answer.get("ok"), f"a call after the key was rotated: {answer}")
serving.terminate()
serving.wait(timeout=60)

# What was sealed does not open without its key, and says so.
haft("connections", "remove", "demo")
next(work.rglob("connections.key")).unlink()
haft("calls", code=3, says=["there is no key here; nothing is lost"])
# A server that began before there was any connection, and so without a key.
shutil.rmtree(work / ".haft")
serving, place, key = serve()
token = ["connections", "add", "late", "--provider", "demo", "--kind", "bearer", "--secret-file", "token"]
(work / "token").write_text(Provider.access)
haft(*token, says=["a key was made"])
haft("connections", "grant", "late", "--to", who, "--tools", "read_thing")
haft("connections", "test", "late", says=["its credentials are there"])
until(True, "a connection that was added under a running server is used", "late")
serving.terminate()
serving.wait(timeout=60)
print("connections: consent, renewal, grants and keys hold")
