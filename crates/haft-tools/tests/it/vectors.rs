//! Search by meaning, with an endpoint that stands on this machine.

use std::sync::atomic::Ordering::SeqCst;

use haft_tools::kb::embed::{Endpoint, EndpointSetup};
use haft_tools::kb::{Base, Import, KbError, Report, Search, Setup};

use crate::endpoint::{KEY, Model};
use crate::meaning::{QUESTIONS, RECORDS};
use crate::rig::{Rig, ask};

fn import(rig: &Rig, setup: &Setup) -> Result<Report, KbError> {
    Import { sources: vec![rig.root().join("kb")], root: rig.root().to_owned(), anew: false }
        .run(setup)
}

fn reindex(rig: &Rig, setup: &Setup) -> Result<Report, KbError> {
    Import { sources: Vec::new(), root: rig.root().to_owned(), anew: true }.run(setup)
}

fn ids(base: &Base, search: &Search) -> Vec<String> {
    base.search(search).unwrap().hits.into_iter().map(|hit| hit.record.id).collect()
}

/// The records but for the last ones.
fn without(last: usize) -> String {
    let lines: Vec<&str> = RECORDS.lines().collect();
    lines[..lines.len() - last].join("\n") + "\n"
}

#[test]
fn what_is_said_in_other_words_is_found() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", RECORDS);
    let setup = model.setup(&rig);
    assert_eq!(import(&rig, &setup).unwrap().embedded, 24);
    let base = Base::new(setup);
    for (question, answer) in QUESTIONS {
        let found = base.search(&ask(question)).unwrap();
        let first = &found.hits[0];
        assert_eq!(
            (first.record.id.as_str(), found.degraded.clone()),
            (answer, None),
            "{question}"
        );
        assert!(first.score > 0.05 && first.score < 0.9, "{question}: {}", first.score);
        // By words alone it is not there.
        assert!(!rig.ids(question).contains(&answer.to_owned()), "{question}");
    }
    // Filters hold for meaning, too.
    let boat = ask("boat trip across the bay");
    let person = Search { kind: Some("person".into()), ..boat.clone() };
    let other = Search { namespaces: Some(vec!["other".into()]), ..boat };
    assert_eq!([ids(&base, &person), ids(&base, &other)], [const { Vec::<String>::new() }; 2]);
    let vectors = base.stats().unwrap().vectors.unwrap();
    assert_eq!((vectors.dimensions, vectors.passages), (384, 24));
    assert!(vectors.model.contains("all-MiniLM-L6-v2"), "{}", vectors.model);
}

#[test]
fn passages_are_asked_for_once() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", without(4));
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    rig.write("kb/a.jsonl", RECORDS);
    assert_eq!(import(&rig, &setup).unwrap().embedded, 4);
    assert_eq!(model.texts.load(SeqCst), 24);
    // Everything anew asks once, whether it is still the same model.
    assert_eq!(reindex_with_probe(&rig, &setup, &model), 0);
    let base = Base::new(setup);
    assert_eq!(ids(&base, &ask("baking a loaf"))[0], "doc:bread");
    // What is gone is not found by its meaning either.
    let others: String =
        RECORDS.lines().filter(|line| !line.contains("doc:bread")).collect::<Vec<_>>().join("\n");
    rig.write("kb/a.jsonl", others);
    assert_eq!(import(&rig, base.setup()).unwrap().embedded, 0);
    assert!(!ids(&base, &ask("baking a loaf")).contains(&"doc:bread".to_owned()));
    // Another model is another index, and it is said why.
    let other = model.setup_with(&rig, "other");
    let degraded = Base::new(other.clone()).search(&ask("paper")).unwrap().degraded.unwrap();
    assert!(degraded.contains("another model"), "{degraded}");
    let report = import(&rig, &other).unwrap();
    assert_eq!(report.embedded, 23);
    let why = report.anew.unwrap();
    assert!(why.contains("all-MiniLM-L6-v2") && why.contains("other"), "{why}");
}

