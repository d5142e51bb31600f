//! How well `reg_search` finds tools may not fall unseen.
//!
//! Two sets of questions in the words that somebody would search with, written for this test and not
//! used to choose any weight: over 68 tools of our own (`recall/own.tsv`: name, description,
//! question), and over the 3,526 definitions of the public corpus (`recall/corpus.tsv`: question,
//! name). The floors are one question below what was measured; `docs/search.md` has the numbers.

use std::path::Path;

use haft_runtime::guide::{Document, Index};
use serde_json::Value;

/// The rows of a table, by cell.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split('\t').collect()).collect()
}

/// The share of questions whose tool is among the first so many.
fn recall(names: &[String], index: &Index, asked: &[(&str, &str)], at: usize) -> f64 {
    let mut missed = Vec::new();
    for (question, name) in asked {
        let found = index.search(question, at, |_| true);
        if !found.iter().any(|place| names[*place] == *name) {
            missed.push(format!("{name}: {question}"));
        }
    }
    eprintln!("not among the first {at}:\n  {}", missed.join("\n  "));
    1.0 - missed.len() as f64 / asked.len() as f64
}

#[track_caller]
fn check(documents: &[Document], asked: &[(&str, &str)], floors: &[(usize, f64)]) {
    let names: Vec<String> = documents.iter().map(|document| document.name.clone()).collect();
    for (_, name) in asked {
        assert!(names.iter().any(|known| known == name), "there is no `{name}`");
    }
    let index = Index::new(documents);
    for (at, floor) in floors {
        let found = recall(&names, &index, asked, *at);
        eprintln!("recall@{at} of {} questions: {found:.3}", asked.len());
        assert!(found >= *floor, "recall@{at} has fallen to {found:.3}, below {floor}");
    }
}

#[test]
fn tools_of_our_own_are_found() {
    let rows = rows(include_str!("recall/own.tsv"));
    let document = |row: &Vec<&str>| Document {
        name: row[0].to_owned(),
        description: row[1].to_owned(),
        ..Document::default()
    };
    let documents: Vec<Document> = rows.iter().map(document).collect();
    let asked: Vec<(&str, &str)> = rows.iter().map(|row| (row[2], row[0])).collect();
    check(&documents, &asked, &[(1, 0.29), (5, 0.48)]);
}

#[test]
fn tools_of_the_corpus_are_found() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/bfcl_functions.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "the corpus is missing");
        eprintln!("skipped: the public corpus is not beside the checkout");
        return;
    };
    let functions: Vec<Value> = serde_json::from_str(&text).unwrap();
    let documents: Vec<Document> = functions.iter().map(document).collect();
    let rows = rows(include_str!("recall/corpus.tsv"));
    let asked: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[1])).collect();
    check(&documents, &asked, &[(1, 0.72), (5, 0.88)]);
}

fn document(function: &Value) -> Document {
    let text = |key: &str| function[key].as_str().unwrap_or_default().to_owned();
    let mut parameters = Vec::new();
    collect(&function["schema"], &mut parameters);
    Document {
        name: text("name"),
        description: text("description"),
        parameters,
        ..Document::default()
    }
}

fn collect(schema: &Value, into: &mut Vec<(String, String)>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let listed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let said = schema["description"].as_str().unwrap_or_default();
        into.push((
            name.clone(),
            std::iter::once(said).chain(listed).collect::<Vec<_>>().join(" "),
        ));
        collect(schema, into);
        collect(&schema["items"], into);
    }
}
