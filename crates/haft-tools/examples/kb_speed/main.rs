//! Times the knowledge base next to Tantivy and SQLite's FTS5 used bare, on the same made-up records
//! and the same filtered queries: `kb_speed [RECORDS] [QUERIES]`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has nothing to say"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use haft_tools::kb::words::Language;
use haft_tools::kb::{Base, Import, Search, Setup};
use serde_json::{Value, json};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{FAST, IndexRecordOption, STORED, STRING, Schema, TEXT};
use tantivy::{Index, TantivyDocument, Term};

const KINDS: [&str; 5] = ["project", "person", "process", "link", "doc"];
const SPACES: [&str; 3] = ["studio", "personal", "public"];
const FIRST_DAY: i64 = 1_600_000_000;

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    /// Few words are used often and most of them rarely, as in every language.
    fn word(&mut self) -> u64 {
        let part = (self.next() % 1_000_000) as f64 / 1_000_000.0;
        (50_000_f64.powf(part) - 1.0) as u64
    }
}

fn spelled(number: u64) -> String {
    let syllables = [
        "ba", "co", "di", "fu", "ga", "hel", "ki", "lor", "mu", "nes", "po", "ra", "si", "tu",
        "ver", "zo",
    ];
    let mut left = number + 16;
    let mut word = String::new();
    while left > 0 {
        word.push_str(syllables[(left % 16) as usize]);
        left /= 16;
    }
    word
}

fn text(dice: &mut Dice, words: u64) -> String {
    (0..words).map(|_| spelled(dice.word())).collect::<Vec<_>>().join(" ")
}

fn write_records(path: &Path, records: u64) {
    let mut dice = Dice(88_172_645_463_325_252);
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    for number in 0..records {
        let words = 15 + dice.below(30);
        let record = json!({
            "id": format!("r:{number}"),
            "type": KINDS[dice.below(5) as usize],
            "title": text(&mut dice, 4),
            "body": text(&mut dice, words),
            "tags": [format!("t{}", dice.below(50)), format!("u{}", dice.below(200))],
            "namespace": SPACES[dice.below(3) as usize],
            "last_updated": jiff::Timestamp::from_second(FIRST_DAY + dice.below(150_000_000) as i64).unwrap().to_string(),
        });
        writeln!(out, "{record}").unwrap();
    }
}

struct Asked {
    words: Vec<String>,
    kind: Option<&'static str>,
    tag: Option<String>,
    since: Option<i64>,
    space: &'static str,
}

/// Every query is filtered: all by namespace, some by type, tag or date as well.
fn queries(count: u64) -> Vec<Asked> {
    let mut dice = Dice(4_101_842_887_655_102_017);
    (0..count)
        .map(|number| Asked {
            words: (0..2 + dice.below(3)).map(|_| spelled(20 + dice.word() % 5_000)).collect(),
            kind: (number % 2 == 0).then(|| KINDS[dice.below(5) as usize]),
            tag: (number % 3 == 0).then(|| format!("t{}", dice.below(50))),
            since: (number % 4 == 0).then(|| FIRST_DAY + dice.below(150_000_000) as i64),
            space: SPACES[dice.below(3) as usize],
        })
        .collect()
}

struct Line {
    name: &'static str,
    index: Duration,
    bytes: u64,
    /// In order once all are there.
    times: Vec<Duration>,
    found: usize,
}

