//! Listed values.

use serde_json::{Map, Value};

use super::annotate::{bare, is_annotation};
use super::{Node, Plan, Step, Walk, fits, join, object_of, of_kind, word};
use crate::loss::Fate;
use crate::tools::profile::Values;

impl Walk<'_> {
    /// `enum` and `const`.
    pub(super) fn values(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let keyword = if map.contains_key("const") { "const" } else { "enum" };
        let mut values = possible(map);
        let null = values.contains(&Value::Null);
        values.retain(|value| !value.is_null());
        self.idle_beside(map, at);
        if values.is_empty() {
            return Ok(null.then(|| self.only_null(at)));
        }
        if self.is_root(at) {
            let mut rest = map.clone();
            rest.retain(|keyword, _| keyword != "enum" && keyword != "const");
            let note = "values of the whole are not said";
            self.lose(join(at, keyword), keyword, Fate::Dropped, note);
            return self.typed(&rest, at, depth);
        }
        let node = self.listed(values, keyword, map, at);
        let is_text = map.get("type").is_none_or(|name| name == "string");
        if matches!(node.plan, Plan::Words(_)) && !is_text {
            let note = "the values are said as words";
            self.lose(join(at, "type"), "type", Fate::Changed, note);
        }
        Ok(Some(Node { null: node.null || null, ..node }))
    }

    fn listed(
        &mut self,
        values: Vec<Value>,
        keyword: &str,
        map: &Map<String, Value>,
        at: &str,
    ) -> Node {
        self.listed += values.len();
        let texts = values.iter().filter_map(Value::as_str).map(|text| text.chars().count());
        let letters: usize = texts.sum();
        if self.profile.limits.is_some_and(|most| {
            let is_long = values.len() > most.long_list;
            self.listed > most.values || (is_long && letters > most.long_list_characters)
        }) {
            self.listed -= values.len();
            return self.unlisted(&values, keyword, at);
        }
        let both = |value: bool| values.contains(&Value::Bool(value));
        if !self.can_list(&Value::Bool(true)) && values.len() == 2 && both(true) && both(false) {
            let note = "both truth values are listed, which says nothing more";
            self.lose(join(at, keyword), keyword, Fate::Changed, note);
            return Node::of(of_kind("boolean"), Plan::Keep);
        }
        if !values.iter().all(|value| self.can_list(value)) {
            return self.in_words(&values, keyword, at);
        }
        self.as_they_are(values, keyword, map, at)
    }

    fn can_list(&self, value: &Value) -> bool {
        match self.profile.values {
            Values::Any => true,
            Values::Primitive => !value.is_array() && !value.is_object(),
            Values::TextsAndNumbers => value.is_number() || value.is_string(),
            Values::Texts => value.as_str().is_some_and(|text| !text.is_empty()),
        }
    }

    fn as_they_are(
        &mut self,
        values: Vec<Value>,
        keyword: &str,
        map: &Map<String, Value>,
        at: &str,
    ) -> Node {
        let mut kinds: Vec<&'static str> = Vec::new();
        for kind in values.iter().map(fits::kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds.sort_unstable();
        match kinds.as_slice() {
            [_] => self.one_kind(values, keyword, map, at),
            // A type has one word, so each kind of value is an alternative of its own.
            kinds if self.profile.unions => {
                let note = "values of several kinds are said as alternatives";
                self.lose(join(at, keyword), keyword, Fate::Changed, note);
                let branches = kinds.iter().map(|kind| {
                    let of: Vec<&Value> =
                        values.iter().filter(|v| fits::kind(v) == *kind).collect();
                    let kind = word(type_of(&of));
                    let of = of.into_iter().cloned().collect();
                    Value::Object(object_of([("type", kind), ("enum", Value::Array(of))]))
                });
                let branches = Value::Array(branches.collect());
                Node::of(object_of([("anyOf", branches)]), Plan::Keep)
            }
            _ => self.in_words(&values, keyword, at),
        }
    }

    fn one_kind(
        &mut self,
        mut values: Vec<Value>,
        keyword: &str,
        map: &Map<String, Value>,
        at: &str,
    ) -> Node {
        let kind = word(match map.get("type") {
            Some(Value::String(name)) => name.as_str(),
            _ => type_of(&values.iter().collect::<Vec<_>>()),
        });
        let is_const = keyword == "const";
        if is_const && values.len() == 1 && self.profile.keywords.have("const") {
            let value = values.pop().unwrap_or_default();
            return Node::of(object_of([("type", kind), ("const", value)]), Plan::Keep);
        }
        if is_const {
            self.lose(join(at, keyword), keyword, Fate::Changed, "said as a list of one value");
        }
        Node::of(object_of([("type", kind), ("enum", Value::Array(values))]), Plan::Keep)
    }

    /// Each value as a word, which is undone on the way back.
    fn in_words(&mut self, values: &[Value], keyword: &str, at: &str) -> Node {
        let words = spelt(values);
        let note = "each value is said as a word";
        self.lose(join(at, keyword), keyword, Fate::Changed, note);
        let listed = words.iter().map(|(text, _)| word(text)).collect();
        let schema = object_of([("type", word("string")), ("enum", Value::Array(listed))]);
        Node::of(schema, Plan::Words(words))
    }

    /// Too many to list: only their kind is said.
    fn unlisted(&mut self, values: &[Value], keyword: &str, at: &str) -> Node {
        let all: Vec<&Value> = values.iter().collect();
        let note = "more values than may be listed; only their type is said";
        self.lose(join(at, keyword), keyword, Fate::Dropped, note);
        let primitive = values.iter().all(|value| !value.is_array() && !value.is_object());
        let one_kind = values.windows(2).all(|two| match two {
            [one, other] => fits::kind(one) == fits::kind(other),
            _ => true,
        });
        match primitive && one_kind {
            true => Node::of(of_kind(type_of(&all)), Plan::Keep),
            false => {
                let words = vec!["as JSON text".to_owned()];
                Node { words, ..Node::of(of_kind("string"), Plan::Text) }
            }
        }
    }

    /// What else the schema rules out is taken out of the list already.
    fn idle_beside(&mut self, map: &Map<String, Value>, at: &str) {
        for keyword in map.keys() {
            let said = is_annotation(keyword)
                || matches!(keyword.as_str(), "type" | "enum" | "const" | "anyOf" | "oneOf");
            let spoken = keyword == "enum" && map.contains_key("const");
            if !said || spoken {
                let note = "the values that remain say as much";
                self.lose(join(at, keyword), keyword, Fate::Changed, note);
            }
        }
    }
}

