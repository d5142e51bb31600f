//! What holds for every schema and every value.

use haft_core::contract::{Arguments, Fraction, Leniency, Mode};
use haft_runtime::arguments::Reader;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema, and a value that it accepts.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        (-1000..1000_i64).prop_map(|n| (json!({"type": "integer"}), json!(n))),
        (-1e6..1e6_f64).prop_map(|n| (json!({"type": "number"}), json!(n))),
        "[ -~]{0,12}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        prop_oneof!["true", "42", "1\\.0", "\\[1\\]", "null"]
            .prop_map(|text| (json!({"type": "string"}), json!(text))),
        (0..3_usize).prop_map(|at| {
            let words = ["Red", "green", "GREEN"];
            (json!({"type": "string", "enum": words}), json!(words[at]))
        }),
        (-1000..1000_i64)
            .prop_map(|n| (json!({"type": ["integer", "null"], "default": 7}), json!(n))),
        Just((json!({"type": ["string", "null"]}), json!(null))),
        Just((json!({"type": "string", "format": "date-time"}), json!("2026-01-31T09:30:00Z"))),
        Just((json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!("3"))),
        Just((json!({}), json!({"any": ["1", 1.5]}))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..4_usize).prop_map(|((schema, value), count)| {
                (json!({"type": "array", "items": schema}), json!(vec![value; count]))
            }),
            members(inner.clone()),
            inner.prop_map(|(schema, value)| {
                (json!({"type": "object", "additionalProperties": schema}), json!({"key": value}))
            }),
        ]
    })
}

fn members(inner: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    prop::collection::btree_map("[a-d]", (inner, any::<bool>(), any::<bool>()), 0..4).prop_map(
        |members| {
            let (mut properties, mut value) = (Map::new(), Map::new());
            for (name, ((mut schema, member), present, defaulted)) in members {
                if defaulted {
                    schema["default"] = member.clone();
                }
                properties.insert(name.clone(), schema);
                if present {
                    value.insert(name, member);
                }
            }
            let schema = json!({
                "type": "object", "properties": properties, "additionalProperties": false
            });
            (schema, Value::Object(value))
        },
    )
}

/// Whether `effective` is `came` with members added, and nothing else.
fn only_adds(came: &Value, effective: &Value) -> bool {
    match (came, effective) {
        (Value::Object(came), Value::Object(effective)) => came
            .iter()
            .all(|(name, value)| effective.get(name).is_some_and(|e| only_adds(value, e))),
        (Value::Array(came), Value::Array(effective)) => {
            came.len() == effective.len()
                && came.iter().zip(effective).all(|(c, e)| only_adds(c, e))
        }
        (came, effective) => came == effective,
    }
}

fn reader(schema: &Value, mode: Leniency) -> Reader {
    let rules = Arguments { mode, fraction: Fraction::Truncate };
    Reader::new(schema, rules, &Default::default()).unwrap()
}

/// A value in another spelling, as models send it.
fn mangled(value: &Value, how: u8) -> Value {
    match (how % 4, value) {
        (0, Value::Number(_) | Value::Bool(_)) => json!(value.to_string()),
        (1, Value::Array(_) | Value::Object(_)) => json!(value.to_string()),
        (2, Value::String(text)) => json!(text.to_uppercase()),
        (_, Value::Object(map)) => {
            Value::Object(map.iter().map(|(n, v)| (n.clone(), mangled(v, how))).collect())
        }
        (_, Value::Array(list)) => list.iter().map(|v| mangled(v, how / 2)).collect(),
        (_, value) => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reading_what_is_valid_only_adds_defaults((schema, value) in members(pair())) {
        for mode in [Leniency::Lenient, Leniency::Strict] {
            let reader = reader(&schema, mode);
            let prepared = reader.read(&value.to_string().as_str().into(), Mode::Text).unwrap();
            prop_assert!(only_adds(&value, &prepared.effective), "{} {}", value, prepared.effective);
            prop_assert_eq!(&prepared.warnings, &[]);
            prop_assert_eq!(&*prepared.received(), &value);
        }
    }

    #[test]
    fn reading_twice_is_reading_once((schema, value) in members(pair()), how in any::<u8>()) {
        let reader = reader(&schema, Leniency::Lenient);
        let inside = value.as_object().unwrap().iter();
        let came = inside.map(|(name, value)| (name.clone(), mangled(value, how))).collect::<Map<_, _>>();
        let came = Value::Object(came);
        if let Ok(once) = reader.read(&came.clone().into(), Mode::Text) {
            prop_assert_eq!(&*once.received(), &came);
            let twice = reader.read(&once.effective.clone().into(), Mode::Text).unwrap();
            prop_assert_eq!(&twice.effective, &once.effective);
            prop_assert_eq!(&twice.warnings, &[]);
        }
    }

    #[test]
    fn nothing_panics((schema, _) in members(pair()), text in "\\PC{0,80}|[\\[\\]{}\":,0-9a-d.e\\\\ -]{0,80}") {
        for mode in [Leniency::Lenient, Leniency::Strict] {
            let reader = reader(&schema, mode);
            let _ = reader.read(&text.as_str().into(), Mode::Text);
            let _ = reader.read(&json!({"a": text, "b": [text]}).into(), Mode::Voice);
        }
    }
}
