//! Alternatives.

use serde_json::{Map, Value};

use super::allof::{Merged, merge};
use super::annotate::{bare, bare_but, is_annotation};
use super::{Branch, Node, Plan, Step, Trust, Walk, join, object_of, told_apart, words};
use crate::loss::Fate;

impl Walk<'_> {
    pub(super) fn union(
        &mut self,
        map: &Map<String, Value>,
        keyword: &'static str,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let branches = map.get(keyword).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let base = bare_but(map, keyword);
        if self.is_root(at) || (!base.is_empty() && branches.iter().all(only_refines)) {
            return self.refined(map, keyword, branches, at, depth);
        }
        let mut nodes = Vec::new();
        let mut null = false;
        let mut of_null = Vec::new();
        for (place, branch) in branches.iter().enumerate() {
            let place = format!("{at}/{keyword}/{place}");
            if branch.get("type").is_some_and(|name| name == "null") {
                null = true;
                of_null.extend(about_null(branch.as_object()));
                continue;
            }
            match self.branch(&base, branch, &place, depth)? {
                Found::Node(node) => nodes.push(*node),
                Found::Never => {}
                Found::Apart => {
                    let note = "alternatives that share rules are said as JSON text";
                    return Ok(Some(self.text(map, at, keyword, note)));
                }
            }
        }
        if !self.profile.unions && nodes.len() > 1 {
            let note = "alternatives are said as JSON text";
            return Ok(Some(self.text(map, at, keyword, note)));
        }
        self.report(&nodes, keyword, at);
        if nodes.is_empty() {
            return Ok(null.then(|| self.only_null(at)).map(|mut node| {
                node.words.extend(of_null);
                node
            }));
        }
        let node = self.either(nodes, of_null, map, at, keyword);
        // A JSON text says `null` too.
        Ok(node.map(|node| Node { null: node.null || (null && node.plan != Plan::Text), ..node }))
    }

    /// One alternative together with what holds for all of them.
    fn branch(
        &mut self,
        base: &Map<String, Value>,
        branch: &Value,
        at: &str,
        depth: usize,
    ) -> Step<Found> {
        if base.is_empty() {
            return Ok(self.schema(branch, at, depth)?.into());
        }
        let mut opened = Vec::new();
        let branch = match self.followed(branch.clone(), &mut opened) {
            Value::Object(branch) => branch,
            Value::Bool(true) => Map::new(),
            Value::Null
            | Value::Bool(false)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Ok(Found::Never),
        };
        let merged = match merge(&branch, base) {
            Merged::One(merged) => merged,
            Merged::Never => return Ok(Found::Never),
            Merged::Apart => return Ok(Found::Apart),
        };
        let before = self.open.len();
        self.open.extend(opened);
        let node = self.members(&merged, at, depth);
        self.open.truncate(before);
        Ok(node?.into())
    }

    /// Alternatives that only narrow what stands beside them are put into words.
    fn refined(
        &mut self,
        map: &Map<String, Value>,
        keyword: &'static str,
        branches: &[Value],
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let said = in_words(keyword, branches);
        let (fate, note) = match &said {
            Some(words) => (Fate::Described, format!("the description says: {words}")),
            None => (Fate::Dropped, "there is no way to say it".to_owned()),
        };
        self.lose(join(at, keyword), keyword, fate, note);
        // The caller says what the schema says about itself.
        let rest = bare_but(map, keyword);
        let node = match ["anyOf", "oneOf"].into_iter().find(|word| rest.contains_key(*word)) {
            Some(further) => self.union(&rest, further, at, depth)?,
            None => self.typed(&rest, at, depth)?,
        };
        Ok(node.map(|mut node| {
            node.words.extend(said);
            node
        }))
    }

    fn report(&mut self, nodes: &[Node], keyword: &str, at: &str) {
        if keyword != "oneOf" {
            if nodes.len() < 2 {
                let note = "the one alternative is said by itself";
                self.lose(join(at, keyword), keyword, Fate::Changed, note);
            }
            return;
        }
        let branches: Vec<Branch> = nodes
            .iter()
            .map(|node| Branch { schema: Value::Object(node.schema.clone()), plan: Plan::Text })
            .collect();
        let (_, schemas) = self.definitions_so_far();
        let (fate, note) = match told_apart(&branches, &schemas) {
            true => (Fate::Changed, "said as alternatives; no value fits two of them"),
            false => (Fate::Approximated, "said as `anyOf`: that exactly one fits is not said"),
        };
        self.lose(join(at, keyword), keyword, fate, note);
    }

    /// Several ways as alternatives, or as JSON text where a value does not say which way it is;
    /// that quotes the alternatives, with all that is said about null.
    pub(super) fn either(
        &mut self,
        nodes: Vec<Node>,
        mut of_null: Vec<String>,
        map: &Map<String, Value>,
        at: &str,
        keyword: &str,
    ) -> Option<Node> {
        let null = nodes.iter().any(|node| node.null);
        let is_null = |node: &Node| node.schema.get("type").is_some_and(|name| name == "null");
        // Null stands beside alternatives and is none of them.
        let all_null = nodes.iter().all(is_null);
        let (nulls, nodes): (Vec<Node>, Vec<Node>) =
            nodes.into_iter().partition(|node| !all_null && is_null(node));
        for node in nulls {
            of_null.extend(about_null(Some(&node.schema)));
            of_null.extend(node.words);
        }
        let mut branches: Vec<Branch> = Vec::new();
        let mut alone = None;
        let last = nodes.len().saturating_sub(1);
        for (number, node) in nodes.into_iter().enumerate() {
            // Of several that turn out the same, the last one is left.
            if number == last && branches.len() < 2 {
                alone = Some(node.clone());
            }
            let (schema, plan) = self.place(Node { null: false, ..node }, at);
            if !branches.iter().any(|known| known.schema == schema && known.plan == plan) {
                branches.push(Branch { schema, plan });
            }
        }
        if branches.len() < 2 {
            return alone.map(|mut node| {
                node.words.extend(of_null);
                Node { null: node.null || null, ..node }
            });
        }
        if !self.are_apart(&branches) {
            let note = "alternatives that look alike are said as JSON text";
            return Some(self.text(map, at, keyword, note));
        }
        let is_kept = branches.iter().all(|branch| branch.plan == Plan::Keep);
        let (schemas, plan): (Vec<Value>, Plan) = match is_kept {
            true => (branches.into_iter().map(|branch| branch.schema).collect(), Plan::Keep),
            false => {
                let schemas = branches.iter().map(|branch| branch.schema.clone()).collect();
                (schemas, Plan::Either(branches))
            }
        };
        let schema = object_of([("anyOf", Value::Array(schemas))]);
        Some(Node { words: of_null, null, ..Node::of(schema, plan) })
    }

    fn are_apart(&mut self, branches: &[Branch]) -> bool {
        let (_, schemas) = self.definitions_so_far();
        if told_apart(branches, &schemas) {
            return true;
        }
        let unfinished = branches.iter().any(|branch| self.refers_to_unfinished(&branch.schema));
        if unfinished && self.trust == Trust::Yes {
            self.doubts.push(branches.to_vec());
            return true;
        }
        false
    }
}

