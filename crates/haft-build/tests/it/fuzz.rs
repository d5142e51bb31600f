//! Whatever stands in a folder, the compiler answers.

use proptest::prelude::*;
use serde_json::Value;

use crate::workshop::Workshop;

/// JSON of any shape, some of it with the words of contracts and schemas in it.
fn json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("type".to_owned()),
        Just("properties".to_owned()),
        Just("parameters".to_owned()),
        Just("$ref".to_owned()),
        Just("#/$defs/a".to_owned()),
        Just("object".to_owned()),
        Just("enum".to_owned()),
        Just("writes".to_owned()),
        "\\PC{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(word.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A member of the scaffold's contract, to be replaced.
fn place() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "/toolId",
        "/version",
        "/category",
        "/sideEffects",
        "/requiresConfirmation",
        "/allowedModes",
        "/latencyBudgetMs",
        "/parameters",
        "/parameters/properties",
        "/parameters/properties/text",
        "/parameters/required",
        "/output",
        "/output/properties/words",
        "/redaction",
        "/redaction/allow",
        "/capabilities",
        "/modes",
        "/gateway",
        "/handler",
        "/compensation",
        "/probe",
        "/connection",
        "/availability",
        "/lint",
        "/portability",
        "/origin",
        "/deprecated",
        "/limits",
        "/confirmation",
        "/arguments",
        "/tags",
        "/idempotencyKeyFields",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_text_in_any_file(file in prop::sample::select(vec![
        "tools/echo/schema.json", "tools/echo/doc.md", "tools/echo/doc_summary.md",
        "tools/echo/handler.js", "tools/echo/tests.json", "toolset.toml",
    ]), text in "\\PC{0,200}|[\\[\\]{}\":,#`\\n a-z0-9]{0,200}") {
        let workshop = Workshop::new();
        workshop.write(file, text);
        workshop.check();
    }

    #[test]
    fn any_bytes_in_any_file(file in prop::sample::select(vec![
        "tools/echo/schema.json", "tools/echo/doc.md", "tools/echo/handler.wasm", "toolset.toml",
    ]), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let workshop = Workshop::new();
        workshop.write(file, bytes);
        workshop.check();
    }

    #[test]
    fn any_value_at_any_place_of_a_contract(place in place(), value in json()) {
        let workshop = Workshop::new();
        let mut contract: Value =
            serde_json::from_str(&workshop.read("tools/echo/schema.json")).unwrap();
        match (place, contract.pointer(place).is_some()) {
            ("", _) => contract = value,
            (place, true) => *contract.pointer_mut(place).unwrap() = value,
            (place, false) => contract[place.trim_start_matches('/')] = value,
        }
        workshop.write("tools/echo/schema.json", contract.to_string());
        let checked = workshop.check();
        // What compiles also loads: no check is missing between the two.
        if !checked.has_errors() {
            checked.registry().unwrap();
        }
    }
}
