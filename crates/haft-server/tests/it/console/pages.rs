//! What the pages show and do, and for whom.

use haft_core::port::Journal as _;
use haft_core::{Digest, Principal};
use haft_store::{Options, Sqlite};
use serde_json::json;

use super::world::{HOSTILE, World, field};

#[tokio::test]
async fn roles_open_their_own_pages_only() {
    let world = World::new().await;
    let approver = world.signed_in(&world.approver).await;
    let operator = world.signed_in(&world.operator).await;
    let admin = world.signed_in(&world.admin).await;
    let pages = [
        "/console/tools",
        "/console/sessions",
        "/console/effects",
        "/console/events",
        "/console/audit",
        "/console/tools/helper/shop__echo",
        "/console/events/stream",
    ];
    for path in pages {
        assert_eq!(approver.get(path).await.status, 403, "{path}");
        if !path.ends_with("stream") {
            assert_eq!(operator.get(path).await.status, 200, "{path}");
            assert_eq!(admin.get(path).await.status, 200, "{path}");
        }
    }
    for path in
        ["/console/suggestions", "/console/policies", "/console/keys", "/console/new-policy?id=x"]
    {
        assert_eq!(approver.get(path).await.status, 403, "{path}");
        assert_eq!(operator.get(path).await.status, 403, "{path}");
        assert_eq!(admin.get(path).await.status, 200, "{path}");
    }
    assert_eq!(approver.get("/console").await.header("location"), Some("/console/confirmations"));
    assert_eq!(approver.get("/console/confirmations").await.status, 200);
    assert_eq!(operator.get("/console/confirmations").await.status, 403);
    let csrf = field(&operator.get("/console").await.body, "csrf");
    let turn = [("csrf", csrf.as_str()), ("enabled", "false")];
    let turned = operator.post("/console/tools/helper/shop__echo/switch", &turn).await;
    assert_eq!(turned.status, 403, "only administrators turn tools off");
}

#[tokio::test]
async fn a_form_calls_a_tool_once_however_often_it_is_sent() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    let place = "/console/tools/helper/shop__book";
    let page = visit.get(place).await.body;
    let key = field(&page, "key");
    let shown = visit.call("book", &[("key", &key), ("a.0", "tea"), ("do", "dry")]).await;
    assert!(shown.body.contains("nothing was done"), "{}", shown.body);
    assert_eq!(world.runs(), 0);
    for _ in 0..2 {
        let call = [("key", &*key), ("a.0", "tea"), ("a.1", "2"), ("do", "call")];
        let shown = visit.call("book", &call).await;
        assert_eq!(shown.status, 200);
        assert!(shown.body.contains("&quot;said&quot;: &quot;tea&quot;"), "{}", shown.body);
    }
    assert_eq!(world.runs(), 1, "a second click does nothing");
    let wrong = [("key", "k2"), ("a.0", "tea"), ("a.1", "many"), ("do", "call")];
    let shown = visit.call("book", &wrong).await.body;
    assert!(shown.contains("invalid arguments") && shown.contains("value=\"many\""), "{shown}");
    let raw = [("key", "k3"), ("raw", "{\"text\": \"milk\"}"), ("do", "call")];
    let shown = visit.call("book", &raw).await.body;
    assert!(shown.contains("&quot;said&quot;: &quot;milk&quot;"), "{shown}");
}

#[tokio::test]
async fn what_is_wrong_with_a_form_is_said_at_its_field() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    // What was filled in, and the field that it is wrong with.
    for (name, value, wrong) in [
        ("a.1", "99", "a.1"),
        ("a.1", "many", "a.1"),
        ("a.0", "", "a.0"),
        ("raw", "{\"text\": 7, \"count\": 99}", "raw"),
    ] {
        let mut fields = vec![("do", "dry"), (name, value)];
        if name == "a.1" {
            fields.push(("a.0", "tea"));
        }
        let page = visit.call("echo", &fields).await.body;
        assert_eq!(page.matches("aria-invalid=\"true\"").count(), 1, "{name}={value}: {page}");
        let at = page.split("aria-invalid").next().unwrap().rsplit(" id=\"").next().unwrap();
        assert!(at.starts_with(&format!("{wrong}\"")), "{name}={value}: {at}");
        assert!(page.contains("<section class=\"outcome\""), "{page}");
    }
    let both = [("do", "call"), ("a.0", "tea"), ("raw", "{\"text\": \"milk\"}")];
    let page = visit.call("echo", &both).await.body;
    assert!(page.contains("say different things"), "{page}");
    assert_eq!(world.runs(), 0);
}

