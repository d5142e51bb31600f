//! A service on this machine that remembers what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A port of this machine that nobody else has.
pub(crate) fn listen() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (listener.local_addr().unwrap().port(), listener)
}

/// Answers every request with an empty object, and passes on what it was sent.
pub(crate) fn service() -> (u16, Receiver<String>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = request(&mut stream) else { continue };
            if send.send(request).is_err() {
                return;
            }
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                  connection: close\r\n\r\n{}",
            );
        }
    });
    (port, seen)
}

/// Answers every request with a cookie, and keeps connections open for more. Passes on the number of the
/// connection with what came over it.
pub(crate) fn keeping_service() -> (u16, Receiver<(usize, String)>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (mut stream, send) = (stream.unwrap(), send.clone());
            thread::spawn(move || {
                while let Some(request) = request(&mut stream) {
                    let _ = send.send((number, request));
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                         connection: keep-alive\r\nset-cookie: visit={number}; Path=/\r\n\r\n{{}}"
                    );
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    (port, seen)
}

/// The next request; none where the connection ends instead.
pub(crate) fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        let read = stream.read(&mut part).unwrap_or(0);
        if read == 0 && text.is_empty() {
            return None;
        }
        assert!(read > 0, "the request breaks off: {text}");
        bytes.extend_from_slice(&part[..read]);
    }
}
