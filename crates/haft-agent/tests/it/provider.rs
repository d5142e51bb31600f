//! A provider that says what a test has written for it, over real sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use haft_agent::http::Provider as Api;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What happens to one request.
pub(crate) enum Reply {
    /// A stream, piece by piece, and its proper end.
    Stream(Vec<String>),
    /// A stream whose connection is reset after these pieces.
    Cut(Vec<String>),
    /// Pieces, a word that they were sent, a wait to be let go, more pieces, the end.
    Gated(Vec<String>, Arc<Notify>, Arc<Notify>, Vec<String>),
    /// A status with headers and a body.
    Status(u16, &'static str, String),
    /// The connection is closed without an answer.
    Reset,
}

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Seen>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    script: Arc<Script>,
}

impl Provider {
    pub(crate) async fn listen(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Script { replies: Mutex::new(replies.into()), ..Script::default() });
        let serving = script.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let script = serving.clone();
                tokio::spawn(async move { serve(socket, &script).await });
            }
        });
        Self { address, script }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.script.requests.lock().clone()
    }

    /// How many replies nobody has asked for.
    pub(crate) fn left(&self) -> usize {
        self.script.replies.lock().len()
    }
}

async fn serve(mut socket: TcpStream, script: &Script) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let seen = read(&mut socket).await?;
    keep(&seen);
    script.requests.lock().push(seen);
    let reply = script.replies.lock().pop_front();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    match reply {
        None => {
            status(&mut socket, 500, "", "{\"error\":{\"message\":\"nothing is scripted\"}}").await
        }
        Some(Reply::Status(code, headers, body)) => status(&mut socket, code, headers, &body).await,
        Some(Reply::Reset) => Some(()),
        Some(Reply::Stream(pieces)) => {
            socket.write_all(head.as_bytes()).await.ok()?;
            send(&mut socket, &pieces).await?;
            finish(&mut socket).await
        }
        Some(Reply::Cut(pieces)) => {
            socket.write_all(head.as_bytes()).await.ok()?;
            send(&mut socket, &pieces).await
        }
        Some(Reply::Gated(first, sent, go, rest)) => {
            socket.write_all(head.as_bytes()).await.ok()?;
            send(&mut socket, &first).await?;
            sent.notify_one();
            go.notified().await;
            send(&mut socket, &rest).await?;
            finish(&mut socket).await
        }
    }
}

/// Writes a request down where `scripts/wire-check` asks for it, to show it to the providers' SDKs.
fn keep(seen: &Seen) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(folder) = std::env::var_os("HAFT_KEEP_REQUESTS") else { return };
    // Tests of keys send nothing more than those.
    if seen.body == json!({}) {
        return;
    }
    let line = seen.head.lines().next().unwrap();
    let api = match line {
        _ if line.contains("/chat/completions ") => Api::OpenAi,
        _ if line.contains("/responses ") => Api::OpenAiResponses,
        _ if line.contains("/messages ") => Api::Anthropic,
        _ => Api::Gemini,
    };
    // Each test is a process of its own.
    let name = format!(
        "{api}+{}-{}.json",
        std::process::id(),
        COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    );
    std::fs::write(std::path::Path::new(&folder).join(name), seen.body.to_string()).unwrap();
}

async fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut all = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let n = socket.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
        all.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&all);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
            })
            .unwrap_or(0_usize);
        if body.len() >= length {
            return Some(Seen { head: head.to_owned(), body: serde_json::from_str(body).ok()? });
        }
    }
}

async fn send(socket: &mut TcpStream, pieces: &[String]) -> Option<()> {
    for piece in pieces {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        socket.write_all(chunk.as_bytes()).await.ok()?;
        socket.flush().await.ok()?;
    }
    Some(())
}

async fn finish(socket: &mut TcpStream) -> Option<()> {
    socket.write_all(b"0\r\n\r\n").await.ok()
}

async fn status(socket: &mut TcpStream, code: u16, headers: &str, body: &str) -> Option<()> {
    let text = format!(
        "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    socket.write_all(text.as_bytes()).await.ok()
}

/// A call, as a test writes it: id, name, the arguments' text.
pub(crate) type Call<'a> = (&'a str, &'a str, &'a str);

/// What a model says, in the pieces of its API.
pub(crate) fn says(api: Api, text: &str, calls: &[Call<'_>]) -> Vec<String> {
    match api {
        Api::OpenAi => chat(text, calls),
        Api::OpenAiResponses => responses(text, calls),
        Api::Anthropic => anthropic(text, calls),
        Api::Gemini => gemini(text, calls),
    }
}

fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap();
    [&text[..middle], &text[middle..]]
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}

