//! MCP over HTTP: both eras, keys, sessions, approvals, discovery, and what must not get through.

mod watching;

use std::time::Duration;

use haft_server::Limits;
use haft_server::mcp::{Approvals, Names, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Reply, Served};

const NEWER: &str = "2026-07-28";
const OLDER: &str = "2025-11-25";
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

pub(crate) fn meta(can: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": can,
    })
}

/// A request of the newer era, with every header that it needs.
async fn ask(served: &Served, key: &str, method: &str, params: Value) -> Reply {
    asked(served, key, method, params, &[]).await
}

/// The same with more headers.
pub(crate) async fn asked(
    served: &Served,
    key: &str,
    method: &str,
    mut params: Value,
    more: &[(&str, &str)],
) -> Reply {
    if params.get("_meta").is_none() {
        params["_meta"] = meta(json!({}));
    }
    let name = params.get("name").or_else(|| params.get("uri"));
    let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut headers = vec![ACCEPT, ("MCP-Protocol-Version", NEWER), ("Mcp-Method", method)];
    if !name.is_empty() {
        headers.push(("Mcp-Name", &name));
    }
    headers.extend(more);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    served.send(key, "POST", "/mcp", &headers, Some(body)).await
}

pub(crate) async fn call(served: &Served, tool: &str, arguments: Value, with: Value) -> Value {
    call_with(served, &served.agent, tool, arguments, with).await
}

/// The same with a key that is for somebody: a person who can be asked.
async fn call_for(served: &Served, tool: &str, arguments: Value, with: Value) -> Value {
    call_with(served, &served.companion, tool, arguments, with).await
}

pub(crate) async fn call_with(
    served: &Served,
    key: &str,
    tool: &str,
    arguments: Value,
    with: Value,
) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    for (name, value) in with.as_object().unwrap() {
        params[name] = value.clone();
    }
    ask(served, key, "tools/call", params).await.json()
}

