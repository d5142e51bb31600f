//! A line that breaks: what is asked arrives or not, and what is answered does not.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What the line does to requests of one method.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    /// The request arrives, and its answer does not.
    Answer,
    /// The request arrives, and what stands between answers that there is something to see elsewhere.
    Elsewhere,
    /// The request does not arrive.
    Request,
}

/// A line to a server.
pub(super) struct Proxy {
    pub(super) port: u16,
    /// How many requests were spoilt.
    pub(super) spoilt: Arc<AtomicUsize>,
}

/// Spoils the first so many requests of a method.
pub(super) fn line(to: u16, method: &'static str, loss: Loss, times: usize) -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let spoilt = Arc::new(AtomicUsize::new(0));
    let count = spoilt.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let count = count.clone();
            std::thread::spawn(move || pass(stream, to, method, loss, times, &count));
        }
    });
    Proxy { port, spoilt }
}

fn pass(mut here: TcpStream, to: u16, method: &str, loss: Loss, times: usize, count: &AtomicUsize) {
    here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let request = read_request(&mut here);
    let spoil = request.starts_with(method.as_bytes())
        && count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < times).then_some(n + 1))
            .is_ok();
    if spoil && matches!(loss, Loss::Request) {
        return;
    }
    let mut there = TcpStream::connect(("127.0.0.1", to)).unwrap();
    there.write_all(&request).unwrap();
    let mut answer = Vec::new();
    there.read_to_end(&mut answer).unwrap();
    let said = match (spoil, loss) {
        (false, _) => &answer[..],
        (true, Loss::Elsewhere) => b"HTTP/1.1 303 See Other\r\ncontent-length: 0\r\n\r\n",
        (true, Loss::Answer | Loss::Request) => return,
    };
    let _ = here.write_all(said);
}

fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).unwrap_or(0);
        all.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&all);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return all;
            }
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
            })
            .unwrap_or(0);
        if read == 0 || body.len() >= length {
            return all;
        }
    }
}
