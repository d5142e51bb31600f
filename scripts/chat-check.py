"""`haft chat` as people use it, and `haft serve`, against a scripted model on this machine.

    chat-check.py HAFT

The model's key comes from a connection: it reaches the model and nobody else, also where the server
repeats it, and a running server uses what is rotated. On a terminal, what is typed in the middle of an answer is said next, Ctrl-C calls an
answer off, and twice leaves.
"""

import base64
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

haft = sys.argv[1]
KEY = "sk-loop-0123456789abcdef"
NEXT = "sk-next-fedcba9876543210"
requests, script, gates = [], [], []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests.append((self.headers.get("authorization"), body))
        reply = script.pop(0) if script else (500, {"error": {"message": "nothing is scripted"}})
        if isinstance(reply, tuple):
            text = json.dumps(reply[1]).encode()
            self.send_response(reply[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for piece in reply:
            try:
                if callable(piece):
                    piece()
                    continue
                self.wfile.write(piece.encode())
                self.wfile.flush()
            except OSError:
                return
        self.close_connection = True


def data(value):
    return f"data: {json.dumps(value)}\n\n"


def says(text):
    return [
        data({"choices": [{"index": 0, "delta": {"content": text}}]}),
        data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        "data: [DONE]\n\n",
    ]


def calls(tool, arguments):
    function = {"name": next(name for name in shown() if name.endswith(tool)), "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    return [
        data({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
        data({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        "data: [DONE]\n\n",
    ]


def shown():
    """The tools of the last request."""
    return [tool["function"]["name"] for tool in requests[-1][1]["tools"]]


def held(text):
    """An answer that begins and then waits to be let go."""
    gate = threading.Event()
    gates.append(gate)
    first, *rest = says(text)
    return [first, lambda: gate.wait(20), *rest]


def fail(why):
    sys.exit(f"error: {why}")


def check(condition, why):
    if not condition:
        fail(why)


def run(folder, *command, **more):
    done = subprocess.run([haft, *command], cwd=folder, capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stdout + done.stderr


def add(folder):
    code, out = run(
        folder, "connections", "add", "model", "--provider", "models", "--kind", "bearer",
        "--host", "127.0.0.1", "--secret-env", "MODEL_KEY", env={**os.environ, "MODEL_KEY": KEY},
    )
    check(code == 0, f"the connection was not added: {out}")
    return out


def a_key_from_a_connection(folder, port):
    everything = add(folder)
    script[:] = [says("Hello."), (401, {"error": {"message": f"bad key {KEY}"}})]
    script.append([says("x")[0], data({"error": {"message": f"Bearer {KEY} is spent", "code": KEY}})])
    code, out = run(folder, "chat", "hi", "--json")
    check(code == 0 and "Hello." in out, f"no answer: {out}")
    check(requests[-1][0] == f"Bearer {KEY}", f"the key did not arrive: {requests[-1][0]}")
    check(KEY not in json.dumps(requests[-1][1]), "the key is in the request's body")
    everything += out
    for expected in ("bad key [secret:model-key]", "is spent"):
        code, out = run(folder, "chat", "hi", "--json")
        check(code == 3 and expected in out, f"`{expected}` is not said: {code} {out}")
        everything += out
    code, out = run(folder, "connections", "list")
    everything += out
    check(KEY not in everything, "the key was shown")
    for file in folder.rglob("*"):
        if file.is_file():
            check(KEY.encode() not in file.read_bytes(), f"the key lies in {file.name}")
    # The connection is for one host, and another one does not get its key.
    settings = (folder / "haft.toml").read_text()
    (folder / "haft.toml").write_text(settings.replace("http://127.0.0.1:", "http://localhost:"))
    before = len(requests)
    code, out = run(folder, "chat", "hi")
    check(code == 3 and "is not sent to `localhost`" in out, f"sent elsewhere: {code} {out}")
    check(len(requests) == before, "a request was made")
    (folder / "haft.toml").write_text(settings.replace('connection = "model"', 'connection = "gone"'))
    code, out = run(folder, "chat", "hi")
    check(code == 3 and "the model's connection `gone`" in out, f"a missing connection: {code} {out}")
    (folder / "haft.toml").write_text(settings)
    print("ok: the model's key comes from a connection and is shown to nobody")


class Server:
    """`haft serve` with everything that it can log."""

    def __init__(self, folder):
        settings = (folder / "haft.toml").read_text()
        logged = settings.replace("\n[server]\n", '\n[server]\nlog = "json"\n')
        check(logged != settings, "haft.toml has no [server] any more")
        (folder / "served.toml").write_text(logged)
        self.log = folder / "served.log"
        command = [haft, "serve", "--config", "served.toml", "--listen", "127.0.0.1:0"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        for _ in range(300):
            found = [line for line in self.log.read_text().splitlines() if "on http://" in line]
            if found:
                break
            check(self.process.poll() is None, f"the server did not start: {self.log.read_text()}")
            time.sleep(0.1)
        self.place = found[0].split("on ")[-1].strip()
        self.key = next(folder.rglob("admin.key")).read_text().strip()
        self.heard = ""

    def ask(self, text, **more):
        body = {"model": "default", "messages": [{"role": "user", "content": text}], **more}
        head = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        place = self.place + "/v1/agents/default/chat/completions"
        request = urllib.request.Request(place, json.dumps(body).encode(), head)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        self.heard += text
        return status, text

    def stop(self):
        self.process.terminate()
        check(self.process.wait(timeout=60) == 0, f"the server did not end well: {self.log.read_text()}")


def a_servers_key_from_a_connection(folder):
    requests.clear()
    # It is looked up when it is needed, so it may come later than the server.
    code, out = run(folder, "connections", "remove", "model")
    check(code == 0, f"the connection was not removed: {out}")
    server = Server(folder)
    try:
        status, text = server.ask("none")
        check(status == 502 and "tell whoever runs this server" in text, f"no connection: {status} {text}")
        check("connection" not in text and "tenant" not in text, f"a client is told whose it is: {text}")
        check(not requests, "the model was asked without its key")
        add(folder)
        script[:] = [says("Hello.")]
        status, text = server.ask("one")
        check(status == 200 and "Hello." in text, f"no answer: {status} {text}")
        check(requests[-1][0] == f"Bearer {KEY}", f"the key did not arrive: {requests[-1][0]}")
        check(KEY not in json.dumps(requests[-1][1]), "the key is in the request's body")
        # A model that was told the key by its server, and hands it to a tool: neither log nor record has it.
        script[:] = [calls("count_words", {"text": f"my key is {KEY}"}), says("Done.")]
        status, text = server.ask("words")
        check(status == 200 and "Done." in text, f"no answer: {status} {text}")
        # A server that repeats the key: as it is, in base64, and in mid-answer.
        spelt = base64.b64encode(KEY.encode()).decode()
        script[:] = [(401, {"error": {"message": f"bad key {KEY} ({spelt})"}})]
        status, text = server.ask("two")
        check(status == 502 and "refused the request" in text, f"not told: {status} {text}")
        check("bad key" not in text, f"a client is told the provider's words: {text}")
        script[:] = [[says("x")[0], data({"error": {"message": f"Bearer {KEY} is spent", "code": KEY}})]]
        status, text = server.ask("three", stream=True)
        check(status == 200 and '"error"' in text, f"not told: {status} {text}")
        # What is rotated is used from then on, and neither key is shown.
        code, out = run(
            folder, "connections", "rotate", "model", "--secret-env", "MODEL_KEY",
            env={**os.environ, "MODEL_KEY": NEXT},
        )
        check(code == 0, f"the connection was not rotated: {out}")
        script[:] = [(401, {"error": {"message": f"{NEXT} follows {KEY}"}})]
        status, text = server.ask("four")
        check(requests[-1][0] == f"Bearer {NEXT}", f"the old key is used: {requests[-1][0]}")
        check(status == 502 and "follows" not in text, f"a client is told the provider's words: {status} {text}")
    finally:
        server.stop()
    log = server.log.read_text()
    for words in ("bad key [secret:model-key]", "[secret:model-key] follows"):
        check(words in log, f"nobody learns what the provider said ({words}): {log}")
    check('"event":"tool_execution_completed"' in log, f"nothing was logged: {log}")
    check("the model's connection `model` of tenant" in log, f"nobody learns why there was no key: {log}")
    for key in (KEY, NEXT, spelt):
        check(key not in server.heard, "a client was shown the key")
        for file in folder.rglob("*"):
            if file.is_file():
                check(key.encode() not in file.read_bytes(), f"the key lies in {file.name}")
    print("ok: a server's model gets its key from a connection, as it is now, and nobody else does")


class Terminal:
    """A person at a terminal."""

    def __init__(self, folder):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(haft, [haft, "chat"])
        self.seen, self.read, self.status = "", 0, None

    def until(self, what, seconds=20):
        """Reads on until something is shown."""
        end = time.time() + seconds
        while True:
            found = self.seen.find(what, self.read)
            if found >= 0:
                self.read = found + len(what)
                return
            if time.time() > end:
                fail(f"`{what}` was not shown: {self.seen!r}")
            if select.select([self.end], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.end, 65536).decode(errors="replace")
                except OSError:
                    fail(f"it left before `{what}` was shown: {self.seen!r}")

    def type(self, text):
        os.write(self.end, text.encode())

    def gone(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def left(self, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            if self.gone():
                return self.status
            if select.select([self.end], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.end, 65536).decode(errors="replace")
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        fail(f"it did not leave: {self.seen!r}")


def said(request):
    return [m["content"] for m in request[1]["messages"] if m["role"] == "user"]


def typed_meanwhile(folder):
    requests.clear()
    script[:] = [held("First answer."), says("Second answer."), says("Third answer.")]
    person = Terminal(folder)
    person.until("> ")
    person.type("one\r")
    person.until("First answer.")
    person.type("two\r\r")
    person.type("three\r")
    time.sleep(0.5)
    gates.pop().set()
    person.until("Third answer.")
    person.until("> ")
    time.sleep(0.2)
    person.type("\r")
    check(person.left() == 0, "an empty line does not leave")
    check(said(requests[-1]) == ["one", "two", "three"], f"lost: {said(requests[-1])}")
    print("ok: what is typed in the middle of an answer is said next")


def called_off(folder):
    requests.clear()
    script[:] = [held("Too long."), says("Another answer."), held("Also long.")]
    person = Terminal(folder)
    person.until("> ")
    person.type("one\r")
    person.until("Too long.")
    person.type("\x03")
    person.until("called off")
    gates.pop().set()
    person.until("> ")
    person.type("two\r")
    person.until("Another answer.")
    person.type("three\r")
    person.until("Also long.")
    person.type("\x03")
    person.until("calling it off")
    # The first one may have ended the answer by now; at the prompt one is enough to leave.
    for _ in range(5):
        person.type("\x03")
        time.sleep(0.3)
        if person.gone():
            break
    check(person.left() in (0, 130), "twice does not leave")
    gates.pop().set()
    print("ok: Ctrl-C calls an answer off, and twice leaves")


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    with tempfile.TemporaryDirectory() as work:
        code, out = run(work, "init", "mine")
        check(code == 0, f"`haft init` failed: {out}")
        folder = Path(work, "mine")
        with open(folder / "haft.toml", "a") as file:
            file.write(
                f'\n[model]\nprovider = "openai"\nname = "m"\nurl = "http://127.0.0.1:{port}/v1"\n'
                'connection = "model"\nretries = 0\n'
            )
        a_key_from_a_connection(folder, port)
        typed_meanwhile(folder)
        called_off(folder)
        a_servers_key_from_a_connection(folder)


main()
