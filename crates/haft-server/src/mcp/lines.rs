//! Messages, read so that no two readers could take them differently; and a client at the other end
//! of a pipe, one message a line.

mod coming;

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use haft_adm::strict;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, GetExtensions as _, JsonRpcMessage,
    ProtocolVersion, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use self::coming::{Coming, Line};
use super::Seat;
use super::call::ArgumentsText;
use super::coded::{code, coded};
use super::handler::Handler;
use super::ids::{Ids, Taken};
use crate::door::Door;
use crate::problem::Problem;

const META: &str = "_meta";
/// Where a request of the newer era names its version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What is wrong with a message.
pub(super) struct Wrong {
    code: ErrorCode,
    id: Value,
    why: String,
    /// What programs are told besides.
    data: Option<Value>,
}

impl Wrong {
    fn of_shape(id: Option<&Value>, why: &str) -> Self {
        let id = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
        Self { code: ErrorCode::INVALID_REQUEST, id, why: why.to_owned(), data: None }
    }

    /// What other doors refuse, too.
    fn of_problem(id: Value, problem: &Problem) -> Self {
        let mut data = match problem.details() {
            Some(Value::Object(details)) => details.clone(),
            Some(_) | None => Map::new(),
        };
        data.insert("code".to_owned(), problem.code().into());
        data.insert("suggestion".to_owned(), problem.suggestion().into());
        let (why, data) = (problem.detail().to_owned(), Some(Value::Object(data)));
        Self { code: ErrorCode::INVALID_REQUEST, id, why, data }
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
        let error = coded(ErrorData::new(self.code, self.why.clone(), self.data.clone()));
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
    let unread =
        |why: String| Wrong { code: ErrorCode::PARSE_ERROR, id: Value::Null, why, data: None };
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
    let method = message.get("method")?.as_str()?;
    let name = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // The newer era knows them no more, whatever they say: the SDK tells it so.
        "resources/subscribe" | "resources/unsubscribe" if part(META).is_none_or(is_older) => "uri",
        "logging/setLevel" if !part(META).is_none_or(is_older) => return None,
        _ => return unlike(method, message),
    };
    if !part(name).is_some_and(Value::is_string) {
        return Some(format!("`params.{name}` is missing, or not a text"));
    }
    let arguments = part("arguments").filter(|_| name == "name");
    let odd = arguments.is_some_and(|said| !(said.is_object() || said.is_null()));
    odd.then(|| "`params.arguments` must be an object".to_owned())
}

/// What the parameters of some methods must be.
const PARAMETERS: [(&str, &str); 3] = [
    (
        "completion/complete",
        "`ref` (`{type: \"ref/prompt\", name}` or `{type: \"ref/resource\", uri}`) and `argument` (`{name, \
         value}`, both texts)",
    ),
    (
        "logging/setLevel",
        "`level`, one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`",
    ),
    ("subscriptions/listen", "`notifications`, an object that says what is to be told"),
];

/// What is wrong with the parameters of such a method, where the SDK would not know it by them.
fn unlike(method: &str, message: &Value) -> Option<String> {
    let (_, wanted) = PARAMETERS.iter().find(|(name, _)| *name == method)?;
    let read: Result<ClientRequest, _> = serde_json::from_value(message.clone());
    match read {
        Ok(ClientRequest::CustomRequest(_)) | Err(_) => {
            Some(format!("`params` of `{method}` must have {wanted}"))
        }
        Ok(_) => None,
    }
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
    serve_until(door, seat, from, to, pending()).await
}