/// The first text of a reindex is a trial that is not kept.
fn reindex_with_probe(rig: &Rig, setup: &Setup, model: &Model) -> usize {
    let before = model.texts.load(SeqCst);
    assert_eq!(reindex(rig, setup).unwrap().records, 24);
    model.texts.load(SeqCst) - before - 1
}

#[test]
fn a_model_that_fails_breaks_nothing() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", without(1));
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    model.status.store(400, SeqCst);
    let base = Base::new(setup.clone());
    let found = base.search(&ask("sourdough")).unwrap();
    assert_eq!(found.hits[0].record.id, "doc:bread");
    let why = found.degraded.unwrap();
    assert!(why.contains("status 400") && !why.contains(KEY), "{why}");
    // An import is all or nothing.
    rig.write("kb/a.jsonl", RECORDS);
    for (status, said) in [(400, "status 400"), (401, "key_env"), (404, "is a model there")] {
        model.status.store(status, SeqCst);
        let error = import(&rig, &setup).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, KbError::Model(_)) && !text.contains(KEY), "{text}");
        assert!(text.contains(said) && text.contains("[kb.embeddings]"), "{text}");
    }
    assert_eq!(base.stats().unwrap().records, 23);
    model.status.store(200, SeqCst);
    assert_eq!(import(&rig, &setup).unwrap().records, 24);
}

#[test]
fn what_was_made_before_a_failure_is_not_paid_for_twice() {
    let (rig, model) = (Rig::new(), Model::start());
    let many: String = (0..12)
        .flat_map(|copy| {
            RECORDS.lines().map(move |line| line.replace("\"doc:", &format!("\"doc{copy}:")))
        })
        .map(|line| line + "\n")
        .collect();
    rig.write("kb/a.jsonl", many);
    let setup = model.setup(&rig);
    // 288 passages, 64 in a request: the fifth fails.
    model.left.store(4, SeqCst);
    assert!(import(&rig, &setup).is_err());
    assert!(matches!(Base::new(setup.clone()).stats(), Err(KbError::Empty(_))));
    model.left.store(usize::MAX, SeqCst);
    let report = import(&rig, &setup).unwrap();
    assert_eq!((report.records, report.embedded), (288, 0));
    assert_eq!(ids(&Base::new(setup), &ask("baking a loaf")).len(), 10);
    let left = std::fs::read_dir(rig.root().join("index")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.starts_with("left-over")), "{left:?}");
}

#[test]
fn vectors_of_another_length_are_never_mixed() {
    let (rig, model) = (Rig::new(), Model::start());
    rig.write("kb/a.jsonl", without(4));
    let setup = model.setup(&rig);
    import(&rig, &setup).unwrap();
    // The same name, and another model behind it.
    model.length.store(256, SeqCst);
    let base = Base::new(setup.clone());
    let why = base.search(&ask("baking a loaf")).unwrap().degraded.unwrap();
    assert!(why.contains("haft kb reindex"), "{why}");
    rig.write("kb/a.jsonl", RECORDS);
    for _ in 0..2 {
        let error = import(&rig, &setup).unwrap_err().to_string();
        assert!(error.contains("256") && error.contains("haft kb reindex"), "{error}");
    }
    assert_eq!(reindex(&rig, &setup).unwrap().embedded, 24);
    assert_eq!(base.stats().unwrap().vectors.unwrap().dimensions, 256);
    assert_eq!(ids(&base, &ask("baking a loaf"))[0], "doc:bread");
}

#[test]
fn an_address_must_be_one_and_is_named_when_nobody_is_there() {
    let endpoint = |url: &str| {
        let (url, model) = (url.to_owned(), "m".to_owned());
        Endpoint::new(EndpointSetup { url, model, key: None, dimensions: None })
    };
    for url in ["", "ftp://x", "models.example/v1"] {
        assert!(endpoint(url).is_err(), "{url}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = endpoint(&format!("http://{free}/v1")).unwrap();
    let asked = haft_tools::kb::embed::Embed::embed(
        &nobody,
        &["x".to_owned()],
        haft_tools::kb::embed::Purpose::Search,
    );
    let error = asked.unwrap_err().to_string();
    assert!(error.contains(&format!("`http://{free}/v1` cannot be reached")), "{error}");
}
