//! Keys that are made while the server runs.

use serde_json::json;

use super::{check, delete, echo};
use crate::client::Served;

#[tokio::test]
async fn a_key_is_shown_once_and_opens_until_it_is_revoked() {
    let served = Served::new().await;
    let wanted = json!({"name": "night shift", "principal": "agent:helper", "roles": ["agent"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    check(&made, 201, "");
    let key = made.json()["key"].as_str().unwrap().to_owned();
    let place = made.header("location").unwrap().to_owned();
    assert_eq!(echo(&served, &key, "helper").await.status, 200);
    for seen in
        [served.get(&served.admin, &place).await, served.get(&served.admin, "/v1/admin/keys").await]
    {
        check(&seen, 200, "");
        let secret = key.rsplit('_').next().unwrap();
        assert!(!seen.body.contains(secret) && !seen.body.contains("sha256"), "{seen:?}");
        assert!(seen.body.contains("night shift"));
    }
    let mut other = key.clone();
    other.replace_range(other.len() - 1.., if key.ends_with('0') { "1" } else { "0" });
    assert_eq!(echo(&served, &other, "helper").await.status, 401);
    let gone = delete(&served, &served.admin, &place, "").await;
    check(&gone, 200, "");
    assert!(gone.json()["value"]["revoked_at_ms"].is_i64(), "{gone:?}");
    assert_eq!(echo(&served, &key, "helper").await.status, 401, "at once");
    check(&delete(&served, &served.admin, &place, "").await, 200, "");
    check(&delete(&served, &served.stranger, &place, "").await, 404, "not_found");
}

#[tokio::test]
async fn a_key_that_is_another_than_was_read_is_not_revoked() {
    let served = Served::new().await;
    let wanted = json!({"principal": "agent:helper", "roles": ["agent"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let (key, place) = (made.json()["key"].clone(), made.header("location").unwrap().to_owned());
    assert_eq!(made.header("etag"), Some("\"v1\""));
    for tag in ["\"v9\"", "v1", "W/\"v1\""] {
        check(&delete(&served, &served.admin, &place, tag).await, 412, "precondition_failed");
    }
    check(&delete(&served, &served.stranger, &place, "\"v1\"").await, 404, "not_found");
    assert_eq!(echo(&served, key.as_str().unwrap(), "helper").await.status, 200);
    check(&delete(&served, &served.admin, &place, "\"v1\"").await, 200, "");
    check(&delete(&served, &served.admin, &place, "\"v1\"").await, 412, "precondition_failed");
    check(&delete(&served, &served.admin, &place, "*").await, 200, "");
}

#[tokio::test]
async fn what_a_revoked_approver_has_approved_counts_no_longer() {
    let served = Served::new().await;
    let make = async |wanted| served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let made = make(json!({"principal": "user:ann", "roles": ["approver"]})).await;
    let front = json!({"principal": "service:desk", "subject": "user:ann", "roles": ["operator"]});
    let front = make(front).await;
    let key = made.json()["key"].as_str().unwrap().to_owned();
    let pay = async || {
        let call = json!({"tool": "pay", "arguments": {"text": "5 pounds"}});
        let (place, once) = ("/v1/agents/helper/calls", [("Idempotency-Key", "pay-1")]);
        served.send(&served.agent, "POST", place, &once, Some(call)).await
    };
    let asked = pay().await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let id = asked.json()["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/confirmations/{id}");
    // A key that acts for her counts as hers: over a socket she approves with it.
    for hers in [front, made] {
        check(&served.post(&key, &path, json!({"approve": true})).await, 200, "");
        check(&delete(&served, &served.admin, hers.header("location").unwrap(), "").await, 200, "");
        let again = pay().await;
        assert_eq!(again.status, 202, "{again:?}");
        let same = &again.json()["error"]["details"]["confirmation"]["id"];
        assert_eq!((same, served.runs()), (&json!(id), 0), "the same question");
    }
    check(&served.post(&served.operator, &path, json!({"approve": true})).await, 200, "");
    assert_eq!((pay().await.status, served.runs()), (200, 1));
}

#[tokio::test]
async fn a_key_ends_when_it_says() {
    let served = Served::new().await;
    let wanted =
        |expires: &str| json!({"principal": "user:ann", "roles": ["operator"], "expires": expires});
    let over = served.post(&served.admin, "/v1/admin/keys", wanted("2001-01-01T00:00:00Z")).await;
    check(&over, 422, "invalid_configuration");
    let soon = std::time::SystemTime::now() + std::time::Duration::from_millis(1_500);
    let soon = soon.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let soon = haft_runtime::policy::Instant(soon).to_string();
    let made = served.post(&served.admin, "/v1/admin/keys", wanted(&soon)).await;
    check(&made, 201, "");
    let key = made.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(served.get(&key, "/v1/calls").await.status, 200);
    let mut tries = 0;
    while served.get(&key, "/v1/calls").await.status != 401 {
        tries += 1;
        assert!(tries < 200, "it never ends");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_program_makes_nobody_who_approves() {
    let served = Served::new().await;
    let service = json!({"principal": "service:ci", "roles": ["administrator"]});
    let service = served.post(&served.admin, "/v1/admin/keys", service).await;
    let service = service.json()["key"].as_str().unwrap().to_owned();
    for (principal, role, status) in [
        ("user:ghost", "approver", 403),
        ("user:ghost", "administrator", 403),
        ("user:ann", "operator", 201),
        ("agent:helper", "agent", 201),
        ("service:other", "administrator", 201),
    ] {
        let wanted = json!({"principal": principal, "roles": [role]});
        let made = served.post(&service, "/v1/admin/keys", wanted.clone()).await;
        assert_eq!(made.status, status, "{wanted}: {made:?}");
        let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
        assert_eq!(made.status, 201, "a person may: {made:?}");
    }
}

#[tokio::test]
async fn an_agents_key_holds_no_other_role() {
    let served = Served::new().await;
    for (wanted, word) in [
        (json!({"principal": "agent:helper", "roles": ["agent", "approver"]}), "no other role"),
        (json!({"principal": "service:bot", "roles": ["approver"]}), "only people approve"),
        (json!({"principal": "user:ann", "roles": []}), "no role"),
        (json!({"principal": "user:ma\u{200b}ra", "roles": ["operator"]}), "cannot be seen"),
        (json!({"principal": "user:mara ", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "user: mara", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "user:mara\u{a0}", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "user:\u{3000}mara", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "user:mara\u{2002}lee", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "user:mara  lee", "roles": ["approver"]}), "told apart"),
        (json!({"principal": "agent:helper ", "roles": ["agent"]}), "told apart"),
        (
            json!({"principal": "agent:helper", "subject": "user:ann ", "roles": ["agent"]}),
            "told apart",
        ),
        (json!({"principal": "user:agent:x", "roles": ["operator"]}), "another kind"),
        (json!({"principal": "user:Service :x", "roles": ["operator"]}), "another kind"),
        (
            json!({"principal": "agent:helper", "subject": "user:ann\u{202e}", "roles": ["agent"]}),
            "cannot be seen",
        ),
    ] {
        let refused = served.post(&served.admin, "/v1/admin/keys", wanted).await;
        check(&refused, 422, "invalid_configuration");
        assert!(refused.body.contains(word), "{refused:?}");
    }
    // What may be in a name: one plain space inside, other colons, letters of other languages.
    for name in ["user:Mara Lee", "user:urn:x:mara", "user:\u{43c}\u{430}\u{440}\u{430}"] {
        let wanted = json!({"principal": name, "roles": ["approver"]});
        check(&served.post(&served.admin, "/v1/admin/keys", wanted).await, 201, "");
    }
    for wrong in [
        json!({"principal": "ann", "roles": ["operator"]}),
        json!({"principal": "user:ann", "roles": ["king"]}),
        json!({"principal": "user:ann", "roles": ["operator"], "tenant": "theirs"}),
        json!({"principal": "user:ann", "roles": ["operator"], "sha256": "00"}),
    ] {
        let refused = served.post(&served.admin, "/v1/admin/keys", wrong).await;
        check(&refused, 400, "malformed_request");
    }
}

#[tokio::test]
async fn a_visit_to_the_console_ends_with_its_key() {
    let served = Served::new().await;
    let wanted = json!({"principal": "user:ann", "roles": ["operator"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let form = format!("key={}", made.json()["key"].as_str().unwrap());
    let enter = format!(
        "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
         Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let entered = served.raw(enter.as_bytes()).await;
    assert_eq!(entered.status, 303, "{entered:?}");
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let visit = format!(
        "GET /console HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
    );
    assert_eq!(served.raw(visit.as_bytes()).await.status, 200);
    let place = made.header("location").unwrap();
    check(&delete(&served, &served.admin, place, "").await, 200, "");
    assert_ne!(served.raw(visit.as_bytes()).await.status, 200);
}
