//! One JSON Schema in a dialect's words, and the plan that undoes what had to be changed.

mod allof;
mod annotate;
mod bare;
mod copy;
mod entries;
mod limits;
mod list;
mod named;
mod null;
mod object;
mod pointers;
mod reference;
mod union;
mod values;
mod words;

use haft_core::pointer::escape;
use serde_json::{Map, Value};

use super::plan::{Branch, Plan, Plans, fits};
use super::profile::{Keywords, Nulls, Profile};
use crate::loss::{Fate, Loss};
use null::{beside_null, listing_null};

/// A schema, lowered.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    /// In the words of JSON Schema, whatever the dialect.
    pub(crate) schema: Map<String, Value>,
    pub(crate) plans: Plans,
    /// Without the tool's id.
    pub(crate) losses: Vec<Loss>,
}

/// Why nothing right can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) pointer: String,
    pub(crate) reason: String,
}

type Step<T> = Result<T, Stop>;

/// More schemas than this, references followed, is no one's tool.
const MAX_NODES: usize = 20_000;

/// Lowers an object schema that stands at `at` in the contract.
pub(crate) fn lower(profile: &'static Profile, root: &Value, at: &str) -> Step<Lowered> {
    if let Keywords::All = profile.keywords {
        return copy::copy(profile, root, at);
    }
    // The first walk trusts that alternatives which lead back to a schema that is not finished yet
    // can be told apart; only where that turns out wrong is there a second one that does not.
    match Walk::new(profile, root, at, Trust::Yes).run()? {
        Some(lowered) => Ok(lowered),
        None => Walk::new(profile, root, at, Trust::No).run()?.ok_or_else(|| Stop {
            pointer: at.to_owned(),
            reason: "its alternatives cannot be told apart".to_owned(),
        }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Yes,
    No,
}

struct Walk<'a> {
    profile: &'static Profile,
    root: &'a Value,
    at: &'a str,
    trust: Trust,
    losses: Vec<Loss>,
    /// References that are being followed.
    open: Vec<String>,
    definitions: Vec<reference::Definition>,
    doubts: Vec<Vec<Branch>>,
    nodes: usize,
    /// Listed values so far.
    listed: usize,
}

/// What became of one schema.
#[derive(Clone, Debug, Default)]
struct Node {
    schema: Map<String, Value>,
    plan: Plan,
    /// Whether `null` is allowed, which is said where the node is put into place.
    null: bool,
    /// What the description has to say.
    words: Vec<String>,
}

impl Node {
    fn of(schema: Map<String, Value>, plan: Plan) -> Self {
        Self { schema, plan, null: false, words: Vec::new() }
    }
}

impl<'a> Walk<'a> {
    fn new(profile: &'static Profile, root: &'a Value, at: &'a str, trust: Trust) -> Self {
        Self {
            profile,
            root,
            at,
            trust,
            losses: Vec::new(),
            open: Vec::new(),
            definitions: Vec::new(),
            doubts: Vec::new(),
            nodes: 0,
            listed: 0,
        }
    }

    /// Nothing where trust was misplaced.
    fn run(mut self) -> Step<Option<Lowered>> {
        let at = self.at;
        let node = self.schema(self.root, at, 0)?;
        let node = node.ok_or_else(|| stop(at, "no arguments could ever fit"))?;
        if node.schema.get("type").is_none_or(|name| name != "object") {
            return Err(stop(at, "arguments are an object, and this schema describes none"));
        }
        let (definitions, schemas) = self.definitions_so_far();
        let Node { mut schema, plan, words, .. } = node;
        words::describe(&mut schema, &words);
        if !schemas.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(schemas.clone()));
        }
        let plans = Plans { root: plan, definitions, schemas };
        if !self.doubts.is_empty() && !plans.change_nothing() {
            let certain = |branches: &Vec<Branch>| told_apart(branches, &plans.schemas);
            if !self.doubts.iter().all(certain) {
                return Ok(None);
            }
        }
        self.within_limits(&schema)?;
        Ok(Some(Lowered { schema, plans, losses: self.losses }))
    }

    fn lose(&mut self, pointer: String, keyword: &str, fate: Fate, note: impl Into<String>) {
        let (tool, keyword, note) = (String::new(), keyword.to_owned(), note.into());
        self.losses.push(Loss { tool, pointer, keyword, fate, note });
    }

    /// Nothing where no value could ever fit.
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Step<Option<Node>> {
        match schema {
            Value::Object(members) => self.members(members, at, depth),
            Value::Bool(true) => Ok(Some(self.anything(at, "true"))),
            Value::Bool(false) => Ok(None),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(stop(at, "this is no schema"))
            }
        }
    }

    fn members(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Step<Option<Node>> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(stop(at, "with its references followed it has more than 20,000 schemas"));
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(target, map, at, depth);
        }
        if map.contains_key("allOf") {
            return self.all_of(map, at, depth);
        }
        let whole;
        let map = match self.is_root(at) {
            true => {
                let parts = ["anyOf", "oneOf", "then", "else", "dependentSchemas"];
                whole = named::with_named(map, &parts, self.root);
                &*whole
            }
            false => map,
        };
        let shaped = match ["anyOf", "oneOf"].into_iter().find(|word| map.contains_key(*word)) {
            Some(keyword) => self.union(map, keyword, at, depth)?,
            None => self.typed(map, at, depth)?,
        };
        Ok(shaped.map(|node| self.annotated(node, map, at)))
    }

    fn is_root(&self, at: &str) -> bool {
        at == self.at
    }

    /// A schema without alternatives.
    fn typed(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Step<Option<Node>> {
        if map.contains_key("enum") || map.contains_key("const") {
            return self.values(map, at, depth);
        }
        // Most schemas are of one type, and need no list of them.
        if let Some(Value::String(one)) = map.get("type")
            && one != "null"
        {
            return self.of_type(one, map, at, depth);
        }
        let (types, null) = types_of(map);
        let types = if types.is_empty() && !null { self.inferred(map, at) } else { types };
        let node = match types.as_slice() {
            [] if null => Some(self.only_null(at)),
            [] => Some(self.anything(at, "type")),
            [one] => self.of_type(one, map, at, depth)?,
            many => self.split(many, map, at, depth)?,
        };
        let null = null && !types.is_empty();
        Ok(node.map(|node| Node { null: node.null || null, ..node }))
    }

    /// What a schema that names no type is about.
    fn inferred(&mut self, map: &Map<String, Value>, at: &str) -> Vec<&'static str> {
        if self.is_root(at) {
            return vec!["object"];
        }
        let mut found: Vec<&'static str> = Vec::new();
        for kind in map.keys().filter_map(|keyword| words::about(keyword)) {
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        if let [kind] = found.as_slice() {
            let note = format!("without a type it is taken for {}", article(kind));
            self.lose(at.to_owned(), "type", Fate::Approximated, note);
        }
        if found.len() == 1 { found } else { Vec::new() }
    }

    fn of_type(
        &mut self,
        kind: &str,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        match kind {
            "object" => self.object(map, at, depth),
            "array" => self.list(map, at, depth),
            "string" | "number" | "integer" | "boolean" => {
                let mut node = Node::of(of_kind(kind), Plan::Keep);
                self.constrain(&mut node, kind, map, at);
                Ok(Some(node))
            }
            other => Err(stop(at, &format!("`{other}` is no type"))),
        }
    }

    /// Several types where only one can be named: as many alternatives.
    fn split(
        &mut self,
        kinds: &[&str],
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        if !self.profile.unions {
            let note = "several types are said as JSON text";
            return Ok(Some(self.text(map, at, "type", note)));
        }
        let mut branches = Vec::new();
        for kind in kinds {
            let mine =
                |keyword: &str| words::about(keyword).is_none_or(|of| words::covers(of, kind));
            let part: Map<String, Value> = map
                .iter()
                .filter(|(keyword, _)| mine(keyword) && !annotate::is_annotation(keyword))
                .map(|(keyword, value)| (keyword.clone(), value.clone()))
                .collect();
            branches.extend(self.of_type(kind, &part, at, depth)?);
        }
        let note = "several types are said as alternatives";
        self.lose(join(at, "type"), "type", Fate::Changed, note);
        Ok(self.either(branches, Vec::new(), map, at, "type"))
    }

    /// Any value at all.
    fn anything(&mut self, at: &str, keyword: &str) -> Node {
        if !self.profile.unions {
            let note = "any value is allowed, which is said as JSON text";
            self.lose(at.to_owned(), keyword, Fate::Changed, note);
            let mut node = Node::of(of_kind("string"), Plan::Text);
            node.words.push("any JSON value, as JSON text".to_owned());
            return node;
        }
        let note = "any value is allowed; an array or an object is said as JSON text";
        self.lose(at.to_owned(), keyword, Fate::Changed, note);
        let kinds = ["string", "number", "boolean"].map(|kind| Value::Object(of_kind(kind)));
        let text = boxed(of_kind("string"));
        let kinds = kinds.into_iter().chain([Value::Object(text)]).collect();
        let mut node = Node::of(object_of([("anyOf", Value::Array(kinds))]), Plan::Anything);
        node.null = true;
        node.words.push("any value; an array or object as {\"json\": \"<JSON text>\"}".to_owned());
        node
    }

    /// The value is said as JSON text, and the description has the schema.
    fn text(&mut self, map: &Map<String, Value>, at: &str, keyword: &str, note: &str) -> Node {
        // What is quoted must say by itself what it refers to.
        let schema = reference::with_definitions(annotate::bare(map), self.root);
        let like = words::like(&Value::Object(schema));
        let words = match like {
            Some(like) => {
                self.lose(at.to_owned(), keyword, Fate::Changed, note);
                format!("as JSON text of a value {like}")
            }
            None => {
                let note = format!("{note}, and its schema is too long to quote");
                self.lose(at.to_owned(), keyword, Fate::Approximated, note);
                "as JSON text".to_owned()
            }
        };
        Node { words: vec![words], ..Node::of(of_kind("string"), Plan::Text) }
    }

    /// The node's schema with what else is to be said of it.
    fn place(&mut self, node: Node, at: &str) -> (Value, Plan) {
        let Node { mut schema, mut plan, null, words } = node;
        words::describe(&mut schema, &words);
        if null {
            match self.profile.nulls {
                Nulls::TypeList | Nulls::Nullable => schema = listing_null(schema),
                Nulls::AnyOf => schema = beside_null(schema),
                Nulls::Unsaid => {
                    let note = "null is allowed, and is not said";
                    self.lose(at.to_owned(), "type", Fate::Approximated, note);
                    plan = Plan::NotNull(Box::new(plan));
                }
            }
        }
        (Value::Object(schema), plan)
    }
}

