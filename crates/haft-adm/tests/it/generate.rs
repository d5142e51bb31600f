//! Documents, right and wrong.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(crate) fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_-]{0,63}"
}

/// Any JSON, with the numbers and strings that tend to cause trouble.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-1000..1000_i32).prop_map(|whole| Value::from(f64::from(whole))),
        any::<String>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Words that mean something to the model, so that chance gets somewhere.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "type",
            "description",
            "properties",
            "required",
            "items",
            "enum",
            "name",
            "parameters",
            "function_declarations",
            "args",
            "status",
            "content",
            "error",
            "message",
            "STRING",
            "NUMBER",
            "INTEGER",
            "BOOLEAN",
            "ARRAY",
            "OBJECT",
            "SUCCESS",
            "ERROR",
            "",
            " ",
            "a",
            "b",
        ])
        .prop_map(str::to_owned),
        "[a-c]{0,2}",
        any::<String>(),
    ]
}

pub(crate) fn schema() -> impl Strategy<Value = Value> {
    let flat = prop_oneof![
        Just(json!({"type": "NUMBER"})),
        Just(json!({"type": "INTEGER"})),
        Just(json!({"type": "BOOLEAN"})),
        Just(json!({"type": "STRING"})),
        Just(json!({"type": "OBJECT"})),
        Just(json!({"type": "OBJECT", "properties": {}, "required": []})),
        prop::collection::btree_set(word(), 1..4)
            .prop_map(|allowed| json!({"type": "STRING", "enum": allowed})),
    ];
    let nested = flat.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "ARRAY", "items": items})),
            object(inner),
        ]
    });
    (nested, prop::option::of(any::<String>())).prop_map(|(mut schema, description)| {
        if let Some(description) = description {
            schema["description"] = description.into();
        }
        schema
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((word(), inner, any::<bool>()), 0..4).prop_map(|entries| {
        let required: std::collections::BTreeSet<_> =
            entries.iter().filter(|(.., required)| *required).map(|(name, ..)| name).collect();
        let required = json!(required);
        let properties: Map<_, _> =
            entries.into_iter().map(|(name, schema, _)| (name, schema)).collect();
        json!({"type": "OBJECT", "properties": properties, "required": required})
    })
}

pub(crate) fn declaration() -> impl Strategy<Value = Value> {
    (name(), ".{1,40}", object(schema())).prop_map(|(name, description, parameters)| {
        json!({"name": name, "description": description, "parameters": parameters})
    })
}

pub(crate) fn tool() -> impl Strategy<Value = Value> {
    prop::collection::vec(declaration(), 1..4).prop_map(|mut functions| {
        functions.sort_by_key(|function| function["name"].to_string());
        functions.dedup_by_key(|function| function["name"].clone());
        json!({"function_declarations": functions})
    })
}

pub(crate) fn call() -> impl Strategy<Value = Value> {
    (name(), prop::collection::vec((word(), json()), 0..4)).prop_map(|(name, args)| {
        let args: Map<_, _> = args.into_iter().collect();
        json!({"name": name, "args": args})
    })
}

pub(crate) fn error() -> impl Strategy<Value = Value> {
    (".{0,20}[a-z].{0,20}", prop::option::of(word())).prop_map(|(message, error_type)| {
        match error_type {
            Some(error_type) => json!({"message": message, "type": error_type}),
            None => json!({"message": message}),
        }
    })
}

pub(crate) fn result() -> impl Strategy<Value = Value> {
    prop_oneof![
        (name(), json()).prop_map(
            |(name, content)| json!({"name": name, "status": "SUCCESS", "content": content})
        ),
        (name(), error())
            .prop_map(|(name, error)| json!({"name": name, "status": "ERROR", "error": error})),
    ]
}

/// A field that would be right, were it in the right place.
fn field() -> impl Strategy<Value = (String, Value)> {
    let fields = [
        ("type", json!("ARRAY")),
        ("type", json!("STRING")),
        ("type", json!("OBJECT")),
        ("items", json!({"type": "NUMBER"})),
        ("enum", json!(["a"])),
        ("properties", json!({"a": {"type": "BOOLEAN"}})),
        ("required", json!([])),
        ("description", json!("x")),
        ("status", json!("SUCCESS")),
        ("status", json!("ERROR")),
        ("content", json!(1)),
        ("error", json!({"message": "x"})),
    ];
    prop::sample::select(fields.map(|(field, value)| (field.to_owned(), value)).to_vec())
}

/// The document with up to three places changed.
pub(crate) fn broken(document: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let change = (any::<prop::sample::Index>(), 0..6_u8, word(), json(), field());
    (document, prop::collection::vec(change, 1..4)).prop_map(|(mut document, changes)| {
        for (place, how, word, value, field) in changes {
            let (word, value) = if how == 5 { field } else { (word, value) };
            let mut places = Vec::new();
            pointers(&document, String::new(), &mut places);
            let pointer = place.get(&places);
            change_at(document.pointer_mut(pointer).unwrap(), how, word, value);
        }
        document
    })
}

fn pointers(value: &Value, here: String, places: &mut Vec<String>) {
    if let Value::Array(list) = value {
        for (index, item) in list.iter().enumerate() {
            pointers(item, format!("{here}/{index}"), places);
        }
    }
    if let Value::Object(map) = value {
        for (key, item) in map {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointers(item, format!("{here}/{key}"), places);
        }
    }
    places.push(here);
}

fn change_at(place: &mut Value, how: u8, word: String, value: Value) {
    match (how, place) {
        (0 | 5, Value::Object(map)) => {
            map.insert(word, value);
        }
        (1, Value::Object(map)) => {
            let key = map.keys().next_back().cloned();
            key.map(|key| map.remove(&key));
        }
        (2, Value::Array(list)) => {
            let copy = list.first().cloned();
            list.extend(copy);
        }
        (3, Value::Array(list)) => {
            list.pop();
        }
        (4, place) => *place = word.into(),
        (_, place) => *place = value,
    }
}