/// The same until `stop` ends, as if the client had closed its end: what was asked is answered, for a
/// moment, and nothing more is read.
///
/// # Errors
///
/// The client did not get as far as a session, or its end broke.
pub async fn serve_until<R, W>(
    door: Arc<Door>,
    seat: Seat,
    from: R,
    to: W,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let most = door.limits.body_bytes;
    let begun = Arc::new(AtomicBool::new(false));
    let pipe = Pipe {
        from: Coming::new(from, most),
        to: Arc::new(Mutex::new(to)),
        most,
        begun: begun.clone(),
        ids: Ids::default(),
        unanswered: HashMap::new(),
        telling: None,
        stop: Some(Box::pin(stop)),
    };
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
    from: Coming<R>,
    to: Arc<Mutex<W>>,
    most: usize,
    /// Whether there is a session, or a first request of the newer era.
    begun: Arc<AtomicBool>,
    ids: Ids,
    /// The ids of requests that are neither answered nor cancelled.
    unanswered: HashMap<RequestId, Taken>,
    /// What is told a client about a line that is no message. On a task of its own: the SDK drops whoever
    /// waits for a message when it has something else to do, and half a line would be written.
    telling: Option<JoinHandle<io::Result<()>>>,
    /// Ends when no more is to be read; none once it has.
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The next line with something in it; none at the end.
    async fn line(&mut self) -> Option<Line> {
        loop {
            let line = tokio::select! {
                biased;
                () = self.stop.as_mut()? => {
                    self.stop = None;
                    return None;
                }
                line = self.from.next() => line.ok()??,
            };
            match line {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                line @ (Line::Whole(_) | Line::TooLong(_)) => return Some(line),
            }
        }
    }

    /// The message that a line is.
    fn read(&mut self, line: Line) -> Result<RxJsonRpcMessage<RoleServer>, Wrong> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(id) => return Err(too_long(id, self.most)),
        };
        let (value, arguments) = message(line.trim_ascii_end(), self.most)?;
        let id = value.get("id").cloned();
        let read = serde_json::from_value(value)
            .map_err(|why| Wrong::of_shape(id.as_ref(), &format!("not a message of MCP: {why}")))?;
        self.take(with_text(read, arguments), id)
    }

    /// Has a request keep its id to itself.
    fn take(
        &mut self,
        mut message: RxJsonRpcMessage<RoleServer>,
        id: Option<Value>,
    ) -> Result<RxJsonRpcMessage<RoleServer>, Wrong> {
        match &mut message {
            JsonRpcMessage::Request(asked) => {
                // Under its own id, the refusal would be taken for the answer of the first.
                let taken = self.ids.take(&id.unwrap_or_default());
                let taken = taken.map_err(|why| Wrong::of_problem(Value::Null, &why))?;
                asked.request.extensions_mut().insert(taken.clone());
                self.unanswered.insert(asked.id.clone(), taken);
            }
            // Nothing is answered to it any more; its handler keeps the id until it has ended.
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(message)
    }
}

/// A message that is longer than one may be.
fn too_long(id: Value, most: usize) -> Wrong {
    let mut wrong = Wrong::of_problem(id, &Problem::too_large(most));
    wrong.why = format!("the message has more than {most} bytes");
    wrong
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
        // Free before it is written: whoever has read the answer may use the id again.
        match &item {
            JsonRpcMessage::Response(one) => drop(self.unanswered.remove(&one.id)),
            JsonRpcMessage::Error(one) => {
                drop(one.id.as_ref().and_then(|id| self.unanswered.remove(id)));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
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
            if let Some(telling) = &mut self.telling {
                let told = telling.await;
                self.telling = None;
                told.ok()?.ok()?;
            }
            let line = self.line().await?;
            match self.read(line) {
                // The SDK ends with whatever is not asked before that: nobody waits for an answer to it.
                Ok(message) if !self.begun.load(Ordering::Acquire) && !is_request(&message) => {}
                Ok(message) => {
                    self.begun.fetch_or(is_initialize(&message), Ordering::AcqRel);
                    return Some(message);
                }
                Err(wrong) => {
                    let (to, line) = (self.to.clone(), wrong.to_line());
                    self.telling = Some(tokio::spawn(async move { write(&to, line).await }));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.to.lock().await.flush().await
    }
}
