//! What people do: approve, watch, settle. And what agents may not.

use serde_json::json;

use crate::admin::{check, put};
use crate::client::Served;
use crate::socket::Line;

#[tokio::test]
async fn a_person_approves_and_an_agent_cannot() {
    let served = Served::new().await;
    let calls = "/v1/agents/helper/calls";
    let body = json!({"tool": "pay", "arguments": {"text": "7 euro"}});
    let key = [("Idempotency-Key", "pay-1")];
    let asked = served.send(&served.agent, "POST", calls, &key, Some(body.clone())).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let request = &asked.json()["error"]["details"]["confirmation"];
    let id = request["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/confirmations/{id}");
    let own = served.post(&served.agent, &path, json!({"approve": true})).await;
    assert_eq!(own.status, 403, "an agent holds no other role");
    let foreign = served.post(&served.stranger, &path, json!({"approve": true})).await;
    assert_eq!(foreign.status, 404);
    let listed = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
    assert_eq!(listed[0]["id"], json!(id));
    assert_eq!(listed[0]["arguments"], json!({"text": "7 euro"}));
    let answered = served.post(&served.operator, &path, json!({"approve": true})).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(served.get(&served.operator, &path).await.json(), answered.json()["confirmation"]);
    assert_eq!(served.get(&served.agent, &path).await.status, 403, "as the list");
    check(&served.get(&served.stranger, &path).await, 404, "not_found");
    check(&served.get(&served.operator, "/v1/confirmations/none").await, 404, "not_found");
    assert_eq!(served.runs(), 0);
    let done = served.send(&served.agent, "POST", calls, &key, Some(body)).await;
    assert_eq!((done.status, served.runs()), (200, 1), "{done:?}");
    let effects = served.get(&served.operator, "/v1/effects?state=succeeded").await.json();
    assert_eq!(effects[0]["tool"], "shop__pay");
    assert_eq!(effects[0].get("arguments"), None, "what redaction may strip is not listed");
}

#[tokio::test]
async fn of_two_who_answer_the_second_is_told_who_was_first() {
    let served = Served::new().await;
    let ask = async |text: &str| {
        let body = json!({"tool": "pay", "arguments": {"text": text}, "idempotency_key": text});
        let asked = served.post(&served.agent, "/v1/agents/helper/calls", body).await.json();
        let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
        format!("/v1/confirmations/{id}")
    };
    let (yes, no) = (json!({"approve": true}), json!({"approve": false}));
    for (first, second, said) in [
        (&no, &no, "the confirmation has been declined already, by user:mara"),
        (&no, &yes, "the confirmation has been declined already, by user:mara"),
        (&yes, &yes, "the confirmation has been approved already, by user:mara"),
    ] {
        let path = ask(&format!("{first}{second}")).await;
        let done = served.post(&served.operator, &path, first.clone()).await;
        check(&done, 200, "");
        assert_eq!(done.json().get("tookBackFrom"), None, "{done:?}");
        let late = served.post(&served.admin, &path, second.clone()).await;
        check(&late, 403, "confirmation_refused");
        assert_eq!(
            (&late.json()["detail"], &late.json()["details"]["decidedBy"]),
            (&json!(said), &json!("user:mara"))
        );
        // Who may not see it learns nothing of it.
        let own = served.post(&served.agent, &path, yes.clone()).await;
        assert!(own.status == 403 && !own.body.contains("mara"), "{own:?}");
    }
    let path = ask("taken-back").await;
    check(&served.post(&served.operator, &path, yes).await, 200, "");
    let taken = served.post(&served.admin, &path, no).await;
    check(&taken, 200, "");
    assert_eq!(taken.json()["tookBackFrom"], "user:mara", "{taken:?}");
}