#[tokio::test]
async fn hostile_texts_stay_text_on_every_page() {
    let world = World::new().await;
    let session =
        world.api(&world.agent, "/v1/agents/helper/sessions", json!({"mode": "text"})).await;
    let id = session["id"].as_str().unwrap();
    let hostile = format!("{HOSTILE} p\u{430}ypal \u{202e}evil");
    world.called("echo", json!({"text": hostile}), "k1").await;
    let body = json!({"tool": "echo", "session": id, "arguments": {"text": hostile}});
    world.api(&world.agent, "/v1/agents/helper/calls", body).await;
    world.called("pay", json!({"text": hostile}), "k2").await;
    world.called("lose", json!({"text": hostile}), "k3").await;
    world.called(&format!("no{HOSTILE}"), json!({}), "k4").await;
    let visit = world.signed_in(&world.admin).await;
    let effects = visit.get("/console/effects").await.body;
    let effect = effects.split("/console/effects/").nth(1).unwrap().split('"').next().unwrap();
    let events = visit.get("/console/events").await.body;
    let call = events.split("/console/calls/").nth(1).unwrap().split('"').next().unwrap();
    let session = format!("/console/sessions/{id}");
    let effect = format!("/console/effects/{effect}");
    let call = format!("/console/calls/{call}");
    for path in [
        "/console",
        "/console/tools",
        "/console/tools/helper/echo",
        "/console/sessions",
        &session,
        "/console/confirmations",
        "/console/effects",
        &effect,
        "/console/events",
        &call,
        "/console/audit",
    ] {
        let page = visit.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains("<img") && !page.body.contains("<script>"), "{path}");
        assert!(!page.body.contains("href=\"javascript:"), "{path}");
        assert!(!page.body.contains('\u{202e}'), "{path}");
    }
    let asked = visit.get("/console/confirmations").await.body;
    assert!(
        asked.contains("U+202E") && asked.contains("U+0430") && asked.contains("Look twice"),
        "{asked}"
    );
    let text = "a\u{202e}b\nTool: shop__echo\u{200b}";
    world.called("pay", json!({"text": text}), "k5").await;
    let asked = visit.get("/console/confirmations").await.body;
    assert!(asked.contains("Cannot be seen in it: U+202E, U+000A, U+200B"), "{asked}");
}

#[tokio::test]
async fn what_a_page_is_asked_for_and_has_not_is_said() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    assert_eq!(visit.get("/console/events?after=zzz").await.status, 400);
    for list in ["sessions", "effects", "confirmations"] {
        let page = visit.get(&format!("/console/{list}?after=zzz")).await;
        assert!(page.status == 400 && page.body.contains("follow the links"), "{page:?}");
    }
    assert_eq!(visit.get("/console/effects?state=none").await.status, 400);
    assert_eq!(visit.get("/console/effects?state=").await.status, 200);
    let page = visit.get("/console/tools?q=zzzz").await.body;
    assert!(page.contains("None that fits.") && !page.contains("Nothing is missing"), "{page}");
}