/// `{"json": …}`
fn boxed(text: Map<String, Value>) -> Map<String, Value> {
    object_of([
        ("type", word("object")),
        ("properties", Value::Object(object_of([("json", Value::Object(text))]))),
        ("required", Value::Array(vec![word("json")])),
        ("additionalProperties", Value::Bool(false)),
    ])
}

/// These members, moved: `json!` would copy whatever is put into it.
pub(super) fn object_of<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    // A description and a rule or two are added to most.
    let mut object = Map::with_capacity(N + 2);
    for (name, value) in members {
        object.insert(name.to_owned(), value);
    }
    object
}

/// A schema of one type.
fn of_kind(kind: &str) -> Map<String, Value> {
    object_of([("type", word(kind))])
}

pub(super) fn word(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Whether every value says by itself which branch it is of, where that matters.
fn told_apart(branches: &[Branch], defs: &Map<String, Value>) -> bool {
    let look = fits::Look::new(defs);
    branches.iter().enumerate().all(|(place, one)| {
        branches.iter().skip(place + 1).all(|other| {
            (one.plan == Plan::Keep && other.plan == Plan::Keep)
                || fits::disjoint(&one.schema, &other.schema, &look)
        })
    })
}

/// The types that a schema names, and whether null is one of them.
fn types_of(map: &Map<String, Value>) -> (Vec<&str>, bool) {
    let names: Vec<&str> = match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let null = names.contains(&"null");
    // Every integer is a number.
    let swallowed = |name: &&str| *name == "integer" && names.contains(&"number");
    let others = names.iter().copied().filter(|name| *name != "null" && !swallowed(name)).collect();
    (others, null)
}

fn article(kind: &str) -> String {
    match kind {
        "object" | "array" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn stop(at: &str, reason: &str) -> Stop {
    Stop { pointer: at.to_owned(), reason: reason.to_owned() }
}

fn join(at: &str, step: &str) -> String {
    let mut place = String::with_capacity(at.len() + 1 + step.len());
    place.push_str(at);
    place.push('/');
    match step.contains(['~', '/']) {
        true => place.push_str(&escape(step)),
        false => place.push_str(step),
    }
    place
}

/// A member's place.
fn member(at: &str, name: &str) -> String {
    join(&join(at, "properties"), name)
}
