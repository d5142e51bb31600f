//! Search by meaning, with an endpoint that stands on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use haft_tools::kb::embed::{Endpoint, EndpointSetup};
use haft_tools::kb::{Base, Import, KbError, Report, Search, Setup};
use serde_json::{Value, json};

use crate::rig::{Rig, ask};

/// What words mean: those on one line mean the same.
const MEANINGS: [&str; 4] =
    ["lantern lamp light luminaire", "boat ship vessel", "money budget cost", "bread flour oven"];

/// An endpoint whose model knows a dozen words.
struct Model {
    port: u16,
    texts: AtomicUsize,
    status: AtomicU16,
}

impl Model {
    fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let model =
            Arc::new(Self { port, texts: AtomicUsize::new(0), status: AtomicU16::new(200) });
        let serving = model.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serving.answer(stream);
            }
        });
        model
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut length, mut key) = (0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            let line = line.to_lowercase();
            key |= line.trim() == "authorization: bearer sk-test";
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let texts: Vec<&str> =
            body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        let status = self.status.load(Ordering::SeqCst);
        // Backwards, because the order of the list is not promised.
        let data: Vec<Value> = texts
            .iter()
            .enumerate()
            .rev()
            .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": meaning(text)}))
            .collect();
        let answer = match status {
            200 if !key => json!({"error": {"message": "no key"}}),
            200 => json!({"object": "list", "data": data, "model": body["model"]}),
            _ => json!({"error": {"message": "not with sk-test"}}),
        };
        let status = if status == 200 && !key { 401 } else { status };
        let answer = answer.to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
    }

    fn setup(&self, rig: &Rig) -> Setup {
        self.setup_with(rig, "tiny")
    }

    fn setup_with(&self, rig: &Rig, model: &str) -> Setup {
        let setup = EndpointSetup {
            url: format!("http://127.0.0.1:{}/v1", self.port),
            model: model.into(),
            key: Some("sk-test".into()),
            dimensions: None,
        };
        Setup { embed: Some(Arc::new(Endpoint::new(setup).unwrap())), ..rig.setup() }
    }
}

fn meaning(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
    let about = |line: &str| {
        words.iter().filter(|word| line.split(' ').any(|one| word.starts_with(one))).count() as f32
    };
    let mut vector: Vec<f32> = MEANINGS.iter().map(|line| about(line)).collect();
    vector.push(0.3);
    vector
}

fn import(rig: &Rig, setup: &Setup) -> Result<Report, KbError> {
    Import { sources: vec![rig.root().join("kb")], root: rig.root().to_owned(), anew: false }
        .run(setup)
}

fn records() -> String {
    let mut lines = String::new();
    for n in 0..40 {
        lines += &format!(
            "{{\"id\": \"doc:bread{n}\", \"title\": \"Recipe {n}\", \"body\": \"flour and water, into the oven\"}}\n"
        );
    }
    lines +=
        "{\"id\": \"doc:lamp\", \"title\": \"Luminaire types\", \"body\": \"lamp after lamp\"}\n";
    lines +=
        "{\"id\": \"doc:ship\", \"title\": \"The vessel\", \"body\": \"a ship in the harbour\"}\n";
    lines
}

fn ids(base: &Base, search: &Search) -> Vec<String> {
    base.search(search).unwrap().hits.into_iter().map(|hit| hit.record.id).collect()
}

#[test]
fn what_is_said_in_other_words_is_found() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", records());
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    let base = Base::new(setup);
    let found = base.search(&ask("lantern")).unwrap();
    assert_eq!(
        (found.hits[0].record.id.as_str(), found.total, found.degraded.clone()),
        ("doc:lamp", 1, None)
    );
    assert!(found.hits[0].score > 0.3 && found.hits[0].score < 1.0, "{}", found.hits[0].score);
    assert_eq!(ids(&base, &ask("boat")), ["doc:ship"]);
    // Words still count, and filters hold for meaning, too.
    assert_eq!(ids(&base, &ask("harbour"))[0], "doc:ship");
    assert_eq!(
        ids(&base, &Search { kind: Some("person".into()), ..ask("boat") }),
        Vec::<String>::new()
    );
    assert_eq!(
        ids(&base, &Search { namespaces: Some(vec!["other".into()]), ..ask("boat") }),
        Vec::<String>::new()
    );
    // Without the model there are the words.
    assert_eq!(rig.ids("boat"), Vec::<String>::new());
}

#[test]
fn passages_are_asked_for_once() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", records())
        .write("kb/long.md", format!("# Long\n\n{}", "boat and lamp ".repeat(200)));
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    // 40 recipes that differ in their title, two more, and four passages of 600 words.
    let first = model.texts.load(Ordering::SeqCst);
    assert_eq!(first, 42 + 4);
    rig.write("kb/a.jsonl", records() + "{\"id\": \"doc:new\", \"title\": \"Budget\"}\n");
    import(&rig, &setup).unwrap();
    assert_eq!(model.texts.load(Ordering::SeqCst), first + 1);
    let anew = Import { sources: Vec::new(), root: rig.root().to_owned(), anew: true };
    anew.run(&setup).unwrap();
    assert_eq!(model.texts.load(Ordering::SeqCst), first + 1);
    let base = Base::new(setup);
    assert_eq!(ids(&base, &ask("money")), ["doc:new"]);
    rig.remove("kb/long.md");
    import(&rig, base.setup()).unwrap();
    assert_eq!(ids(&base, &ask("boat")), ["doc:ship"]);
    // Another model is another index.
    let other = model.setup_with(&rig, "other");
    assert!(Base::new(other.clone()).search(&ask("boat")).unwrap().degraded.is_some());
    let before = model.texts.load(Ordering::SeqCst);
    import(&rig, &other).unwrap();
    assert_eq!(model.texts.load(Ordering::SeqCst), before + 43);
}

#[test]
fn a_model_that_fails_breaks_nothing() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", records());
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    model.status.store(400, Ordering::SeqCst);
    let base = Base::new(setup.clone());
    let found = base.search(&ask("harbour")).unwrap();
    assert_eq!(found.hits[0].record.id, "doc:ship");
    let why = found.degraded.unwrap();
    assert!(why.contains("status 400") && !why.contains("sk-test"), "{why}");
    // An import is all or nothing.
    rig.write("kb/b.md", "# Lamp\n\nnew");
    let error = import(&rig, &setup).unwrap_err();
    assert!(matches!(&error, KbError::Model(why) if !why.contains("sk-test")), "{error}");
    assert_eq!(base.search(&ask("harbour")).unwrap().total, 1);
    assert_eq!(base.stats().unwrap().records, 42);
    model.status.store(200, Ordering::SeqCst);
    assert_eq!(import(&rig, &setup).unwrap().records, 43);
}

#[test]
fn an_address_must_be_one() {
    for url in ["", "ftp://x", "models.example/v1"] {
        let setup =
            EndpointSetup { url: url.into(), model: "m".into(), key: None, dimensions: None };
        assert!(Endpoint::new(setup).is_err(), "{url}");
    }
}