#[tokio::test]
async fn what_is_unknown_is_settled_and_what_was_done_is_undone() {
    let world = World::new().await;
    world.called("lose", json!({"text": "a letter"}), "k1").await;
    world.called("book", json!({"text": "a table"}), "k2").await;
    let visit = world.signed_in(&world.operator).await;
    let csrf = field(&visit.get("/console").await.body, "csrf");
    let found = async |state: &str| {
        let page = visit.get(&format!("/console/effects?state={state}")).await.body;
        let call = page.split("/console/effects/").nth(1).and_then(|rest| rest.split('"').next());
        call.map(|call| format!("/console/effects/{call}"))
    };
    let lost = found("unknown").await.unwrap();
    let settle = [("csrf", csrf.as_str()), ("do", "not_happened"), ("note", "the post says so")];
    let settled = visit.post(&lost, &settle).await.body;
    assert!(
        settled.contains("Settled: not happened") && settled.contains("the post says so"),
        "{settled}"
    );
    assert_eq!(found("unknown").await, None);
    let booked = found("succeeded").await.unwrap();
    let undo = [("csrf", csrf.as_str()), ("do", "undo")];
    let undone = visit.post(&booked, &undo).await.body;
    assert!(undone.contains(">Undone.<") && undone.contains("compensated"), "{undone}");
    let again = visit.post(&booked, &undo).await.body;
    assert!(again.contains("Undone already: it was undone before."), "{again}");
    let audit = visit.post("/console/audit", &[("csrf", &csrf)]).await.body;
    assert!(audit.contains("Intact"), "{audit}");
}

