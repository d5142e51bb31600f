//! A server on this machine that does what a test says, and remembers what it was sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What a server does with a request.
#[derive(Clone)]
pub(crate) enum Does {
    /// Sends these bytes and closes.
    Says(Vec<u8>),
    /// Sends these bytes and then this, over and over.
    Repeats(Vec<u8>, Vec<u8>),
    /// Sends these bytes and waits.
    Hangs(Vec<u8>),
    /// Sends these bytes and closes when it is let go.
    Waits(Arc<Notify>, Vec<u8>),
    /// Closes without a word.
    Closes,
}

type Script = Arc<dyn Fn(usize, &str) -> Does + Send + Sync>;

pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Answers by what was asked: the number of the request, from 0, and its text.
    pub(crate) async fn new(script: impl Fn(usize, &str) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, kept): (Script, _) = (Arc::new(script), seen.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), kept.clone()));
            }
        });
        Self { at, seen, task }
    }

    /// Always the same.
    pub(crate) async fn saying(does: Does) -> Self {
        Self::new(move |_, _| does.clone()).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    /// The requests so far, whole.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Script, seen: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read(&mut stream).await else { return };
    let number = {
        let mut seen = seen.lock();
        seen.push(request.clone());
        seen.len() - 1
    };
    match script(number, &request) {
        Does::Says(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Does::Repeats(first, again) => {
            let _ = stream.write_all(&first).await;
            while stream.write_all(&again).await.is_ok() {}
        }
        Does::Hangs(bytes) => {
            let _ = stream.write_all(&bytes).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Does::Waits(go, bytes) => {
            go.notified().await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Does::Closes => {}
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

/// The same, when it is let go.
pub(crate) fn waiting(go: &Arc<Notify>, does: Does) -> Does {
    if let Does::Says(bytes) = does { Does::Waits(go.clone(), bytes) } else { does }
}

/// A response with a JSON body.
pub(crate) fn json(status: &str, body: &str) -> Does {
    response(status, "content-type: application/json\r\n", body)
}

pub(crate) fn response(status: &str, headers: &str, body: &str) -> Does {
    let length = body.len();
    Does::Says(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}
