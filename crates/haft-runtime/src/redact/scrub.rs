//! Known secrets, taken out of whatever anyone sees.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use haft_core::error::Fault;
use serde_json::{Map, Value};

use super::decode::{Escape, LONGEST, Layer};
use super::pattern::{self, Pattern, Secret};

/// The most bytes of text in one value.
const MAX_BYTES: usize = 64 << 20;
/// The most arrays and objects inside one another.
const MAX_DEPTH: usize = 128;
/// Of base64 so many characters hold bits of what stands beside the secret; more is the rest of a spelling.
const REST: usize = 2;
/// Escapes inside escapes are undone this often.
const MAX_LAYERS: usize = 3;
/// So many escapes of a text are looked into for a secret that begins in the middle of one.
const MAX_INSIDE: usize = 64;

/// Replaces secrets by `[secret:<label>]`, in the spellings that echo servers and error messages
/// give back: as they are and in any letter case, in base64 at any alignment and twice, in hexadecimal and
/// base32, as a list of bytes, in UTF-16, and behind percent, JSON, HTML, form or mail escapes, whole or in
/// part, up to three deep; with anything between that cannot be seen.
///
/// Not covered: a secret split over several strings of a value, compressed, encrypted, reversed or
/// otherwise computed on.
///
/// Built once for a set of secrets; build a new one when the set changes.
///
/// ```
/// use haft_runtime::redact::{Scrubber, Secret};
///
/// let secrets = [Secret::new("conn_7", "s3cr3t/token").unwrap()];
/// let scrubber = Scrubber::new(&secrets).unwrap();
/// let said = scrubber.text("401 for Bearer s3cr3t%2Ftoken").unwrap();
/// assert_eq!(said, "401 for Bearer [secret:conn_7]");
/// ```
pub struct Scrubber {
    exact: Option<Finder>,
    folded: Option<Finder>,
    /// What stands instead of each.
    marks: Vec<String>,
    /// What is looked for, so that more can be added.
    secrets: Vec<Arc<Secret>>,
    /// Whether a secret could stand as a bare number.
    numeric: bool,
    /// Whether a form's `+` could stand for a part of a secret.
    spaced: bool,
    /// No spelling of a secret is longer, however it is escaped.
    window: usize,
}

/// The value cannot be looked through; it must be withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unscrubbed {
    /// Nested too deeply.
    TooDeep,
    /// Too much text.
    TooLarge,
    /// The secrets cannot be looked for at all.
    TooManySecrets,
}

impl fmt::Display for Unscrubbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooDeep => "the value is nested too deeply to be searched for secrets",
            Self::TooLarge => "the value is too large to be searched for secrets",
            Self::TooManySecrets => "there are too many secrets to search for",
        })
    }
}

impl std::error::Error for Unscrubbed {}

struct Finder {
    automaton: AhoCorasick,
    /// For each pattern: the secret, and what to take away before and after a match.
    about: Vec<(usize, usize, usize)>,
    /// How patterns begin, in small letters.
    starts: BTreeSet<Vec<u8>>,
    /// The length of the longest.
    longest: usize,
}

impl Finder {
    fn new(patterns: Vec<(usize, Pattern)>, ignore_case: bool) -> Result<Option<Self>, Unscrubbed> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(ignore_case)
            .match_kind(MatchKind::Standard)
            .build(patterns.iter().map(|(_, pattern)| pattern.bytes.as_slice()))
            .map_err(|_| Unscrubbed::TooManySecrets)?;
        let about = patterns.iter().map(|(at, p)| (*at, p.before, p.after)).collect();
        let starts = patterns.iter().map(|(_, p)| p.bytes.get(..LONGEST).unwrap_or(&p.bytes));
        let starts = starts.map(<[u8]>::to_ascii_lowercase).collect();
        let longest = patterns.iter().map(|(_, p)| p.bytes.len()).max().unwrap_or_default();
        Ok(Some(Self { automaton, about, starts, longest }))
    }

    fn find(&self, layer: &Layer<'_>, found: &mut Vec<Span>) {
        // The rest of a spelling that was walked over last: many may begin in one another.
        let (mut from, mut to) = (0, 0);
        // Overlapping ones too: of two secrets that share letters, neither may leave a rest.
        for hit in self.automaton.find_overlapping_iter(&layer.bytes) {
            let (secret, before, after) =
                self.about.get(hit.pattern().as_usize()).copied().unwrap_or_default();
            let start = extend(&layer.bytes, hit.start(), before, Direction::Back);
            let mut end = hit.end();
            if after > REST && (from..=to).contains(&end) {
                end = to.min(end + after);
            }
            let left = hit.end() + after - end;
            if after > REST {
                end = extend(&layer.bytes, end, left, Direction::Rest);
                (from, to) = (hit.end(), end);
            } else {
                end = extend(&layer.bytes, end, left, Direction::On);
            }
            let (start, end) = layer.origin(start, end);
            found.push(Span { start, end, secret });
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Back,
    On,
    /// On, and over what stands between the bytes of a list.
    Rest,
}

/// The characters of base64 around a match hold the bits at the secret's ends, and what comes behind the
/// beginning of a spelling the rest of it.
fn extend(bytes: &[u8], mut at: usize, count: usize, direction: Direction) -> usize {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    for _ in 0..count {
        match direction {
            Direction::Back => {
                let here = at.checked_sub(1).and_then(|at| bytes.get(at));
                at -= usize::from(here.is_some_and(|byte| letter(*byte)));
            }
            Direction::On => match bytes.get(at) {
                Some(byte) if letter(*byte) => at += 1,
                Some(_) | None => break,
            },
            Direction::Rest => match bytes.get(at) {
                Some(byte) if letter(*byte) || b", ".contains(byte) => at += 1,
                Some(_) | None => break,
            },
        }
    }
    at
}

#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    secret: usize,
}