#[tokio::test]
async fn what_it_answered_is_said_where_undoing_needs_that() {
    let world = World::new().await;
    let hired = world.called("hire", json!({"text": "a boat"}), "k").await;
    let call = hired["meta"]["recordId"].as_str().unwrap();
    let visit = world.signed_in(&world.operator).await;
    let csrf = field(&visit.get("/console").await.body, "csrf");
    let place = format!("/console/effects/{call}");
    let says = async |what: &str, answer: &str| {
        let note = ("note", "asked them");
        visit.post(&place, &[("csrf", &csrf), ("do", what), note, ("answer", answer)]).await
    };
    assert!(visit.get(&place).await.body.contains("Without it this cannot be undone by a tool."));
    assert_eq!(says("not_happened", "{}").await.status, 400);
    let settled = says("happened", " ").await.body;
    assert!(settled.contains("Settled: happened."), "{settled}");
    assert!(settled.contains("which is not on record") && !settled.contains("value=\"undo\""));
    let refused = says("answered", "{said: 1}").await;
    assert!(refused.status == 400 && refused.body.contains("the answer:"), "{}", refused.body);
    let said = says("answered", r#"{"said": "a boat"}"#).await.body;
    assert!(said.contains("What it answered is on record."), "{said}");
    let undone = visit.post(&place, &[("csrf", &csrf), ("do", "undo")]).await.body;
    assert!(undone.contains("Undone") && undone.contains("compensated"), "{undone}");
}

#[tokio::test]
async fn a_session_shows_what_happened_in_it() {
    let world = World::new().await;
    let session =
        world.api(&world.agent, "/v1/agents/helper/sessions", json!({"mode": "voice"})).await;
    let id = session["id"].as_str().unwrap();
    let call = json!({"tool": "book", "session": id, "arguments": {"text": "a table"}});
    world.api(&world.agent, "/v1/agents/helper/calls", call).await;
    let call = json!({"tool": "pay", "session": id, "arguments": {"text": "tea"}});
    let asked = world.api(&world.agent, "/v1/agents/helper/calls", call).await;
    let question = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
    let visit = world.signed_in(&world.admin).await;
    assert!(visit.get("/console/sessions").await.body.contains(id));
    let page = visit.get(&format!("/console/sessions/{id}")).await.body;
    assert!(page.contains("Called") && page.contains("Side effect of"), "{page}");
    assert!(page.contains(&format!("/console/confirmations/{question}\"")), "{page}");
    assert_eq!(visit.get("/console/sessions/ses_none").await.status, 404);
}

#[tokio::test]
async fn what_waits_and_what_a_session_asked_are_found_however_much_came_after() {
    let world = World::new().await;
    let session = world.api(&world.agent, "/v1/agents/helper/sessions", json!({})).await;
    let session = session["id"].as_str().unwrap().to_owned();
    let call = json!({"tool": "pay", "arguments": {"text": "the oldest"}, "session": session});
    world.api(&world.agent, "/v1/agents/helper/calls", call).await;
    let store = world.door.runtime.store();
    let oldest = store
        .confirmations(haft_core::port::ConfirmationFilter {
            tenant: "ours".into(),
            limit: 1,
            ..Default::default()
        })
        .await
        .unwrap()
        .remove(0);
    for n in 0..501 {
        let mut newer = oldest.clone();
        newer.id = format!("newer-{n}");
        newer.preview = format!("newer {n}?");
        newer.session = None;
        newer.binding = Digest::of_json(&json!(n));
        newer.asked_at_ms += 1;
        store.ask(newer.into()).await.unwrap();
        let by = Principal::user("ben");
        store.decide("ours", &format!("newer-{n}"), false, &by).await.unwrap();
    }
    let admin = world.signed_in(&world.admin).await;
    let page = admin.get("/console/confirmations").await.body;
    assert!(page.contains("the oldest"), "what waits is on the first page: {page}");
    assert!(page.contains("newer 500?") && !page.contains("newer 400?"));
    let (_, older) = page.split_once("/console/confirmations?after=").unwrap();
    let older = format!("/console/confirmations?after={}", older.split_once('"').unwrap().0);
    assert!(admin.get(&older).await.body.contains("newer 400?"));
    let page = admin.get(&format!("/console/sessions/{session}")).await.body;
    assert!(page.contains("Asked a person"), "{page}");
}

#[tokio::test]
async fn lists_lead_on_to_what_is_older() {
    let world = World::new().await;
    for n in 0..51 {
        world.called("echo", json!({"text": format!("n{n}")}), &format!("k{n}")).await;
    }
    for _ in 0..101 {
        world.api(&world.agent, "/v1/agents/helper/sessions", json!({})).await;
    }
    let operator = world.signed_in(&world.operator).await;
    for (place, rows) in [("/console/events", 1), ("/console/sessions", 1)] {
        let page = operator.get(place).await.body;
        let (_, after) = page.split_once(&format!("{place}?after=")).unwrap();
        let after = after.split_once('"').unwrap().0;
        let older = operator.get(&format!("{place}?after={after}")).await.body;
        let (_, table) = older.rsplit_once("<tbody").unwrap();
        assert_eq!(table.matches("<tr").count(), rows, "{place}");
        assert!(!older.contains(">Older<"), "{place}");
    }
}

#[tokio::test]
async fn a_question_says_that_its_approval_would_count_for_nothing() {
    use haft_runtime::policy::{Policy, Rules, Source};
    let world = World::new().await;
    world.called("pay", json!({"text": "tea"}), "k1").await;
    let visit = world.signed_in(&world.approver).await;
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains("Approve shop__pay") && !page.contains("cannot be approved"), "{page}");
    let runtime = &world.door.runtime;
    let rules = Rules { allow: vec!["shop__pay".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&runtime.current()]).unwrap();
    runtime.govern(std::sync::Arc::new(policy), rules);
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains("It cannot be approved: the rules have changed"), "{page}");
    assert!(page.contains("Deny shop__pay") && !page.contains("Approve shop__pay"), "{page}");
    assert!(page.contains("Nothing waits for a person") && page.contains("no longer be approved"));
    assert!(!page.contains("<span class=\"unseen\"> waiting"), "nor is it counted: {page}");
    // What is asked under the new rules waits, and is counted, behind however much that is void.
    let store = runtime.store();
    let (tenant, limit) = ("ours".to_owned(), 1);
    let asked = haft_core::port::ConfirmationFilter { tenant, limit, ..Default::default() };
    let old = store.confirmations(asked.clone()).await.unwrap().remove(0);
    world.called("pay", json!({"text": "milk"}), "k2").await;
    for n in 0..30 {
        let mut void = old.clone();
        (void.id, void.binding) = (format!("void-{n}"), Digest::of_json(&json!(n)));
        void.asked_at_ms += 60_000;
        store.ask(void.into()).await.unwrap();
    }
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains(">1<span class=\"unseen\"> waiting"), "{page}");
    let (waits, void) = page.split_once("Can no longer be approved").unwrap();
    assert!(waits.contains("Pay for milk?") && !waits.contains("Pay for tea?"), "{waits}");
    assert!(void.contains("Pay for tea?") && !void.contains("Approve shop__pay"), "{void}");
}