/// Over every door: what they approve would not run.
#[tokio::test]
async fn whoever_approves_under_rules_that_have_changed_is_told_to_have_it_asked_again() {
    let served = Served::new().await;
    let calls = "/v1/agents/helper/calls";
    let body = json!({"tool": "pay", "arguments": {"text": "7"}, "idempotency_key": "k"});
    let ask = async || {
        let asked = served.post(&served.agent, calls, body.clone()).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let id = asked.json()["error"]["details"]["confirmation"]["id"].clone();
        id.as_str().unwrap().to_owned()
    };
    let id = ask().await;
    let rules = json!({"deny": ["send"]});
    check(&put(&served, &served.admin, "/v1/admin/policies/new", "", rules).await, 201, "");
    let path = format!("/v1/confirmations/{id}");
    let list = "/v1/confirmations?status=pending";
    for one in [
        served.get(&served.operator, &path).await.json(),
        served.get(&served.operator, list).await.json()[0].clone(),
    ] {
        assert_eq!((&one["id"], &one["void"]), (&json!(id), &json!("rules_changed")), "{one}");
    }
    let refused = served.post(&served.operator, &path, json!({"approve": true})).await;
    check(&refused, 403, "confirmation_refused");
    assert_eq!(refused.json()["details"]["why"], "rules_changed", "{refused:?}");
    assert!(refused.body.contains("make the call again"), "{refused:?}");
    let mut person = Line::open(&served, &served.operator, "").await;
    let confirm = json!({"type": "confirm", "id": "1", "confirmation": id, "approve": true});
    let over_socket = person.ask(confirm).await;
    assert_eq!(over_socket["problem"]["details"]["why"], "rules_changed", "{over_socket}");
    // What is asked now is answered.
    let path = format!("/v1/confirmations/{}", ask().await);
    let open = served.get(&served.operator, &path).await.json();
    assert_eq!((&open["status"], open.get("void")), (&json!("pending"), None), "{open}");
    check(&served.post(&served.operator, &path, json!({"approve": true})).await, 200, "");
    assert_eq!(served.post(&served.agent, calls, body).await.status, 200);
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn roles_open_their_own_doors_only() {
    let served = Served::new().await;
    for path in
        ["/v1/calls", "/v1/stats", "/v1/effects", "/v1/confirmations", "/v1/registry", "/v1/events"]
    {
        let reply = served.get(&served.agent, path).await;
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("forbidden")), "{path}");
    }
    let undo = served.post(&served.agent, "/v1/effects/undo", json!({"call": "x"})).await;
    assert_eq!(undo.status, 403);
    let none = served.post(&served.operator, "/v1/effects/undo", json!({"call": "x"})).await;
    assert_eq!(none.status, 404);
    let both = json!({"call": "x", "turn_group": "y"});
    let both = served.post(&served.operator, "/v1/effects/undo", both).await;
    assert_eq!(both.status, 400);
}

#[tokio::test]
async fn a_session_has_turns_messages_and_an_end() {
    let served = Served::new().await;
    let sessions = "/v1/agents/helper/sessions";
    let begun = served.post(&served.agent, sessions, json!({"mode": "voice"})).await;
    assert_eq!(begun.status, 201);
    let place = begun.header("location").unwrap().to_owned();
    let id = begun.json()["id"].clone();
    // A session is opened with a turn that its first message begins; the next waits for its end.
    let messages = format!("{place}/messages");
    let first = served.post(&served.agent, &messages, json!({"message": "hello"})).await;
    assert_eq!((&first.json()["status"], &first.json()["turn"]), (&json!("begins"), &json!(1)));
    let wait = served.post(&served.agent, &messages, json!({"message": "no, wait"})).await;
    assert_eq!(wait.json(), json!({"status": "waits", "waiting": 1}), "{wait:?}");
    // In a session no key is needed: the turn tells one act from the next.
    let call = json!({"tool": "echo", "arguments": {"text": "x"}, "session": id});
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", call.clone()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let signal = json!({"signal": "turn_complete"});
    let over = served.post(&served.agent, &format!("{place}/signals"), signal).await;
    assert_eq!(over.json()["messages"], json!(["no, wait"]), "{over:?}");
    let signal = json!({"signal": "turn_complete"});
    served.post(&served.agent, &format!("{place}/signals"), signal).await;
    let next = served.post(&served.agent, &messages, json!({"message": "now"})).await;
    assert_eq!((&next.json()["status"], &next.json()["turn"]), (&json!("begins"), &json!(3)));
    let ended = served.send(&served.agent, "DELETE", &place, &[], None).await;
    assert_eq!(ended.json()["phase"], "ended", "{ended:?}");
    let late = served.post(&served.agent, "/v1/agents/helper/calls", call).await;
    assert_eq!(late.status, 410, "{late:?}");
}

