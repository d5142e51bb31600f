//! Rules and texts of a tenant that are made to cost: refused or bounded, and never the end of the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CALLS, define, find, world};
use crate::admin::{check, put};
use crate::client::Served;

/// However slow the machine, and without optimisation.
const SOON: Duration = Duration::from_secs(30);

/// What is answered to a policy with this condition. The server is as well afterwards as before.
async fn policy(served: &Served, cedar: &str) -> (u16, String) {
    let begun = Instant::now();
    let path = "/v1/admin/policies/hostile";
    let version = served.get(&served.admin, path).await.json()["version"].as_u64();
    let version = version.map(|version| format!("\"v{version}\"")).unwrap_or_default();
    let reply = put(served, &served.admin, path, &version, json!({"cedar": cedar})).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(served.get("", "/healthz").await.status, 200);
    (reply.status, reply.body)
}

fn when(condition: &str) -> String {
    format!("forbid (principal, action, resource) when {{ {condition} }};")
}

#[tokio::test]
async fn a_rule_that_would_end_the_stack_is_not_read() {
    let served = Served::new().await;
    let around = |open: &str, inside: &str, close: &str, times: usize| {
        open.repeat(times) + inside + &close.repeat(times)
    };
    // Far too much of each, and as much as is taken.
    for (condition, most) in [
        (&(|n: usize| around("(", "true", ")", n)) as &dyn Fn(usize) -> String, 17),
        (&|n| around("[", "", "]", n) + " == []", 17),
        (&|n| around("{a: ", "1", "}", n) + " == {}", 17),
        (&|n| around("if true then ", "true", " else true", n), 90),
        (&|n| around("true && ", "true", "", n), 90),
        (&|n| around("1 + ", "1 == 2", "", n), 90),
        (&|n| "context".to_owned() + &".a".repeat(n), 90),
        (&|n| "context".to_owned() + &"[\"a\"]".repeat(n), 80),
        (&|n| around("(true && [{a: true}] == ", "true", ")", n), 12),
        (&|n| "(".repeat(n), 17),
        // What closes something else closes nothing.
        (&|n| around("[),", "1", ",@(]", n) + " == []", 9),
    ] {
        let (status, body) = policy(&served, &when(&condition(30_000))).await;
        assert_eq!(status, 422, "{body}");
        assert!(body.contains("nested too deep"), "{body}");
        let (status, body) = policy(&served, &when(&condition(most))).await;
        assert!(matches!(status, 200 | 201 | 422) && !body.contains("nested too deep"), "{body}");
    }
    // A long list is not deep.
    let list = "\"a\", ".repeat(5_000);
    assert!(list.len() > 20_000);
    let (status, body) =
        policy(&served, &when(&format!("[{list}\"b\"].contains(context.mode)"))).await;
    assert!(matches!(status, 200 | 201), "{body}");
}

#[tokio::test]
async fn very_many_rules_are_too_many() {
    let served = Served::new().await;
    let rule = "forbid (principal, action, resource) when { context.mode == \"x\" };\n";
    let (status, body) = policy(&served, &rule.repeat(14_000)).await;
    assert!(status == 422 && body.contains("more than 2000 rules"), "{body}");
    let (status, body) = policy(&served, &rule.trim_end().repeat(2_001)).await;
    assert!(status == 422 && body.contains("more than 2000 rules"), "{body}");
    let (status, body) = policy(&served, &";".repeat(500_000)).await;
    assert!(status == 422 && body.len() < 20_000, "{status} {}", body.len());
}

#[tokio::test]
async fn of_very_many_mistakes_in_rules_some_are_told() {
    let served = Served::new().await;
    let (status, body) = policy(&served, &when(&("[".to_owned() + &"@,".repeat(8_000)))).await;
    assert!(status == 422 && body.len() < 20_000, "{status} {}", body.len());
    let (status, body) = policy(&served, &"permit;".repeat(1_900)).await;
    assert!(status == 422 && body.len() < 20_000, "{status} {}", body.len());
    let (status, body) = policy(&served, &when(&"a".repeat(40_000))).await;
    assert!(status == 422 && body.contains("longer than 32 KiB"), "{body}");
}

