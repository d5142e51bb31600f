//! Every request of a conversation is one that the official types accept.

use std::path::Path;

use haft_agent::Settings;
use haft_agent::http::Provider as Api;
use haft_core::Caller;
use haft_core::hop::{self, Chain};
use serde_json::Value;

use crate::provider::{Reply, says};
use crate::world::{World, caller, say, settings};

/// The official types, as JSON Schema. They lie beside the workspace; not everyone has them.
pub(crate) fn schema(kind: &str) -> Option<jsonschema::Validator> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/wire/schemas")
        .join(format!("{kind}.schema.json"));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let schema: Value = serde_json::from_str(&text).unwrap();
            Some(jsonschema::validator_for(&schema).unwrap())
        }
        Err(error) if std::env::var_os("CI").is_some() => panic!("{}: {error}", path.display()),
        Err(error) => {
            eprintln!("skipped: the types are not at {} ({error})", path.display());
            None
        }
    }
}

#[tokio::test]
async fn requests_are_of_the_official_types() {
    for (api, kind) in [
        (Api::OpenAi, "openai.chat.request"),
        (Api::OpenAiResponses, "openai.responses.request"),
        (Api::Anthropic, "anthropic.request"),
        (Api::Gemini, "gemini.request"),
    ] {
        let Some(schema) = schema(kind) else { return };
        let calls = [
            ("c1", "shop__find", r#"{"item":"a"}"#),
            ("c2", "shop__order", r#"{"item":"#),
            ("c3", "shop__gift", r#"{"item":"b"}"#),
        ];
        let replies = vec![
            Reply::Stream(says(api, "Let me see.", &calls)),
            Reply::Stream(says(api, "There.", &[])),
            Reply::Stream(says(api, "Bye.", &[])),
        ];
        let settings = Settings { max_output_tokens: Some(500), ..settings() };
        let world = World::set(api, replies, settings).await;
        let mut chat = world.chat().await;
        say(&mut chat, "one").await;
        say(&mut chat, "two").await;
        let requests = world.provider.requests();
        assert_eq!(requests.len(), 3);
        for seen in requests {
            let body = seen.body.clone();
            let problems: Vec<String> =
                schema.iter_errors(&body).map(|e| format!("{} {e}", e.instance_path())).collect();
            assert!(problems.is_empty(), "{api}: {body:#}\n{}", problems.join("\n"));
        }
    }
}

#[tokio::test]
async fn the_key_goes_where_each_provider_looks_for_it() {
    for (api, path, key) in [
        (Api::OpenAi, "POST /v1/chat/completions ", "authorization: Bearer sk-very-secret"),
        (Api::OpenAiResponses, "POST /v1/responses ", "authorization: Bearer sk-very-secret"),
        (Api::Anthropic, "POST /v1/messages ", "x-api-key: sk-very-secret"),
        (
            Api::Gemini,
            "POST /v1beta/models/test-model:streamGenerateContent?alt=sse ",
            "x-goog-api-key: sk-very-secret",
        ),
    ] {
        let world = World::new(api, vec![Reply::Stream(says(api, "x", &[]))]).await;
        world.say("go").await;
        let head = world.provider.requests()[0].head.clone();
        assert!(head.starts_with(path) && head.contains(key), "{head}");
        assert!(!world.provider.requests()[0].body.to_string().contains("sk-very-secret"));
    }
}

/// A model may be another server of ours, whose model is this one.
#[tokio::test]
async fn a_model_is_told_which_servers_a_request_came_through() {
    let other = "0123456789abcdef0123456789abcdef";
    for marks in [&[][..], &[other]] {
        let api = Api::OpenAi;
        let world = World::new(api, vec![Reply::Stream(says(api, "x", &[]))]).await;
        let via = Chain::read(marks.iter().copied()).unwrap();
        let mut chat = world.agent.chat(Caller { via, ..caller() }).await.unwrap();
        say(&mut chat, "go").await;
        let head = world.provider.requests()[0].head.clone();
        let expected: Vec<&str> = marks.iter().copied().chain([hop::own()]).collect();
        let line = format!("\r\nhaft-hop: {}\r\n", expected.join(", "));
        assert!(format!("{head}\r\n").contains(&line), "{head}");
    }
}

#[test]
fn a_key_is_not_sent_in_the_clear() {
    let endpoint = |key: Option<&str>| haft_agent::http::Endpoint {
        provider: Api::OpenAi,
        url: Some("http://models.example/?key=s3cret".into()),
        model: "m".into(),
        key: key.map(str::to_owned),
    };
    let refused = haft_agent::http::Http::new(endpoint(Some("sk-x"))).err().unwrap().to_string();
    assert!(refused.contains("in the clear") && !refused.contains("s3cret"), "{refused}");
    assert!(haft_agent::http::Http::new(endpoint(None)).is_ok());
}
