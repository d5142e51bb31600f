//! Times the knowledge base next to Tantivy and SQLite's FTS5 used bare, on the same made-up records
//! and the same filtered queries: `kb_speed [RECORDS] [QUERIES] [NAMES]`, where NAMES, with commas,
//! are those to time.
//!
//! Each is timed in a process of its own, so that its memory is its own. Times of queries are times
//! of the processor, not of the clock: what else the machine does in the meantime does not count.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has nothing to say"
)]

mod line;
mod made;
mod ours;
mod sqlite;
mod tantivy_bare;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use line::Line;
use made::Asked;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Someone to be timed.
struct Subject {
    name: &'static str,
    says: &'static str,
    run: fn(&Path, &Path, &[Asked]) -> Line,
}

const SUBJECTS: [Subject; 4] = [
    Subject { name: "haft", says: "haft", run: ours::run },
    Subject { name: "tantivy", says: "Tantivy, as it comes", run: tantivy_bare::as_it_comes },
    Subject { name: "tantivy-stems", says: "Tantivy, stems and total", run: tantivy_bare::stems },
    Subject { name: "fts5", says: "SQLite FTS5", run: sqlite::run },
];

/// What the process of one subject is started with.
const ONE: &str = "--one";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| arguments.get(at).map_or(usual, |n| n.parse().unwrap());
    if arguments.first().is_some_and(|first| first == ONE) {
        let subject = SUBJECTS.iter().find(|one| one.name == arguments[1]).unwrap();
        let (folder, file) = (PathBuf::from(&arguments[2]), PathBuf::from(&arguments[3]));
        let line = (subject.run)(&folder, &file, &made::queries(number(4, 0)));
        println!("{}", serde_json::to_string(&line).unwrap());
        return;
    }
    let (records, count) = (number(0, 100_000), number(1, 300));
    let names: Vec<&str> = arguments.get(2).map_or(Vec::new(), |names| names.split(',').collect());
    let wanted = |name| names.is_empty() || names.contains(&name);
    let folder = std::env::temp_dir().join(format!("haft-kb-speed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("records.jsonl");
    made::write_records(&file, records);
    let lines: Vec<Line> = SUBJECTS
        .iter()
        .filter(|one| wanted(one.name))
        .map(|one| Line { says: one.says.to_owned(), ..timed(one, &folder, &file, count) })
        .collect();
    let bytes = fs::metadata(&file).unwrap().len() / records;
    println!("{records} records of {bytes} bytes on average, {count} filtered queries");
    line::show(&lines, records);
    fs::remove_dir_all(&folder).unwrap();
}

fn timed(subject: &Subject, folder: &Path, file: &Path, count: u64) -> Line {
    let place = folder.join(subject.name);
    fs::create_dir_all(&place).unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args([ONE, subject.name])
        .args([&place, file])
        .arg(count.to_string())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::remove_dir_all(&place).unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}