/// `like` tries what stands between two `*` at every place of a text.
#[tokio::test]
async fn what_is_searched_for_and_in_is_bounded() {
    let served = Served::new().await;
    let like = |letters: usize| format!("\"x\" like \"*{}b*\"", "a".repeat(letters - 1));
    let (status, body) = policy(&served, &format!("\n{}", when(&like(257)))).await;
    assert!(status == 422 && body.contains("searches for more than 256 letters"), "{body}");
    assert!(body.contains("\"line\":2") && body.contains("put a `*` in between"), "{body}");
    let (status, body) = policy(&served, &when(&like(256))).await;
    assert!(matches!(status, 200 | 201), "{body}");
    // Rules that together search for so much that a long text would take minutes.
    let one = |at: usize| {
        let letters = "a".repeat(250);
        format!(
            "forbid (principal, action == Haft::Action::\"shop__echo\", resource) when {{ \
             context.arguments has text && context.arguments.text like \"*{letters}{at}*\" }};\n"
        )
    };
    let rules: String = (0..200).map(one).collect();
    let (status, body) = policy(&served, &rules).await;
    assert!(matches!(status, 200 | 201), "{body}");
    for (length, status) in [(2_000, 200), (500_000, 403)] {
        let begun = Instant::now();
        let call = json!({"tool": "echo", "arguments": {"text": "a".repeat(length)}});
        let reply = served.post(&served.agent, CALLS, call).await;
        assert_eq!(reply.status, status, "{}", reply.body.get(..500).unwrap_or(&reply.body));
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        // No rule has to be mended for it.
        let told = status == 200 || reply.body.contains("call with a shorter text");
        assert!(told && !reply.body.contains("could not be evaluated"), "{}", reply.body);
    }
    // What helps against the first: less stands between two `*`.
    let parted = like(257).replacen("aaa", "aa*a", 1);
    let (status, body) = policy(&served, &when(&parted)).await;
    assert!(matches!(status, 200 | 201), "{body}");
}

/// Conditions of a tenant's own tools are read the same way.
#[tokio::test]
async fn a_condition_that_would_end_the_stack_is_not_read() {
    let (served, service) = world().await;
    for condition in ["true && ".repeat(500) + "true", "1 + ".repeat(1_000) + "1 == 2"] {
        let mut contract = service.contract();
        contract["availability"] = json!({"condition": condition});
        let refused = define(&served, "crm__find_customer", json!({"contract": contract})).await;
        check(&refused, 422, "invalid_configuration");
        assert!(refused.body.contains("nested too deep"), "{refused:?}");
    }
    assert_eq!(find(&served, "crm__find_customer").await.status, 404);
}

/// A question that repeats an argument a thousand times would be a thousand times as long.
#[tokio::test]
async fn a_question_is_not_much_longer_than_what_it_asks_about() {
    let (served, service) = world().await;
    let mut contract = service.writing("charge", &json!({}));
    contract["confirmation"] = json!({"prompt": "{name} ".repeat(1_000)});
    check(&define(&served, "crm__charge", json!({"contract": contract})).await, 201, "");
    let text = "x".repeat(200_000);
    let body = json!({"tool": "crm__charge", "arguments": {"name": text}, "idempotency_key": "k"});
    let asked = served.post(&served.agent, CALLS, body).await;
    assert_eq!(asked.status, 202, "{}", asked.body.len());
    let shown = served.get(&served.operator, "/v1/confirmations?status=pending").await;
    assert!(shown.body.contains(&text), "all of it is shown");
    assert!(shown.body.len() < 10 * text.len(), "{}", shown.body.len());
    assert!(asked.body.len() < 10 * text.len(), "{}", asked.body.len());
}

/// Tools are searched by words, whatever the text looks like.
#[tokio::test]
async fn what_is_searched_for_is_no_pattern() {
    let served = Served::new().await;
    let begun = Instant::now();
    for text in ["(a%2B)%2B%24", "a*", "%25_%25", ".*.*.*.*.*", "%5B%5B%5B", "NEAR%20AND%20%22"] {
        let path = format!("/v1/agents/helper/tools?q={}", text.repeat(300));
        let found = served.get(&served.agent, &path).await;
        assert_eq!(found.status, 200, "{text}: {found:?}");
        assert_ne!(found.json()["tools"], Value::Null, "{text}");
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}
