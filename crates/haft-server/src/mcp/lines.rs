//! A client at the other end of a pipe, one message a line.

mod coming;

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use self::coming::{Coming, Line};
use super::Seat;
use super::call::ArgumentsText;
use super::coded::coded;
use super::handler::Handler;
use super::ids::{Ids, Taken};
use super::message::{self, Wrong};
use crate::door::Door;

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
    stop: Stop,
}

type Stop = Option<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// At the end a line that is being written is waited for so long.
const LAST_LINE: Duration = Duration::from_secs(1);

/// What was waited for; none where no more is to be read.
async fn unless<T>(stop: &mut Stop, waits: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.as_mut()? => {
            *stop = None;
            None
        }
        value = waits => Some(value),
    }
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The next line with something in it; none at the end.
    async fn line(&mut self) -> Option<Line> {
        loop {
            match unless(&mut self.stop, self.from.next()).await?.ok()?? {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                line @ (Line::Whole(_) | Line::TooLong(_)) => return Some(line),
            }
        }
    }

    /// The message that a line is.
    fn read(&mut self, line: Line) -> Result<RxJsonRpcMessage<RoleServer>, Wrong> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(id) => return Err(Wrong::too_long(id, self.most)),
        };
        let (value, arguments) = message::read(line.trim_ascii_end(), self.most)?;
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
                let told = unless(&mut self.stop, telling).await?;
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
                    let (to, line) = (self.to.clone(), wrong.beside(&self.ids).to_line());
                    self.telling = Some(tokio::spawn(async move { write(&to, line).await }));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever writes flushes, and a client that takes nothing holds up nobody's end.
        match tokio::time::timeout(LAST_LINE, self.to.lock()).await {
            Ok(mut to) => to.flush().await,
            Err(_) => Ok(()),
        }
    }
}