#[tokio::test]
async fn whoever_asked_sees_that_another_has_to_answer() {
    let world = World::new().await;
    let body = json!({"tool": "pay", "arguments": {"text": "tea"}, "idempotency_key": "k1"});
    world.api(&world.admin, "/v1/agents/helper/calls", body).await;
    let own = world.signed_in(&world.admin).await.get("/console/confirmations").await.body;
    assert!(own.contains("somebody else has to answer") && !own.contains("name=\"word\""), "{own}");
    let other = world.signed_in(&world.approver).await.get("/console/confirmations").await.body;
    assert!(other.contains("Pay for tea?") && other.contains("name=\"word\""), "{other}");
}

#[tokio::test]
async fn nothing_of_one_tenant_is_there_for_another() {
    let world = World::new().await;
    let session =
        world.api(&world.agent, "/v1/agents/helper/sessions", json!({"mode": "text"})).await;
    let session = session["id"].as_str().unwrap();
    world.called("lose", json!({"text": "a letter"}), "k1").await;
    let asked = world.called("pay", json!({"text": "tea"}), "k2").await;
    let question = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
    let own = world.signed_in(&world.admin).await;
    let effects = own.get("/console/effects").await.body;
    let call = effects.split("/console/effects/").nth(1).unwrap().split('"').next().unwrap();
    let spy = world.signed_in(&world.stranger).await;
    let csrf = field(&spy.get("/console").await.body, "csrf");
    for path in [
        format!("/console/sessions/{session}"),
        format!("/console/effects/{call}"),
        format!("/console/calls/{call}"),
        "/console/tools/helper/shop__echo".to_owned(),
        "/console/tools?agent=helper".to_owned(),
    ] {
        assert_eq!(own.get(&path).await.status, 200, "{path}");
        assert_eq!(spy.get(&path).await.status, 404, "{path}");
    }
    for (path, what) in [
        (format!("/console/effects/{call}"), ("do", "happened")),
        (format!("/console/effects/{call}"), ("do", "undo")),
        ("/console/tools/helper/shop__echo".to_owned(), ("do", "call")),
        ("/console/tools/helper/shop__echo/switch".to_owned(), ("enabled", "false")),
    ] {
        let reply = spy.post(&path, &[("csrf", &csrf), what]).await;
        assert_eq!(reply.status, 404, "{path} {what:?}: {reply:?}");
    }
    let answer = [("csrf", csrf.as_str()), ("answer", "approve"), ("word", "x")];
    let reply = spy.post(&format!("/console/confirmations/{question}"), &answer).await;
    assert_eq!(reply.status, 403, "{reply:?}");
    for path in ["", "/confirmations", "/effects", "/sessions", "/events", "/audit"] {
        let page = spy.get(&format!("/console{path}")).await.body;
        let known = [session, call, question, "user:ada", "shop__lose"];
        assert!(!known.iter().any(|one| page.contains(one)), "{path}: {page}");
    }
}

#[tokio::test]
async fn what_was_sought_goes_along_to_a_tool_and_back() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let page = visit.get("/console/tools?mode=voice&q=speak").await.body;
    let place = "/console/tools/helper/shop__speak?mode=voice&amp;q=speak";
    assert!(page.contains(place), "{page}");
    let tool = visit.get(&place.replace("&amp;", "&")).await.body;
    assert!(tool.contains("class=\"call\""), "it can be called: {tool}");
    assert!(tool.contains("/console/tools?agent=helper&amp;mode=voice&amp;q=speak"), "{tool}");
    let text = visit.get("/console/tools/helper/shop__speak").await.body;
    assert!(
        !text.contains("class=\"call\"") && text.contains("Look at it in voice mode"),
        "{text}"
    );
    let off = [("enabled", "false"), ("mode", "voice"), ("q", "speak")];
    let place = "/console/tools/helper/shop__speak/switch";
    let reply = visit.click("/console/tools?mode=voice&q=speak", place, &off).await;
    let back = "/console/tools?agent=helper&mode=voice&q=speak&switched=shop__speak";
    let row = format!("{back}#tool-shop__speak");
    assert_eq!(reply.header("location"), Some(row.as_str()), "{reply:?}");
    let page = visit.get(back).await.body;
    assert!(page.contains("name=\"mode\" value=\"voice\""), "the switch keeps it: {page}");
}