/// Two names may hide the same secret; neither value is lost. How far each was counted is kept: thousands may.
fn unique(
    shown: String,
    counts: &mut HashMap<String, usize>,
    mut is_taken: impl FnMut(&str) -> bool,
) -> String {
    if !is_taken(&shown) {
        return shown;
    }
    let count = counts.entry(shown.clone()).or_insert(1);
    loop {
        *count += 1;
        let unique = format!("{shown}#{count}");
        if !is_taken(&unique) {
            return unique;
        }
    }
}

impl Scrubber {
    /// Prepares to look for these secrets.
    ///
    /// # Errors
    ///
    /// If there are more than the search can hold.
    pub fn new(secrets: &[Secret]) -> Result<Self, Unscrubbed> {
        let copies = secrets.iter().map(|secret| Arc::new(secret.again())).collect();
        Self::of(copies, Secret::labelled)
    }

    /// What it looks for.
    pub(crate) fn secrets(&self) -> &[Arc<Secret>] {
        &self.secrets
    }

    /// Whether it looks for these and no others.
    pub(super) fn is_of(&self, secrets: &[Arc<Secret>]) -> bool {
        let same = |(one, other): (&Arc<Secret>, &Arc<Secret>)| Arc::ptr_eq(one, other);
        self.secrets.len() == secrets.len() && self.secrets.iter().zip(secrets).all(same)
    }