/// The message in an answer that came as a stream of events.
pub(crate) fn streamed(reply: &Reply) -> Value {
    let mut data = reply.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let last = data.rfind(|data| data.starts_with('{'));
    serde_json::from_str(last.unwrap_or_else(|| panic!("no message: {reply:?}"))).unwrap()
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

/// A session of the older era.
pub(crate) async fn begin(served: &Served, key: &str) -> String {
    let reply = served.send(key, "POST", "/mcp", &[ACCEPT], Some(initialize())).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(streamed(&reply)["result"]["serverInfo"]["name"], "haft");
    assert!(reply.body.len() < 1_000, "a greeting is short: {}", reply.body.len());
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let reply = in_session(served, key, &session, told).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    session
}

pub(crate) async fn in_session(served: &Served, key: &str, session: &str, body: Value) -> Reply {
    let headers = [ACCEPT, ("Mcp-Session-Id", session), ("MCP-Protocol-Version", OLDER)];
    served.send(key, "POST", "/mcp", &headers, Some(body)).await
}

#[tokio::test]
async fn the_agents_tools_are_listed_and_called_through_the_one_path() {
    let served = Served::new().await;
    let listed = ask(&served, &served.agent, "tools/list", json!({})).await;
    let result = &listed.json()["result"];
    let names: Vec<_> = result["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["shop__echo", "shop__pay", "shop__send"], "{listed:?}");
    assert_eq!(result["tools"][0]["annotations"]["readOnlyHint"], true);
    assert_eq!(result["tools"][2]["annotations"]["destructiveHint"], true);
    assert_eq!(result["cacheScope"], "private");
    let again = ask(&served, &served.agent, "tools/list", json!({})).await;
    assert_eq!(again.json()["result"], *result, "the same order and words each time");

    let done = call(&served, "shop__echo", json!({"text": "hi"}), json!({})).await;
    assert_eq!(done["result"]["structuredContent"], json!({"said": {"text": "hi"}}), "{done}");
    assert_eq!(done["result"]["content"][0]["text"], "{\"said\":{\"text\":\"hi\"}}");
    assert_eq!(done["result"]["isError"], false);
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn what_a_model_can_act_on_is_a_result_and_the_rest_an_error() {
    let served = Served::new().await;
    let wrong = call(&served, "echo", json!({"txt": "hi"}), json!({})).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    assert!(wrong["result"]["content"][0]["text"].as_str().unwrap().contains("invalid_arguments"));
    let none = call(&served, "nothing", json!({}), json!({})).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
    assert_eq!(served.runs(), 0);
}

/// What differs from one call to the next.
fn without_names(mut answer: Value) -> Value {
    if let Some(result) = answer.get_mut("result").and_then(Value::as_object_mut) {
        result.remove("requestState");
        result.remove("_meta");
    }
    answer
}

#[tokio::test]
async fn a_plain_call_is_answered_as_one_that_the_sdk_reads() {
    let served = Served::new().await;
    let elicits = json!({"elicitation": {}});
    for (tool, arguments, can) in [
        ("shop__echo", json!({"text": "hi"}), json!({})),
        ("echo", json!({"txt": "hi"}), json!({})),
        ("nothing", json!({}), json!({})),
        ("pay", json!({"text": "5"}), elicits.clone()),
        ("send", json!({"text": "again"}), json!({"roots": {}})),
    ] {
        let asks = async |token: Option<&str>| {
            let mut meta = meta(can.clone());
            meta["haft/idempotencyKey"] = json!(format!("{tool}-{token:?}"));
            if let Some(token) = token {
                // Whoever may hear of progress needs the SDK's streams.
                meta["progressToken"] = json!(token);
            }
            let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
            ask(&served, &served.companion, "tools/call", params).await
        };
        let (plain, by_sdk) = (asks(None).await, asks(Some("t")).await);
        assert_eq!(plain.status, by_sdk.status, "{tool}: {plain:?} {by_sdk:?}");
        assert_eq!(plain.header("content-type"), by_sdk.header("content-type"));
        assert_eq!(without_names(plain.json()), without_names(by_sdk.json()), "{tool}");
    }
    assert_eq!(served.runs(), 4, "two answered by echo, two sent");
}

/// Official clients hold structured content to the tool's output schema, and want some of whatever is no error.
#[tokio::test]
async fn a_dry_run_is_told_as_no_answer_of_the_tool() {
    let served = Served::new().await;
    // Whoever may hear of progress needs the SDK's streams.
    for token in [Value::Null, json!("t")] {
        let mut meta = meta(json!({}));
        meta["haft/dryRun"] = json!(true);
        if !token.is_null() {
            meta["progressToken"] = token;
        }
        let with = json!({ "_meta": meta });
        let told = call(&served, "send", json!({"text": "hi"}), with).await;
        let result = &told["result"];
        assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None));
        let said = &result["_meta"]["haft/dryRun"];
        assert_eq!((&said["dryRun"], &said["wouldRun"]), (&json!(true), &json!(true)), "{told}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *said);
    }
    assert_eq!(served.runs(), 0);
    let done = call(&served, "send", json!({"text": "hi"}), json!({})).await;
    assert_eq!(done["result"]["_meta"].get("haft/dryRun"), None, "{done}");
}

#[tokio::test]
async fn an_effect_without_a_key_is_done_once_and_its_repetition_says_so() {
    let served = Served::new().await;
    let first = call(&served, "send", json!({"text": "hi"}), json!({})).await;
    assert_eq!(first["result"]["_meta"]["haft/replayed"], Value::Null, "{first}");
    let again = call(&served, "send", json!({"text": "hi"}), json!({})).await;
    assert_eq!(again["result"]["_meta"]["haft/replayed"], true, "{again}");
    assert_eq!(again["result"]["structuredContent"], first["result"]["structuredContent"]);
    assert_eq!(served.runs(), 1);
    call(&served, "send", json!({"text": "other"}), json!({})).await;
    assert_eq!(served.runs(), 2, "another act");
    let mut deliberate = meta(json!({}));
    deliberate["haft/occurrence"] = json!(2);
    call(&served, "send", json!({"text": "hi"}), json!({"_meta": deliberate})).await;
    assert_eq!(served.runs(), 3, "a deliberate repetition");
    let mut keyed = meta(json!({}));
    keyed["haft/idempotencyKey"] = json!("order-7");
    call(&served, "send", json!({"text": "hi"}), json!({"_meta": keyed})).await;
    assert_eq!(served.runs(), 4, "a key of the caller's own");
    let other = call(&served, "send", json!({"text": "else"}), json!({"_meta": keyed})).await;
    assert!(
        other["result"]["content"][0]["text"].as_str().unwrap().contains("conflict"),
        "{other}"
    );
    assert_eq!(served.runs(), 4);
}

#[tokio::test]
async fn the_person_at_the_client_approves_and_the_model_cannot() {
    let served = Served::new().await;
    let pay = json!({"text": "5 pounds"});
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    let asked = call_for(&served, "pay", pay.clone(), can.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["haft/approval"];
    let shown = question["params"]["message"].as_str().unwrap();
    assert!(shown.contains("\nArguments:\n- text: \"5 pounds\""), "{shown}");
    let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
    assert_eq!(served.runs(), 0);

    let yes = json!({"haft/approval": {"action": "accept", "content": {"approve": true}}});
    let answered = |state: &str, responses: &Value| {
        let mut with = can.clone();
        with["inputResponses"] = responses.clone();
        with["requestState"] = json!(state);
        with
    };
    // Without the sealed state a yes is a yes to nothing.
    let mut bare = can.clone();
    bare["inputResponses"] = yes.clone();
    let refused = call_for(&served, "pay", pay.clone(), bare).await;
    assert_eq!(refused["result"]["resultType"], "input_required", "{refused}");
    for (what, text, arguments) in [
        ("changed", format!("{state}x"), pay.clone()),
        ("another request's", state.clone(), json!({"text": "5,000 pounds"})),
        ("too long", "x".repeat(100_000), pay.clone()),
    ] {
        let refused = call_for(&served, "pay", arguments, answered(&text, &yes)).await;
        assert_eq!(refused["error"]["code"], -32602, "{what}: {refused}");
    }
    for (word, value) in [
        ("haft/occurrence", json!(2)),
        ("haft/dryRun", json!(true)),
        ("haft/idempotencyKey", json!("k")),
        ("haft/connection", json!("c")),
    ] {
        let mut with = answered(&state, &yes);
        with["_meta"][word] = value;
        let refused = call_for(&served, "pay", pay.clone(), with).await;
        assert_eq!(refused["error"]["code"], -32602, "{word}: {refused}");
    }
    assert_eq!(served.runs(), 0);

    let paid = call_for(&served, "pay", pay.clone(), answered(&state, &yes)).await;
    assert_eq!(paid["result"]["isError"], false, "{paid}");
    assert_eq!(served.runs(), 1);
    let replayed = call_for(&served, "pay", pay.clone(), answered(&state, &yes)).await;
    assert_eq!(replayed["error"]["code"], -32602, "a state is good once: {replayed}");
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn whoever_approved_under_rules_that_have_changed_is_asked_again() {
    let served = Served::new().await;
    let pay = json!({"text": "5 pounds"});
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    let asked = call_for(&served, "pay", pay.clone(), can.clone()).await;
    let rules = json!({"deny": ["send"]});
    let changed = crate::admin::put(&served, &served.admin, "/v1/admin/policies/new", "", rules);
    assert_eq!(changed.await.status, 201);
    let yes = |asked: &Value| {
        let mut with = can.clone();
        with["inputResponses"] =
            json!({"haft/approval": {"action": "accept", "content": {"approve": true}}});
        with["requestState"] = asked["result"]["requestState"].clone();
        with
    };
    let again = call_for(&served, "pay", pay.clone(), yes(&asked)).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    let shown = &again["result"]["inputRequests"]["haft/approval"]["params"]["message"];
    let shown = shown.as_str().unwrap();
    assert!(shown.starts_with("You are asked again: the rules have changed"), "{shown}");
    assert!(shown.contains("5 pounds"), "{shown}");
    assert_eq!(served.runs(), 0);
    let paid = call_for(&served, "pay", pay, yes(&again)).await;
    assert_eq!((&paid["result"]["isError"], served.runs()), (&json!(false), 1), "{paid}");
}

#[tokio::test]
async fn a_no_is_a_no_and_a_closed_question_stays_open_and_is_not_asked_again() {
    let served = Served::new().await;
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    for (text, answer, kind) in [
        ("6", json!({"action": "accept", "content": {"approve": false}}), "confirmation_refused"),
        ("7", json!({"action": "decline"}), "confirmation_refused"),
        ("8", json!({"action": "cancel"}), "confirmation_required"),
        ("9", json!({"action": "accept", "content": {}}), "confirmation_required"),
        (
            "10",
            json!({"action": "accept", "content": {"approve": "true"}}),
            "confirmation_required",
        ),
    ] {
        let asked = call_for(&served, "pay", json!({"text": text}), can.clone()).await;
        let with = json!({"_meta": can["_meta"], "requestState": asked["result"]["requestState"],
            "inputResponses": {"haft/approval": answer}});
        let end = call_for(&served, "pay", json!({"text": text}), with).await;
        let said = end["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains(kind), "{text}: {end}");
    }
    assert_eq!(served.runs(), 0);
    let open = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
    assert_eq!(open.as_array().unwrap().len(), 3, "{open}");
    // Made anew, the call asks anew.
    let asked = call_for(&served, "pay", json!({"text": "8"}), can).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
}

/// Answers the open questions as an approver does, over the API.
pub(crate) async fn decided_elsewhere(served: &Served, approve: bool) {
    let open = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
    for one in open.as_array().unwrap() {
        let place = format!("/v1/confirmations/{}", one["id"].as_str().unwrap());
        let decided = served.post(&served.operator, &place, json!({"approve": approve})).await;
        assert_eq!(decided.status, 200, "{decided:?}");
    }
}

/// What an approver said first, what the person then says at their client, how it ends, and how the same call
/// ends after that.
#[tokio::test]
async fn a_no_at_the_client_counts_whatever_was_approved_before() {
    let served = Served::new().await;
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let no = json!({"action": "accept", "content": {"approve": false}});
    let refused = "confirmation_refused";
    for (text, approved, answer, kind, next) in [
        ("1", true, json!({"action": "decline"}), refused, refused),
        ("2", true, no, refused, refused),
        ("3", true, yes.clone(), "said", "said"),
        ("4", false, yes, refused, refused),
        ("5", false, json!({"action": "decline"}), refused, refused),
    ] {
        let asked = call_for(&served, "pay", json!({"text": text}), can.clone()).await;
        decided_elsewhere(&served, approved).await;
        let with = json!({"_meta": can["_meta"], "requestState": asked["result"]["requestState"],
            "inputResponses": {"haft/approval": answer}});
        let runs = served.runs() + usize::from(kind == "said");
        for (with, kind) in [(with, kind), (can.clone(), next)] {
            let end = call_for(&served, "pay", json!({"text": text}), with).await;
            let said = end["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(said.contains(kind), "{text}: {end}");
        }
        assert_eq!(served.runs(), runs, "{text}");
    }
    let denied = served.get(&served.operator, "/v1/confirmations?status=denied").await.json();
    assert_eq!(denied.as_array().unwrap().len(), 4, "{denied}");
}

#[tokio::test]
async fn whoever_approved_a_run_that_only_asked_is_told_why_they_are_asked_again() {
    let served = Served::new().await;
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    let yes = json!({"haft/approval": {"action": "accept", "content": {"approve": true}}});
    let said = json!({"who": {"action": "accept", "content": {"who": "ann"}}});
    let answered = async |asked: &Value, responses: &Value| {
        let mut with = can.clone();
        with["requestState"] = asked["result"]["requestState"].clone();
        with["inputResponses"] = responses.clone();
        call_for(&served, "pay", json!({"text": "ask"}), with).await
    };
    let message = |asked: &Value| {
        let question = &asked["result"]["inputRequests"]["haft/approval"]["params"]["message"];
        question.as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
    };
    let first = call_for(&served, "pay", json!({"text": "ask"}), can.clone()).await;
    assert!(!message(&first).contains("asked again"), "{first}");
    let theirs = answered(&first, &yes).await;
    assert_eq!(theirs["result"]["inputRequests"]["who"]["params"]["message"], "For whom?");
    let again = answered(&theirs, &said).await;
    assert!(message(&again).starts_with("You are asked again: the tool had a question"), "{again}");
    let paid = answered(&again, &yes).await;
    assert_eq!(paid["result"]["isError"], false, "{paid}");
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_result_says_what_to_do() {
    let only = |door: haft_server::Door| {
        door.with_mcp(Settings { approvals: Approvals::Approvers, ..Settings::default() })
    };
    let elicits = json!({"elicitation": {}});
    for (what, served, named, can) in [
        ("the client cannot ask", Served::new().await, true, json!({})),
        ("its word does not count", Served::made(only).await, true, elicits.clone()),
        // Whoever holds the key would answer their own question.
        ("nobody is named", Served::new().await, false, elicits),
    ] {
        let with = json!({"_meta": meta(can)});
        let key = if named { &served.companion } else { &served.agent };
        let waits = call_with(&served, key, "pay", json!({"text": "9"}), with).await;
        assert_eq!(waits["result"]["isError"], true, "{what}: {waits}");
        let text = waits["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("confirmation_required") && text.contains("wait"), "{text}");
        let open = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
        assert_eq!(open.as_array().unwrap().len(), 1, "{open}");
    }
}

#[tokio::test]
async fn what_cannot_be_shown_whole_is_not_asked_at_the_client() {
    let served = Served::new().await;
    let can = json!({"_meta": meta(json!({"elicitation": {}}))});
    let long = json!({"text": "x".repeat(24 << 10)});
    let waits = call_for(&served, "pay", long.clone(), can.clone()).await;
    assert_eq!(waits["result"]["isError"], true, "{waits}");
    let text = waits["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("confirmation_required") && text.contains("in the console"), "{text}");
    assert_eq!(served.runs(), 0);
    decided_elsewhere(&served, true).await;
    let paid = call_for(&served, "pay", long, can).await;
    assert_eq!((&paid["result"]["isError"], served.runs()), (&json!(false), 1), "{paid}");
}

#[tokio::test]
async fn a_session_of_the_older_era_is_its_owners_and_ends_when_told() {
    let served = Served::new().await;
    let session = begin(&served, &served.agent).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let listed = in_session(&served, &served.agent, &session, list.clone()).await;
    assert_eq!(streamed(&listed)["result"]["tools"][0]["name"], "shop__echo", "{listed:?}");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "hi"}}});
    let done = streamed(&in_session(&served, &served.agent, &session, call).await);
    assert_eq!(done["result"]["structuredContent"], json!({"said": {"text": "hi"}}), "{done}");
    assert_eq!(done["result"].get("resultType"), None, "the older era has no such word");

    let stolen = in_session(&served, &served.operator, &session, list.clone()).await;
    assert_eq!(stolen.status, 404, "a session is its owner's: {stolen:?}");
    let headers = [("Mcp-Session-Id", session.as_str())];
    let ended = served.send(&served.agent, "DELETE", "/mcp", &headers, None).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(in_session(&served, &served.agent, &session, list).await.status, 404);
}

/// Who comes with what: the same key, or another of the same person.
#[tokio::test]
async fn a_session_is_for_its_own_key_and_for_no_other_of_the_same_person() {
    let served = Served::new().await;
    let session = begin(&served, &served.operator).await;
    let wanted = json!({"principal": "user:mara", "roles": ["agent"], "agents": ["helper"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let lesser = made.json()["key"].as_str().unwrap().to_owned();
    let mut params = json!({"name": "send", "arguments": {"text": "hi"}});
    params["_meta"] = json!({"haft/despiteUnknown": true});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let stolen = in_session(&served, &lesser, &session, call.clone()).await;
    assert_eq!((stolen.status, served.runs()), (404, 0), "{stolen:?}");
    for method in ["GET", "DELETE"] {
        let headers = [ACCEPT, ("Mcp-Session-Id", session.as_str())];
        let stolen = served.send(&lesser, method, "/mcp", &headers, None).await;
        assert_eq!(stolen.status, 404, "{method}: {stolen:?}");
    }
    let own = begin(&served, &lesser).await;
    let refused = streamed(&in_session(&served, &lesser, &own, call.clone()).await);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let done = streamed(&in_session(&served, &served.operator, &session, call).await);
    assert_eq!((&done["result"]["isError"], served.runs()), (&json!(false), 1), "{done}");
}

/// A second request of one id, whose first is under way.
async fn doubled(served: &Served, session: &str, id: Value) -> Reply {
    let params = json!({"name": "echo", "arguments": {"text": "second"}});
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    in_session(served, &served.agent, session, body).await
}

#[tokio::test]
async fn an_id_is_one_request_s_until_that_has_ended() {
    let served = Served::new().await;
    let session = begin(&served, &served.agent).await;
    let other = begin(&served, &served.agent).await;
    let first = begun(&served, &session, 7).await;
    served.ran(1).await;
    let refused = doubled(&served, &session, json!(7)).await;
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["code"]), (400, &json!(-32600)), "{refused:?}");
    assert_eq!(error["data"]["code"], "malformed_request", "{refused:?}");
    assert!(error["message"].as_str().unwrap().contains("id `7`"), "{refused:?}");
    assert_eq!(served.runs(), 1, "the second is not carried out");
    for (session, id) in [(&session, json!("7")), (&session, json!(8)), (&other, json!(7))] {
        let done = streamed(&doubled(&served, session, id.clone()).await);
        assert_eq!((&done["id"], said(&done)), (&id, "second"), "{done}");
    }
    served.gate()(1);
    let told = rest(first).await;
    assert!(told.contains("\"said\":{\"text\":\"wait\"}"), "its own answer: {told}");
    for _ in 0..20 {
        let done = streamed(&doubled(&served, &session, json!(7)).await);
        assert_eq!(said(&done), "second", "it is free again: {done}");
    }
}

#[tokio::test]
async fn an_id_is_not_free_where_only_the_client_has_left() {
    let served = Served::new().await;
    let session = begin(&served, &served.agent).await;
    drop(begun(&served, &session, 7).await);
    served.ran(1).await;
    let refused = doubled(&served, &session, json!(7)).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    served.gate()(1);
    for _ in 0..2_000 {
        let reply = doubled(&served, &session, json!(7)).await;
        if reply.status == 200 {
            return assert_eq!(said(&streamed(&reply)), "second", "{reply:?}");
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the id is never free again");
}

/// A call in a session, sent and not waited for; its head has come.
async fn begun(served: &Served, session: &str, id: usize) -> TcpStream {
    let params = json!({"name": "echo", "arguments": {"text": "wait"}});
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         {}: {}\r\nMcp-Session-Id: {session}\r\nMCP-Protocol-Version: {OLDER}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.agent,
        ACCEPT.0,
        ACCEPT.1,
        body.len()
    );
    let mut stream = served.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    stream
}

async fn rest(mut stream: TcpStream) -> String {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    String::from_utf8(rest).unwrap()
}

#[tokio::test]
async fn a_call_in_a_session_counts_as_work_until_it_has_ended() {
    let served = Served::with(Limits { at_once: 8, ..Limits::default() }).await;
    let session = begin(&served, &served.agent).await;
    let busy = async || {
        let told = served.get(&served.operator, "/metrics").await.body;
        let line = told.lines().find(|line| line.starts_with("haft_http_requests_in_flight "));
        line.unwrap().rsplit_once(' ').unwrap().1.parse::<usize>().unwrap()
    };
    let mut waiting = Vec::new();
    for runs in 1..=3 {
        waiting.push(begun(&served, &session, runs).await);
        served.ran(runs).await;
        assert_eq!(busy().await, runs);
    }
    served.gate()(3);
    for one in waiting {
        let told = rest(one).await;
        assert!(told.contains("said"), "{told}");
    }
    assert_eq!(busy().await, 0);
}

#[tokio::test]
async fn told_to_stop_it_answers_the_calls_of_sessions_first() {
    let served = Served::new().await;
    let session = begin(&served, &served.agent).await;
    let call = begun(&served, &session, 1).await;
    served.ran(1).await;
    let (gate, port) = (served.gate(), served.port);
    let stop = tokio::spawn(served.stop());
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
    gate(1);
    let told = rest(call).await;
    assert!(told.contains("said"), "{told}");
    assert_eq!(stop.await.unwrap().effects, 0);
}

#[tokio::test]
async fn sessions_are_bounded_and_expire() {
    let few = |door: haft_server::Door| {
        let idle = Duration::from_secs(60);
        door.with_mcp(Settings { sessions: 4, idle, ..Settings::default() })
    };
    let served = Served::made(few).await;
    begin(&served, &served.agent).await;
    begin(&served, &served.agent).await;
    let full = hello(&served).await;
    assert_eq!(full.status, 503, "half of all is for one tenant: {full:?}");
    let error = &full.json()["error"];
    assert!(error["message"].as_str().unwrap().contains("2 MCP sessions"), "{full:?}");
    assert!(error["data"]["retryAfterMs"].as_u64().unwrap() > 50_000, "{full:?}");
    begin(&served, &served.stranger).await;
    // When the others have been silent for long enough there is room again.
    later(Duration::from_secs(59)).await;
    assert_eq!(hello(&served).await.status, 503);
    later(Duration::from_secs(2)).await;
    assert_eq!(hello(&served).await.status, 200);
}

/// So much later, for everything that waits.
async fn later(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    // Whatever is due now is done before anybody asks.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

async fn hello(served: &Served) -> Reply {
    served.send(&served.agent, "POST", "/mcp", &[ACCEPT], Some(initialize())).await
}

#[tokio::test]
async fn a_session_is_in_use_while_its_call_runs_though_its_client_has_left() {
    let idle = Duration::from_secs(60);
    let soon = |door: haft_server::Door| door.with_mcp(Settings { idle, ..Settings::default() });
    // Time enough for the call itself.
    let hour = Duration::from_secs(3_600);
    let settings = haft_runtime::Settings { default_timeout: hour, ..Default::default() };
    let with = |builder: haft_runtime::runtime::Builder| builder.settings(settings);
    let store = std::sync::Arc::new(haft_store::Memory::new());
    let served = Served::build(store, Limits::default(), with, soon).await;
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"});
    let status = async |session: &str| {
        in_session(&served, &served.agent, session, list.clone()).await.status
    };
    let sessions = [
        begin(&served, &served.agent).await,
        begin(&served, &served.agent).await,
        begin(&served, &served.agent).await,
    ];
    let [waited_for, left, silent] = sessions;
    let call = begun(&served, &waited_for, 1).await;
    served.ran(1).await;
    drop(begun(&served, &left, 2).await);
    served.ran(2).await;
    // Longer than it may be idle.
    later(idle * 3).await;
    assert_eq!(status(&silent).await, 404);
    served.gate()(2);
    let told = rest(call).await;
    assert!(told.contains("said"), "{told}");
    // Its idle time begins only now.
    later(idle - Duration::from_secs(5)).await;
    assert_eq!((status(&waited_for).await, status(&left).await), (200, 200));
    later(idle + Duration::from_secs(5)).await;
    assert_eq!((status(&waited_for).await, status(&left).await), (404, 404));
}

#[tokio::test]
async fn a_session_that_has_ended_is_none_and_no_fault() {
    let idle = Duration::from_secs(60);
    let soon = |door: haft_server::Door| door.with_mcp(Settings { idle, ..Settings::default() });
    let served = Served::made(soon).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (wait, status) in [(0, 200), (59, 200), (61, 404)] {
        let session = begin(&served, &served.agent).await;
        later(Duration::from_secs(wait)).await;
        let reply = in_session(&served, &served.agent, &session, list.clone()).await;
        assert_eq!(reply.status, status, "after {wait} s: {reply:?}");
    }
}

#[tokio::test]
async fn whoever_only_says_hello_keeps_few_sessions_and_no_used_one_is_lost() {
    let served = Served::new().await;
    let used = begin(&served, &served.agent).await;
    let hello = async || {
        let reply = served.send(&served.agent, "POST", "/mcp", &[ACCEPT], Some(initialize())).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.header("mcp-session-id").unwrap().to_owned()
    };
    let first = hello().await;
    let mut last = String::new();
    for _ in 0..32 {
        last = hello().await;
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let status = async |session: &str| {
        in_session(&served, &served.agent, session, list.clone()).await.status
    };
    assert_eq!(status(&first).await, 404, "the oldest that was never used");
    assert_eq!((status(&used).await, status(&last).await), (200, 200));
}

#[tokio::test]
async fn what_the_newer_era_has_removed_is_unknown_there() {
    let served = Served::new().await;
    let uri = json!({"uri": "haft://tools/agent/helper/enabled"});
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "debug"})),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
    ] {
        let told = ask(&served, &served.agent, method, params).await;
        assert_eq!((told.status, &told.json()["error"]["code"]), (404, &json!(-32601)), "{told:?}");
    }
}

#[tokio::test]
async fn keys_hosts_and_origins_are_checked_before_anything_is_read() {
    let served = Served::new().await;
    let list = json!({"_meta": meta(json!({}))});
    for key in ["", "haft_helper_00"] {
        let reply = ask(&served, key, "tools/list", list.clone()).await;
        assert_eq!(reply.status, 401, "{reply:?}");
        assert!(reply.header("www-authenticate").is_some());
    }
    for (name, value) in [("Host", "evil.example"), ("Origin", "http://evil.example")] {
        let host = if name == "Host" { value } else { "localhost" };
        let origin = if name == "Origin" { format!("Origin: {value}\r\n") } else { String::new() };
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(served.raw(text.as_bytes()).await.status, 403, "{name}");
    }
    let plain = served.raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}").await;
    assert_eq!(plain.status, 401);
}

#[tokio::test]
async fn messages_that_could_be_read_two_ways_are_not_read() {
    let served = Served::new().await;
    let call = r#""method":"tools/call","params":{"name":"echo","arguments":{"text":"1"}}"#;
    for body in [
        format!(r#"[{{"jsonrpc":"2.0","id":1,{call}}}]"#),
        format!(r#"{{"jsonrpc":"2.0","id":null,{call}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":{{}},{call}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1e400,{call}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1.5,{call}}}"#),
        format!(r#"{{"id":1,{call}}}"#),
        format!(r#"{{"jsonrpc":"1.0","id":1,{call}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1","text":"2"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1","\u0074ext":"2"}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,{call}}} {{}}"#),
        format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)),
        "not json".to_owned(),
    ] {
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {NEWER}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            served.agent,
            body.len()
        );
        let reply = served.raw(text.as_bytes()).await;
        assert_eq!(reply.status, 400, "{body:.60}: {reply:?}");
        let code = reply.json()["error"]["code"].as_i64().unwrap();
        assert!(code == -32700 || code == -32600, "{body:.60}: {reply:?}");
    }
    let odd = json!({"name": "echo", "arguments": [], "_meta": meta(json!({}))});
    let odd = ask(&served, &served.agent, "tools/call", odd).await;
    assert_eq!((odd.status, &odd.json()["error"]["code"]), (200, &json!(-32602)), "{odd:?}");
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let gone = ask(&served, &served.agent, method, json!({"_meta": meta(json!({}))})).await;
        assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!(-32601)), "{gone:?}");
    }
    // A call that nobody waits for is no call.
    let silent = json!({"jsonrpc": "2.0", "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "1"}}});
    let headers = [ACCEPT, ("MCP-Protocol-Version", NEWER), ("Mcp-Method", "tools/call")];
    served.send(&served.agent, "POST", "/mcp", &headers, Some(silent)).await;
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn clients_that_use_the_same_id_get_their_own_answers() {
    const CLIENTS: usize = 24;
    let served = Served::new().await;
    let served = &served;
    let newer = |client: usize| async move {
        for turn in 0..5 {
            let text = format!("newer {client}, {turn}");
            let done = call(served, "echo", json!({"text": text}), json!({})).await;
            assert_eq!((&done["id"], said(&done)), (&json!(1), text.as_str()), "{done}");
        }
    };
    let older = |client: usize| async move {
        let session = begin(served, &served.agent).await;
        for turn in 0..5 {
            let text = format!("older {client}, {turn}");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": text}}});
            let done = streamed(&in_session(served, &served.agent, &session, body).await);
            assert_eq!((&done["id"], said(&done)), (&json!(1), text.as_str()), "{done}");
        }
    };
    let all = (0..CLIENTS).map(|client| async move {
        tokio::join!(newer(client), older(client));
    });
    futures_util::future::join_all(all).await;
    assert_eq!(served.runs(), CLIENTS * 10);
}

/// What echo says that it was told.
fn said(done: &Value) -> &str {
    done.pointer("/result/structuredContent/said/text").and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test]
async fn headers_that_say_something_else_than_the_body_are_refused() {
    let served = Served::new().await;
    let params =
        json!({"name": "shop__echo", "arguments": {"text": "1"}, "_meta": meta(json!({}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let right =
        [("MCP-Protocol-Version", NEWER), ("Mcp-Method", "tools/call"), ("Mcp-Name", "shop__echo")];
    for (name, value) in [
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Name", "shop__send"),
        ("Mcp-Name", "=?base64?c2hvcF9fc2VuZA==?="),
        ("Mcp-Method", ""),
    ] {
        let mut headers = vec![ACCEPT];
        headers.extend(right.iter().map(|(n, v)| if *n == name { (*n, value) } else { (*n, *v) }));
        headers.retain(|(_, value)| !value.is_empty());
        let reply = served.send(&served.agent, "POST", "/mcp", &headers, Some(body.clone())).await;
        assert_eq!(reply.status, 400, "{name}: {value}: {reply:?}");
        assert_eq!(reply.json()["error"]["code"], -32020, "{reply:?}");
    }
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn discovery_tells_a_tenant_about_itself_and_nobody_else() {
    let served = Served::new().await;
    let read = async |key: &str, uri: &str| {
        ask(&served, key, "resources/read", json!({"uri": uri})).await.json()
    };
    let tools = |answer: &Value| -> Value {
        let text = answer["result"]["contents"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("nothing to read: {answer}"));
        serde_json::from_str::<Value>(text).unwrap()["tools"].clone()
    };
    for scheme in ["haft", "focal"] {
        let all = read(&served.agent, &format!("{scheme}://tools/tenant/ours/available")).await;
        let first = &tools(&all)[0];
        assert_eq!(first["name"], "shop__echo");
        assert_eq!(first["side_effect_policy"], "pure");
        assert_eq!(first["requires_confirmation"], false);
        assert_eq!(first["categories"], json!(["retrieval"]));
        assert_eq!(first["gateway"], "internal");
        assert_eq!(first["parameter_schema"]["type"], "object");
        let own = read(&served.agent, &format!("{scheme}://tools/agent/helper/enabled")).await;
        assert_eq!(tools(&own).as_array().unwrap().len(), 3);
        let rest = read(&served.agent, &format!("{scheme}://tools/agent/helper/unavailable")).await;
        assert_eq!(tools(&rest), json!([]));
    }
    for uri in [
        "haft://tools/tenant/theirs/available",
        "haft://tools/agent/spy/enabled",
        "haft://tools/agent/nobody/enabled",
        "haft://tools/agent/helper/enabled/more",
        "http://tools/agent/helper/enabled",
    ] {
        let none = read(&served.agent, uri).await;
        assert_eq!(none["error"]["code"], -32602, "{uri}: {none}");
        assert_eq!(none["error"]["data"]["uri"], uri);
    }
}

#[tokio::test]
async fn whatever_can_be_looked_up_is_offered_for_our_templates() {
    let served = Served::new().await;
    let (tenant, agent) =
        ("haft://tools/tenant/{tenant}/available", "focal://tools/agent/{agent}/enabled");
    for (key, uri, name, begun, expected) in [
        (&served.agent, tenant, "tenant", "", json!(["ours"])),
        (&served.agent, tenant, "tenant", "x", json!([])),
        (&served.agent, agent, "agent", "he", json!(["helper"])),
        (&served.operator, agent, "agent", "helper", json!(["helper"])),
        (&served.agent, agent, "tenant", "", json!([])),
        (&served.agent, "haft://tools/agent/{agent}/other", "agent", "", json!([])),
    ] {
        let params = json!({"ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": name, "value": begun}});
        let told = ask(&served, key, "completion/complete", params).await.json();
        assert_eq!(told["result"]["completion"]["values"], expected, "{uri} {begun}: {told}");
    }
}

#[tokio::test]
async fn whoever_is_offered_a_part_is_told_that_there_is_more() {
    let served = Served::new().await;
    for at in 0..101 {
        let place = format!("/v1/admin/agents/many-{at:03}");
        let made = served.send(&served.admin, "PUT", &place, &[], Some(json!({}))).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
    let method = "completion/complete";
    let headers = [ACCEPT, ("MCP-Protocol-Version", NEWER), ("Mcp-Method", method)];
    for (begun, offered, total, more) in [("many-", 100, 101, true), ("many-00", 10, 10, false)] {
        let params = json!({"argument": {"name": "agent", "value": begun},
            "ref": {"type": "ref/resource", "uri": "haft://tools/agent/{agent}/enabled"},
            "_meta": meta(json!({}))});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let told = served.send(&served.operator, "POST", "/mcp/helper", &headers, Some(body)).await;
        let told = told.json();
        let came = &told["result"]["completion"];
        assert_eq!(came["values"].as_array().map(Vec::len), Some(offered), "{told}");
        assert_eq!((&came["total"], &came["hasMore"]), (&json!(total), &json!(more)), "{told}");
    }
}

#[tokio::test]
async fn a_server_for_look_up_only_lists_and_runs_nothing() {
    let only = |door: haft_server::Door| {
        door.with_mcp(Settings { discovery_only: true, ..Settings::default() })
    };
    let served = Served::made(only).await;
    let info = ask(&served, &served.agent, "server/discover", json!({})).await.json();
    assert_eq!(info["result"]["capabilities"].get("tools"), None, "{info}");
    let listed = ask(&served, &served.agent, "tools/list", json!({})).await.json();
    assert_eq!(listed["result"]["tools"], json!([]));
    let refused = call(&served, "echo", json!({"text": "1"}), json!({})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let uri = "haft://tools/agent/helper/enabled";
    let read = ask(&served, &served.agent, "resources/read", json!({"uri": uri})).await.json();
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("shop__echo"));
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn tools_go_by_their_short_names_where_that_is_wanted() {
    let short = |door: haft_server::Door| {
        door.with_mcp(Settings { names: Names::Short, ..Settings::default() })
    };
    let served = Served::made(short).await;
    let listed = ask(&served, &served.agent, "tools/list", json!({})).await.json();
    assert_eq!(listed["result"]["tools"][1]["name"], "pay", "{listed}");
    let done = call(&served, "echo", json!({"text": "1"}), json!({})).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[tokio::test]
async fn the_prompt_is_composed_for_the_agent() {
    let served = Served::new().await;
    let listed = ask(&served, &served.agent, "prompts/list", json!({})).await.json();
    assert_eq!(listed["result"]["prompts"][0]["name"], "system", "{listed}");
    let got = ask(&served, &served.agent, "prompts/get", json!({"name": "system"})).await.json();
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("shop__echo") && text.contains("Available Tools"), "{text}");
    let odd = json!({"name": "system", "arguments": {"mode": "telepathy"}});
    let odd = ask(&served, &served.agent, "prompts/get", odd).await.json();
    assert_eq!(odd["error"]["code"], -32602, "{odd}");
}

#[tokio::test]
async fn a_client_without_a_key_learns_where_to_get_a_token() {
    let with = |door: haft_server::Door| {
        let authorization_servers = vec!["https://login.example.org".to_owned()];
        door.with_mcp(Settings { authorization_servers, ..Settings::default() })
    };
    let served = Served::made(with).await;
    let refused = served.post("", "/mcp", initialize()).await;
    assert_eq!(refused.status, 401);
    let told = refused.header("www-authenticate").unwrap();
    let place = "http://localhost/.well-known/oauth-protected-resource/mcp";
    assert!(told.contains(&format!("resource_metadata=\"{place}\"")), "{told}");
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let found = served.get("", &path).await;
        assert_eq!(found.status, 200, "{found:?}");
        assert_eq!(found.json()["resource"], "http://localhost/mcp");
        assert_eq!(found.json()["authorization_servers"], json!(["https://login.example.org"]));
    }
    let plain = Served::new().await;
    assert_eq!(plain.get("", "/.well-known/oauth-protected-resource").await.status, 404);
}

#[tokio::test]
async fn a_key_for_several_agents_names_one() {
    let served = Served::new().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": {"_meta": meta(json!({}))}});
    let headers = [ACCEPT, ("MCP-Protocol-Version", NEWER), ("Mcp-Method", "tools/list")];
    let named =
        served.send(&served.operator, "POST", "/mcp/helper", &headers, Some(body.clone())).await;
    assert_eq!(named.json()["result"]["tools"][0]["name"], "shop__echo", "{named:?}");
    for path in ["/mcp/%68elper", "/mcp/nobody", "/mcp/%6eobody", "/mcp/", "/mcp/helper/"] {
        let found = named.status == 200 && path == "/mcp/%68elper";
        let reply = served.send(&served.operator, "POST", path, &headers, Some(body.clone())).await;
        assert_eq!(reply.status, if found { 200 } else { 404 }, "{path}: {reply:?}");
    }
    let foreign = served.send(&served.stranger, "POST", "/mcp/helper", &headers, Some(body)).await;
    assert_eq!(foreign.status, 404, "{foreign:?}");
}

/// What becomes a text does so as it was written, however the call came: the same act has one key.
#[tokio::test]
async fn a_number_that_becomes_a_text_is_written_as_it_came() {
    let served = Served::new().await;
    for more in ["", r#""progressToken": 7,"#] {
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{
                "name": "echo", "arguments": {{"text": 1.10}}, "_meta": {{{more}
                    "io.modelcontextprotocol/protocolVersion": "{NEWER}",
                    "io.modelcontextprotocol/clientInfo": {{"name": "test", "version": "1"}},
                    "io.modelcontextprotocol/clientCapabilities": {{}} }} }} }}"#
        );
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: {}\r\nMCP-Protocol-Version: {NEWER}\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: echo\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n",
            served.agent,
            ACCEPT.1,
            body.len(),
        );
        let reply = served.raw(format!("{head}{body}").as_bytes()).await;
        assert!(reply.body.contains("1.10"), "{more}: {reply:?}");
    }
}

/// Lines of a log, as they are written.
#[derive(Clone, Default)]
struct Page(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_is_refused_is_logged_with_whose_it_is_and_without_their_words() {
    let page = Page::default();
    let to = page.clone();
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || to.clone());
    let _guard = tracing::subscriber::set_default(log.finish());
    let served = Served::new().await;
    let canary = "canary\u{1b}[2J";
    let with = json!({"_meta": meta(json!({}))});
    call_with(&served, &served.agent, "canary", json!({}), with).await;
    let session = begin(&served, &served.agent).await;
    for method in [canary.to_owned(), "x".repeat(1_000)] {
        let odd = json!({"jsonrpc": "2.0", "id": 7, "method": method});
        in_session(&served, &served.agent, &session, odd).await;
    }
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().filter(|line| line["event"] == "mcp_refused").collect();
    assert_eq!(told.len(), 3, "{lines:#?}");
    for line in &told {
        let whose = (&line["tenant_id"], &line["agent_id"], &line["level"]);
        assert_eq!(whose, (&json!("ours"), &json!("helper"), &json!("INFO")), "{line}");
        assert!(line["method"].as_str().unwrap().len() < 80, "{line}");
        assert!(!line.to_string().contains("\\u001b"), "{line}");
    }
    assert!(!told[0].to_string().contains("canary"), "{told:?}");
    assert_eq!(
        (&told[0]["method"], &told[0]["code"]),
        (&json!("tools/call"), &json!("unavailable"))
    );
    assert_eq!((&told[1]["code"], &told[2]["code"]), (&json!("not_found"), &json!("not_found")));
}
