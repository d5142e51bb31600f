//! SQLite's own full text.

use std::path::Path;

use crate::line::{Line, Watch, asked, peak, size};
use crate::made::{Asked, rows, updated};

const TABLES: &str = "PRAGMA journal_mode = WAL;
    CREATE VIRTUAL TABLE kb USING fts5(title, body, record UNINDEXED, tokenize = 'porter unicode61');
    CREATE TABLE meta(row INTEGER PRIMARY KEY, type TEXT, namespace TEXT, updated INTEGER);
    CREATE TABLE tags(tag TEXT, row INTEGER, PRIMARY KEY (tag, row)) WITHOUT ROWID;";

const QUERY: &str = "SELECT record FROM kb JOIN meta ON meta.row = kb.rowid
    WHERE kb MATCH ?1 AND namespace = ?2 AND (?3 IS NULL OR type = ?3) AND updated >= ?4
    AND (?5 IS NULL OR EXISTS (SELECT 1 FROM tags WHERE tag = ?5 AND row = kb.rowid))
    ORDER BY rank LIMIT 10";

pub(crate) fn run(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    let watch = Watch::start();
    let mut database = rusqlite::Connection::open(folder.join("kb.db")).unwrap();
    database.execute_batch(TABLES).unwrap();
    fill(&mut database, file);
    let (index, memory) = (watch.spent(), peak());
    let (times, found) = asked(queries, |asked| {
        let words =
            asked.words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        let mut statement = database.prepare_cached(QUERY).unwrap();
        let since = asked.since.unwrap_or(i64::MIN);
        let values = (words, asked.space, asked.kind, since, asked.tag.as_deref());
        let rows = statement.query_map(values, |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).count()
    });
    Line { says: String::new(), index, memory, bytes: size(folder), times, found }
}

fn fill(database: &mut rusqlite::Connection, file: &Path) {
    let transaction = database.transaction().unwrap();
    let write = |statement: &str, values: &dyn Fn(&mut rusqlite::CachedStatement<'_>)| {
        values(&mut transaction.prepare_cached(statement).unwrap());
    };
    for ((record, line), row) in rows(file).zip(1_i64..) {
        let field = |name: &str| record[name].as_str().unwrap();
        write("INSERT INTO kb(rowid, title, body, record) VALUES (?, ?, ?, ?)", &|into| {
            into.execute((row, field("title"), field("body"), &line)).unwrap();
        });
        write("INSERT INTO meta VALUES (?, ?, ?, ?)", &|into| {
            into.execute((row, field("type"), field("namespace"), updated(&record))).unwrap();
        });
        for tag in record["tags"].as_array().unwrap() {
            write("INSERT INTO tags VALUES (?, ?)", &|into| {
                into.execute((tag.as_str(), row)).unwrap();
            });
        }
    }
    transaction.commit().unwrap();
}
