//! What is served: lists in any dialect, pages, and a document that says all of it.

use serde_json::{Value, json};

use crate::client::Served;

#[tokio::test]
async fn tools_come_in_any_dialect_and_only_when_they_changed() {
    let served = Served::new().await;
    let tools = "/v1/agents/helper/tools";
    let own = served.get(&served.agent, tools).await;
    let ids: Vec<_> = own.json()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["shop__echo", "shop__pay", "shop__send"]);
    for format in [
        "openai",
        "openai-responses",
        "openai-realtime",
        "anthropic",
        "gemini",
        "gemini-live",
        "mcp",
        "adm",
    ] {
        for strict in ["false", "true"] {
            let path = format!("{tools}?format={format}&strict={strict}");
            let reply = served.get(&served.agent, &path).await;
            let can = ["openai", "openai-responses", "anthropic"].contains(&format);
            if strict == "true" && !can {
                assert_eq!(reply.status, 400, "{format} has no strict mode: {reply:?}");
                continue;
            }
            assert_eq!(reply.status, 200, "{format}: {reply:?}");
            assert!(reply.json()["tools"].to_string().contains("shop__echo"), "{format}");
            let tag = reply.header("etag").unwrap().to_owned();
            let again = [("If-None-Match", tag.as_str())];
            let reply = served.send(&served.agent, "GET", &path, &again, None).await;
            assert_eq!(reply.status, 304, "{format}");
        }
    }
    let wrong = served.get(&served.agent, &format!("{tools}?format=klingon")).await;
    assert_eq!((wrong.status, &wrong.json()["code"]), (400, &json!("malformed_request")));
    let one = served.get(&served.agent, &format!("{tools}/echo")).await.json();
    assert_eq!(one["id"], "shop__echo");
    let doc = served.get(&served.agent, &format!("{tools}/echo/doc")).await;
    assert_eq!(doc.body, "# How to use it\n");
    assert_eq!(served.get(&served.agent, &format!("{tools}/none")).await.status, 404);
    let found = served.get(&served.agent, &format!("{tools}?q=PAY")).await.json();
    assert_eq!(found["tools"].as_array().unwrap().len(), 1);
    // By the index that models search: whole words, any of them, the best first.
    let order = async |query: &str| {
        let found = served.get(&served.agent, &format!("{tools}?{query}")).await.json();
        let ids = found["tools"].as_array().unwrap().iter();
        ids.map(|tool| tool["id"].as_str().or(tool["name"].as_str()).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(order("q=send+or+pay+and+send+again").await.len(), 2);
    assert_eq!(order("q=send").await, ["shop__send"]);
    assert_eq!(order("q=send&format=anthropic").await, ["shop__send"]);
    assert_eq!(order("q=sen").await, Vec::<String>::new(), "no part of a word");
    assert_eq!(order("q=").await, Vec::<String>::new());
}

#[tokio::test]
async fn mistakes_are_answered_as_problems() {
    let served = Served::new().await;
    let calls = "/v1/agents/helper/calls";
    for (method, path, body, status, code) in [
        ("GET", "/nowhere", None, 404, "not_found"),
        ("PUT", "/healthz", None, 405, "wrong_method"),
        ("GET", "/v1/agents/%ff/tools", None, 400, "malformed_request"),
        ("GET", "/console/connections/%ff", None, 400, "malformed_request"),
        ("POST", calls, Some(json!({"tol": "echo"})), 400, "malformed_request"),
        ("POST", calls, Some(json!([])), 400, "malformed_request"),
        ("GET", "/v1/agents/helper/tools?colour=red", None, 400, "malformed_request"),
    ] {
        let reply = served.send(&served.agent, method, path, &[], body).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        assert_eq!(reply.json()["code"], code);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let page = served.get("", "/errors/foreign_host").await;
    assert!(page.body.starts_with("# foreign_host"), "{page:?}");
    let page = served.get("", "/errors/unknown_outcome").await;
    assert!(page.body.starts_with("# unknown_outcome"), "{page:?}");
}

#[test]
fn the_document_is_as_it_was() {
    let document: Value = serde_json::to_value(haft_server::openapi()).unwrap();
    insta::assert_json_snapshot!("openapi", document);
}

/// Whoever makes a client of the document makes one function of each.
#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = serde_json::to_value(haft_server::openapi()).unwrap();
    let mut names = std::collections::BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            let place = format!("{method} {path}");
            // More than a verb, but for what the path says as well.
            assert!(
                name.contains('_') || *path == format!("/{name}") || *path == format!("/v1/{name}"),
                "{name}: {place}"
            );
            if let Some(other) = names.insert(name.clone(), place.clone()) {
                panic!("`{name}` is {other} and {place}");
            }
        }
    }
    assert!(names.len() > 80, "{names:?}");
}

/// Where there are several tenants, each has its part.
#[test]
fn whatever_is_some_tenants_may_be_too_much_at_once() {
    let document = serde_json::to_value(haft_server::openapi()).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let open = ["/healthz", "/readyz", "/metrics", "/errors"];
            let open = open.iter().any(|one| path.starts_with(one));
            let said = operation["responses"]["429"].is_object();
            assert_eq!(said, !open, "{method} {path}");
        }
    }
}

#[test]
fn parameters_are_where_the_document_says() {
    let document = serde_json::to_value(haft_server::openapi()).unwrap();
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (name, place) =
                    (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap());
                let in_path = path.contains(&format!("{{{name}}}"));
                assert_eq!(in_path, place == "path", "{method} {path}: `{name}` is in {place}");
                // Whatever is not part of the address can be left out.
                assert_eq!(parameter["required"] == true, in_path, "{method} {path}: `{name}`");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen} were seen");
}
