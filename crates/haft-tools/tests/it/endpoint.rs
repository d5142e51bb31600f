//! An endpoint on this machine that speaks OpenAI's embeddings API. What it says comes from a real
//! model, and a text that the model was not asked about is refused, not made up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst};

use haft_tools::kb::Setup;
use haft_tools::kb::embed::{Endpoint, EndpointSetup};
use serde_json::{Value, json};

use crate::meaning::KNOWN;
use crate::rig::Rig;

pub(crate) const KEY: &str = "sk-test";

pub(crate) struct Model {
    port: u16,
    /// How many texts it was asked about, in all.
    pub(crate) texts: AtomicUsize,
    /// What it answers with.
    pub(crate) status: AtomicU16,
    /// How many requests it still answers before it fails.
    pub(crate) left: AtomicUsize,
    /// How many numbers it gives: the first ones.
    pub(crate) length: AtomicUsize,
}

impl Model {
    pub(crate) fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            texts: AtomicUsize::new(0),
            status: AtomicU16::new(200),
            left: AtomicUsize::new(usize::MAX),
            length: AtomicUsize::new(384),
        });
        let serving = model.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serving.answer(stream);
            }
        });
        model
    }

    fn answer(&self, mut stream: TcpStream) {
        let (key, body) = read(&stream);
        let texts: Vec<&str> =
            body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let unknown = texts.iter().find(|text| !KNOWN.contains_key(**text));
        let (status, answer) = match self.status.load(SeqCst) {
            200 if !key => (401, json!({"error": {"message": "no key"}})),
            200 if self.left.load(SeqCst) == 0 => (400, json!({"error": "no more today"})),
            200 => match unknown {
                Some(text) => (400, json!({ "error": format!("nobody knows `{text}`") })),
                None => (200, self.said(&texts, &body["model"])),
            },
            status => (status, json!({"error": {"message": format!("not with {KEY}")}})),
        };
        if status == 200 {
            self.texts.fetch_add(texts.len(), SeqCst);
            self.left.fetch_sub(1, SeqCst);
        }
        let answer = answer.to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
    }

    fn said(&self, texts: &[&str], model: &Value) -> Value {
        let length = self.length.load(SeqCst);
        let one = |(index, text): (usize, &&str)| {
            let vector = &KNOWN[*text][..length];
            json!({ "object": "embedding", "index": index, "embedding": vector })
        };
        // Backwards, because the order of the list is not promised.
        let data: Vec<Value> = texts.iter().enumerate().rev().map(one).collect();
        json!({ "object": "list", "data": data, "model": model })
    }

    pub(crate) fn setup(&self, rig: &Rig) -> Setup {
        self.setup_with(rig, "all-MiniLM-L6-v2")
    }

    pub(crate) fn setup_with(&self, rig: &Rig, model: &str) -> Setup {
        let setup = EndpointSetup {
            url: format!("http://127.0.0.1:{}/v1", self.port),
            model: model.into(),
            key: Some(KEY.into()),
            dimensions: None,
        };
        Setup { embed: Some(Arc::new(Endpoint::new(setup).unwrap())), ..rig.setup() }
    }
}

/// Whether a request has the key, and what it asks.
fn read(stream: &TcpStream) -> (bool, Value) {
    let mut reader = BufReader::new(stream);
    let (mut length, mut key) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        let line = line.to_lowercase();
        key |= line.trim() == format!("authorization: bearer {KEY}");
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (key, serde_json::from_slice(&body).unwrap())
}
