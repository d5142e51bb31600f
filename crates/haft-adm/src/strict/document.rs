//! The grammar of values, arrays and objects.

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::{Limits, Numbers, Problem, number, string};
use crate::path::Path;
use crate::report::{Report, Reported};
use crate::words::excerpt;

/// Reads a whole text.
///
/// A value may come back although something was reported, so that the caller can look for
/// further mistakes in it: of double keys it holds the first, for refused numbers a zero.
pub(crate) fn read(text: &str, limits: Limits, report: &mut Report) -> Result<Value, Reported> {
    read_with(text, limits, &[], report).map(|read| read.value)
}

/// What was read.
pub(super) struct Read<'t> {
    pub(super) value: Value,
    /// The text of the member that was wanted, where there is one.
    pub(super) found: Option<&'t str>,
    pub(super) numbers: Numbers,
}

/// The same, with the text of the member that these names lead to, from outside to inside.
pub(super) fn read_with<'t>(
    text: &'t str,
    limits: Limits,
    wanted: &[&str],
    report: &mut Report,
) -> Result<Read<'t>, Reported> {
    let mut cursor = Cursor::new(text, report);
    let root = Path::Root;
    if text.len() > limits.bytes {
        let problem = Problem::TooLarge { bytes: text.len(), limit: limits.bytes };
        return Err(cursor.problem(&root, 0, problem));
    }
    if text.starts_with('\u{feff}') {
        return Err(cursor.problem(&root, 0, Problem::ByteOrderMark));
    }
    let numbers = Numbers::default();
    let mut document = Document { cursor, limits, values: 0, numbers, wanted, found: None };
    document.cursor.skip_space();
    let value = document.value(&root, limits.depth)?;
    document.cursor.skip_space();
    match document.cursor.peek() {
        None => Ok(Read { value, found: document.found, numbers: document.numbers }),
        Some(_) => {
            let at = document.cursor.at();
            Err(document.cursor.problem(&root, at, Problem::Trailing))
        }
    }
}

struct Document<'t, 'r> {
    cursor: Cursor<'t, 'r>,
    limits: Limits,
    values: usize,
    numbers: Numbers,
    /// The names that lead from here to the member whose text is wanted; none where it is not in here.
    wanted: &'r [&'r str],
    found: Option<&'t str>,
}

impl<'r> Document<'_, 'r> {
    /// Recursion ends at `depth`, which is never more than `MAX_DEPTH`.
    fn value(&mut self, path: &Path<'_>, depth: usize) -> Result<Value, Reported> {
        self.count(path)?;
        match self.cursor.peek() {
            Some(b'{') => self.object(path, depth),
            Some(b'[') => self.array(path, depth),
            Some(b'"') => string::read(&mut self.cursor, path).map(Value::String),
            Some(b'-' | b'0'..=b'9') => {
                let number = number::read(&mut self.cursor, path)?;
                self.numbers.note(&number);
                Ok(Value::Number(number))
            }
            Some(_) | None => self.word(path),
        }
    }

    fn word(&mut self, path: &Path<'_>) -> Result<Value, Reported> {
        let (word, value) = match self.cursor.peek() {
            Some(b't') => ("true", Value::Bool(true)),
            Some(b'f') => ("false", Value::Bool(false)),
            Some(_) | None => ("null", Value::Null),
        };
        if !self.cursor.starts_with(word) {
            return Err(self.cursor.unexpected(path, "a value"));
        }
        self.cursor.advance(word.len());
        Ok(value)
    }

    fn array(&mut self, path: &Path<'_>, depth: usize) -> Result<Value, Reported> {
        let depth = self.deeper(path, depth)?;
        let mut list = Vec::new();
        // No name leads into a list.
        self.wanted = &[];
        self.cursor.advance(1);
        self.cursor.skip_space();
        if self.cursor.eat(b']') {
            return Ok(Value::Array(list));
        }
        loop {
            self.cursor.skip_space();
            list.push(self.value(&path.index(list.len()), depth)?);
            self.cursor.skip_space();
            if self.cursor.eat(b']') {
                return Ok(Value::Array(list));
            }
            if !self.cursor.eat(b',') {
                return Err(self.cursor.unexpected(path, "`,` or `]`"));
            }
        }
    }

    fn object(&mut self, path: &Path<'_>, depth: usize) -> Result<Value, Reported> {
        let depth = self.deeper(path, depth)?;
        self.cursor.advance(1);
        self.cursor.skip_space();
        if self.cursor.eat(b'}') {
            return Ok(Value::Object(Map::new()));
        }
        let mut map = Map::with_capacity(self.room());
        loop {
            self.cursor.skip_space();
            self.entry(&mut map, path, depth)?;
            self.cursor.skip_space();
            if self.cursor.eat(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.cursor.eat(b',') {
                return Err(self.cursor.unexpected(path, "`,` or `}`"));
            }
        }
    }

    /// How much room an object gets at first. Most texts have a few objects of some members each, and
    /// need not grow them one by one; one that has thousands is not given room that it may not use.
    fn room(&self) -> usize {
        if self.values <= 64 { 7 } else { 0 }
    }

    fn entry(
        &mut self,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
        depth: usize,
    ) -> Result<(), Reported> {
        let start = self.cursor.at();
        if self.cursor.peek() != Some(b'"') {
            return Err(self.cursor.unexpected(path, "a key in double quotes"));
        }
        let key = string::read(&mut self.cursor, path)?;
        // Most objects are small: looking at each key is quicker than hashing this one.
        let taken = match map.len() {
            0..=8 => map.keys().any(|other| *other == key),
            _ => map.contains_key(&key),
        };
        if taken {
            let problem = Problem::DuplicateKey { key: excerpt(&key) };
            self.cursor.problem(&path.key(&key), start, problem);
        }
        self.cursor.skip_space();
        if !self.cursor.eat(b':') {
            return Err(self.cursor.unexpected(&path.key(&key), "`:`"));
        }
        self.cursor.skip_space();
        let path = path.key(&key);
        let value = match self.wanted {
            [] => self.value(&path, depth)?,
            [first, rest @ ..] => {
                let rest = (*first == key && !taken).then_some(rest);
                self.wanted_value(&path, depth, rest)?
            }
        };
        if !taken {
            map.insert(key, value);
        }
        Ok(())
    }

    /// A member where one is wanted: it, or what it is in, where the names go on with `rest`.
    fn wanted_value(
        &mut self,
        path: &Path<'_>,
        depth: usize,
        rest: Option<&'r [&'r str]>,
    ) -> Result<Value, Reported> {
        let begin = self.cursor.at();
        let wanted = std::mem::replace(&mut self.wanted, rest.unwrap_or_default());
        let value = self.value(path, depth)?;
        self.wanted = wanted;
        if rest.is_some_and(<[_]>::is_empty) {
            self.found = Some(self.cursor.since(begin));
        }
        Ok(value)
    }

    fn count(&mut self, path: &Path<'_>) -> Result<(), Reported> {
        self.values += 1;
        if self.values <= self.limits.values {
            return Ok(());
        }
        let problem = Problem::TooManyValues { limit: self.limits.values };
        Err(self.cursor.problem(path, self.cursor.at(), problem))
    }

    fn deeper(&mut self, path: &Path<'_>, depth: usize) -> Result<usize, Reported> {
        depth.checked_sub(1).ok_or_else(|| {
            let problem = Problem::TooDeep { limit: self.limits.depth };
            self.cursor.problem(path, self.cursor.at(), problem)
        })
    }
}
