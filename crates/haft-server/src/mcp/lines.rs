//! Messages, read so that no two readers could take them differently; and a client at the other end
//! of a pipe, one message a line.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use haft_adm::strict;
use rmcp::model::{ClientRequest, ErrorCode, GetExtensions as _, JsonRpcMessage, ProtocolVersion};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;

use super::Seat;
use super::call::ArgumentsText;
use super::coded::{code, coded};
use super::handler::Handler;
use crate::door::Door;

const META: &str = "_meta";
/// Where a request of the newer era names its version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What is wrong with a message.
pub(super) struct Wrong {
    code: ErrorCode,
    id: Value,
    why: String,
}

impl Wrong {
    fn of_shape(id: Option<&Value>, why: &str) -> Self {
        let id = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
        Self { code: ErrorCode::INVALID_REQUEST, id, why: why.to_owned() }
    }

    /// The HTTP status: a message that can be answered as such is no bad request.
    pub(super) fn status(&self) -> StatusCode {
        match self.code == ErrorCode::INVALID_PARAMS {
            true => StatusCode::OK,
            false => StatusCode::BAD_REQUEST,
        }
    }

    /// Our word for it.
    pub(super) fn code(&self) -> &'static str {
        code(self.code)
    }

    /// The answer to it.
    pub(super) fn to_line(&self) -> String {
        let error = coded(ErrorData::new(self.code, self.why.clone(), None));
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// Where a call has its arguments.
const ARGUMENTS: [&str; 2] = ["params", "arguments"];

/// Reads one message: strict JSON, and the outer shape of JSON-RPC 2.0. With it comes the text of a
/// call's arguments.
pub(super) fn message(bytes: &[u8], most: usize) -> Result<(Value, Option<&str>), Wrong> {
    let unread = |why: String| Wrong { code: ErrorCode::PARSE_ERROR, id: Value::Null, why };
    let text = std::str::from_utf8(bytes).map_err(|_| unread("not UTF-8".to_owned()))?;
    let limits = strict::Limits::default().with_bytes(most);
    let read = strict::parse_with(text, &ARGUMENTS, limits);
    let (value, arguments) = read.map_err(|error| unread(error.to_string()))?;
    let Some(fields) = value.as_object() else {
        return Err(Wrong::of_shape(None, "a message is one object; there are no batches"));
    };
    let id = fields.get("id");
    let wrong = |why: &str| Err(Wrong::of_shape(id, why));
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("`jsonrpc` must be \"2.0\"");
    }
    let answers = fields.contains_key("result") || fields.contains_key("error");
    if id.is_some_and(|id| !(is_id(id) || answers && id.is_null())) {
        return wrong("`id` must be a text or a whole number");
    }
    match fields.get("method") {
        Some(Value::String(_)) => {}
        None if answers => {}
        Some(_) | None => return wrong("`method` is missing, or not a text"),
    }
    if fields.get("params").is_some_and(|params| !params.is_object()) {
        return wrong("`params` must be an object");
    }
    if let Some(why) = unfit(&value) {
        let mut wrong = Wrong::of_shape(id, &why);
        wrong.code = ErrorCode::INVALID_PARAMS;
        return Err(wrong);
    }
    Ok((value, arguments))
}

/// What a method cannot do without. The SDK takes a message that does not fit its method for one of
/// a method that it does not know.
fn unfit(message: &Value) -> Option<String> {
    let part = |name: &str| message.get("params").and_then(|params| params.get(name));
    let name = match message.get("method")?.as_str()? {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // The newer era knows them no more, whatever they say: the SDK tells it so.
        "resources/subscribe" | "resources/unsubscribe" if part(META).is_none_or(is_older) => "uri",
        _ => return None,
    };
    if !part(name).is_some_and(Value::is_string) {
        return Some(format!("`params.{name}` is missing, or not a text"));
    }
    let arguments = part("arguments").filter(|_| name == "name");
    let odd = arguments.is_some_and(|said| !(said.is_object() || said.is_null()));
    odd.then(|| "`params.arguments` must be an object".to_owned())
}

/// Whether a request with this `_meta` is of the older era, where no request names its version.
fn is_older(meta: &Value) -> bool {
    let said = meta.get(VERSION).and_then(Value::as_str);
    said.is_none_or(|said| said < ProtocolVersion::V_2026_07_28.as_str())
}

