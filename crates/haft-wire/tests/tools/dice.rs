//! Schemas and values that fit them, made from a number.

use serde_json::{Map, Value, json};

/// A row of numbers that follows from the first.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'v, T>(&mut self, list: &'v [T]) -> &'v T {
        &list[self.below(list.len())]
    }
}

const NAMES: [&str; 14] = [
    "a",
    "b",
    "count",
    "name",
    "key",
    "value",
    "json",
    "more",
    "filter[x]",
    "x y",
    "über",
    "1st",
    "a.b",
    "Content-Type",
];
const WORDS: [&str; 6] = ["red", "", "null", "1", "\"1\"", "grün"];

/// The schema of a tool's arguments.
pub(crate) fn schema(dice: &mut Dice) -> Value {
    let mut root = object(dice, 3);
    root["additionalProperties"] = json!(false);
    if dice.chance(20) {
        root = alternatives(dice, root);
    }
    if root.to_string().contains("#/$defs/") {
        root["$defs"] = json!({
            "leaf": {"type": "string", "description": "a leaf"},
            "tree": {
                "type": "object", "additionalProperties": false, "required": ["word"],
                "properties": {
                    "word": {"type": "string"},
                    "left": {"$ref": "#/$defs/tree"},
                    "rest": {"type": "array", "items": {"$ref": "#/$defs/tree", "description": "more"}},
                },
            },
            "pair": {
                "type": "object", "required": ["one"], "additionalProperties": false,
                "properties": {
                    "one": {"enum": [1, 2]},
                    "tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "number"}, {"type": "null"}]},
                },
            },
        });
    }
    root
}

/// A root whose alternatives hold members that it does not list.
fn alternatives(dice: &mut Dice, mut root: Value) -> Value {
    root.as_object_mut().unwrap().shift_remove("additionalProperties");
    let branches: Vec<Value> = (0..2 + dice.below(2))
        .map(|number| {
            let mut branch = json!({
                "properties": {"kind": {"const": format!("kind {number}")}}, "required": ["kind"],
            });
            branch["properties"][format!("own {number}")] = any(dice, 2);
            if dice.chance(30) {
                branch["properties"]["shared"] = any(dice, 1);
            }
            branch
        })
        .collect();
    root[*dice.pick(&["anyOf", "oneOf"])] = json!(branches);
    root["unevaluatedProperties"] = json!(false);
    root
}

fn any(dice: &mut Dice, depth: usize) -> Value {
    let mut schema = if depth == 0 { scalar(dice) } else { nested(dice, depth) };
    if dice.chance(20)
        && let Some(map) = schema.as_object_mut()
    {
        map.insert("description".to_owned(), json!("what it is"));
    }
    schema
}

fn nested(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(16) {
        0..=3 => scalar(dice),
        4 | 5 => object(dice, depth - 1),
        6 => json!({"type": "object", "additionalProperties": any(dice, depth - 1)}),
        7 => json!({"type": "array", "items": any(dice, depth - 1)}),
        8 => tuple(dice, depth - 1),
        9 => {
            let number = 2 + dice.below(2);
            let branches: Vec<Value> = (0..number).map(|_| any(dice, depth - 1)).collect();
            json!({dice.pick(&["anyOf", "anyOf", "oneOf"]).to_string(): branches})
        }
        10 => json!({"anyOf": [any(dice, depth - 1), {"type": "null"}]}),
        11 => {
            let mut one = object(dice, depth - 1);
            one.as_object_mut().unwrap().shift_remove("additionalProperties");
            let two = json!({"properties": {"z": any(dice, depth - 1)}, "required": ["z"]});
            json!({"allOf": [one, two]})
        }
        12 => json!({"$ref": format!("#/$defs/{}", dice.pick(&["leaf", "tree", "pair"]))}),
        13 => {
            json!({"$ref": format!("#/$defs/{}", dice.pick(&["leaf", "tree"])), "description": "seen"})
        }
        14 => dice
            .pick(&[json!({}), json!(true), json!({"type": "object"}), json!({"type": "array"})])
            .clone(),
        _ => json!({
            "type": "object", "properties": {"a": any(dice, depth - 1)},
            "additionalProperties": any(dice, depth - 1),
        }),
    }
}

fn scalar(dice: &mut Dice) -> Value {
    let all = [
        json!({"type": "string"}),
        json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-zü]"}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 5}),
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 2.5}),
        json!({"type": "integer", "default": 3, "examples": [1, 2]}),
        json!({"type": "boolean"}),
        json!({"type": ["string", "null"]}),
        json!({"type": ["integer", "string"], "maximum": 3}),
        json!({"type": ["number", "array", "null"], "items": {"type": "boolean"}}),
        json!({"type": "string", "enum": ["red", "green"]}),
        json!({"type": "integer", "enum": [1, 2, 3], "default": 2}),
        json!({"enum": WORDS}),
        json!({"enum": ["1", 1, true, null, "", {"a": 1}]}),
        json!({"enum": [1.5, "x"]}),
        json!({"type": "boolean", "enum": [true]}),
        json!({"enum": [true, false]}),
        json!({"const": "fixed"}),
        json!({"const": 7}),
        json!({"type": "null"}),
        json!({"type": "object", "additionalProperties": false}),
    ];
    dice.pick(&all).clone()
}

