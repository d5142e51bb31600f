"""Tries search by meaning with the built binary: `kb-check.py HAFT FOLDER`.

The endpoint speaks OpenAI's embeddings API and knows the texts of FOLDER/vectors.jsonl; any other is
refused, not made up.
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

haft, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
KEY = "sk-check-0123456789"
known = {}
for line in (folder / "vectors.jsonl").read_text().splitlines():
    one = json.loads(line)
    known[one["text"]] = [(byte - 256 if byte > 127 else byte) * one["scale"] for byte in bytes.fromhex(one["parts"])]
asked = []


class Endpoint(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = body["input"]
        good = self.path == "/v1/embeddings" and self.headers.get("authorization") == f"Bearer {KEY}"
        if not good:
            return self.say(401, {"error": {"message": "who are you"}})
        if any(text not in known for text in texts):
            return self.say(400, {"error": {"message": "the model was not asked about this text"}})
        asked.extend(texts)
        data = [{"object": "embedding", "index": at, "embedding": known[text]} for at, text in enumerate(texts)]
        return self.say(200, {"object": "list", "data": data, "model": body["model"]})

    def say(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()
place = f"http://127.0.0.1:{server.server_address[1]}/v1"
work = pathlib.Path(tempfile.mkdtemp())
lines = (folder / "records.jsonl").read_text().splitlines()


def configure(model, url=place):
    (work / "haft.toml").write_text(
        f'[kb]\nsources = ["records.jsonl"]\n[kb.embeddings]\nurl = "{url}"\nmodel = "{model}"\nkey_env = "CHECK_KEY"\n'
    )


def run(*arguments, code=0, says=()):
    done = subprocess.run(
        [haft, "kb", *arguments], cwd=work, capture_output=True, text=True, timeout=120, env={**os.environ, "CHECK_KEY": KEY}
    )
    said = done.stdout + done.stderr
    if done.returncode != code or any(text not in said for text in says) or KEY in said:
        sys.exit(f"error: `haft kb {' '.join(arguments)}` ended with {done.returncode}, expected {code} and {says}:\n{said}")
    return said


# A first import, one record more, the same again: each passage is asked for once.
configure("all-MiniLM-L6-v2")
(work / "records.jsonl").write_text("\n".join(lines[:-1]) + "\n")
run("import", says=["23 passages embedded", "23 records"])
(work / "records.jsonl").write_text("\n".join(lines) + "\n")
run("import", says=["1 passage embedded", "24 records"])
said = run("import")
assert "embedded" not in said and len(asked) == 24, said
run("stats", says=["24 records from 1 file", "vectors of 24 passages, 384 numbers each", "all-MiniLM-L6-v2"])

# Found by meaning; words alone do not find it.
run("search", "forgot", "my", "login", says=["doc:password"])
run("search", "I", "am", "sick", "today", says=["doc:illness"])

# Another model: said by a search, made anew by an import.
configure("another")
run("search", "paper", says=["searched by words alone", "another model"])
run("import", says=["everything was read anew: the embedding model was", "24 passages embedded"])

# Nobody there: the words are searched, an import changes nothing and says what to look at.
configure("another", "http://127.0.0.1:9/v1")
run("search", "paper", says=["searched by words alone"])
configure("another")
run("search", "forgot my login", says=["doc:password"])
server.shutdown()
server.server_close()
(work / "records.jsonl").write_text("\n".join(lines[:-2]) + '\n{"id": "doc:new", "title": "New"}\n')
run("search", "paper", says=["searched by words alone", "cannot be reached", place])
run("import", code=3, says=["cannot be reached", place, "[kb.embeddings]"])
run("stats", says=["24 records"])
print("knowledge base: words and vectors hold")