impl Line {
    fn at(&self, part: f64) -> f64 {
        self.times[((self.times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1_000.0
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let records: u64 = arguments.next().map_or(100_000, |text| text.parse().unwrap());
    let count: u64 = arguments.next().map_or(300, |text| text.parse().unwrap());
    let folder = std::env::temp_dir().join(format!("haft-kb-speed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("records.jsonl");
    write_records(&file, records);
    let queries = queries(count);
    let (ours, peak) = ours(&folder, &file, &queries);
    let mut lines = [ours, bare(&folder, &file, &queries), fts(&folder, &file, &queries)];
    println!(
        "{records} records of {} bytes on average, {count} filtered queries",
        fs::metadata(&file).unwrap().len() / records
    );
    println!(
        "{:28} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "", "records/s", "index MB", "p50 ms", "p99 ms", "max ms", "found"
    );
    lines.iter_mut().for_each(|line| line.times.sort_unstable());
    for line in &lines {
        let at = |part: f64| line.at(part);
        println!(
            "{:28} {:>10.0} {:>9.1} {:>9.2} {:>9.2} {:>9.2} {:>8}",
            line.name,
            records as f64 / line.index.as_secs_f64(),
            line.bytes as f64 / 1e6,
            at(0.5),
            at(0.99),
            at(1.0),
            line.found
        );
    }
    let [ours, others @ ..] = &lines;
    for other in others {
        println!(
            "haft against {}: index rate {:.2}, index size {:.2}, p50 {:.2}, p99 {:.2}",
            other.name,
            other.index.as_secs_f64() / ours.index.as_secs_f64(),
            ours.bytes as f64 / other.bytes as f64,
            ours.at(0.5) / other.at(0.5),
            ours.at(0.99) / other.at(0.99)
        );
    }
    println!("haft's import had at most {peak} MB of memory");
    fs::remove_dir_all(&folder).unwrap();
}

/// The most memory that this process ever had, in megabytes; what is mapped from files counts too.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1_024
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            if entry.path().is_dir() {
                size(&entry.path())
            } else {
                entry.metadata().unwrap().len()
            }
        })
        .sum()
}

fn timed<'a>(
    queries: &'a [Asked],
    mut ask: impl FnMut(&'a Asked) -> usize,
) -> (Vec<Duration>, usize) {
    // Once without counting, as a server that has been running for a while would answer.
    queries.iter().take(20).for_each(|asked| {
        ask(asked);
    });
    let mut found = 0;
    let times = queries
        .iter()
        .map(|asked| {
            let start = Instant::now();
            found += ask(asked);
            start.elapsed()
        })
        .collect();
    (times, found)
}

/// With the memory of the import, which is the first thing that this process does.
fn ours(folder: &Path, file: &Path, queries: &[Asked]) -> (Line, u64) {
    let setup = Setup {
        path: folder.join("haft"),
        language: Language::English,
        namespace: "studio".into(),
        embed: None,
    };
    let start = Instant::now();
    let work = Import { sources: vec![file.to_owned()], root: folder.to_owned(), anew: false };
    assert!(work.run(&setup).unwrap().problems.is_empty());
    let (index, peak) = (start.elapsed(), peak());
    let bytes = size(&setup.path);
    let base = Base::new(setup);
    let (times, found) = timed(queries, |asked| {
        let search = Search {
            query: asked.words.join(" "),
            namespaces: Some(vec![asked.space.to_owned()]),
            kind: asked.kind.map(str::to_owned),
            tags: asked.tag.iter().cloned().collect(),
            since: asked.since.map(|at| jiff::Timestamp::from_second(at).unwrap()),
            until: None,
            limit: 10,
            snippets: true,
        };
        base.search(&search).unwrap().hits.len()
    });
    (Line { name: "haft", index, bytes, times, found }, peak)
}

fn rows(file: &Path) -> impl Iterator<Item = (Value, String)> {
    BufReader::new(fs::File::open(file).unwrap()).lines().map(|line| {
        let line = line.unwrap();
        (serde_json::from_str(&line).unwrap(), line)
    })
}

fn updated(record: &Value) -> i64 {
    record["last_updated"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

/// Tantivy with the fields and options of its own examples.
fn bare(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    let mut schema = Schema::builder();
    let title = schema.add_text_field("title", TEXT);
    let body = schema.add_text_field("body", TEXT);
    let id = schema.add_text_field("id", STRING);
    let kind = schema.add_text_field("type", STRING);
    let tag = schema.add_text_field("tag", STRING);
    let space = schema.add_text_field("namespace", STRING);
    let at = schema.add_i64_field("updated", FAST);
    let stored = schema.add_text_field("record", STORED);
    let path = folder.join("tantivy");
    fs::create_dir_all(&path).unwrap();
    let start = Instant::now();
    let index = Index::create_in_dir(&path, schema.build()).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut writer = index.writer_with_num_threads(threads, threads * (64 << 20)).unwrap();
    for (record, line) in rows(file) {
        let mut document = TantivyDocument::default();
        document.add_text(title, record["title"].as_str().unwrap());
        document.add_text(body, record["body"].as_str().unwrap());
        document.add_text(id, record["id"].as_str().unwrap());
        document.add_text(kind, record["type"].as_str().unwrap());
        document.add_text(space, record["namespace"].as_str().unwrap());
        for one in record["tags"].as_array().unwrap() {
            document.add_text(tag, one.as_str().unwrap());
        }
        document.add_i64(at, updated(&record));
        document.add_text(stored, line);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let time = start.elapsed();
    let searcher = index.reader().unwrap().searcher();
    let (times, found) = timed(queries, |asked| {
        let exact = |field, value: &str| -> (Occur, Box<dyn Query>) {
            let term =
                TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic);
            (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(term), 0.0)))
        };
        let mut words: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for word in &asked.words {
            for field in [title, body] {
                let term = TermQuery::new(
                    Term::from_field_text(field, word),
                    IndexRecordOption::WithFreqs,
                );
                words.push((Occur::Should, Box::new(term)));
            }
        }
        let mut all: Vec<(Occur, Box<dyn Query>)> =
            vec![(Occur::Must, Box::new(BooleanQuery::new(words))), exact(space, asked.space)];
        all.extend(asked.kind.map(|value| exact(kind, value)));
        all.extend(asked.tag.as_deref().map(|value| exact(tag, value)));
        all.extend(asked.since.map(|since| -> (Occur, Box<dyn Query>) {
            let from = std::ops::Bound::Included(Term::from_field_i64(at, since));
            let range = RangeQuery::new(from, std::ops::Bound::Unbounded);
            (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(range), 0.0)))
        }));
        let best = searcher
            .search(&BooleanQuery::new(all), &TopDocs::with_limit(10).order_by_score())
            .unwrap();
        let read: Vec<TantivyDocument> =
            best.iter().map(|(_, place)| searcher.doc(*place).unwrap()).collect();
        read.len()
    });
    Line { name: "Tantivy, bare", index: time, bytes: size(&path), times, found }
}

/// SQLite's own full text.
fn fts(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    let path = folder.join("sqlite");
    fs::create_dir_all(&path).unwrap();
    let start = Instant::now();
    let mut database = rusqlite::Connection::open(path.join("kb.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE VIRTUAL TABLE kb USING fts5(title, body, record UNINDEXED, tokenize = 'porter unicode61');
             CREATE TABLE meta(row INTEGER PRIMARY KEY, type TEXT, namespace TEXT, updated INTEGER);
             CREATE TABLE tags(tag TEXT, row INTEGER, PRIMARY KEY (tag, row)) WITHOUT ROWID;",
        )
        .unwrap();
    let transaction = database.transaction().unwrap();
    for ((record, line), row) in rows(file).zip(1_i64..) {
        let field = |name: &str| record[name].as_str().unwrap();
        transaction
            .prepare_cached("INSERT INTO kb(rowid, title, body, record) VALUES (?, ?, ?, ?)")
            .unwrap()
            .execute((row, field("title"), field("body"), line))
            .unwrap();
        transaction
            .prepare_cached("INSERT INTO meta VALUES (?, ?, ?, ?)")
            .unwrap()
            .execute((row, field("type"), field("namespace"), updated(&record)))
            .unwrap();
        for tag in record["tags"].as_array().unwrap() {
            transaction
                .prepare_cached("INSERT INTO tags VALUES (?, ?)")
                .unwrap()
                .execute((tag.as_str(), row))
                .unwrap();
        }
    }
    transaction.commit().unwrap();
    let time = start.elapsed();
    let (times, found) = timed(queries, |asked| {
        let words =
            asked.words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        let mut statement = database
            .prepare_cached(
                "SELECT record FROM kb JOIN meta ON meta.row = kb.rowid
                 WHERE kb MATCH ?1 AND namespace = ?2 AND (?3 IS NULL OR type = ?3) AND updated >= ?4
                 AND (?5 IS NULL OR EXISTS (SELECT 1 FROM tags WHERE tag = ?5 AND row = kb.rowid))
                 ORDER BY rank LIMIT 10",
            )
            .unwrap();
        let values =
            (words, asked.space, asked.kind, asked.since.unwrap_or(i64::MIN), asked.tag.as_deref());
        let rows = statement.query_map(values, |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).count()
    });
    Line { name: "SQLite FTS5, bare", index: time, bytes: size(&path), times, found }
}