/// The listed values that the rest of the schema allows.
fn possible(map: &Map<String, Value>) -> Vec<Value> {
    let mut values = match (map.get("const"), map.get("enum")) {
        (Some(value), Some(Value::Array(listed))) if !listed.contains(value) => Vec::new(),
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        (None, _) => Vec::new(),
    };
    let (types, null) = super::types_of(map);
    if map.contains_key("type") {
        values.retain(|value| is_of(value, &types, null));
    }
    // To compile a schema takes longer than all the rest, and hardly any needs it.
    let rules = |keyword: &String| {
        !is_annotation(keyword) && !matches!(keyword.as_str(), "type" | "enum" | "const")
    };
    if map.keys().any(rules)
        && let Ok(validator) = haft_core::validator::compile(&Value::Object(bare(map)))
    {
        values.retain(|value| validator.is_valid(value));
    }
    values
}

fn is_of(value: &Value, types: &[&str], null: bool) -> bool {
    let kind = fits::kind(value);
    let whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    (null && value.is_null())
        || types.contains(&kind)
        || (types.contains(&"integer") && value.is_number() && whole())
}

fn type_of(values: &[&Value]) -> &'static str {
    let all = |is: fn(&&&Value) -> bool| values.iter().all(|value| is(&value));
    if all(|value| value.is_i64() || value.is_u64()) {
        "integer"
    } else {
        values.first().map_or("string", |value| fits::kind(value))
    }
}

/// A word for each value, no two the same. A text is its own word unless that is empty or the word
/// of another value.
fn spelt(values: &[Value]) -> Vec<(String, Value)> {
    let json: Vec<String> =
        values.iter().filter(|value| !value.is_string()).map(Value::to_string).collect();
    let own =
        |text: &&str| !text.is_empty() && !json.iter().any(|word| word == text) && !is_quoted(text);
    let word =
        |value: &Value| value.as_str().filter(own).map_or_else(|| value.to_string(), str::to_owned);
    values.iter().map(|value| (word(value), value.clone())).collect()
}

/// Whether a text could be the JSON spelling of another.
fn is_quoted(text: &str) -> bool {
    text.starts_with('"')
}