#[tokio::test]
async fn lists_that_grow_are_read_a_page_at_a_time() {
    let served = Served::new().await;
    for n in 0..5 {
        let text = format!("{n}");
        let body = json!({"tool": "send", "arguments": {"text": text}});
        let key = [("Idempotency-Key", text.as_str())];
        let done =
            served.send(&served.agent, "POST", "/v1/agents/helper/calls", &key, Some(body)).await;
        assert_eq!(done.status, 200, "{done:?}");
        let asks = json!({"tool": "pay", "arguments": {"text": text}, "idempotency_key": text});
        served.post(&served.agent, "/v1/agents/helper/calls", asks).await;
        served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await;
        // Each is wanted once more than the one before, and the first two equally.
        for _ in 0..n.max(1) {
            let dream = json!({"tool": format!("dream_{n}")});
            served.post(&served.agent, "/v1/agents/helper/calls", dream).await;
        }
        let version = format!("\"v{n}\"");
        let read = [("If-Match", version.as_str())];
        let read = if n == 0 { &[][..] } else { &read[..] };
        let rules = Some(json!({"description": text}));
        let saved = served.send(&served.admin, "PUT", "/v1/admin/policies/p", read, rules).await;
        assert!(saved.status < 300, "{saved:?}");
    }
    for (list, name, all) in [
        ("/v1/calls?tool=shop__send", "call", 5),
        ("/v1/effects?state=succeeded", "call", 5),
        ("/v1/confirmations?status=pending", "id", 5),
        ("/v1/sessions", "id", 5),
        ("/v1/audit", "id", 0),
        ("/v1/events?tool=send", "id", 5),
        ("/v1/admin/policies/p/versions", "version", 5),
        ("/v1/admin/suggestions", "tool", 5),
    ] {
        let whole = served.get(&served.admin, list).await;
        assert_eq!(whole.header("link"), None, "{list}: it is all there");
        let whole: Vec<_> = whole.json().as_array().unwrap().clone();
        assert!(all == 0 || whole.len() == all, "{list}: {}", whole.len());
        let mark = if list.contains('?') { '&' } else { '?' };
        let mut next = Some(format!("{list}{mark}limit=2"));
        let mut seen = Vec::new();
        while let Some(path) = next {
            let page = served.get(&served.admin, &path).await;
            assert_eq!(page.status, 200, "{path}: {page:?}");
            let items = page.json().as_array().unwrap().clone();
            assert!(items.len() <= 2 && !items.is_empty(), "{path}: {items:?}");
            seen.extend(items);
            next = page.header("link").map(|link| {
                assert!(link.ends_with(">; rel=\"next\""), "{link}");
                link[1..].split('>').next().unwrap().to_owned()
            });
            assert!(seen.len() <= whole.len(), "{list}: it never ends");
        }
        let names =
            |all: &[serde_json::Value]| all.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
        assert_eq!(names(&seen), names(&whole), "{list}");
    }
    let none = served.get(&served.operator, "/v1/series?step_ms=0").await;
    assert_eq!(none.status, 400, "{none:?}");
    for list in ["calls", "effects", "confirmations", "sessions", "audit"] {
        let by = if list == "audit" { "before" } else { "after" };
        let lost = served.get(&served.operator, &format!("/v1/{list}?{by}=nobody")).await;
        assert_eq!(lost.status, 400, "{list}: {lost:?}");
    }
    // A short name means the tool that was called, as on the command line.
    for (path, all) in [
        ("/v1/calls?tool=send", 5),
        ("/v1/calls?tool=nothing", 0),
        ("/v1/effects?tool=send", 5),
        ("/v1/stats?tool=send", 1),
    ] {
        let found = served.get(&served.operator, path).await.json();
        assert_eq!(found.as_array().map(Vec::len), Some(all), "{path}: {found}");
    }
    // One that was refused under the short name hides none of them.
    let night = Some(json!({"tools": ["echo"]}));
    served.send(&served.admin, "PUT", "/v1/admin/agents/night", &[], night).await;
    let call = json!({"tool": "send", "arguments": {"text": "x"}, "idempotency_key": "night"});
    let refused = served.post(&served.admin, "/v1/agents/night/calls", call).await;
    assert_eq!(refused.json()["error"]["kind"], "unavailable", "{refused:?}");
    for (path, all) in [
        ("/v1/calls?tool=send", 6),
        ("/v1/calls?tool=shop__send", 6),
        ("/v1/effects?tool=send", 5),
        ("/v1/events?tool=send&kind=tool_call_result", 6),
        ("/v1/audit?tool=send&kind=settle", 5),
        ("/v1/stats?tool=send", 1),
    ] {
        let found = served.get(&served.operator, path).await.json();
        assert_eq!(found.as_array().map(Vec::len), Some(all), "{path}: {found}");
    }
}

