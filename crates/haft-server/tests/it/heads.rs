//! `HEAD`: what `GET` says, without the body.

use serde_json::json;

use crate::client::{Reply, Served};
use crate::console::world::{Visit, World};

/// The head of an answer, without what is different every time.
fn lines(reply: &Reply) -> Vec<String> {
    let mut lines: Vec<String> = reply.head.lines().map(str::to_lowercase).collect();
    lines.retain(|line| !line.starts_with("date:"));
    lines.sort();
    lines
}

#[track_caller]
fn check(path: &str, get: &Reply, head: &Reply, status: u16) {
    assert_eq!(get.status, status, "{path}: {get:?}");
    assert_eq!(lines(head), lines(get), "{path}");
    assert_eq!(head.body, "", "{path}");
}

async fn page(visit: &Visit<'_>, path: &str, status: u16) {
    check(path, &visit.get(path).await, &visit.head(path).await, status);
}

#[tokio::test]
async fn a_page_is_looked_at_as_it_is_read() {
    let world = World::new().await;
    let stranger = world.stranger();
    for (path, status) in [
        ("/", 303),
        ("/console", 303),
        ("/console/", 303),
        ("/console/tools?agent=helper", 303),
        ("/console/nowhere", 303),
        ("/console/sign-in", 200),
        ("/console/assets/console.css", 200),
        ("/console/assets/none", 404),
        ("/console/consent", 400),
        ("/console/consent?state=x&code=y", 400),
        ("/errors/denied", 200),
        ("/errors/none", 404),
        ("/errors/H120", 200),
        ("/errors/H999", 404),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/v1/openapi.json", 200),
        ("/v1/tools", 401),
        ("/nowhere", 401),
    ] {
        page(&stranger, path, status).await;
    }
    let link = world.door.invite("admin").unwrap();
    page(&stranger, &link, 200).await;
    let admin = world.signed_in(&world.admin).await;
    for path in [
        "",
        "/tools",
        "/sessions",
        "/confirmations",
        "/effects",
        "/events",
        "/audit",
        "/suggestions",
        "/policies",
        "/new-policy?id=own",
        "/connections",
        "/keys",
    ] {
        page(&admin, &format!("/console{path}"), 200).await;
    }
    page(&admin, "/console/connections/none", 404).await;
    // What is wrong with an address is told on a page, too.
    for path in ["/console/new-policy", "/console/audit?limit=x"] {
        page(&admin, path, 400).await;
        let shown = admin.get(path).await;
        assert!(shown.header("content-type").unwrap().starts_with("text/html"), "{shown:?}");
    }
    page(&admin, "/console/nowhere", 404).await;
    let operator = world.signed_in(&world.operator).await;
    page(&operator, "/console/connections", 403).await;
    // Nothing that a form does is done by looking where it leads.
    assert_eq!(admin.head("/console/sign-out").await.status, 405);
    assert_eq!(admin.get("/console").await.status, 200, "still signed in");
}

#[tokio::test]
async fn so_is_the_api() {
    let served = Served::new().await;
    let session = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    let session = format!("/v1/agents/helper/sessions/{}", session["id"].as_str().unwrap());
    for (key, path, status) in [
        (&served.agent, "/v1/agents/helper/tools", 200),
        (&served.agent, "/v1/agents/helper/tools/shop__echo", 200),
        (&served.agent, "/v1/agents/helper/tools/none", 404),
        (&served.agent, &*session, 200),
        (&served.operator, "/v1/calls", 200),
        (&served.operator, "/v1/calls?limit=x", 400),
        (&served.operator, "/v1/events", 200),
        (&served.admin, "/v1/admin/keys", 200),
        (&served.agent, "/v1/admin/keys", 403),
        (&served.agent, "/v1/agents/helper/calls", 405),
        (&served.agent, "/nowhere", 404),
    ] {
        let get = served.get(key, path).await;
        let head = served.send(key, "HEAD", path, &[], None).await;
        check(path, &get, &head, status);
    }
}