/// Serves one client until it closes its end.
///
/// # Errors
///
/// The client did not get as far as a session, or its end broke.
pub async fn serve<R, W>(door: Arc<Door>, seat: Seat, from: R, to: W) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let most = door.limits.body_bytes;
    let begun = Arc::new(AtomicBool::new(false));
    let (from, to) = (BufReader::new(from), Arc::new(Mutex::new(to)));
    let pipe = Pipe { from, to, most, begun: begun.clone() };
    let handler = Handler::new(door, seat);
    // What the SDK says of an error repeats what the client has sent, which may hold anything.
    let serving = match serve_server(handler, pipe).await {
        Ok(serving) => serving,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(_) => return Err(io::Error::other("the client did not get as far as a session")),
    };
    begun.store(true, Ordering::Release);
    let ended = serving.waiting().await;
    ended.map_err(|_| io::Error::other("the connection to the client broke"))?;
    Ok(())
}

/// A pipe with a client at its other end.
struct Pipe<R, W> {
    from: BufReader<R>,
    to: Arc<Mutex<W>>,
    most: usize,
    /// Whether there is a session, or a first request of the newer era.
    begun: Arc<AtomicBool>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin> Pipe<R, W> {
    /// The next line; none at the end. A line that is too long is read to its end, and is empty.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let most = u64::try_from(self.most).unwrap_or(u64::MAX).saturating_add(1);
        (&mut self.from).take(most).read_until(b'\n', &mut line).await?;
        if line.last() == Some(&b'\n') {
            return Ok(Some(line));
        }
        if line.len() <= self.most {
            return Ok((!line.is_empty()).then_some(line));
        }
        self.skip_line().await?;
        Ok(Some(Vec::new()))
    }

    async fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let seen = self.from.fill_buf().await?;
            let (end, size) = (seen.iter().position(|byte| *byte == b'\n'), seen.len());
            self.from.consume(end.map_or(size, |at| at + 1));
            if end.is_some() || size == 0 {
                return Ok(());
            }
        }
    }
}

/// A message, with the text of a call's arguments for whoever makes the call.
fn with_text(
    mut message: RxJsonRpcMessage<RoleServer>,
    arguments: Option<&str>,
) -> RxJsonRpcMessage<RoleServer> {
    if let (JsonRpcMessage::Request(asked), Some(text)) =
        (&mut message, ArgumentsText::of(arguments))
    {
        asked.request.extensions_mut().insert(text);
    }
    message
}

fn is_request(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    matches!(message, JsonRpcMessage::Request(_))
}

fn is_initialize(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(asked) = message else { return false };
    matches!(asked.request, ClientRequest::InitializeRequest(_))
}

async fn write<W: AsyncWrite + Unpin>(to: &Mutex<W>, mut line: String) -> io::Result<()> {
    line.push('\n');
    let mut to = to.lock().await;
    to.write_all(line.as_bytes()).await?;
    to.flush().await
}

impl<R, W> Transport<RoleServer> for Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to = self.to.clone();
        let mut item = item;
        if let JsonRpcMessage::Error(one) = &mut item {
            one.error = coded(one.error.clone());
        }
        async move {
            let line = serde_json::to_string(&item).map_err(io::Error::other)?;
            write(&to, line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.line().await.ok()??;
            if line.iter().all(u8::is_ascii_whitespace) && !line.is_empty() {
                continue;
            }
            let read = match message(line.trim_ascii_end(), self.most) {
                Ok((value, arguments)) => {
                    let id = value.get("id").cloned();
                    let read = serde_json::from_value(value).map_err(|why| {
                        Wrong::of_shape(id.as_ref(), &format!("not a message of MCP: {why}"))
                    });
                    read.map(|message| with_text(message, arguments))
                }
                Err(wrong) => Err(wrong),
            };
            match read {
                // The SDK ends with whatever is not asked before that: nobody waits for an answer to it.
                Ok(message) if !self.begun.load(Ordering::Acquire) && !is_request(&message) => {}
                Ok(message) => {
                    self.begun.fetch_or(is_initialize(&message), Ordering::AcqRel);
                    return Some(message);
                }
                Err(wrong) => write(&self.to, wrong.to_line()).await.ok()?,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.to.lock().await.flush().await
    }
}
