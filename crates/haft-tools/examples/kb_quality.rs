//! Answers the queries of a test collection with the knowledge base and with Tantivy as it comes, for
//! `scripts/kb-quality` to judge: `kb_quality CORPUS RUNS [MODEL]`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that cannot go on has nothing to say"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use haft_tools::kb::words::{Language, words};
use haft_tools::kb::{Base, Import, Search, Setup};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, Schema, TEXT, Value as _};
use tantivy::{Index, TantivyDocument, Term};

/// How many are returned for each query.
const DEPTH: usize = 100;

struct Document {
    id: String,
    title: String,
    body: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (corpus, runs) = (Path::new(&arguments[1]), Path::new(&arguments[2]));
    let documents = documents(&fs::read_to_string(corpus.join("cran.all.1400")).unwrap());
    let queries = queries(&fs::read_to_string(corpus.join("queries.tsv")).unwrap());
    ours(&documents, &queries, runs, "haft, full text", None);
    if let Some(model) = arguments.get(3) {
        with_vectors(&documents, &queries, runs, Path::new(model));
    }
    plain(&documents, &queries, &runs.join("tantivy, as it comes.run"), |text| text.to_owned());
    plain(&documents, &queries, &runs.join("tantivy, English stems.run"), |text| {
        words(Language::English, text).join(" ")
    });
}

fn documents(text: &str) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    let mut part = "";
    for line in text.lines() {
        if let Some(id) = line.strip_prefix(".I ") {
            documents.push(Document {
                id: id.trim().into(),
                title: String::new(),
                body: String::new(),
            });
        } else if [".T", ".A", ".B", ".W"].contains(&line.trim_end()) {
            part = line.trim_end();
        } else if let Some(last) = documents.last_mut() {
            let into = match part {
                ".T" => &mut last.title,
                ".W" => &mut last.body,
                _ => continue,
            };
            writeln!(into, "{line}").unwrap();
        }
    }
    documents
}

fn queries(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(number, query)| (number.to_owned(), query.to_owned())).collect()
}

#[cfg(not(feature = "local-model"))]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn with_vectors(_: &[Document], _: &[(String, String)], _: &Path, _: &Path) {
    eprintln!("skipped: lines with vectors need `--features local-model`");
}

/// Words and vectors together, and the vectors alone: title and text cut where the model cuts them.
#[cfg(feature = "local-model")]
fn with_vectors(documents: &[Document], queries: &[(String, String)], runs: &Path, model: &Path) {
    use haft_tools::kb::embed::{Embed as _, Local, Purpose};
    let model = std::sync::Arc::new(Local::new(model).unwrap());
    ours(documents, queries, runs, "haft, hybrid", Some(model.clone()));
    let texts: Vec<String> =
        documents.iter().map(|one| format!("{}. {}", one.title.trim(), one.body)).collect();
    let vectors = model.embed(&texts, Purpose::Import).unwrap();
    let asked: Vec<String> = queries.iter().map(|(_, query)| query.clone()).collect();
    let asked = model.embed(&asked, Purpose::Search).unwrap();
    let mut run = String::new();
    for ((number, _), query) in queries.iter().zip(asked) {
        let alike = |vector: &Vec<f32>| vector.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let mut scores: Vec<(f32, &str)> = vectors
            .iter()
            .zip(documents)
            .map(|(vector, one)| (alike(vector), one.id.as_str()))
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (score, id) in scores.iter().take(DEPTH) {
            writeln!(run, "{number}\t{id}\t{score}").unwrap();
        }
    }
    fs::write(runs.join("vectors alone.run"), run).unwrap();
}

/// As a user would: a file of JSON lines, imported and searched.
fn ours(
    documents: &[Document],
    queries: &[(String, String)],
    runs: &Path,
    name: &str,
    embed: Option<std::sync::Arc<dyn haft_tools::kb::embed::Embed>>,
) {
    let folder = runs.join(format!("{name} base"));
    fs::create_dir_all(&folder).unwrap();
    let lines: String = documents
        .iter()
        .map(|one| {
            let title = one.title.split_whitespace().collect::<Vec<_>>().join(" ");
            let title = if title.is_empty() { "untitled".to_owned() } else { title };
            serde_json::json!({"id": one.id, "title": title, "body": one.body}).to_string() + "\n"
        })
        .collect();
    fs::write(folder.join("documents.jsonl"), lines).unwrap();
    let setup = Setup {
        path: folder.join("index"),
        language: Language::English,
        namespace: "studio".into(),
        embed,
    };
    let work =
        Import { sources: vec![folder.join("documents.jsonl")], root: folder.clone(), anew: true };
    let report = work.run(&setup).unwrap();
    assert_eq!(
        (report.records, report.problems.len()),
        (documents.len() as u64, 0),
        "{:?}",
        report.problems
    );
    let base = Base::new(setup);
    let mut run = String::new();
    for (number, query) in queries {
        let search = Search { query: query.clone(), limit: DEPTH, ..Search::default() };
        for hit in base.search(&search).unwrap().hits {
            writeln!(run, "{number}\t{}\t{}", hit.record.id, hit.score).unwrap();
        }
    }
    fs::write(runs.join(format!("{name}.run")), run).unwrap();
}

/// Tantivy with one text field of title and body, and any of the query's words.
fn plain(
    documents: &[Document],
    queries: &[(String, String)],
    run_file: &Path,
    prepare: impl Fn(&str) -> String,
) {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STORED);
    let text = schema.add_text_field("text", TEXT);
    let index = Index::create_in_ram(schema.build());
    let mut writer = index.writer_with_num_threads(1, 50_000_000).unwrap();
    for one in documents {
        let mut document = TantivyDocument::default();
        document.add_text(id, &one.id);
        document.add_text(text, prepare(&format!("{}\n{}", one.title, one.body)));
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    let searcher = index.reader().unwrap().searcher();
    let mut analyzer = index.tokenizer_for_field(text).unwrap();
    let mut run = String::new();
    for (number, query) in queries {
        let mut terms: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let prepared = prepare(query);
        let mut stream = analyzer.token_stream(&prepared);
        while stream.advance() {
            let term = Term::from_field_text(text, &stream.token().text);
            terms.push((
                Occur::Should,
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
            ));
        }
        let query = BooleanQuery::new(terms);
        for (score, at) in
            searcher.search(&query, &TopDocs::with_limit(DEPTH).order_by_score()).unwrap()
        {
            let document: TantivyDocument = searcher.doc(at).unwrap();
            let id = document.get_first(id).unwrap().as_str().unwrap().to_owned();
            writeln!(run, "{number}\t{id}\t{score}").unwrap();
        }
    }
    fs::write(run_file, run).unwrap();
}