#[tokio::test]
async fn no_header_and_no_field_makes_somebody_else() {
    let served = Served::new().await;
    let claims = [
        ("X-Tenant", "theirs"),
        ("X-Tenant-Id", "theirs"),
        ("X-Role", "administrator"),
        ("X-Roles", "administrator,operator"),
        ("X-User", "user:boss"),
        ("X-Subject", "user:ann"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "theirs.example"),
        ("X-Forwarded-User", "boss"),
        ("X-Real-Ip", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1;host=theirs.example"),
    ];
    let all: Vec<_> = claims.to_vec();
    for path in ["/v1/calls", "/v1/admin/agents", "/v1/agents/spy/tools"] {
        let plain = served.get(&served.agent, path).await;
        assert!(matches!(plain.status, 403 | 404), "{path}: {plain:?}");
        let claimed = served.send(&served.agent, "GET", path, &all, None).await;
        assert_eq!((claimed.status, claimed.body), (plain.status, plain.body), "{path}");
    }
    let calls = "/v1/agents/helper/calls";
    for field in ["tenant", "subject", "subjectId", "principal", "actor", "roles"] {
        let body = json!({"tool": "echo", field: "user:boss"});
        let refused = served.post(&served.agent, calls, body).await;
        assert_eq!(refused.status, 400, "{field}: {refused:?}");
    }
    let done = served.send(&served.agent, "POST", calls, &all, Some(json!({"tool": "echo"}))).await;
    assert_eq!((done.status, served.runs()), (200, 1), "{done:?}");
    served.door.runtime.store().flush().await.unwrap();
    let record = served.get(&served.operator, "/v1/calls").await.json()[0].clone();
    assert_eq!(record["actor"], "agent:helper", "{record}");
    assert_eq!(record.get("subject"), None, "{record}");
    assert_eq!(served.get(&served.stranger, "/v1/calls").await.json(), json!([]));
}

#[tokio::test]
async fn an_agent_cannot_bury_people_in_questions() {
    let served = Served::new().await;
    let mut statuses = Vec::new();
    for n in 0..50 {
        let text = format!("{n}");
        let body = json!({"tool": "pay", "arguments": {"text": text}, "idempotency_key": text});
        let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
        statuses.push(reply.status);
    }
    let asked = statuses.iter().filter(|status| **status == 202).count();
    assert_eq!(asked, 20, "{statuses:?}");
    assert!(statuses[20..].iter().all(|status| *status == 429), "{statuses:?}");
    let open = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
    assert_eq!(open.as_array().unwrap().len(), 20);
    assert_eq!(served.runs(), 0);
    // One is answered, and another may be asked.
    let path = format!("/v1/confirmations/{}", open[0]["id"].as_str().unwrap());
    assert_eq!(served.post(&served.operator, &path, json!({"approve": false})).await.status, 200);
    let body = json!({"tool": "pay", "arguments": {"text": "99"}, "idempotency_key": "99"});
    let next = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!(next.status, 202, "{next:?}");
}
