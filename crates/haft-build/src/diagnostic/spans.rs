//! From JSON pointers to bytes of the file.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{File, Part};

/// The positions of every member of the files asked about, read once per file.
#[derive(Default)]
pub(super) struct Spans {
    files: HashMap<File, HashMap<String, Place>>,
}

struct Place {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Spans {
    /// The bytes of a place, or of the nearest one around it: a field that is missing is reported
    /// at the object that lacks it.
    pub(super) fn find(
        &mut self,
        file: &File,
        text: &str,
        pointer: &str,
        part: Part,
    ) -> Option<Range<usize>> {
        let places = self.files.entry(file.clone()).or_insert_with(|| places(text));
        if let Some(place) = places.get(pointer) {
            return Some(match (part, &place.key) {
                (Part::Key, Some(key)) => key.clone(),
                (Part::Key, None) | (Part::Value, _) => first_line(text, place.value.clone()),
            });
        }
        let (mut around, _) = pointer.rsplit_once('/')?;
        loop {
            if let Some(place) = places.get(around) {
                let whole = place.key.clone().unwrap_or_else(|| place.value.clone());
                return Some(first_line(text, whole));
            }
            around = around.rsplit_once('/')?.0;
        }
    }
}

/// Underlining a whole object over forty lines shows nothing; its first line does.
fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    match text.get(span.clone()).and_then(|inside| inside.find('\n')) {
        Some(end) => span.start..span.start + end,
        None => span,
    }
}

/// The text has been read strictly before, so the parser's lenient ways don't matter here.
fn places(text: &str) -> HashMap<String, Place> {
    let mut found = HashMap::new();
    if let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        && let Some(root) = &parsed.value
    {
        walk(root, None, String::new(), &mut found);
    }
    found
}

fn walk(
    value: &Value<'_>,
    key: Option<Range<usize>>,
    at: String,
    out: &mut HashMap<String, Place>,
) {
    match value {
        Value::Object(object) => {
            for property in &object.properties {
                let name = match &property.name {
                    ObjectPropName::String(name) => name.value.as_ref(),
                    ObjectPropName::Word(name) => name.value,
                };
                let range = property.name.range();
                let path = format!("{at}/{}", escape(name));
                // Of two members with one name the later one is kept: it is the offender.
                walk(&property.value, Some(range.start..range.end), path, out);
            }
        }
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                walk(element, None, format!("{at}/{index}"), out);
            }
        }
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::NullKeyword(_) => {}
    }
    let range = value.range();
    out.insert(at, Place { key, value: range.start..range.end });
}

/// A name as one step of a JSON pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Line and column, from 1, in characters.
pub(super) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The bytes of one place in one JSON text.
pub(crate) fn span_of(text: &str, pointer: &str, part: Part) -> Option<Range<usize>> {
    Spans::default().find(&File::Folder, text, pointer, part)
}

/// Where the word, text or number that starts at `start` ends: enough to underline it.
pub(crate) fn token_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = match rest.strip_prefix('"') {
        Some(inside) => inside.find(['"', '\n']).map_or(1, |end| end + 2).min(rest.len()),
        None => rest
            .find(|c: char| c.is_whitespace() || ",:[]{}\"".contains(c))
            .unwrap_or(rest.len())
            .max(rest.chars().next().map_or(0, char::len_utf8)),
    };
    start + length
}
