//! Exactly what goes out: each case in each target, with its report.

use haft_core::Tool;
use haft_wire::{Choice, Dialect, Target};
use serde_json::{Value, json};

use crate::support::{Types, of_contract, tool};

/// One golden file for each target.
fn check(case: &str, tool: &Tool) {
    let mut types = Types::default();
    for target in Target::ALL {
        let rendering = target.render([tool]);
        let errors = match rendering.quarantined.is_empty() {
            true => types.of_tools(target, &rendering.tools),
            false => Vec::new(),
        };
        assert_eq!(errors, Vec::<String>::new(), "{case} {}", target.name());
        let report: Vec<String> = rendering
            .report
            .iter()
            .map(|loss| {
                let fate = loss.fate.as_str();
                format!("{} `{}` {fate}: {}", loss.pointer, loss.keyword, loss.note)
            })
            .collect();
        let golden = json!({
            "tools": rendering.tools, "report": report, "quarantined": rendering.quarantined,
        });
        insta::assert_json_snapshot!(format!("{case}__{}", target.name()), golden);
    }
}

fn check_parameters(case: &str, properties: &Value, required: &Value) {
    let mut parameters = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    if parameters.to_string().contains("#/$defs/") {
        parameters["$defs"] = json!({
            "word": {"type": "string", "description": "A word."},
            "node": {
                "type": "object", "required": ["value"], "additionalProperties": false,
                "properties": {
                    "value": {"type": "number"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
            },
        });
    }
    check(case, &tool("t", &parameters));
}

#[test]
fn a_whole_contract() {
    let contract = json!({
        "toolId": "send_mail", "version": "1.0.0", "description": "Sends a mail.",
        "category": "action", "sideEffects": "writes", "effect": "external_side_effect",
        "sideEffectPolicy": "irreversible", "idempotent": false, "requiresConfirmation": true,
        "allowedModes": ["text"], "latencyBudgetMs": 5000, "redaction": {"allow": []},
        "deprecated": {"reason": "use the calendar"},
        "parameters": {
            "type": "object", "additionalProperties": false, "required": ["to", "subject"],
            "properties": {
                "to": {"type": "string", "format": "email", "description": "Whom."},
                "subject": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What about."},
                "priority": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "description": "How urgent."},
            },
        },
        "output": {
            "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
            "additionalProperties": false,
        },
    });
    check("contract", &of_contract("mail__send_mail", contract));
}

#[test]
fn no_parameters() {
    check_parameters("none", &json!({}), &json!([]));
}

#[test]
fn values() {
    let properties = json!({
        "colour": {"type": "string", "enum": ["red", ""]},
        "size": {"type": "integer", "enum": [1, 2], "default": 1},
        "mixed": {"enum": ["1", 1, true, null]},
        "fixed": {"const": "x"},
        "maybe": {"type": ["string", "null"]},
        "either": {"type": ["string", "integer"], "minimum": 3},
    });
    check_parameters(
        "values",
        &properties,
        &json!(["colour", "size", "mixed", "fixed", "maybe", "either"]),
    );
}

#[test]
fn members_by_any_name() {
    let properties = json!({
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "description": "Labels."},
        "anything": {"description": "Whatever."},
        "free": {"type": "object", "description": "Any object."},
        "open": {
            "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": {"type": "number"},
        },
        "patterned": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false},
        "filter[x]": {"type": "string"},
    });
    check_parameters("members", &properties, &json!(["labels"]));
}

#[test]
fn alternatives() {
    let properties = json!({
        "who": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}]},
        "shape": {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}, "tags": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["kind", "side"], "additionalProperties": false},
            ],
        },
        "alike": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "both": {"allOf": [{"$ref": "#/$defs/word"}, {"maxLength": 9}]},
        "not": {"type": "string", "not": {"const": "x"}},
    });
    check_parameters("alternatives", &properties, &json!(["who", "shape"]));
}

#[test]
fn lists_and_trees() {
    let properties = json!({
        "point": {
            "type": "array", "description": "Where.", "items": false, "minItems": 2,
            "prefixItems": [{"type": "number", "description": "Latitude."}, {"type": "string", "description": "Longitude."}],
        },
        "bare": {"type": "array"},
        "unique": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 3},
        "tree": {"$ref": "#/$defs/node"},
        "word": {"$ref": "#/$defs/word", "description": "Another word."},
    });
    check_parameters("lists", &properties, &json!(["point", "tree"]));
}

#[test]
fn alternatives_at_the_root() {
    let parameters = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    check("root", &tool("t", &parameters));
}

#[test]
fn what_cannot_be_shown_is_left_out_and_the_rest_is_not() {
    let never = tool(
        "never",
        &json!({
            "type": "object", "properties": {"a": false}, "required": ["a"], "additionalProperties": false,
        }),
    );
    let nowhere = tool(
        "nowhere",
        &json!({
            "type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}, "additionalProperties": false,
        }),
    );
    let good =
        tool("good", &json!({"type": "object", "properties": {}, "additionalProperties": false}));
    for target in Target::ALL {
        let rendering = target.render([&nowhere, &never, &good]);
        let left_out: Vec<&str> = rendering.quarantined.iter().map(|q| q.tool.as_str()).collect();
        assert!(left_out.contains(&"test__nowhere"), "{}", target.name());
        assert_eq!(rendering.tool("test__good"), Some("test__good"), "{}", target.name());
        assert_eq!(rendering.tool("test__nowhere"), None);
    }
    for target in Target::ALL {
        let none = target.render([&nowhere]);
        assert!(none.tools.is_null() || none.tools == json!([]), "{}", target.name());
    }
}

#[test]
fn choices_are_those_of_the_sdks() {
    let tools = [
        tool("a", &json!({"type": "object", "properties": {}, "additionalProperties": false})),
        tool("b", &json!({"type": "object", "properties": {}, "additionalProperties": false})),
    ];
    let mut types = Types::default();
    let choices = [
        Choice::Auto,
        Choice::None,
        Choice::Required,
        Choice::Tool("test__a".to_owned()),
        Choice::Only(vec!["test__a".to_owned(), "test__b".to_owned()]),
    ];
    let mut said = Vec::new();
    for target in Target::ALL {
        let rendering = target.render(&tools);
        let kind = match target.dialect {
            Dialect::OpenAiChat => "openai.chat.tool_choice",
            Dialect::OpenAiResponses => "openai.responses.tool_choice",
            Dialect::OpenAiRealtime => "openai.realtime.tool_choice",
            Dialect::Anthropic => "anthropic.tool_choice",
            Dialect::Gemini => "gemini.tool_config",
            Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => {
                assert_eq!(rendering.choice(&Choice::Auto), None);
                continue;
            }
        };
        for choice in &choices {
            let Some((field, value)) = rendering.choice(choice) else { continue };
            assert_eq!(types.errors(kind, &value), Vec::<String>::new(), "{kind} {value}");
            said.push(
                json!({"target": target.name(), "choice": format!("{choice:?}"), field: value}),
            );
        }
        assert_eq!(rendering.choice(&Choice::Tool("test__gone".to_owned())), None);
    }
    insta::assert_json_snapshot!("choices", said);
}