#[tokio::test]
async fn a_dry_run_says_whether_it_would_run_and_names_no_record() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    for (tool, said) in [("echo", ">would run<"), ("pay", ">would not run<")] {
        let page = visit.call(tool, &[("a.0", "tea"), ("do", "dry")]).await.body;
        assert!(page.contains(said) && !page.contains(">ok<"), "{page}");
        assert!(!page.contains("/console/calls/"), "{page}");
    }
}

#[tokio::test]
async fn a_timeline_says_what_has_expired_and_what_it_leaves_out() {
    let world = World::new().await;
    let session = world.api(&world.agent, "/v1/agents/helper/sessions", json!({})).await;
    let session = session["id"].as_str().unwrap().to_owned();
    for tool in ["pay", "echo"] {
        let call = json!({"tool": tool, "arguments": {"text": "tea"}, "session": session});
        world.api(&world.agent, "/v1/agents/helper/calls", call).await;
    }
    let (store, own) = (world.door.runtime.store(), Some(session.clone()));
    let (tenant, limit) = ("ours".to_owned(), 1);
    let asked = haft_core::port::ConfirmationFilter { tenant, limit, ..Default::default() };
    let mut asked = store.confirmations(asked).await.unwrap().remove(0);
    asked.expires_at_ms = 1;
    (asked.id, asked.binding) = ("cnf-old".into(), Digest::of_json(&json!("old")));
    store.ask(asked.into()).await.unwrap();
    let visit = world.signed_in(&world.admin).await;
    let place = format!("/console/sessions/{session}");
    let page = visit.get(&place).await.body;
    assert!(page.contains(">expired<") && page.contains(">pending<"), "{page}");
    assert!(
        page.contains("</time> <span class=\"note\">UTC</span>") && !page.contains("not shown"),
        "{page}"
    );
    let (tenant, tool) = ("ours".to_owned(), Some("shop__echo".to_owned()));
    let filter =
        haft_core::port::CallFilter { tenant, session: own, tool, limit: 1, ..Default::default() };
    let one = store.calls(filter).await.unwrap().remove(0);
    for n in 0..500 {
        let mut other = one.clone();
        other.call = format!("call-{n}").into();
        store.record(Box::new(other));
    }
    store.flush().await.unwrap();
    let page = visit.get(&place).await.body;
    assert!(page.contains("What happened then is not shown"), "{page}");
}

#[tokio::test]
async fn the_overview_leads_to_what_it_counts_and_a_stuck_effect_says_why() {
    let world = World::new().await;
    world.called("book", json!({"text": "for good"}), "k1").await;
    let visit = world.signed_in(&world.admin).await;
    let csrf = visit.csrf().await;
    let page = visit.get("/console/effects").await.body;
    let call = page.split("/console/effects/").nth(1).unwrap().split('"').next().unwrap();
    let place = format!("/console/effects/{call}");
    visit.post(&place, &[("csrf", &csrf), ("do", "undo")]).await;
    let page = visit.get(&place).await.body;
    assert!(page.contains("the host does not take it back"), "{page}");
    let page = visit.get("/console").await.body;
    assert!(page.contains("/console/effects?state=stuck\">1</a>"), "{page}");
    assert!(page.contains("/console/effects?state=unknown\">0</a>"), "{page}");
}

