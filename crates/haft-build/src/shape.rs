//! The shape of a JSON document as data: which members an object has and what each may be.
//!
//! A contract is checked against a table ([`crate::contract_shape`]) instead of being
//! deserialised, because deserialising stops at the first mistake and cannot say where it is.

use serde_json::Value;

use crate::code;
use crate::diagnostic::{At, File, Findings, Part, escape};
use haft_core::nearest;

/// What a value may be.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Text, not empty.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number of at least this.
    Count(u64),
    /// A whole number from 1 to this.
    UpTo(u64),
    /// Any number.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these. The second says whether it may be empty.
    List(&'static Shape, Empty),
    /// Names of the author's choosing.
    Map(&'static Shape),
    /// These members and no others.
    Object(&'static [Field]),
    /// `true`, `false`, or this.
    BoolOr(&'static Shape),
    /// Text, or this.
    TextOr(&'static Shape),
    /// A word, or an object.
    WordOr(&'static [&'static str], &'static Shape),
    /// An object whose `kind` says which members it has.
    Tagged(&'static [(&'static str, &'static [Field])]),
    /// Checked elsewhere.
    Any,
}

/// Whether a list may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    Allowed,
    Refused,
}

/// One member of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: Shape,
}

/// Whether a member must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// Checks `value` and reports everything that does not fit.
pub(crate) fn check(shape: &Shape, value: &Value, file: &File, pointer: &str, out: &mut Findings) {
    Check { file, out }.value(shape, value, pointer);
}

struct Check<'a> {
    file: &'a File,
    out: &'a mut Findings,
}

impl Check<'_> {
    fn value(&mut self, shape: &Shape, value: &Value, at: &str) {
        match (shape, value) {
            (Shape::Any, _)
            | (Shape::Bool | Shape::BoolOr(_), Value::Bool(_))
            | (Shape::Number, Value::Number(_)) => {}
            (Shape::Text | Shape::TextOr(_), Value::String(text)) => {
                if text.trim().is_empty() {
                    self.report(&code::OUT_OF_RANGE, at, format!("{} is empty", last(at)));
                }
            }
            (Shape::Count(least), Value::Number(number)) => {
                if number.as_u64().is_none_or(|count| count < *least) {
                    let message =
                        format!("{} must be a whole number of at least {least}", last(at));
                    self.report(&code::OUT_OF_RANGE, at, message);
                }
            }
            (Shape::UpTo(most), Value::Number(number)) => {
                if number.as_u64().is_none_or(|count| !(1..=*most).contains(&count)) {
                    let message = format!("{} must be {}", last(at), expected(shape));
                    self.report(&code::OUT_OF_RANGE, at, message);
                }
            }
            (Shape::Word(words) | Shape::WordOr(words, _), Value::String(word)) => {
                self.word(words, word, at);
            }
            (Shape::List(of, empty), Value::Array(list)) => self.list(of, *empty, list, at),
            (Shape::Map(of), Value::Object(map)) => {
                for (name, value) in map {
                    self.value(of, value, &format!("{at}/{}", escape(name)));
                }
            }
            (Shape::Object(fields), Value::Object(map)) => self.object(fields, map, at),
            (
                Shape::BoolOr(other) | Shape::TextOr(other) | Shape::WordOr(_, other),
                Value::Object(_),
            ) => {
                self.value(other, value, at);
            }
            (Shape::Tagged(kinds), Value::Object(map)) => self.tagged(kinds, map, at),
            (_, found) => {
                let message =
                    format!("{} must be {}, not {}", last(at), expected(shape), kind_of(found));
                self.report(&code::WRONG_TYPE, at, message);
            }
        }
    }

    fn word(&mut self, words: &[&'static str], word: &str, at: &str) {
        if !words.contains(&word) {
            let message = format!("`{word}` is not a value of {}", last(at));
            let help = nearest::suggest(word, words);
            self.report(&code::UNKNOWN_VALUE, at, message).help(help);
        }
    }

    fn list(&mut self, of: &Shape, empty: Empty, list: &[Value], at: &str) {
        if list.is_empty() && empty == Empty::Refused {
            self.report(&code::OUT_OF_RANGE, at, format!("{} is empty", last(at)));
        }
        for (index, value) in list.iter().enumerate() {
            let place = format!("{at}/{index}");
            if list.iter().take(index).any(|before| before == value) {
                let message = format!("{value} stands twice in {}", last(at));
                self.report(&code::REPEATED, &place, message).help("keep one");
            }
            self.value(of, value, &place);
        }
    }

    fn object(&mut self, fields: &[Field], map: &serde_json::Map<String, Value>, at: &str) {
        let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let unknown: Vec<&String> =
            map.keys().filter(|name| !known.contains(&name.as_str())).collect();
        // A field that is misspelt is not also missing.
        let meant: Vec<&str> =
            unknown.iter().filter_map(|name| nearest::find(name, known.iter().copied())).collect();
        for field in fields {
            match map.get(field.name) {
                Some(value) => self.value(&field.shape, value, &format!("{at}/{}", field.name)),
                None if field.need == Need::Required && !meant.contains(&field.name) => {
                    let message = format!("{} has no `{}`", subject(at), field.name);
                    let help = format!("add it: `{}` is {}", field.name, expected(&field.shape));
                    self.report(&code::MISSING_FIELD, at, message).help(help);
                }
                None => {}
            }
        }
        for name in unknown {
            let place = At::Pointer(self.file.clone(), format!("{at}/{}", escape(name)), Part::Key);
            let message = format!("{} has no field `{name}`", subject(at));
            let help = nearest::suggest(name, &known);
            self.out.add(&code::UNKNOWN_FIELD, place, message).help(help);
        }
    }

    fn tagged(
        &mut self,
        kinds: &[(&'static str, &'static [Field])],
        map: &serde_json::Map<String, Value>,
        at: &str,
    ) {
        let words: Vec<&'static str> = kinds.iter().map(|(kind, _)| *kind).collect();
        match map.get("kind") {
            Some(Value::String(kind)) => {
                match kinds.iter().find(|(name, _)| name == kind) {
                    Some((_, fields)) => self.object(fields, map, at),
                    None => self.word(&words, kind, &format!("{at}/kind")),
                };
            }
            Some(other) => {
                let message = format!("`kind` must be a text, not {}", kind_of(other));
                self.report(&code::WRONG_TYPE, &format!("{at}/kind"), message);
            }
            None => {
                let message = format!("{} has no `kind`", subject(at));
                let help = format!("use one of {}", nearest::list(&words));
                self.report(&code::MISSING_FIELD, at, message).help(help);
            }
        }
    }

    fn report(
        &mut self,
        code: &'static code::Code,
        at: &str,
        message: String,
    ) -> &mut crate::diagnostic::Finding {
        self.out.add(code, At::Pointer(self.file.clone(), at.to_owned(), Part::Value), message)
    }
}

/// The member that a pointer ends in, in backticks.
fn last(pointer: &str) -> String {
    match pointer.rsplit_once('/') {
        Some((before, index)) if index.parse::<usize>().is_ok() => {
            format!("element {index} of {}", last(before))
        }
        Some((_, name)) => format!("`{}`", name.replace("~1", "/").replace("~0", "~")),
        None => "the document".to_owned(),
    }
}

fn subject(pointer: &str) -> String {
    if pointer.is_empty() { "the contract".to_owned() } else { last(pointer) }
}

fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Text => "a text".into(),
        Shape::Bool => "`true` or `false`".into(),
        Shape::Count(least) => format!("a whole number of at least {least}"),
        Shape::UpTo(most) => format!("a whole number from 1 to {most}"),
        Shape::Number => "a number".into(),
        Shape::Word(words) => format!("one of {}", nearest::list(words)),
        Shape::List(of, _) => format!("a list; each element is {}", expected(of)),
        Shape::Map(_) | Shape::Object(_) | Shape::Tagged(_) => "an object".into(),
        Shape::BoolOr(_) => "`true`, `false` or an object".into(),
        Shape::TextOr(_) => "text, or an object".to_owned(),
        Shape::WordOr(words, _) => format!("one of {}, or an object", nearest::list(words)),
        Shape::Any => "a value".into(),
    }
}

/// What a JSON value is, in words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
