//! What a schema expects at each place, worked out once: types, listed values, members, defaults.
//!
//! Only keywords that every valid value must obey are used (`type`, `enum`, `const`, `format`,
//! `properties`, `items` and local `$ref`s). A value that one of them refuses is refused by the
//! whole schema, so trying to mend it cannot spoil a valid call. Alternatives (`anyOf`, `oneOf`)
//! are left alone: which one was meant is a guess.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::fill;

/// The tree; nodes name each other by number, since schemas may contain themselves.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<Node>,
}

/// A node's number; the root is 0.
pub(super) type Id = usize;

/// What is expected at one place.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The JSON types that are let through.
    pub(super) types: Types,
    /// What a value of another type could be turned into.
    pub(super) target: Option<Target>,
    /// The values that are allowed; empty where they are not listed.
    pub(super) choices: Vec<Value>,
    pub(super) members: HashMap<Box<str>, Id>,
    /// What every other member is.
    pub(super) rest: Option<Id>,
    /// What the first elements are.
    pub(super) first: Vec<Id>,
    /// What every further element is.
    pub(super) items: Option<Id>,
    /// Members that are filled in when they are absent, complete in themselves.
    pub(super) defaults: Vec<(String, Value)>,
    /// Whether a default stands anywhere inside a member or an element.
    pub(super) fills_inside: bool,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Default for Types {
    fn default() -> Self {
        Self::ALL
    }
}

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Any number, so this holds integers too.
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    const ALL: Self = Self(127);

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            // Not a type of JSON Schema: the validator refuses the schema itself.
            _ => Self::ALL,
        }
    }

    /// The smallest type of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0) => {
                Self::INTEGER
            }
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn is_all(self) -> bool {
        self == Self::ALL
    }
}

/// What a value could be turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Boolean,
    Integer,
    Number,
    Text,
    Timestamp,
    Uri,
    Object,
    List,
}

impl Node {
    fn describe(&mut self, schema: &Map<String, Value>) {
        self.choices = match (schema.get("enum").and_then(Value::as_array), schema.get("const")) {
            (Some(values), _) => values.clone(),
            (None, Some(value)) => vec![value.clone()],
            (None, None) => Vec::new(),
        };
        self.types = match schema.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                union(names.iter().filter_map(Value::as_str).map(Types::named))
            }
            _ if !self.choices.is_empty() => union(self.choices.iter().map(Types::of)),
            _ => Types::ALL,
        };
        self.target = self.target_of(schema.get("format").and_then(Value::as_str));
    }

    /// The one type beside `null` that is let through; with several, which was meant is a guess.
    fn target_of(&self, format: Option<&str>) -> Option<Target> {
        let beside_null = Types(self.types.0 & !Types::NULL.0);
        match (beside_null, format) {
            (Types::BOOLEAN, _) => Some(Target::Boolean),
            (Types::INTEGER, _) => Some(Target::Integer),
            (Types::NUMBER, _) => Some(Target::Number),
            (Types::STRING, Some("date-time")) => Some(Target::Timestamp),
            (Types::STRING, Some("uri")) => Some(Target::Uri),
            (Types::STRING, _) => Some(Target::Text),
            (Types::OBJECT, _) => Some(Target::Object),
            (Types::ARRAY, _) => Some(Target::List),
            _ => None,
        }
    }

    /// Whether type and list let a value through.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.types.holds(Types::of(value)) && self.lists(value)
    }

    fn lists(&self, value: &Value) -> bool {
        self.choices.is_empty() || self.choices.iter().any(|choice| same(choice, value))
    }

    /// What is expected of a member.
    pub(super) fn member(&self, name: &str) -> Option<Id> {
        self.members.get(name).copied().or(self.rest)
    }

    /// What is expected of an element.
    pub(super) fn element(&self, index: usize) -> Option<Id> {
        self.first.get(index).copied().or(self.items)
    }

    fn inside(&self) -> impl Iterator<Item = Id> + '_ {
        let members = self.members.values().chain(&self.first);
        members.copied().chain(self.rest).chain(self.items)
    }
}

fn union(types: impl Iterator<Item = Types>) -> Types {
    types.fold(Types(0), Types::and)
}

/// Equality of JSON values: `1` and `1.0` are the same number.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let meets =
                |(name, value)| other.get::<str>(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().map(|(n, v)| (n.as_str(), v)).all(meets)
        }
        (one, other) => one == other,
    }
}

impl Plan {
    /// Works a schema out.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let mut build = Build { root: schema, nodes: Vec::new(), known: HashMap::new() };
        build.node(schema);
        let mut plan = Self { nodes: build.nodes };
        plan.mark();
        fill::complete_defaults(&mut plan)?;
        Ok(plan)
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn fills(&self, id: Id) -> bool {
        self.node(id).is_some_and(|node| node.fills_inside || !node.defaults.is_empty())
    }

    /// Marks the nodes that have defaults inside, until nothing changes: schemas may turn in a circle.
    fn mark(&mut self) {
        loop {
            let found: Vec<Id> = (0..self.nodes.len())
                .filter(|id| self.node(*id).is_some_and(|node| !node.fills_inside))
                .filter(|id| self.node(*id).is_some_and(|n| n.inside().any(|id| self.fills(id))))
                .collect();
            if found.is_empty() {
                return;
            }
            for id in found {
                if let Some(node) = self.nodes.get_mut(id) {
                    node.fills_inside = true;
                }
            }
        }
    }
}

struct Build<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    /// Schemas by their address: one that several references lead to is worked out once.
    known: HashMap<*const Value, Id>,
}

impl<'s> Build<'s> {
    fn node(&mut self, written: &'s Value) -> Id {
        let schema = self.follow(written);
        if let Some(id) = self.known.get(&std::ptr::from_ref(schema)) {
            return *id;
        }
        let id = self.nodes.len();
        self.known.insert(std::ptr::from_ref(schema), id);
        self.nodes.push(Node::default());
        let mut node = Node::default();
        if let Some(keywords) = schema.as_object() {
            node.describe(keywords);
            self.members(&mut node, keywords);
            self.elements(&mut node, keywords);
        }
        if let Some(place) = self.nodes.get_mut(id) {
            *place = node;
        }
        id
    }

    fn members(&mut self, node: &mut Node, keywords: &'s Map<String, Value>) {
        for (name, property) in
            keywords.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let id = self.node(property);
            node.members.insert(name.as_str().into(), id);
            let followed = self.follow(property);
            if let Some(default) = property.get("default").or_else(|| followed.get("default")) {
                node.defaults.push((name.clone(), default.clone()));
            }
        }
        // Which patterns a name fits is the validator's business; such members are left alone.
        if !keywords.contains_key("patternProperties") {
            node.rest = keywords
                .get("additionalProperties")
                .filter(|values| values.is_object())
                .map(|values| self.node(values));
        }
    }

    fn elements(&mut self, node: &mut Node, keywords: &'s Map<String, Value>) {
        let first = keywords.get("prefixItems").and_then(Value::as_array);
        node.first = first.into_iter().flatten().map(|schema| self.node(schema)).collect();
        node.items =
            keywords.get("items").filter(|items| items.is_object()).map(|items| self.node(items));
    }

    /// Follows local references; no honest chain of them is longer than the bound.
    fn follow(&self, schema: &'s Value) -> &'s Value {
        (0..16).fold(schema, |schema, _| {
            let target = schema.get("$ref").and_then(Value::as_str);
            target.and_then(|t| self.root.pointer(t.strip_prefix('#')?)).unwrap_or(schema)
        })
    }
}
