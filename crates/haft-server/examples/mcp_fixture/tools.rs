//! The contracts.

use haft_core::contract::Contract;
use haft_core::names::Namespace;
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Digest, parameters};
use serde_json::{Map, Value, json};

/// Tools without arguments, and what each is for.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "Returns a sentence"),
    ("test_image_content", "Returns a picture"),
    ("test_audio_content", "Returns a sound"),
    ("test_embedded_resource", "Returns a document"),
    ("test_multiple_content_types", "Returns words, a picture and a document"),
    ("test_error_handling", "Fails"),
    ("test_tool_with_progress", "Says how far it is"),
    ("test_tool_with_logging", "Writes lines to the client's log"),
    ("test_logging_tool", "Writes a line to the client's log"),
    ("test_reconnection", "Takes its time, so that a client can come back to it"),
    ("test_elicitation_sep1034_defaults", "Asks with answers filled in"),
    ("test_elicitation_sep1330_enums", "Asks for choices of every kind"),
    ("test_trigger_tool_change", "Changes the list of tools"),
    ("test_trigger_prompt_change", "Changes the prompts"),
    ("test_missing_capability", "Needs the client's model"),
    ("test_streaming_elicitation", "Asks the user"),
    ("test_input_required_result_elicitation", "Asks the user for their name"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's folders"),
    ("test_input_required_result_request_state", "Asks, and is asked again with its state"),
    ("test_input_required_result_multiple_inputs", "Asks three things at once"),
    ("test_input_required_result_multi_round", "Asks one thing after the other"),
    ("test_input_required_result_tampered_state", "Asks, and notices when its state was changed"),
    ("test_input_required_result_capabilities", "Asks only what the client can answer"),
];

/// Every tool. The two numbers make a registry differ: in its tools, in its prompts.
pub(super) fn registry(tools: usize, prompts: usize) -> Registry {
    let mut all: Vec<Tool> =
        PLAIN.iter().map(|(id, what)| tool(id, what, json!({"properties": {}}))).collect();
    let text = |name: &str| json!({"properties": {name: {"type": "string"}}, "required": [name]});
    all.push(tool("test_sampling", "Asks the client's model", text("prompt")));
    all.push(tool("test_elicitation", "Asks the user", text("message")));
    let header = json!({"type": "string", "x-mcp-header": "Value"});
    let header = json!({"properties": {"value": header}, "required": ["value"]});
    all.push(tool("test_custom_header", "Its argument stands in a header, too", header));
    all.push(tool("json_schema_2020_12_tool", "A schema with everything in it", rich()));
    for number in 0..tools {
        all.push(tool(&format!("test_added_{number}"), "Came later", json!({"properties": {}})));
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let ids: Vec<_> = all.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!([ids, prompts]));
    let texts = (0..prompts).map(|number| (format!("added_{number}"), "words".to_owned()));
    Registry {
        version: version_of(&digest),
        digest,
        namespace: Namespace::parse("fixture").unwrap_or_else(|_| unreachable!()),
        prompts: texts.collect(),
        tools: all,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "fixture".into(), commit: None },
    }
}

fn rich() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"address": {
            "$anchor": "address",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
        "if": {"required": ["address"]},
        "then": {"properties": {"address": {"required": ["street"]}}},
        "else": {"required": ["name"]},
    })
}

fn tool(id: &str, description: &str, schema: Value) -> Tool {
    let mut parameters = Map::new();
    parameters.insert("type".into(), json!("object"));
    parameters.insert("additionalProperties".into(), json!(false));
    if let Value::Object(more) = schema {
        parameters.extend(more);
    }
    let contract = json!({
        "toolId": id, "version": "1.0.0", "description": description, "category": "utility",
        "sideEffects": "none", "effect": "read_only", "sideEffectPolicy": "pure",
        "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text"],
        "latencyBudgetMs": 60_000, "parameters": parameters,
        "redaction": {"allow": [], "allowArgs": []},
        "arguments": {"mode": "strict", "fraction": "refuse"},
        "capabilities": ["client"], "limits": {"maxRuntimeMs": 60_000},
    });
    let contract: Contract =
        serde_json::from_value(contract).unwrap_or_else(|why| unreachable!("{id}: {why}"));
    let mut tool = Tool {
        id: format!("fixture__{id}"),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: description.to_owned(),
        doc: String::new(),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    tool
}