enum Found {
    Node(Box<Node>),
    Never,
    Apart,
}

impl From<Option<Node>> for Found {
    fn from(node: Option<Node>) -> Self {
        node.map_or(Self::Never, |node| Self::Node(Box::new(node)))
    }
}

/// Whether a schema only narrows another: it names no type, no members, no values.
fn only_refines(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| {
        map.keys().all(|keyword| {
            is_annotation(keyword)
                || keyword == "required"
                || keyword == "not"
                || (words::about(keyword).is_some()
                    && !matches!(
                        keyword.as_str(),
                        "properties"
                            | "items"
                            | "prefixItems"
                            | "additionalProperties"
                            | "patternProperties"
                    ))
        })
    })
}

/// `at least one of: a; b and c`
pub(super) fn in_words(keyword: &str, branches: &[Value]) -> Option<String> {
    let lead = if keyword == "oneOf" { "exactly one of" } else { "at least one of" };
    let needs = |branch: &Value| {
        let map = branch.as_object()?;
        let names = map.get("required").filter(|_| bare(map).len() == 1)?;
        let names = words::listed(names, "and");
        Some(match map.get("description").and_then(Value::as_str) {
            Some(text) => format!("{names} ({text})"),
            None => names,
        })
    };
    let needed: Option<Vec<String>> = branches.iter().map(needs).collect();
    if let Some(needed) = needed {
        return Some(format!("{lead}: {}", needed.join("; ")));
    }
    let like: Option<Vec<String>> = branches.iter().map(words::like).collect();
    Some(format!("{lead}: {}", like?.join("; "))).filter(|text| text.len() <= 2_000)
}

/// What a schema of nothing but null says about itself.
fn about_null(schema: Option<&Map<String, Value>>) -> Option<String> {
    let text = schema?.get("description")?.as_str()?;
    Some(format!("null: {text}"))
}
