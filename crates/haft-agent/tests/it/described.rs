//! `reg_describe`, as a model hears of it: the tool in the form in which that model was shown it.

use haft_agent::http::Provider as Api;
use haft_agent::{Reason, Settings};
use haft_runtime::policy::Rules;
use haft_wire::Strictness;
use serde_json::{Value, json};

use crate::provider::{Reply, says};
use crate::world::{World, registry, settings, tool};

/// A contract of which no strict dialect, and Gemini never, shows the very schema.
fn parameters() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["item"],
        "properties": {
            "item": { "type": "string" },
            "sizes": { "type": "object", "additionalProperties": { "type": "number" } },
            "level": { "enum": [1, 2, 3] },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }] },
        },
    })
}

/// The description in a request's messages: an object, or its JSON in a text.
fn described(value: &Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key("asksFirst") => Some(value.clone()),
        Value::Object(map) => map.values().find_map(described),
        Value::Array(list) => list.iter().find_map(described),
        Value::String(text) if text.contains("asksFirst") => {
            described(&serde_json::from_str(text).ok()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The parameters of a tool that a request shows.
fn shown(body: &Value, name: &str) -> Option<Value> {
    let tools = body["tools"].as_array()?;
    let groups = tools.iter().filter_map(|group| group["functionDeclarations"].as_array());
    let all = groups.flatten().chain(tools);
    let inner = |tool: &Value| match tool.get("function") {
        Some(function) => function.clone(),
        None => tool.clone(),
    };
    let tool = all.map(inner).find(|tool| tool["name"] == name)?;
    ["parameters", "input_schema"].iter().find_map(|key| tool.get(key)).cloned()
}

async fn check(api: Api, strictness: Strictness, searched: bool) {
    let describe = ("c1", "haft__reg_describe", r#"{"tool":"shape"}"#);
    let replies =
        vec![Reply::Stream(says(api, "", &[describe])), Reply::Stream(says(api, "Done.", &[]))];
    let mut tools = vec![tool("shop__shape", "Shape it.", json!({ "parameters": parameters() }))];
    if searched {
        let part = |n| tool(&format!("shop__part_{n:03}"), "A part.", json!({}));
        tools.extend((0..300).map(part));
    }
    let settings = Settings { strictness, tools_budget: 8_192, ..settings() };
    let world = World::with(api, replies, registry(tools), Rules::default(), settings).await;
    let (done, _, _) = world.say("go").await;
    assert_eq!(done.reason, Reason::Finished);
    let requests = world.provider.requests();
    let (first, second) = (&requests[0].body, &requests[1].body);
    assert_eq!(shown(first, "shop__shape").is_none(), searched, "{api}");
    let said = described(second).unwrap_or_else(|| panic!("{api}: no description in {second}"));
    let whole = shown(second, "shop__shape").unwrap_or_else(|| panic!("{api}: not shown"));
    assert_eq!(said["parameters"], whole, "{api} {strictness:?}");
    assert_eq!(said["tool"], "shop__shape");
    let plain = strictness == Strictness::Plain || api == Api::Gemini;
    let changed = !plain || api == Api::Gemini;
    assert_eq!(said["parameters"] != parameters(), changed, "{api} {strictness:?}");
    let doc = said["documentation"].as_str().unwrap();
    assert_eq!(doc.contains("in another form"), changed, "{api} {strictness:?}: {doc}");
    let note = "`pair`: `prefixItems` is [{\"type\":\"string\"},{\"type\":\"number\"}]; what stands \
                at which place is in the description";
    let notes = if changed { json!([note]) } else { Value::Null };
    assert_eq!(said["notes"], notes, "{api} {strictness:?}");
}

#[tokio::test]
async fn a_tool_is_described_as_it_is_shown() {
    for api in Api::ALL {
        for strictness in [Strictness::Plain, Strictness::Strict] {
            check(api, strictness, false).await;
        }
    }
}

#[tokio::test]
async fn so_is_one_that_is_shown_from_then_on() {
    for api in Api::ALL {
        check(api, Strictness::Strict, true).await;
    }
}