#[tokio::test]
async fn questions_about_the_same_tool_have_regions_of_their_own() {
    let world = World::new().await;
    for n in 0..2 {
        world.called("pay", json!({"text": format!("tea {n}")}), &format!("k{n}")).await;
    }
    let page = world.signed_in(&world.approver).await.get("/console/confirmations").await.body;
    let regions: Vec<_> = page
        .split("role=\"region\" aria-label=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(regions.len() == 2 && regions[0] != regions[1], "{regions:?}");
}

#[tokio::test]
async fn a_long_question_has_a_page_of_its_own_and_is_approved_nowhere_else() {
    let world = World::new().await;
    let long = format!("tea{}", "\u{200b}".repeat(100_000));
    let asked = world.called("pay", json!({"text": long}), "k1").await;
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
    world.called("pay", json!({"text": "cake"}), "k2").await;
    let visit = world.signed_in(&world.approver).await;
    let list = visit.get("/console/confirmations").await.body;
    assert!(list.len() < 20_000, "{}", list.len());
    assert_eq!(list.matches("Approve shop__pay").count(), 1, "the short one's: {list}");
    let place = format!("/console/confirmations/{id}");
    assert!(list.contains(&place) && list.contains("Read all of it, and answer"), "{list}");
    let page = visit.get(&place).await.body;
    assert!(page.contains("U+200B × 100000") && page.contains("Approve shop__pay"), "{page}");
    assert_eq!(world.signed_in(&world.operator).await.get(&place).await.status, 403);
    assert_eq!(world.signed_in(&world.stranger).await.get(&place).await.status, 404);
    let answered = [("csrf", field(&page, "csrf")), ("word", field(&page, "word"))];
    let mut form: Vec<_> = answered.iter().map(|(name, value)| (*name, value.as_str())).collect();
    form.push(("answer", "deny"));
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let done = visit.post(&place, &form).await;
    assert_eq!(done.header("location"), Some("/console/confirmations?done=denied"), "{done:?}");
    let page = visit.get(&place).await.body;
    assert!(page.contains(">denied<") && !page.contains("name=\"word\""), "{page}");
    let list = visit.get("/console/confirmations").await.body;
    assert!(list.len() < 20_000 && list.contains(&place), "answered ones are cut, too: {list}");
}

#[tokio::test]
async fn many_questions_are_pages_and_none_is_left_out() {
    let world = World::new().await;
    world.called("pay", json!({"text": "the oldest"}), "k1").await;
    let store = world.door.runtime.store();
    let (tenant, limit) = ("ours".to_owned(), 1);
    let asked = haft_core::port::ConfirmationFilter { tenant, limit, ..Default::default() };
    let oldest = store.confirmations(asked).await.unwrap().remove(0);
    for n in 0..60 {
        let mut newer = oldest.clone();
        newer.id = format!("newer-{n:02}");
        newer.preview = format!("newer {n}?");
        newer.arguments = json!({"text": "x".repeat(15_000)});
        newer.binding = Digest::of_json(&json!(n));
        newer.asked_at_ms += 1;
        store.ask(newer.into()).await.unwrap();
    }
    let visit = world.signed_in(&world.approver).await;
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains(">20+<") && page.len() < 500_000, "{}", page.len());
    assert_eq!(page.matches("Approve shop__pay").count(), 17, "as many as there is room for");
    assert_eq!(page.matches("Read all of it").count(), 33);
    assert!(!page.contains("the oldest"), "{page}");
    let (_, more) = page.split_once("/console/confirmations?waits=").unwrap();
    let more = format!("/console/confirmations?waits={}", more.split_once('"').unwrap().0);
    let page = visit.get(&more).await.body;
    assert!(
        page.contains("the oldest") && !page.contains("More that nobody has answered"),
        "{page}"
    );
}

#[tokio::test]
async fn questions_that_are_void_hide_none_that_waits() {
    let world = World::new().await;
    world.called("pay", json!({"text": "the oldest"}), "k1").await;
    let store = world.door.runtime.store();
    let (tenant, limit) = ("ours".to_owned(), 1);
    let asked = haft_core::port::ConfirmationFilter { tenant, limit, ..Default::default() };
    let oldest = store.confirmations(asked).await.unwrap().remove(0);
    for n in 0..130 {
        let mut void = oldest.clone();
        (void.id, void.preview) = (format!("void-{n}"), format!("void {n}?"));
        void.binding = Digest::of_json(&json!(n));
        void.asked_at_ms += 1;
        void.expires_at_ms = void.asked_at_ms;
        store.ask(void.into()).await.unwrap();
    }
    let visit = world.signed_in(&world.approver).await;
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains("Approve shop__pay") && !page.contains("Nothing waits"), "{page}");
    assert!(page.contains(">1<span class=\"unseen\"> waiting"), "{page}");
    assert!(
        !page.contains("More that nobody has answered") && page.contains(">expired<"),
        "{page}"
    );
}

