//! How well `reg_search` finds tools: recall over a corpus of definitions and queries, beside plain
//! BM25 over name and description. `scripts/search-recall` gets the queries and runs this.
//!
//! ```text
//! recall FUNCTIONS.json QUERIES.jsonl
//! ```
//!
//! A function is `{id, name, description, schema}`, a query `{query, functions: [id]}`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::time::Instant;

use haft_runtime::guide::{Document, Index};
use serde_json::Value;

const AT: [usize; 4] = [1, 3, 5, 10];

struct Query {
    text: String,
    group: String,
    wanted: HashSet<usize>,
}

#[expect(clippy::print_stdout, reason = "this is a report")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(functions), Some(queries)) = (arguments.next(), arguments.next()) else {
        return Err("recall FUNCTIONS.json QUERIES.jsonl".into());
    };
    let functions: Vec<Value> = serde_json::from_str(&fs::read_to_string(functions)?)?;
    let documents: Vec<Document> = functions.iter().map(document).collect();
    let queries = read(&fs::read_to_string(queries)?, &functions)?;
    println!("{} tools, {} queries", documents.len(), queries.len());

    let begun = Instant::now();
    let index = Index::new(&documents);
    println!("reg_search: index made in {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    let begun = Instant::now();
    let ours: Vec<Vec<usize>> =
        queries.iter().map(|query| index.search(&query.text, 10, |_| true)).collect();
    let each = begun.elapsed().as_secs_f64() * 1e3 / queries.len().max(1) as f64;
    println!("reg_search: {each:.2} ms a query (not an optimised build unless you made one)");
    let plain = Plain::new(&documents);
    let theirs: Vec<Vec<usize>> = queries.iter().map(|query| plain.search(&query.text)).collect();

    let names: Vec<&str> = documents.iter().map(|document| document.name.as_str()).collect();
    println!("\n| | {} |", AT.map(|at| format!("recall@{at}")).join(" | "));
    println!("|---|{}", "---|".repeat(AT.len()));
    for (what, found) in [("reg_search", &ours), ("plain BM25", &theirs)] {
        println!("| {what}, the very definition | {} |", row(&queries, found, None));
        println!("| {what}, any of that name | {} |", row(&queries, found, Some(&names)));
    }
    println!("\nrecall@5 by kind of query, the very definition: reg_search, plain BM25");
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, query) in queries.iter().enumerate() {
        groups.entry(&query.group).or_default().push(at);
    }
    for (group, members) in groups {
        let mean = |found: &[Vec<usize>]| {
            let all = members.iter().filter_map(|at| Some((queries.get(*at)?, found.get(*at)?)));
            all.map(|(query, found)| recall(query, found, 5, None)).sum::<f64>()
                / members.len() as f64
        };
        println!("{group:24} {:5}  {:.3}  {:.3}", members.len(), mean(&ours), mean(&theirs));
    }
    Ok(())
}

fn document(function: &Value) -> Document {
    let text = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut parameters = Vec::new();
    if let Some(schema) = function.get("schema") {
        collect(schema, &mut parameters);
    }
    Document {
        name: text("name"),
        description: text("description"),
        parameters,
        ..Document::default()
    }
}

/// Parameters at every depth, with what they say and the values that they list: what the typed view
/// of a contract has.
fn collect(schema: &Value, into: &mut Vec<(String, String)>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let listed: Vec<&str> = listed.filter_map(Value::as_str).collect();
        into.push((name.clone(), format!("{said} {}", listed.join(" "))));
        collect(schema, into);
        if let Some(items) = schema.get("items") {
            collect(items, into);
        }
    }
}

fn read(text: &str, functions: &[Value]) -> Result<Vec<Query>, Box<dyn Error>> {
    let places: HashMap<&str, usize> = functions
        .iter()
        .enumerate()
        .filter_map(|(at, function)| Some((function.get("id")?.as_str()?, at)))
        .collect();
    let mut queries = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let ids = line.get("functions").and_then(Value::as_array).into_iter().flatten();
        let wanted: Option<HashSet<usize>> =
            ids.map(|id| places.get(id.as_str()?).copied()).collect();
        let wanted = wanted.filter(|wanted| !wanted.is_empty());
        let wanted = wanted.ok_or("a query names a function that is not there")?;
        queries.push(Query { text: text("query"), group: text("group"), wanted });
    }
    Ok(queries)
}

fn row(queries: &[Query], found: &[Vec<usize>], names: Option<&[&str]>) -> String {
    let mean = |at: usize| {
        let all = queries.iter().zip(found);
        all.map(|(query, found)| recall(query, found, at, names)).sum::<f64>()
            / queries.len().max(1) as f64
    };
    AT.map(|at| format!("{:.3}", mean(at))).join(" | ")
}

/// Which part of what was wanted is among the first. With names, a definition of the same name
/// counts.
fn recall(query: &Query, found: &[usize], at: usize, names: Option<&[&str]>) -> f64 {
    let first = found.get(..at.min(found.len())).unwrap_or_default();
    let name = |place: &usize| names.and_then(|names| names.get(*place));
    let hit = |wanted: &&usize| {
        first.iter().any(|one| one == *wanted || (names.is_some() && name(one) == name(wanted)))
    };
    query.wanted.iter().filter(hit).count() as f64 / query.wanted.len() as f64
}

/// BM25 as it is in textbooks, over name and description: letters and digits in lower case.
struct Plain {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Plain {
    fn new(documents: &[Document]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, document) in documents.iter().enumerate() {
            let words = split(&format!("{} {}", document.name, document.description));
            lengths.push(words.len() as f64);
            let mut counts: HashMap<String, f64> = HashMap::new();
            words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
            counts
                .into_iter()
                .for_each(|(word, n)| postings.entry(word).or_default().push((at, n)));
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { postings, lengths, average }
    }

    fn search(&self, query: &str) -> Vec<usize> {
        let (k1, b) = (1.2, 0.75);
        let asked: HashSet<String> = split(query).into_iter().collect();
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in asked {
            let Some(postings) = self.postings.get(&word) else { continue };
            let (all, n) = (self.lengths.len() as f64, postings.len() as f64);
            let rare = (1.0 + (all - n + 0.5) / (n + 0.5)).ln();
            for (at, count) in postings {
                let length = self.lengths.get(*at).copied().unwrap_or_default();
                let long = 1.0 - b + b * length / self.average;
                *scores.entry(*at).or_default() += rare * count * (k1 + 1.0) / (count + k1 * long);
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.into_iter().take(10).map(|(at, _)| at).collect()
    }
}

fn split(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}
