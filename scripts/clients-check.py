"""Both sides of `scripts/clients-check`: a scripted model, and the providers' SDKs as clients."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOL = "core__image_draft_prompt"
ARGUMENTS = {"subject": "a paper lantern", "style": "watercolour"}


class Model(BaseHTTPRequestHandler):
    """Asks for one call, and then says how it ended."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = [m for m in body["messages"] if m["role"] == "tool"]
        if results:
            good = '"drafts"' in results[-1]["content"]
            deltas = [{"role": "assistant", "content": "It went "}, {"content": "well." if good else "wrong."}]
            finish = "stop"
        else:
            names = [tool["function"]["name"] for tool in body["tools"]]
            function = {"name": next(n for n in names if "image_draft_prompt" in n), "arguments": json.dumps(ARGUMENTS)}
            call = {"index": 0, "id": "call_1", "type": "function", "function": function}
            deltas, finish = [{"role": "assistant", "content": None, "tool_calls": [call]}], "tool_calls"
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        chunks = [chunk | {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
        chunks.append(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        chunks.append(chunk | {"choices": [], "usage": usage})
        text = "".join(f"data: {json.dumps(c)}\n\n" for c in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def model(path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(path, "w") as file:
        file.write(str(server.server_address[1]))
    threading.Event().wait()


def conversations(base, key):
    import openai

    client = openai.OpenAI(base_url=f"{base}/v1/agents/default", api_key=key)
    said = [{"role": "user", "content": "draft an image"}]
    whole = client.chat.completions.create(model="any", messages=said, temperature=0.5)
    assert whole.choices[0].message.content == "It went well.", whole
    assert whole.choices[0].finish_reason == "stop" and whole.usage.total_tokens == 14, whole
    stream = client.chat.completions.create(
        model="any", messages=said, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "It went well." and chunks[-1].usage.total_tokens == 14, chunks
    with client.chat.completions.stream(model="any", messages=said) as events:
        final = events.get_final_completion()
    assert final.choices[0].message.content == "It went well.", final
    try:
        client.chat.completions.create(model="any", messages=said, n=2)
        raise AssertionError("n=2 was taken")
    except openai.BadRequestError as error:
        assert error.code == "malformed_request" and "one only" in error.message, error
    try:
        openai.OpenAI(base_url=f"{base}/v1", api_key="sk-wrong").chat.completions.create(model="any", messages=said)
        raise AssertionError("a wrong key was taken")
    except openai.AuthenticationError:
        pass


def posted(base, key, format, message, valid):
    """Posts what an SDK holds after a model has asked for a call; checks the answer with its types."""
    import httpx

    url = f"{base}/v1/agents/default/calls?format={format}"
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    reply = httpx.post(url, headers=headers, content=message)
    assert reply.status_code == 200, (format, reply.text)
    answered = reply.json()
    assert answered["outcomes"][0]["ok"], (format, answered)
    valid(answered["messages"])


def messages(base, key):
    from anthropic.types import Message, ToolResultBlockParam
    from google.genai import types
    from openai.types.chat import ChatCompletion, ChatCompletionToolMessageParam
    from pydantic import TypeAdapter

    function = {"name": TOOL, "arguments": json.dumps(ARGUMENTS)}
    call = {"id": "call_1", "type": "function", "function": function}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    completion = ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )
    tool = TypeAdapter(ChatCompletionToolMessageParam)
    said = completion.choices[0].message.model_dump_json(exclude_none=True)
    posted(base, key, "openai", said, lambda out: [tool.validate_python(one) for one in out])

    block = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": ARGUMENTS}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = Message.model_validate(
        {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [block],
         "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    )
    result = TypeAdapter(ToolResultBlockParam)

    def check(out):
        assert out[0]["role"] == "user", out
        for one in out[0]["content"]:
            result.validate_python(one)

    posted(base, key, "anthropic", message.model_dump_json(exclude_none=True), check)

    part = types.Part(function_call=types.FunctionCall(name=TOOL, args=ARGUMENTS))
    response = types.GenerateContentResponse(
        candidates=[types.Candidate(content=types.Content(role="model", parts=[part]), finish_reason="STOP")]
    )
    posted(
        base, key, "gemini", response.model_dump_json(exclude_none=True, by_alias=True),
        lambda out: [types.Content.model_validate(one) for one in out],
    )


def main():
    if sys.argv[1] == "model":
        return model(sys.argv[2])
    base, key = f"http://127.0.0.1:{sys.argv[2]}", os.environ["HAFT_KEY"].strip()
    conversations(base, key)
    messages(base, key)
    print("OpenAI's SDK had whole conversations; OpenAI's, Anthropic's and Google's messages were answered")


main()