fn object(dice: &mut Dice, depth: usize) -> Value {
    let mut properties = Map::new();
    for _ in 0..dice.below(5) {
        let name = *dice.pick(&NAMES);
        properties.insert(name.to_owned(), any(dice, depth));
    }
    let required: Vec<String> = properties.keys().filter(|_| dice.chance(50)).cloned().collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    match dice.below(4) {
        0 | 1 => schema["additionalProperties"] = json!(false),
        2 => schema["additionalProperties"] = json!(true),
        _ => {}
    }
    if dice.chance(10) {
        schema["properties"]["never"] = json!(false);
    }
    schema
}

fn tuple(dice: &mut Dice, depth: usize) -> Value {
    let places: Vec<Value> = (0..=dice.below(3)).map(|_| any(dice, depth)).collect();
    let mut schema = json!({"type": "array", "minItems": places.len(), "prefixItems": places});
    match dice.below(3) {
        0 => schema["items"] = json!(false),
        1 => schema["items"] = any(dice, depth),
        _ => {}
    }
    schema
}

/// A value that should fit the schema; the caller asks a validator.
pub(crate) fn value(dice: &mut Dice, schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object() else { return anything(dice, depth) };
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        return value(dice, root.pointer(&target[1..]).unwrap(), root, depth);
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return dice.pick(values).clone();
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
            let branch = dice.pick(branches);
            let Some(own) = map.get("properties") else {
                return value(dice, branch, root, depth);
            };
            let own = json!({"type": "object", "properties": own, "required": map["required"]});
            let mut whole = value(dice, &closed(&own), root, depth);
            let further = value(dice, &closed(branch), root, depth);
            whole.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            return whole;
        }
    }
    if let Some(parts) = map.get("allOf").and_then(Value::as_array) {
        let mut whole = Map::new();
        for part in parts {
            let mut part = part.clone();
            part["type"] = json!("object");
            part["additionalProperties"] = json!(false);
            if let Value::Object(members) = value(dice, &part, root, depth) {
                whole.extend(members);
            }
        }
        return Value::Object(whole);
    }
    let kind = match map.get("type") {
        Some(Value::Array(names)) => dice.pick(names).as_str().unwrap(),
        Some(Value::String(name)) => name,
        _ => return anything(dice, depth),
    };
    match kind {
        "string" if map.contains_key("format") => json!("2026-01-31"),
        "string" if map.contains_key("pattern") => json!(*dice.pick(&["abc", "über", "z"])),
        "string" => json!(*dice.pick(&["x", "", "null", "{}", "[1]", "1", "true"])),
        "integer" => json!(dice.below(5)),
        "number" => json!(*dice.pick(&[0.5, 1.0, 2.25])),
        "boolean" => json!(dice.chance(50)),
        "null" => Value::Null,
        "array" => list(dice, map, root, depth),
        _ => members(dice, map, root, depth),
    }
}

fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["type"] = json!("object");
    schema["additionalProperties"] = json!(false);
    schema
}

fn list(dice: &mut Dice, map: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let prefix = map.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut list: Vec<Value> = prefix.iter().map(|s| value(dice, s, root, depth + 1)).collect();
    let further = if depth > 6 { 0 } else { dice.below(3) };
    if map.get("items") != Some(&json!(false)) {
        for _ in 0..further {
            let items = map.get("items").cloned().unwrap_or(json!(true));
            list.push(value(dice, &items, root, depth + 1));
        }
    }
    Value::Array(list)
}

fn members(dice: &mut Dice, map: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let mut members = Map::new();
    let needed = map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let needed = needed.iter().any(|needed| needed == name);
        if schema != &json!(false) && (needed || (depth < 6 && dice.chance(60))) {
            members.insert(name.clone(), value(dice, schema, root, depth + 1));
        }
    }
    let lists_none = map.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    let open = match map.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(schema) => Some(schema.clone()),
        // Members that a schema neither lists nor speaks of are not said where objects are closed;
        // where nothing is listed, they are all that there is.
        None => lists_none.then_some(json!(true)),
    };
    if let Some(open) = open.filter(|_| depth < 6 && dice.chance(50)) {
        for _ in 0..dice.below(3) {
            let name = *dice.pick(&["k", "weird key", "json", "zz"]);
            if !members.contains_key(name) {
                members.insert(name.to_owned(), value(dice, &open, root, depth + 1));
            }
        }
    }
    Value::Object(members)
}

fn anything(dice: &mut Dice, depth: usize) -> Value {
    let deeper = depth < 4;
    match dice.below(if deeper { 9 } else { 6 }) {
        0 => Value::Null,
        1 => json!(dice.chance(50)),
        2 => json!(dice.below(100)),
        3 => json!(1.5),
        4 => json!("some text"),
        5 => json!("{\"a\": 1}"),
        6 => json!([anything(dice, depth + 1)]),
        7 => json!({"json": "null"}),
        _ => json!({"b": anything(dice, depth + 1)}),
    }
}
