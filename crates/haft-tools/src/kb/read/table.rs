//! CSV: the first row names the columns. A column that no field has is metadata.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use csv::{ByteRecord, ErrorKind, Position, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use super::{Defaults, Item, finish};

/// A quote that is never closed makes one field of all that follows, and that is held in memory.
const MOST: u64 = 256 << 20;
const MAX_COLUMNS: usize = 200;

pub(super) fn read(file: File, defaults: &Defaults, take: &mut dyn FnMut(Item)) -> io::Result<()> {
    let size = file.metadata()?.len();
    if size > MOST {
        let what = format!("has more than {MOST} bytes; split it, or use JSON lines");
        take(Err((0, what)));
        return Ok(());
    }
    let mut rows = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(file);
    let mut row = ByteRecord::new();
    let mut names: Option<Vec<String>> = None;
    loop {
        let line = rows.position().line();
        match rows.read_byte_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let said = error.to_string();
                if let ErrorKind::Io(error) = error.into_kind() {
                    return Err(error);
                }
                take(Err((line, format!("not CSV: {said}"))));
                break;
            }
        }
        let line = row.position().map_or(line, Position::line);
        if let Some(opened) = unclosed(&rows, &row, size)? {
            let what = "a quote is opened here and never closed; all that follows is one field";
            take(Err((opened, what.to_owned())));
            break;
        }
        let Some(values) = texts(&row) else {
            take(Err((line, "not UTF-8".to_owned())));
            if names.is_none() {
                break;
            }
            continue;
        };
        match &names {
            None => match header(&values) {
                Ok(read) => names = Some(read),
                Err(what) => {
                    take(Err((line, what)));
                    break;
                }
            },
            Some(names) => record(line, names, &values, defaults, take),
        }
    }
    Ok(())
}

/// The line of a quote that is never closed. The reader takes it for one that ends with the file, so
/// only the last row can have one.
fn unclosed(rows: &Reader<File>, row: &ByteRecord, size: u64) -> io::Result<Option<u64>> {
    let Some(start) = row.position().filter(|_| rows.position().byte() >= size) else {
        return Ok(None);
    };
    // To its end, where the reader has left it.
    let (mut file, mut text) = (rows.get_ref(), Vec::new());
    file.seek(SeekFrom::Start(start.byte()))?;
    file.read_to_end(&mut text)?;
    let mut line = start.line();
    let (mut opened, mut begins) = (None, true);
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            // Two of them stand for one.
            b'"' if opened.is_some() => {
                opened = opened.filter(|_| bytes.next_if_eq(&&b'"').is_some())
            }
            b'"' if begins => opened = Some(line),
            b'\n' => line += 1,
            _ => {}
        }
        begins = opened.is_none() && matches!(byte, b',' | b'\n' | b'\r');
    }
    Ok(opened)
}

fn texts(row: &ByteRecord) -> Option<Vec<&str>> {
    row.iter().map(|field| std::str::from_utf8(field).ok()).collect()
}

fn header(values: &[&str]) -> Result<Vec<String>, String> {
    if values.len() > MAX_COLUMNS {
        return Err(format!("{} columns; at most {MAX_COLUMNS} are read", values.len()));
    }
    let mut names: Vec<String> = Vec::new();
    for value in values {
        let name = value.trim_start_matches('\u{feff}').trim().to_owned();
        if name.is_empty() {
            return Err("a column has no name; the first row must name all of them".to_owned());
        }
        if names.contains(&name) {
            return Err(format!("the column `{name}` stands twice"));
        }
        names.push(name);
    }
    match names.iter().any(|name| name == "id") {
        true => Ok(names),
        false => Err("there is no column `id`; the first row must name the columns".to_owned()),
    }
}

fn record(
    line: u64,
    names: &[String],
    values: &[&str],
    defaults: &Defaults,
    take: &mut dyn FnMut(Item),
) {
    if values.iter().all(|value| value.trim().is_empty()) {
        return;
    }
    if values.len() != names.len() {
        let what = format!("{} fields, but {} columns", values.len(), names.len());
        take(Err((line, what)));
        return;
    }
    let mut fields = Map::new();
    for (name, value) in names.iter().zip(values).filter(|(_, value)| !value.trim().is_empty()) {
        let value = match name.as_str() {
            "metadata" => match serde_json::from_str::<Value>(value) {
                Ok(read) => read,
                Err(_) => {
                    take(Err((line, "`metadata` is not a JSON object".to_owned())));
                    return;
                }
            },
            _ => Value::from(*value),
        };
        fields.insert(name.clone(), value);
    }
    finish(line, fields, defaults, take);
}
