//! JSON lines: one object a line, read strictly.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};

use haft_adm::strict::{Limits, parse_bytes};
use serde_json::Value;

use super::{Defaults, Item, finish};

/// A body of a mebibyte with every character escaped, and the rest.
const LONGEST: u64 = 8 << 20;

pub(super) fn read(file: File, defaults: &Defaults, take: &mut dyn FnMut(Item)) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if bytes.len() as u64 == LONGEST && bytes.last() != Some(&b'\n') {
            take(Err((number, format!("the line has more than {LONGEST} bytes"))));
            skip_line(&mut input)?;
            continue;
        }
        let line = if number == 1 {
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)
        } else {
            &bytes
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse_bytes(line.trim_ascii(), Limits::default().with_depth(32).with_values(100_000))
        {
            Ok(Value::Object(fields)) => finish(number, fields, defaults, take),
            Ok(_) => take(Err((number, "a line must be one JSON object".to_owned()))),
            Err(errors) => {
                let said = errors.to_string();
                // Of a line that cannot be read the first reason is enough.
                let first = said.lines().next().unwrap_or_default();
                let first = first
                    .split_once("column ")
                    .map_or(first.to_owned(), |(_, rest)| format!("column {rest}"));
                take(Err((number, format!("not JSON: {first}"))));
            }
        }
    }
    Ok(())
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}
