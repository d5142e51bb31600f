//! A record: what one thing is about, and where that is known from.

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One record of the knowledge base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What it is cited by.
    pub id: String,
    /// What it describes: `person`, `project`, `doc`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// What it can be narrowed by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Who may read it is decided by this.
    pub namespace: String,
    /// Where it comes from: `crm`, `wiki`.
    pub source_type: String,
    /// When it last changed.
    pub last_updated: Timestamp,
    /// A link, as it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Everything else.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// What it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// What a record gets where it does not say.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// Its id; without one, records must name theirs.
    pub id: Option<String>,
    /// Its title; without one, records must name theirs.
    pub title: Option<String>,
    /// Its namespace.
    pub namespace: String,
    /// Where it comes from.
    pub source_type: String,
    /// When it last changed.
    pub last_updated: Timestamp,
    /// What it was made from.
    pub source: String,
}

/// The longest id that the tools take.
pub const MAX_ID: usize = 200;
const MAX_TITLE: usize = 1_000;
const MAX_WORD: usize = 100;
const MAX_BODY: usize = 1 << 20;
const MAX_URL: usize = 2_048;
const MAX_TAGS: usize = 64;
const MAX_SOURCES: usize = 64;
const MAX_METADATA: usize = 64 << 10;

impl Record {
    /// Makes a record of named values. What has no field of its own is metadata.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the values.
    pub fn read(fields: Map<String, Value>, defaults: &Defaults) -> Result<Self, Vec<String>> {
        let mut reader = Reader::new(fields);
        let record = Self {
            id: reader.needed("id", defaults.id.as_deref(), MAX_ID),
            kind: reader.needed("type", Some("doc"), MAX_WORD),
            title: reader.needed("title", defaults.title.as_deref(), MAX_TITLE),
            body: reader.text("body", MAX_BODY).unwrap_or_default(),
            tags: reader.list("tags", MAX_TAGS, MAX_WORD),
            namespace: reader.needed("namespace", Some(&defaults.namespace), MAX_WORD),
            source_type: reader.needed("source_type", Some(&defaults.source_type), MAX_WORD),
            last_updated: reader.time("last_updated").unwrap_or(defaults.last_updated),
            url: reader.link("url"),
            sources: match reader.list("sources", MAX_SOURCES, MAX_URL) {
                none if none.is_empty() => vec![defaults.source.clone()],
                some => some,
            },
            metadata: reader.metadata(),
        };
        match reader.problems.is_empty() {
            true => Ok(record),
            false => Err(reader.problems),
        }
    }

    /// What is searched, with how often it counts.
    ///
    /// A title counts twice: that is the simple way to weigh fields with one saturation and one
    /// length, and what a record is called says more than what it mentions.
    pub(super) fn searched(&self) -> impl Iterator<Item = &str> {
        let once = self.tags.iter().map(String::as_str).chain([self.body.as_str()]);
        let said = self.metadata.values().flat_map(|value| match value {
            Value::String(text) => vec![text.as_str()],
            Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        });
        [self.title.as_str(), self.title.as_str()].into_iter().chain(once).chain(said)
    }
}

/// The fields that a record has of its own.
const FIELDS: [&str; 11] = [
    "id",
    "type",
    "title",
    "body",
    "tags",
    "namespace",
    "source_type",
    "last_updated",
    "url",
    "sources",
    "metadata",
];

struct Reader {
    /// Values of the fields above, in their order.
    own: [Option<Value>; FIELDS.len()],
    /// What has no field of its own.
    others: Vec<(String, Value)>,
    problems: Vec<String>,
}