    /// Looks for secrets, and puts a mark in the place of each.
    pub(super) fn of(
        secrets: Vec<Arc<Secret>>,
        mark: fn(&Secret) -> String,
    ) -> Result<Self, Unscrubbed> {
        let all = |spell: fn(&str) -> Vec<Pattern>| {
            let numbered = secrets.iter().enumerate();
            numbered.flat_map(|(at, s)| spell(&s.value).into_iter().map(move |p| (at, p))).collect()
        };
        let numeric = |byte: u8| byte.is_ascii_digit() || b".-+eE".contains(&byte);
        let exact = Finder::new(all(pattern::exact), false)?;
        let folded = Finder::new(all(pattern::folded), true)?;
        let longest = exact.iter().chain(&folded).map(|finder| finder.longest).max();
        Ok(Self {
            window: longest.unwrap_or_default().saturating_mul(LONGEST),
            exact,
            folded,
            marks: secrets.iter().map(|secret| mark(secret)).collect(),
            numeric: secrets.iter().any(|secret| secret.value.bytes().all(numeric)),
            spaced: secrets.iter().any(|secret| secret.value.contains(' ')),
            secrets,
        })
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// A text without secrets.
    ///
    /// # Errors
    ///
    /// If it is too large to be looked through; then it must be withheld.
    pub fn text<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Unscrubbed> {
        if text.len() > MAX_BYTES {
            return Err(Unscrubbed::TooLarge);
        }
        if self.marks.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        let mut found = Vec::new();
        self.search(&Layer::of(text), MAX_LAYERS, &mut found);
        Ok(self.replaced(text, found))
    }

    /// Takes the secrets out of every text of a value, names of members included. Says whether
    /// there were any.
    ///
    /// # Errors
    ///
    /// If it is too large or nested too deeply; then it must be withheld, since a part of it may
    /// already have been looked through and the rest not.
    pub fn value(&self, value: &mut Value) -> Result<bool, Unscrubbed> {
        let mut left = MAX_BYTES;
        self.scrub(value, MAX_DEPTH, &mut left)
    }

    /// Takes the secrets out of everything that an error says, to the model and to the log.
    ///
    /// # Errors
    ///
    /// As for values.
    pub fn error(&self, error: &mut Fault) -> Result<bool, Unscrubbed> {
        let mut changed = false;
        let texts = [&mut error.message, &mut error.suggestion];
        for text in texts.into_iter().chain(&mut error.source).chain(&mut error.shown) {
            changed |= self.in_place(text)?;
        }
        if let Some(details) = &mut error.details {
            changed |= self.value(details)?;
        }
        Ok(changed)
    }

    fn in_place(&self, text: &mut String) -> Result<bool, Unscrubbed> {
        let replaced = match self.text(text)? {
            Cow::Borrowed(_) => return Ok(false),
            Cow::Owned(replaced) => replaced,
        };
        *text = replaced;
        Ok(true)
    }

    fn scrub(&self, value: &mut Value, depth: usize, left: &mut usize) -> Result<bool, Unscrubbed> {
        let depth = depth.checked_sub(1).ok_or(Unscrubbed::TooDeep)?;
        match value {
            Value::Null | Value::Bool(_) => Ok(false),
            Value::Number(number) => {
                if !self.numeric {
                    return Ok(false);
                }
                let written = number.to_string();
                let hidden = match self.text(&written)? {
                    Cow::Borrowed(_) => return Ok(false),
                    Cow::Owned(hidden) => hidden,
                };
                *value = Value::String(hidden);
                Ok(true)
            }
            Value::String(text) => {
                *left = left.checked_sub(text.len()).ok_or(Unscrubbed::TooLarge)?;
                self.in_place(text)
            }
            Value::Array(list) => {
                if let Some(hidden) = self.bytes(list)? {
                    *value = Value::String(hidden);
                    return Ok(true);
                }
                let mut changed = false;
                for value in list {
                    changed |= self.scrub(value, depth, left)?;
                }
                Ok(changed)
            }
            Value::Object(map) => self.members(map, depth, left),
        }
    }

    /// A list of bytes that holds a secret, as text without it.
    fn bytes(&self, list: &[Value]) -> Result<Option<String>, Unscrubbed> {
        let is_byte = |value: &Value| value.as_u64().is_some_and(|byte| byte <= 255);
        if self.marks.is_empty() || list.len() < Secret::MIN_CHARACTERS || !list.iter().all(is_byte)
        {
            return Ok(None);
        }
        let written: Vec<String> = list.iter().map(Value::to_string).collect();
        Ok(match self.text(&written.join(","))? {
            Cow::Borrowed(_) => None,
            Cow::Owned(hidden) => Some(hidden),
        })
    }

    fn members(
        &self,
        map: &mut Map<String, Value>,
        depth: usize,
        left: &mut usize,
    ) -> Result<bool, Unscrubbed> {
        let (mut changed, mut named) = (false, false);
        for (name, value) in map.iter_mut() {
            *left = left.checked_sub(name.len()).ok_or(Unscrubbed::TooLarge)?;
            named |= matches!(self.text(name)?, Cow::Owned(_));
            changed |= self.scrub(value, depth, left)?;
        }
        if named {
            let mut counts = HashMap::new();
            for (name, value) in std::mem::take(map) {
                let shown = self.text(&name)?.into_owned();
                let unique = unique(shown, &mut counts, |name| map.contains_key(name));
                map.insert(unique, value);
            }
        }
        Ok(changed | named)
    }

    fn search(&self, layer: &Layer<'_>, left: usize, found: &mut Vec<Span>) {
        for finder in self.exact.iter().chain(&self.folded) {
            finder.find(layer, found);
        }
        let Some(left) = left.checked_sub(1) else { return };
        for escape in Escape::ALL {
            if escape == Escape::Plus && !self.spaced {
                continue;
            }
            // What is no escape may stand before a secret and make one with its first letters.
            let swallows = Cell::new(false);
            let looked = |after: &[u8]| {
                swallows.set(swallows.get() || self.begins(after));
                false
            };
            if let Some(plain) = layer.undo(escape, looked) {
                self.search(&plain, left, found);
            }
            if left + 1 < MAX_LAYERS {
                continue;
            }
            if swallows.get()
                && let Some(plain) = layer.undo(escape, |after| self.begins(after))
            {
                self.search(&plain, left, found);
            }
            // With the last of an escape alone: what comes next is looked at from there.
            for at in layer.inside(escape, |end| self.begins(end)).take(MAX_INSIDE) {
                if let Some(plain) = layer.from(at, self.window).undo(escape, |_| false) {
                    self.search(&plain, 0, found);
                }
            }
        }
    }

    /// Whether anything that is looked for begins like this.
    fn begins(&self, with: &[u8]) -> bool {
        let with = with.to_ascii_lowercase();
        let mut finders = self.exact.iter().chain(&self.folded);
        finders.any(|finder| {
            let next = finder.starts.range(with.clone()..).next();
            next.is_some_and(|start| start.starts_with(&with))
        })
    }

    fn replaced<'t>(&self, text: &'t str, mut found: Vec<Span>) -> Cow<'t, str> {
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for span in found {
            // What begins inside of the last one is covered by its mark.
            if span.start >= at {
                clean.push_str(text.get(at..span.start).unwrap_or_default());
                clean.push_str(self.marks.get(span.secret).map_or("", String::as_str));
            }
            at = at.max(span.end);
        }
        clean.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_that_hide_the_same_secret_are_counted_on() {
        let (mut taken, mut counts) = (HashSet::from(["a#3".to_owned()]), HashMap::new());
        let mut looked = 0;
        for _ in 0..1_000 {
            let name = unique("a".to_owned(), &mut counts, |name| {
                looked += 1;
                taken.contains(name)
            });
            assert!(taken.insert(name));
        }
        assert!(["a", "a#2", "a#4", "a#1001"].iter().all(|name| taken.contains(*name)));
        assert!(looked <= 2 * 1_000, "{looked}");
    }
}