#[tokio::test]
async fn from_a_call_one_comes_to_its_effect_and_to_whoever_can_answer() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    let call = [("a.0", "tea"), ("do", "call")];
    let lost = visit.call("lose", &call).await.body;
    let (_, effect) = lost.split_once("/console/effects/").unwrap();
    let effect = format!("/console/effects/{}", effect.split_once('"').unwrap().0);
    assert!(lost.contains("/errors/unknown_outcome"), "{lost}");
    let call_page = effect.replace("effects", "calls");
    let of_call = visit.get(&call_page).await.body;
    assert!(of_call.contains(&effect) && of_call.contains(">unknown<"), "{of_call}");
    let page = visit.get(&effect).await.body;
    assert!(page.contains("to settle is to say") && page.contains("nothing undoes it"), "{page}");
    let echo = visit.call("echo", &call).await.body;
    assert!(!echo.contains("/console/effects/"), "what only reads has none: {echo}");
    let asked = visit.call("pay", &call).await.body;
    assert!(asked.contains("whose key has the role") && !asked.contains("/console/confirmations"));
    assert!(!asked.contains("tell the user"), "that is for models: {asked}");
    let admin = world.signed_in(&world.admin).await;
    let asked = admin.call("pay", &[("a.0", "milk"), ("do", "call")]).await.body;
    assert!(asked.contains("for somebody else than you"), "{asked}");
    assert!(!asked.contains("tell the user"), "that is for models: {asked}");
    let (_, question) = asked.split_once("href=\"/console/confirmations/").unwrap();
    let question = format!("/console/confirmations/{}", question.split_once('"').unwrap().0);
    let page = admin.get(&question).await;
    assert!(page.status == 200 && page.body.contains("Pay for milk?"), "{page:?}");
    let approver = world.signed_in(&world.approver).await;
    approver.click(&question, &question, &[("answer", "approve")]).await;
    let done = admin.call("pay", &[("a.0", "milk"), ("do", "call")]).await.body;
    assert!(done.contains(">ok<"), "{done}");
}

#[tokio::test]
async fn what_a_page_does_not_take_is_said_on_a_page() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    let csrf = visit.csrf().await;
    let posted = visit.post("/console/events", &[("csrf", &csrf)]).await;
    let asset = visit.post("/console/assets/console.css", &[("csrf", &csrf)]).await;
    for reply in [posted, visit.get("/console/sign-out").await, asset] {
        assert_eq!(reply.status, 405, "{reply:?}");
        assert!(reply.header("content-type").unwrap().starts_with("text/html"), "{reply:?}");
        assert!(reply.body.contains("use its links and buttons"), "{reply:?}");
        assert!(reply.header("content-security-policy").is_some(), "{reply:?}");
    }
}

#[tokio::test]
async fn every_page_says_that_no_work_is_taken_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: Some(600_000), ..Options::default() };
    let store = std::sync::Arc::new(Sqlite::open(dir.path().join("haft.db"), options).unwrap());
    let world = World::on(store.clone()).await;
    let visit = world.signed_in(&world.admin).await;
    assert!(!visit.get("/console/tools").await.body.contains("Not ready"));
    let mut tries = 0;
    // Down to the last page: what is left of one takes a small entry still.
    for size in [50_000, 2_000, 100] {
        while store.note("acme", "note", json!("x".repeat(size))).await.is_ok() {
            tries += 1;
            assert!(tries < 1_000, "there is always room");
        }
    }
    tries = 0;
    while !visit.get("/console/audit").await.body.contains("Not ready") {
        tries += 1;
        assert!(tries < 300, "no page says so");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for path in ["/console", "/console/tools", "/console/confirmations", "/console/keys"] {
        let page = visit.get(path).await.body;
        assert!(page.contains("the store has no room left"), "{path}: {page}");
    }
    let ready = visit.get("/readyz").await;
    assert!(ready.status == 503 && ready.body.contains("has no room left"), "{ready:?}");
    let place = "/console/tools/helper/shop__echo/switch";
    let refused = visit.click("/console/tools", place, &[("enabled", "false")]).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("the store cannot be written now"), "{refused:?}");
}
