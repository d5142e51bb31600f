//! Schemas.

use haft_adm::{Schema, SchemaType};
use serde_json::{Value, json};

use crate::said;

#[track_caller]
fn check(document: Value, expected: &[&str]) {
    let text = document.to_string();
    assert_eq!(said(Schema::parse(&text)), expected, "{text}");
    assert_eq!(said(Schema::from_value(document)), expected, "{text}");
}

#[test]
fn the_six_types_are_read() {
    for (document, schema_type) in [
        (
            json!({"type": "STRING", "description": "Role.", "enum": ["cook", "guest"]}),
            SchemaType::String,
        ),
        (json!({"type": "NUMBER", "description": ""}), SchemaType::Number),
        (json!({"type": "INTEGER"}), SchemaType::Integer),
        (json!({"type": "BOOLEAN"}), SchemaType::Boolean),
        (
            json!({"type": "ARRAY", "items": {"type": "ARRAY", "items": {"type": "NUMBER"}}}),
            SchemaType::Array,
        ),
        (json!({"type": "OBJECT"}), SchemaType::Object),
        (
            json!({"type": "OBJECT", "properties": {"": {"type": "STRING"}}, "required": [""]}),
            SchemaType::Object,
        ),
        (json!({"type": "OBJECT", "required": []}), SchemaType::Object),
    ] {
        let schema = Schema::from_value(document.clone()).unwrap();
        assert_eq!(schema.schema_type(), schema_type);
        assert_eq!(serde_json::to_value(&schema).unwrap(), document);
    }
}

#[test]
fn a_type_is_one_of_six_spelt_exactly() {
    check(json!({}), &["a schema needs the field `type`; add it"]);
    check(json!({"type": null}), &["at `/type`: expected a string, found null"]);
    check(json!({"type": ["STRING"]}), &["at `/type`: expected a string, found an array"]);
    for word in ["string", "String", " STRING", "NULL", ""] {
        check(
            json!({"type": word}),
            &[&format!(
                "at `/type`: `{word}` is not a schema type; \
                 use STRING, NUMBER, INTEGER, BOOLEAN, ARRAY or OBJECT"
            )],
        );
    }
}

#[test]
fn optional_fields_are_left_out_not_null() {
    for field in ["description", "properties", "required", "items", "enum"] {
        let schema_type = match field {
            "items" => continue,
            "enum" => "STRING",
            _ => "OBJECT",
        };
        let said = "is null; an optional field without a value is left out";
        check(
            json!({"type": schema_type, field: null}),
            &[&format!("at `/{field}`: `{field}` {said}")],
        );
    }
    check(
        json!({"type": "ARRAY", "items": null}),
        &["at `/items`: `items` is null; an optional field without a value is left out"],
    );
}

#[test]
fn unknown_fields_are_refused() {
    for field in ["format", "minLength", "Type", "default", "$ref", "nullable"] {
        check(
            json!({"type": "STRING", field: 1}),
            &[&format!("at `/{field}`: a schema has no field `{field}`; remove it")],
        );
    }
}

#[test]
fn fields_have_their_own_kind() {
    check(
        json!({"type": "STRING", "description": 1}),
        &["at `/description`: expected a string, found a number"],
    );
    check(
        json!({"type": "STRING", "enum": "a"}),
        &["at `/enum`: expected an array, found a string"],
    );
    check(
        json!({"type": "STRING", "enum": ["a", 1, null]}),
        &[
            "at `/enum/1`: expected a string, found a number",
            "at `/enum/2`: expected a string, found null",
        ],
    );
    check(
        json!({"type": "OBJECT", "properties": []}),
        &["at `/properties`: expected an object, found an array"],
    );
    check(
        json!({"type": "OBJECT", "properties": {"a": true}}),
        &["at `/properties/a`: expected an object, found a boolean"],
    );
    check(
        json!({"type": "OBJECT", "required": {}}),
        &["at `/required`: expected an array, found an object"],
    );
    check(
        json!({"type": "OBJECT", "required": [[]]}),
        &["at `/required/0`: expected a string, found an array"],
    );
    check(
        json!({"type": "ARRAY", "items": [{"type": "STRING"}]}),
        &["at `/items`: expected an object, found an array"],
    );
}

