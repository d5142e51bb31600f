//! A catalog that is larger than a request should be.

use haft_agent::http::Provider as Api;
use haft_agent::{Cancel, Reason, Settings, Told};
use haft_core::contract::Mode;
use haft_runtime::policy::Rules;
use serde_json::{Value, json};

use crate::provider::{Reply, says};
use crate::world::{World, caller, ends, registry, settings, tool};

fn names(api: Api, body: &Value) -> Vec<String> {
    let list = match api {
        Api::Gemini => &body["tools"][0]["functionDeclarations"],
        Api::OpenAi | Api::OpenAiResponses | Api::Anthropic => &body["tools"],
    };
    let name = |tool: &Value| match api {
        Api::OpenAi => tool["function"]["name"].as_str().unwrap().to_owned(),
        Api::OpenAiResponses | Api::Anthropic | Api::Gemini => {
            tool["name"].as_str().unwrap().to_owned()
        }
    };
    list.as_array().unwrap().iter().map(name).collect()
}

async fn many(api: Api, calls: &[crate::provider::Call<'_>]) -> World {
    let mut tools: Vec<_> = (0..300)
        .map(|n| tool(&format!("shop__part_{n:03}"), &format!("Part number {n}."), json!({})))
        .collect();
    tools.push(tool("shop__convert_currency", "Exchange money.", json!({})));
    tools.push(tool("shop__find", "Find things.", json!({})));
    let replies = calls
        .iter()
        .map(|call| Reply::Stream(says(api, "", &[*call])))
        .chain([Reply::Stream(says(api, "Done.", &[]))])
        .collect();
    let settings = Settings { tools_budget: 8_192, pinned: vec!["find".into()], ..settings() };
    World::with(api, replies, registry(tools), Rules::default(), settings).await
}

#[tokio::test]
async fn tools_are_searched_and_become_callable() {
    for api in Api::ALL {
        let calls = [
            ("c1", "haft__reg_search", r#"{"query":"converting currencies","limit":1}"#),
            ("c2", "shop__convert_currency", r#"{"item":"5 EUR"}"#),
            ("c3", "haft__reg_describe", r#"{"tool":"part_007"}"#),
            ("c4", "shop__part_007", r#"{"item":"x"}"#),
        ];
        let world = many(api, &calls).await;
        let (done, heard, _) = world.say("go").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert!(ends(&heard).iter().all(|end| end.ends_with(" ok")), "{:?}", ends(&heard));
        let shown: Vec<_> =
            world.provider.requests().iter().map(|seen| names(api, &seen.body)).collect();
        let base = ["haft__reg_search", "haft__reg_describe", "shop__find"];
        assert_eq!(shown[0], base, "{api}");
        // What was shown stays where it was.
        assert_eq!(shown[1][..3], base);
        assert_eq!(shown[1][3..], ["shop__convert_currency"]);
        assert_eq!(shown[3][3..], ["shop__convert_currency", "shop__part_007"]);
        let prompt = |at: usize| {
            let mut body = world.provider.requests()[at].body.clone();
            for key in ["messages", "input", "contents", "tools"] {
                if key != "messages" || api != Api::OpenAi {
                    body.as_object_mut().unwrap().remove(key);
                }
            }
            if api == Api::OpenAi { body["messages"][0].to_string() } else { body.to_string() }
        };
        assert_eq!(prompt(0), prompt(3), "{api}: the prompt moved");
        assert!(prompt(0).contains("301 more tools"), "{api}: {}", prompt(0));
    }
}

#[tokio::test]
async fn a_small_catalog_is_not_searched() {
    let api = Api::OpenAi;
    let world = World::new(api, vec![Reply::Stream(says(api, "x", &[]))]).await;
    world.say("go").await;
    let shown = names(api, &world.provider.requests()[0].body);
    assert!(!shown.contains(&"haft__reg_search".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn without_search_as_much_is_shown_as_fits_pinned_first() {
    let api = Api::OpenAi;
    let tools = (0..300)
        .map(|n| tool(&format!("shop__part_{n:03}"), &format!("Part number {n}."), json!({})))
        .collect();
    let settings = Settings { tools_budget: 4_096, pinned: vec!["part_200".into()], ..settings() };
    let rules = Rules { deny: vec!["reg_search".into()], ..Rules::default() };
    let replies = vec![Reply::Stream(says(api, "x", &[]))];
    let world = World::with(api, replies, registry(tools), rules, settings).await;
    world.say("go").await;
    let body = world.provider.requests()[0].body.clone();
    let shown = names(api, &body);
    assert_eq!(shown[..2], ["shop__part_200", "shop__part_000"]);
    assert!(shown.len() > 5 && body["tools"].to_string().len() <= 4_096 + 2, "{}", shown.len());
}

#[tokio::test]
async fn a_request_has_no_more_tools_than_its_provider_takes() {
    for (api, most) in [(Api::OpenAi, Some(128)), (Api::Gemini, None), (Api::Anthropic, None)] {
        let tools = (0..200)
            .map(|n| tool(&format!("shop__part_{n:03}"), &format!("Part number {n}."), json!({})));
        let settings = Settings { tools_budget: 1 << 20, ..settings() };
        let registry = registry(tools.collect());
        // Searched where there is a search, and cut off where there is none.
        for deny in [vec![], vec!["reg_search".to_owned()]] {
            let searched = deny.is_empty();
            let rules = Rules { deny, ..Rules::default() };
            let replies = vec![Reply::Stream(says(api, "x", &[]))];
            let world = World::with(api, replies, registry.clone(), rules, settings.clone()).await;
            world.say("go").await;
            let shown = names(api, &world.provider.requests()[0].body).len();
            match most {
                Some(_) if searched => assert!(shown < 5, "{api}: {shown}"),
                Some(most) => assert_eq!(shown, most, "{api}"),
                None => assert!(shown > 200, "{api}: {shown}"),
            }
        }
    }
}

/// A client's own tools take their part of what the provider takes.
#[tokio::test]
async fn a_clients_own_tools_count_among_those_that_a_provider_takes() {
    let own = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({ "type": "function", "function": { "name": format!("mine_{n:03}") } }))
            .collect()
    };
    let part = |n| tool(&format!("shop__part_{n:03}"), "A part.", json!({}));
    let api = Api::OpenAi;
    for (ours, theirs, searched) in
        [(100, 20, false), (100, 27, false), (100, 28, true), (128, 127, true), (10, 120, true)]
    {
        let registry = registry((0..ours).map(part).collect());
        let settings = Settings { tools_budget: 1 << 20, ..settings() };
        for deny in [vec![], vec!["reg_search".to_owned()]] {
            let can_search = deny.is_empty();
            let rules = Rules { deny, ..Rules::default() };
            let replies = vec![Reply::Stream(says(api, "x", &[]))];
            let world = World::with(api, replies, registry.clone(), rules, settings.clone()).await;
            let said = [json!({ "role": "user", "content": "go" })];
            let told = Told::read(world.agent.dialect(), &said, &own(theirs)).unwrap();
            let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
            let mut chat = world.agent.take_up(caller(), &session, told);
            chat.answer(&mut |_| (), &Cancel::new()).await;
            let shown = names(api, &world.provider.requests()[0].body);
            let case = format!("{ours} and {theirs}: {shown:?}");
            assert!(shown.len() <= 128, "{case}");
            assert_eq!(shown.iter().filter(|name| name.starts_with("mine_")).count(), theirs);
            let searches = shown.contains(&"haft__reg_search".to_owned());
            assert_eq!(searches, searched && can_search, "{case}");
            // With nothing to search with, there are as many as there is room for.
            if searched && !can_search {
                assert_eq!(shown.len(), 128, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_whose_tools_leave_no_room_is_told() {
    let said = [json!({ "role": "user", "content": "go" })];
    let own = |n: usize| json!({ "type": "function", "function": { "name": format!("mine_{n}") } });
    let none = Rules {
        deny: ["shop__*", "reg_describe", "reg_search"].map(str::to_owned).to_vec(),
        ..Rules::default()
    };
    for (api, theirs, rules, fits) in [
        (Api::OpenAi, 128, Rules::default(), false),
        (Api::OpenAi, 127, Rules::default(), true),
        (Api::OpenAi, 128, none, true),
        (Api::Gemini, 128, Rules::default(), true),
        (Api::Anthropic, 128, Rules::default(), true),
    ] {
        let world = World::ruled(api, vec![], rules).await;
        let (dialect, tools) = (world.agent.dialect(), (0..theirs).map(own).collect::<Vec<_>>());
        let told = Told::read(dialect, &said, &tools).unwrap();
        let found = told.fits(dialect, &world.runtime.catalog(&caller(), Mode::Text));
        assert_eq!(found.is_ok(), fits, "{api} with {theirs}: {found:?}");
    }
}

/// The document of a tool whose contract asks for it comes before the tool can be used.
#[tokio::test]
async fn a_contract_can_ask_that_its_document_is_read_first() {
    let api = Api::OpenAi;
    let first = json!({ "documentation": "before_use" });
    let times = |body: &Value, what: &str| body.to_string().matches(what).count();
    // Shown: it stands in the prompt, and is not repeated when a call is refused.
    let replies = vec![
        Reply::Stream(says(api, "", &[("c1", "shop__weld", r#"{"thing":1}"#)])),
        Reply::Stream(says(api, "Done.", &[])),
    ];
    let tools = vec![
        tool("shop__weld", "Weld things.", first.clone()),
        tool("shop__look", "Look at things.", json!({})),
    ];
    let world = World::with(api, replies, registry(tools), Rules::default(), settings()).await;
    world.say("go").await;
    let requests = world.provider.requests();
    assert_eq!(times(&requests[0].body, "How to use weld"), 1, "{:#}", requests[0].body);
    assert_eq!(times(&requests[0].body, "How to use look"), 0);
    assert_eq!(times(&requests[1].body, "How to use weld"), 1);
    // Found: it comes with what the search has found, once.
    let mut tools: Vec<_> = (0..300)
        .map(|n| tool(&format!("shop__part_{n:03}"), &format!("Part number {n}."), json!({})))
        .collect();
    tools.push(tool("shop__weld", "Join metal by welding.", first));
    let search = r#"{"query":"welding metal","limit":1}"#;
    let replies = vec![
        Reply::Stream(says(api, "", &[("c1", "haft__reg_search", search)])),
        Reply::Stream(says(api, "", &[("c2", "haft__reg_search", search)])),
        Reply::Stream(says(api, "", &[("c3", "shop__weld", r#"{"item":"x"}"#)])),
        Reply::Stream(says(api, "Done.", &[])),
    ];
    let settings = Settings { tools_budget: 8_192, ..settings() };
    let world = World::with(api, replies, registry(tools), Rules::default(), settings).await;
    let (_, heard, _) = world.say("go").await;
    assert_eq!(ends(&heard).last().map(String::as_str), Some("shop__weld ok"));
    let requests = world.provider.requests();
    let seen: Vec<usize> =
        requests.iter().map(|seen| times(&seen.body, "How to use weld")).collect();
    assert_eq!(seen, [0, 1, 1, 1]);
}