impl Reader {
    fn new(fields: Map<String, Value>) -> Self {
        let mut own = [const { None }; FIELDS.len()];
        let mut others = Vec::new();
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
            let at = FIELDS.iter().position(|field| *field == name);
            match at.and_then(|at| own.get_mut(at)) {
                Some(place) => *place = Some(value),
                None => others.push((name, value)),
            }
        }
        Self { own, others, problems: Vec::new() }
    }

    fn wrong(&mut self, what: String) {
        self.problems.push(what);
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = FIELDS.iter().position(|field| *field == name)?;
        self.own.get_mut(at)?.take()
    }

    /// A text; numbers and booleans are written out.
    fn text(&mut self, name: &str, most: usize) -> Option<String> {
        let text = match self.take(name)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                self.wrong(format!("`{name}` must be a text"));
                return None;
            }
        };
        if text.len() > most {
            self.wrong(format!("`{name}` has {} bytes; at most {most} are kept", text.len()));
            return None;
        }
        Some(text)
    }

    /// A short text on one line that must be there.
    fn needed(&mut self, name: &str, default: Option<&str>, most: usize) -> String {
        let before = self.problems.len();
        let said = self.text(name, most).map(trimmed);
        let said = said.filter(|text| !text.is_empty());
        match said.or_else(|| default.map(str::to_owned)) {
            Some(text) if text.chars().any(char::is_control) => {
                self.wrong(format!("`{name}` has a line break or another control character"));
                text
            }
            Some(text) if text.len() > most => {
                self.wrong(format!("`{name}` has {} bytes; at most {most} are kept", text.len()));
                text
            }
            Some(text) => text,
            None => {
                if self.problems.len() == before {
                    self.wrong(format!("`{name}` is missing"));
                }
                String::new()
            }
        }
    }

    /// A list, or a text with commas or semicolons.
    fn list(&mut self, name: &str, most: usize, longest: usize) -> Vec<String> {
        let values = match self.take(name) {
            None => return Vec::new(),
            Some(Value::Array(values)) => values,
            Some(Value::String(text)) => {
                let by = if text.contains(';') { ';' } else { ',' };
                text.split(by).map(|one| Value::from(one.trim())).collect()
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Null) => {
                self.wrong(format!("`{name}` must be a list of texts"));
                return Vec::new();
            }
        };
        let mut list: Vec<String> = Vec::new();
        for value in values {
            let text = match value {
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                    self.wrong(format!("`{name}` must hold texts"));
                    return Vec::new();
                }
            };
            if text.len() > longest {
                self.wrong(format!("an entry of `{name}` has more than {longest} bytes"));
                return Vec::new();
            }
            if !text.is_empty() && !list.contains(&text) {
                list.push(text);
            }
        }
        if list.len() > most {
            self.wrong(format!("`{name}` has {} entries; at most {most} are kept", list.len()));
        }
        list
    }

    fn time(&mut self, name: &str) -> Option<Timestamp> {
        let text = self.text(name, MAX_WORD)?;
        let time = moment(text.trim());
        if time.is_none() {
            self.wrong(format!(
                "`{name}` is no time: write `2026-01-31` or `2026-01-31T14:05:00+02:00`"
            ));
        }
        time
    }

    /// A stored link is handed out as it is, so it must be one that can be handed out.
    fn link(&mut self, name: &str) -> Option<String> {
        let link = self.text(name, MAX_URL)?.trim().to_owned();
        if link.is_empty() {
            return None;
        }
        let scheme = link.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let known = matches!(scheme.as_deref(), Some("http" | "https" | "mailto" | "tel"));
        if !known || link.chars().any(|c| c.is_whitespace() || c.is_control()) {
            self.wrong(format!("`{name}` is not an http, https, mailto or tel link"));
            return None;
        }
        Some(link)
    }

    fn metadata(&mut self) -> Map<String, Value> {
        let mut all = match self.take("metadata") {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(
                Value::Array(_)
                | Value::String(_)
                | Value::Number(_)
                | Value::Bool(_)
                | Value::Null,
            ) => {
                self.wrong("`metadata` must be an object".to_owned());
                Map::new()
            }
        };
        all.extend(std::mem::take(&mut self.others));
        if all.is_empty() {
            return all;
        }
        let bytes = serde_json::to_string(&all).map_or(0, |text| text.len());
        if bytes > MAX_METADATA {
            self.wrong(format!("the metadata has {bytes} bytes; at most {MAX_METADATA} are kept"));
        }
        all
    }
}

/// The text itself where there is nothing to take off, which is nearly always.
fn trimmed(text: String) -> String {
    match text.trim() {
        inner if inner.len() == text.len() => text,
        inner => inner.to_owned(),
    }
}

/// A moment, or a day or a time without an offset, which are read as UTC.
#[must_use]
pub fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let civil = text
        .parse::<DateTime>()
        .ok()
        .or_else(|| text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)))?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn defaults() -> Defaults {
        Defaults {
            id: None,
            title: None,
            namespace: "studio".into(),
            source_type: "file".into(),
            last_updated: Timestamp::UNIX_EPOCH,
            source: "a.jsonl".into(),
        }
    }

    #[track_caller]
    fn check(fields: Value, expected: Result<Value, &[&str]>) {
        let Value::Object(fields) = fields else { panic!("an object") };
        match (Record::read(fields, &defaults()), expected) {
            (Ok(record), Ok(expected)) => assert_eq!(json!(record), expected),
            (Err(problems), Err(expected)) => assert_eq!(problems, expected),
            (found, expected) => panic!("expected {expected:?}, found {found:?}"),
        }
    }

    #[test]
    fn what_has_no_field_is_metadata() {
        check(
            json!({"id": "person:a", "type": "person", "title": " Ana ", "body": "text", "tags": "x; y;x",
                "last_updated": "2026-01-10", "url": "https://a.example", "role": "lead", "metadata": {"team": "stage"}}),
            Ok(
                json!({"id": "person:a", "type": "person", "title": "Ana", "body": "text", "tags": ["x", "y"],
                "namespace": "studio", "source_type": "file", "last_updated": "2026-01-10T00:00:00Z",
                "url": "https://a.example", "metadata": {"team": "stage", "role": "lead"}, "sources": ["a.jsonl"]}),
            ),
        );
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        check(
            json!({"title": "a\nb", "tags": 7, "last_updated": "soon", "url": "javascript:alert(1)", "metadata": []}),
            Err(&[
                "`id` is missing",
                "`title` has a line break or another control character",
                "`tags` must be a list of texts",
                "`last_updated` is no time: write `2026-01-31` or `2026-01-31T14:05:00+02:00`",
                "`url` is not an http, https, mailto or tel link",
                "`metadata` must be an object",
            ]),
        );
        check(
            json!({"id": "x".repeat(201), "title": "t"}),
            Err(&["`id` has 201 bytes; at most 200 are kept"]),
        );
    }
}