#[test]
fn fields_stand_on_their_own_type_only() {
    let fields = [
        ("properties", json!({}), SchemaType::Object),
        ("required", json!([]), SchemaType::Object),
        ("items", json!({"type": "STRING"}), SchemaType::Array),
        ("enum", json!(["a"]), SchemaType::String),
    ];
    for (field, value, belongs) in fields {
        for found in SchemaType::ALL {
            let mut document = json!({"type": found, field: value});
            if found == SchemaType::Array && field != "items" {
                document["items"] = json!({"type": "STRING"});
            }
            let said = format!(
                "at `/{field}`: `{field}` belongs to {belongs}, not to {found}; \
                 remove it or change the type"
            );
            match found == belongs {
                true => check(document, &[]),
                false => check(document, &[&said]),
            }
        }
    }
}

#[test]
fn an_array_says_what_it_holds() {
    check(json!({"type": "ARRAY"}), &["an ARRAY needs `items`; add the schema of its elements"]);
    check(
        json!({"type": "ARRAY", "items": {"type": "ARRAY"}}),
        &["at `/items`: an ARRAY needs `items`; add the schema of its elements"],
    );
}

#[test]
fn what_is_required_is_declared_once() {
    let undeclared =
        |name: &str| format!("`{name}` is required but not declared; add it to `properties`");
    check(
        json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a", "b", "A"]}),
        &[
            &format!("at `/required/1`: {}", undeclared("b")),
            &format!("at `/required/2`: {}", undeclared("A")),
        ],
    );
    check(
        json!({"type": "OBJECT", "required": ["a"]}),
        &[&format!("at `/required/0`: {}", undeclared("a"))],
    );
    check(
        json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a", "a"]}),
        &["at `/required/1`: `a` is required twice; keep one"],
    );
    // A property whose schema is broken is declared all the same.
    check(
        json!({"type": "OBJECT", "properties": {"a": {"type": "ARRAY"}}, "required": ["a", "b"]}),
        &[
            "at `/properties/a`: an ARRAY needs `items`; add the schema of its elements",
            &format!("at `/required/1`: {}", undeclared("b")),
        ],
    );
}

#[test]
fn an_enum_lists_something_and_lists_it_once() {
    let empty = "the enum is empty, so no value could match; list a value or leave `enum` out";
    check(json!({"type": "STRING", "enum": []}), &[&format!("at `/enum`: {empty}")]);
    check(json!({"type": "STRING", "enum": ["", "a", "A"]}), &[]);
    check(
        json!({"type": "STRING", "enum": ["a", "b", "a", "b"]}),
        &[
            "at `/enum/2`: the enum lists `a` twice; keep one",
            "at `/enum/3`: the enum lists `b` twice; keep one",
        ],
    );
}

#[test]
fn a_bad_type_does_not_hide_the_rest() {
    check(
        json!({"type": "LIST", "items": {"type": "ARRAY"}, "enum": [1], "more": 0}),
        &[
            "at `/type`: `LIST` is not a schema type; \
             use STRING, NUMBER, INTEGER, BOOLEAN, ARRAY or OBJECT",
            "at `/items`: an ARRAY needs `items`; add the schema of its elements",
            "at `/enum/0`: expected a string, found a number",
            "at `/more`: a schema has no field `more`; remove it",
        ],
    );
}

#[test]
fn what_is_built_in_rust_follows_the_same_rules() {
    assert_eq!(
        said(Schema::choice(["a", "a"])),
        ["at `/enum/1`: the enum lists `a` twice; keep one"]
    );
    assert_eq!(said(Schema::choice(Vec::<String>::new())).len(), 1);
    let schema = Schema::object()
        .required("a", Schema::choice(["x"]).unwrap())
        .optional("b", Schema::array(Schema::boolean()).unwrap())
        .build()
        .unwrap()
        .describe("Both.");
    assert_eq!(schema.required(), ["a"]);
    assert_eq!(schema.description(), Some("Both."));
    assert_eq!(schema.properties().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(schema.property("a").unwrap().allowed().unwrap(), ["x"]);
    assert_eq!(schema.property("b").unwrap().items(), Some(&Schema::boolean()));
    assert_eq!(schema.property("c"), None);
}