fn chat(text: &str, calls: &[Call<'_>]) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        format!(
            "data: {}\n\n",
            json!({ "id": "x", "object": "chat.completion.chunk", "choices": choices })
        )
    };
    let mut out = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for half in halves(text) {
        out.push(chunk(json!({ "content": half }), Value::Null));
    }
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let mut first = json!({ "index": index, "type": "function", "function": { "name": name, "arguments": "" } });
        if !id.is_empty() {
            first["id"] = json!(id);
        }
        out.push(chunk(json!({ "tool_calls": [first] }), Value::Null));
        for half in halves(arguments) {
            let piece = json!({ "index": index, "function": { "arguments": half } });
            out.push(chunk(json!({ "tool_calls": [piece] }), Value::Null));
        }
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    out.push(chunk(json!({}), json!(finish)));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    out.push(format!("data: {}\n\n", json!({ "id": "x", "choices": [], "usage": usage })));
    out.push("data: [DONE]\n\n".into());
    out
}

fn responses(text: &str, calls: &[Call<'_>]) -> Vec<String> {
    let mut out = vec![event(
        "response.created",
        json!({ "response": { "id": "r", "status": "in_progress", "output": [] } }),
    )];
    let mut output = Vec::new();
    if !text.is_empty() {
        let item = |content: Value, status: &str| json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content });
        out.push(event(
            "response.output_item.added",
            json!({ "output_index": 0, "item": item(json!([]), "in_progress") }),
        ));
        for half in halves(text) {
            out.push(event("response.output_text.delta", json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": half, "logprobs": [] })));
        }
        let whole =
            item(json!([{ "type": "output_text", "text": text, "annotations": [] }]), "completed");
        out.push(event("response.output_item.done", json!({ "output_index": 0, "item": whole })));
        output.push(whole);
    }
    for (id, name, arguments) in calls {
        let at = output.len();
        let item = |arguments: &str, status: &str| json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments, "status": status });
        out.push(event(
            "response.output_item.added",
            json!({ "output_index": at, "item": item("", "in_progress") }),
        ));
        for half in halves(arguments) {
            out.push(event(
                "response.function_call_arguments.delta",
                json!({ "item_id": format!("fc_{id}"), "output_index": at, "delta": half }),
            ));
        }
        out.push(event(
            "response.function_call_arguments.done",
            json!({ "item_id": format!("fc_{id}"), "output_index": at, "arguments": arguments }),
        ));
        out.push(event(
            "response.output_item.done",
            json!({ "output_index": at, "item": item(arguments, "completed") }),
        ));
        output.push(item(arguments, "completed"));
    }
    let usage = json!({ "input_tokens": 10, "output_tokens": 5, "total_tokens": 15 });
    out.push(event("response.completed", json!({ "response": { "id": "r", "status": "completed", "output": output, "usage": usage } })));
    out
}

fn anthropic(text: &str, calls: &[Call<'_>]) -> Vec<String> {
    let message = json!({ "id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 } });
    let mut out = vec![event("message_start", json!({ "message": message }))];
    let mut index = 0;
    if !text.is_empty() {
        out.push(event(
            "content_block_start",
            json!({ "index": index, "content_block": { "type": "text", "text": "" } }),
        ));
        for half in halves(text) {
            out.push(event(
                "content_block_delta",
                json!({ "index": index, "delta": { "type": "text_delta", "text": half } }),
            ));
        }
        out.push(event("content_block_stop", json!({ "index": index })));
        index += 1;
    }
    for (id, name, arguments) in calls {
        out.push(event("content_block_start", json!({ "index": index, "content_block": { "type": "tool_use", "id": id, "name": name, "input": {} } })));
        for half in halves(arguments) {
            out.push(event("content_block_delta", json!({ "index": index, "delta": { "type": "input_json_delta", "partial_json": half } })));
        }
        out.push(event("content_block_stop", json!({ "index": index })));
        index += 1;
    }
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    out.push(event("message_delta", json!({ "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": 5 } })));
    out.push(event("message_stop", json!({})));
    out
}

fn gemini(text: &str, calls: &[Call<'_>]) -> Vec<String> {
    let response = |parts: Value, finish: Option<&str>| {
        let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let usage =
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 });
        format!("data: {}\r\n\r\n", json!({ "candidates": [candidate], "usageMetadata": usage }))
    };
    let mut out = Vec::new();
    for half in halves(text).into_iter().filter(|half| !half.is_empty()) {
        out.push(response(json!([{ "text": half }]), None));
    }
    for (id, name, arguments) in calls {
        // A value, not a text: what cannot be read cannot be sent by this API.
        let arguments: Value = serde_json::from_str(arguments).unwrap_or(json!("not an object"));
        let mut call = json!({ "name": name, "args": arguments });
        if !id.is_empty() {
            call["id"] = json!(id);
        }
        out.push(response(json!([{ "functionCall": call, "thoughtSignature": "c2ln" }]), None));
    }
    out.push(response(json!([{ "text": "" }]), Some("STOP")));
    out
}
