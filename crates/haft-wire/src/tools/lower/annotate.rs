//! What a schema says about itself: descriptions, defaults, examples; and the bounds of a value.

use serde_json::{Map, Number, Value, json};

use super::{Node, Walk, article, join, words};
use crate::loss::{Fate, IDLE};
use crate::tools::plan::{Plan, Plans};

/// Keywords that say something about a schema and nothing about the value.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "$schema"
            | "$id"
            | "$defs"
    )
}

/// Keywords that the walk follows by itself.
fn is_structural(keyword: &str) -> bool {
    matches!(
        keyword,
        "type"
            | "properties"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "unevaluatedProperties"
            | "items"
            | "prefixItems"
            | "enum"
            | "const"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "$ref"
    )
}

/// A schema without what it says about itself.
pub(super) fn bare(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(keyword, _)| !is_annotation(keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect()
}

/// The same without one keyword more.
pub(super) fn bare_but(map: &Map<String, Value>, but: &str) -> Map<String, Value> {
    map.iter()
        .filter(|(keyword, _)| *keyword != but && !is_annotation(keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect()
}

impl Walk<'_> {
    /// The node with what the schema says about itself.
    pub(super) fn annotated(&mut self, mut node: Node, map: &Map<String, Value>, at: &str) -> Node {
        if let Some(text) = map.get("description") {
            let inner = node.schema.insert("description".to_owned(), text.clone());
            // An alternative that is left alone has said something of its own.
            if let Some(Value::String(inner)) = inner.filter(|inner| inner != text) {
                node.words.insert(0, inner);
            }
        }
        for (keyword, value) in map {
            match keyword.as_str() {
                "title" if self.profile.keywords.have("title") => {
                    let inner = node.schema.insert("title".to_owned(), value.clone());
                    if inner.is_some_and(|inner| inner != *value) {
                        let note = "the title of its only alternative is not said";
                        self.lose(join(at, keyword), keyword, Fate::Dropped, note);
                    }
                }
                "title" => {
                    let note = "titles are not said";
                    self.lose(join(at, keyword), keyword, Fate::Dropped, note);
                }
                "default" => self.default(&mut node, value, at),
                "examples" => self.examples(&mut node, value, at),
                "deprecated" => self.describe(&mut node, keyword, value, map, at),
                "readOnly" | "writeOnly" | "$comment" | "$schema" | "$id" => {
                    let note = format!("{IDLE} to a model");
                    self.lose(join(at, keyword), keyword, Fate::Dropped, note);
                }
                _ => {}
            }
        }
        node
    }

    fn default(&mut self, node: &mut Node, value: &Value, at: &str) {
        let said = self.said(node, value);
        match said {
            Some(said) if self.profile.keywords.have("default") => {
                if said != *value {
                    let note = format!("said as {said}");
                    self.lose(join(at, "default"), "default", Fate::Changed, note);
                }
                node.schema.insert("default".to_owned(), said);
            }
            Some(said) => self.describe(node, "default", &said, &Map::new(), at),
            None => {
                let note = "the default is not a value that can be said";
                self.lose(join(at, "default"), "default", Fate::Dropped, note);
            }
        }
    }

    fn examples(&mut self, node: &mut Node, value: &Value, at: &str) {
        let list = value.as_array().into_iter().flatten();
        let said: Vec<Value> = list.filter_map(|value| self.said(node, value)).collect();
        match said.as_slice() {
            [first, rest @ ..] if self.profile.keywords.have("example") => {
                node.schema.insert("example".to_owned(), first.clone());
                let (fate, note) = match rest {
                    [] => (Fate::Changed, "said as `example`"),
                    _ => (Fate::Approximated, "only the first is said, as `example`"),
                };
                self.lose(join(at, "examples"), "examples", fate, note);
            }
            said => self.describe(node, "examples", &json!(said), &Map::new(), at),
        }
    }

    /// A value of the contract as it would be sent.
    fn said(&self, node: &Node, value: &Value) -> Option<Value> {
        if node.plan == Plan::Keep {
            return Some(value.clone());
        }
        let (definitions, schemas) = self.definitions_so_far();
        let plans = Plans { definitions, schemas, ..Plans::default() };
        plans.down(&node.plan, value).ok()
    }

    /// Puts a rule into words, or says that it is dropped.
    pub(super) fn describe(
        &mut self,
        node: &mut Node,
        keyword: &str,
        value: &Value,
        map: &Map<String, Value>,
        at: &str,
    ) {
        match words::rule(keyword, value, map) {
            Some(words) => {
                let note = format!("the description says: {words}");
                self.lose(join(at, keyword), keyword, Fate::Described, note);
                node.words.push(words);
            }
            None => {
                let note = "there is no way to say it";
                self.lose(join(at, keyword), keyword, Fate::Dropped, note);
            }
        }
    }

    /// Every rule about the value that the walk does not follow by itself.
    pub(super) fn constrain(
        &mut self,
        node: &mut Node,
        kind: &str,
        map: &Map<String, Value>,
        at: &str,
    ) {
        self.constrain_but(node, kind, map, at, |_| false);
    }

    /// The same, save for rules that are said elsewhere.
    pub(super) fn constrain_but(
        &mut self,
        node: &mut Node,
        kind: &str,
        map: &Map<String, Value>,
        at: &str,
        elsewhere: impl Fn(&str) -> bool,
    ) {
        for (keyword, value) in map {
            if is_annotation(keyword) || elsewhere(keyword) {
                continue;
            }
            match words::about(keyword) {
                Some(of) if !words::covers(of, kind) => {
                    let note = format!("{IDLE} about {}", article(kind));
                    self.lose(join(at, keyword), keyword, Fate::Dropped, note);
                }
                _ if is_structural(keyword) => {}
                Some(_) | None => self.rule(node, kind, keyword, value, map, at),
            }
        }
    }

    fn rule(
        &mut self,
        node: &mut Node,
        kind: &str,
        keyword: &str,
        value: &Value,
        map: &Map<String, Value>,
        at: &str,
    ) {
        if self.takes(keyword, value) {
            node.schema.insert(keyword.to_owned(), whole(keyword, value));
            return;
        }
        if let Some(speaker) = words::spoken_for(keyword)
            && let Some(main) = map.get(speaker)
        {
            let said = words::rule(speaker, main, map).is_some();
            let (fate, note) = match said {
                true => (Fate::Described, format!("said with `{speaker}`")),
                false => (Fate::Dropped, format!("dropped with `{speaker}`")),
            };
            self.lose(join(at, keyword), keyword, fate, note);
            return;
        }
        if let Some((bound, moved)) = inclusive(kind, keyword, value)
            && self.profile.keywords.have(bound)
            && !map.contains_key(bound)
        {
            let note = format!("said as `{bound}` {moved}");
            self.lose(join(at, keyword), keyword, Fate::Changed, note);
            node.schema.insert(bound.to_owned(), moved);
            return;
        }
        if says_nothing(keyword, value) {
            self.lose(join(at, keyword), keyword, Fate::Changed, "it rules nothing out");
            return;
        }
        self.describe(node, keyword, value, map, at);
    }

    fn takes(&self, keyword: &str, value: &Value) -> bool {
        let in_range = match keyword {
            "format" => match (self.profile.formats, value.as_str()) {
                (Some(known), Some(format)) => known.contains(&format),
                (_, format) => format.is_some(),
            },
            "minItems" => match (self.profile.least_items, value.as_f64()) {
                (Some(most), Some(least)) => least <= most as f64,
                (_, least) => least.is_some(),
            },
            _ => true,
        };
        in_range && self.profile.keywords.have(keyword)
    }
}

/// A bound that excludes its end, for whole numbers, as one that does not.
fn inclusive(kind: &str, keyword: &str, value: &Value) -> Option<(&'static str, Value)> {
    let end = value.as_f64().filter(|end| kind == "integer" && end.abs() < 1e15)?;
    let (bound, moved) = match keyword {
        "exclusiveMinimum" => ("minimum", end.floor() + 1.0),
        "exclusiveMaximum" => ("maximum", end.ceil() - 1.0),
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "whole, and far within 64 bits")]
    let moved = Value::Number(Number::from(moved as i64));
    Some((bound, moved))
}

/// `2.0` where a count is due, as `2`.
fn whole(keyword: &str, value: &Value) -> Value {
    let is_count = matches!(
        keyword,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
    );
    match value.as_f64().filter(|count| is_count && *count >= 0.0 && *count < 1e15) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count far within 64 bits"
        )]
        Some(count) => json!(count as u64),
        None => value.clone(),
    }
}

/// Rules that every value keeps.
fn says_nothing(keyword: &str, value: &Value) -> bool {
    match keyword {
        "uniqueItems" => value == &Value::Bool(false),
        "minItems" | "minLength" | "minProperties" => value.as_f64() == Some(0.0),
        "unevaluatedItems" | "propertyNames" | "contentSchema" => value == &Value::Bool(true),
        _ => false,
    }
}
