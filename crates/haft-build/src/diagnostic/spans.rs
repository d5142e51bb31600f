//! From JSON pointers to bytes of the file.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{File, Part};

/// What was worked out about each file, once.
#[derive(Default)]
pub(super) struct Spans {
    files: HashMap<File, Places>,
    lines: HashMap<File, Vec<usize>>,
}

impl Spans {
    pub(super) fn find(
        &mut self,
        file: &File,
        text: &str,
        pointer: &str,
        part: Part,
    ) -> Option<Range<usize>> {
        self.files.entry(file.clone()).or_insert_with(|| spans_of(text)).find(pointer, part)
    }

    /// Line and column, from 1, in characters.
    pub(super) fn line_column(&mut self, file: &File, text: &str, offset: usize) -> (usize, usize) {
        let starts = self.lines.entry(file.clone()).or_insert_with(|| {
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        let line = starts.partition_point(|start| *start <= offset);
        let start = starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = text.get(start..offset).unwrap_or_default();
        (line.max(1), before.chars().count() + 1)
    }
}

/// Where every member of one JSON text stands.
pub(crate) struct Places(HashMap<String, Place>);

struct Place {
    key: Option<Range<usize>>,
    value: Range<usize>,
    /// The end of the value's first line.
    first_line: usize,
}

impl Places {
    /// The bytes of a place, or of the nearest one around it: a field that is missing is reported
    /// at the object that lacks it.
    pub(crate) fn find(&self, pointer: &str, part: Part) -> Option<Range<usize>> {
        if let Some(place) = self.0.get(pointer) {
            return Some(match (part, &place.key) {
                (Part::Key, Some(key)) => key.clone(),
                (Part::Key, None) | (Part::Value, _) => place.shown(),
            });
        }
        let (mut around, _) = pointer.rsplit_once('/')?;
        loop {
            if let Some(place) = self.0.get(around) {
                return Some(place.key.clone().unwrap_or_else(|| place.shown()));
            }
            around = around.rsplit_once('/')?.0;
        }
    }
}

impl Place {
    /// Underlining a whole object over forty lines shows nothing; its first line does.
    fn shown(&self) -> Range<usize> {
        self.value.start..self.first_line
    }
}

/// The text has been read strictly before, so the parser's lenient ways don't matter here.
pub(crate) fn spans_of(text: &str) -> Places {
    let mut found = HashMap::new();
    if let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        && let Some(root) = &parsed.value
    {
        walk(text, root, None, String::new(), &mut found);
    }
    Places(found)
}

fn walk(
    text: &str,
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
                let path = format!("{at}/{}", haft_core::pointer::escape(name));
                // Of two members with one name the later one is kept: it is the offender.
                walk(text, &property.value, Some(range.start..range.end), path, out);
            }
        }
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                walk(text, element, None, format!("{at}/{index}"), out);
            }
        }
        Value::StringLit(_)
        | Value::NumberLit(_)
        | Value::BooleanLit(_)
        | Value::NullKeyword(_) => {}
    }
    let range = value.range();
    let whole = range.start..range.end;
    let line = text.get(whole.clone()).and_then(|inside| inside.find('\n'));
    let first_line = line.map_or(range.end, |end| range.start + end);
    out.insert(at, Place { key, value: whole, first_line });
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
