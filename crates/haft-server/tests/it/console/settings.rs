//! Keys, policies and suggestions: what administrators do on pages, and nobody else.

use serde_json::json;

use super::cdp;
use super::world::{HOSTILE, Visit, World, field, later};
use crate::connections::consent::Provider;
use crate::own::service::Service;

/// What a form that is good once carries, on a page that was there for a while.
async fn word(visit: &Visit<'_>, path: &str) -> String {
    let page = match path {
        tool if tool.starts_with("/console/tools/") => "/console/tools?agent=helper",
        page => page,
    };
    let page = visit.get(page).await.body;
    later(2).await;
    let word = page.contains("name=\"word\"").then(|| field(&page, "word"));
    word.unwrap_or_default()
}

/// What the forms of a page are made for, where it says that.
async fn made_for(visit: &Visit<'_>, path: &str) -> String {
    let page = visit.get(path).await.body;
    let made_for = page.contains("name=\"made-for\"").then(|| field(&page, "made-for"));
    made_for.unwrap_or_default()
}

/// Fills a form in with what its page carries.
pub(super) async fn sent(visit: &Visit<'_>, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let (csrf, word) = (visit.csrf().await, word(visit, path).await);
    let made_for = made_for(visit, path).await;
    let mut all = vec![("csrf", csrf.as_str()), ("word", &word), ("made-for", &made_for)];
    all.extend(fields);
    let reply = visit.post(path, &all).await;
    (reply.status, reply.body)
}

#[tokio::test]
async fn a_key_is_made_shown_once_and_revoked() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let (status, page) = sent(
        &visit,
        "/console/keys",
        &[
            ("name", HOSTILE),
            ("principal", "agent:helper"),
            ("role.agent", "yes"),
            ("user", r#"{"plan": "<img>"}"#),
            ("expires", "2999-01-31"),
        ],
    )
    .await;
    assert_eq!(status, 200);
    assert!(!page.contains("<img"), "{page}");
    let text = page.split("id=\"new-key\"").nth(1).unwrap().split(['<', '>']).nth(1).unwrap();
    let call = json!({"tool": "echo", "arguments": {"text": "x"}});
    assert!(!page.contains("There is no agent"), "{page}");
    let done = world.api(text, "/v1/agents/helper/calls", call.clone()).await;
    assert_eq!(done["ok"], true, "{done}");
    let listed = visit.get("/console/keys").await.body;
    assert!(!listed.contains(text) && listed.contains("2999-01-31"), "{listed}");
    assert!(listed.contains("{&quot;plan&quot;:&quot;&lt;img&gt;&quot;}"), "{listed}");
    let place = listed.split("action=\"/console/keys/").nth(1).unwrap().split('"').next().unwrap();
    let place = format!("/console/keys/{place}");
    assert_eq!(sent(&visit, &place, &[]).await.0, 303);
    let refused = world.api(text, "/v1/agents/helper/calls", call).await;
    assert_eq!(refused["code"], "unauthenticated", "{refused}");
    assert!(visit.get("/console/keys").await.body.contains("revoked"));
}

#[tokio::test]
async fn a_page_with_a_key_that_is_loaded_again_makes_no_second_one() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let (csrf, word) = (visit.csrf().await, word(&visit, "/console/keys").await);
    let form = [("csrf", csrf.as_str()), ("word", &word), ("principal", "agent:helper")];
    let form = [&form[..], &[("role.agent", "yes"), ("name", "the-one-key")]].concat();
    let made = visit.post("/console/keys", &form).await.body;
    assert!(made.contains("new-key"), "{made}");
    let again = visit.post("/console/keys", &form).await.body;
    assert!(!again.contains("new-key") && again.contains("was sent already"), "{again}");
    assert_eq!(again.matches(">the-one-key<").count(), 1, "{again}");
    let (_, id) = made.split_once("The key of <code class=\"id\">").unwrap();
    let named = format!("The key <code class=\"id\">{}<", id.split_once('<').unwrap().0);
    assert!(again.contains(&named), "{named}: {again}");
}

#[tokio::test]
async fn keys_that_make_no_sense_are_not_made() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    for (fields, word) in [
        (&[("principal", "helper"), ("role.agent", "yes")][..], "is not a principal"),
        (&[("principal", "agent:helper"), ("role.approver", "yes")], "no other role"),
        (&[("principal", "service:bot"), ("role.approver", "yes")], "only people approve"),
        (&[("principal", "user:ann")], "no role"),
        (&[("principal", "user:ann"), ("role.agent", "yes"), ("expires", "soon")], "is no date"),
        (&[("principal", "user:ann"), ("role.agent", "yes"), ("expires", "2001-01-01")], "is over"),
        (&[("role.agent", "yes")], "a key has a holder"),
        (&[("principal", "user:ann"), ("role.agent", "yes"), ("user", "pro")], "no JSON: line 1"),
        (&[("principal", "user:ann"), ("role.agent", "yes"), ("user", "[1]")], "no JSON object"),
    ] {
        let (status, page) = sent(&visit, "/console/keys", fields).await;
        assert!(status == 200 && page.contains(word), "{word}: {page}");
        assert!(!page.contains("new-key") && !page.contains("/v1/"), "{word}: {page}");
        for (name, value) in fields {
            let kept = match name.starts_with("role.") {
                true => format!("name=\"{name}\" value=\"yes\" checked"),
                false => format!("value=\"{value}\""),
            };
            assert!(page.contains(&kept), "{name} is still written: {page}");
        }
    }
    let unreadable = [("principal", "user:ann"), ("role.agent", "yes"), ("user", r#"{"a": null}"#)];
    let (_, page) = sent(&visit, "/console/keys", &unreadable).await;
    assert!(!page.contains("new-key") && page.contains("what rules cannot read"), "{page}");
    let unknown = [("principal", "agent:hepler"), ("role.agent", "yes")];
    let (_, page) = sent(&visit, "/console/keys", &unknown).await;
    assert!(page.contains("new-key") && page.contains("There is no agent"), "{page}");
    let operator = world.signed_in(&world.operator).await;
    let csrf = field(&operator.get("/console").await.body, "csrf");
    let wanted =
        [("csrf", csrf.as_str()), ("principal", "user:eve"), ("role.administrator", "yes")];
    assert_eq!(operator.post("/console/keys", &wanted).await.status, 403);
    assert_eq!(operator.post("/console/keys/admin/revoke", &wanted).await.status, 403);
    // Not without the form's own token either.
    let bare = [("principal", "user:eve"), ("role.administrator", "yes")];
    assert_eq!(visit.post("/console/keys", &bare).await.status, 403);
    assert_eq!(sent(&visit, "/console/keys/operator/revoke", &[]).await.0, 409, "declared");
}

#[tokio::test]
async fn a_policy_is_checked_saved_versioned_and_removed() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let place = "/console/policies/house";
    assert_eq!(visit.get(place).await.status, 404);
    let broken = "permit (principal, action, resource) when { resource.nonsense };";
    let fields = [("version", "0"), ("do", "save"), ("cedar", broken), ("description", HOSTILE)];
    let (status, page) = sent(&visit, place, &fields).await;
    assert_eq!(status, 200);
    assert!(page.contains("role=\"alert\"") && page.contains("resource.nonsense"), "{page}");
    assert!(!page.contains("<img"), "{page}");
    assert_eq!(visit.get(place).await.status, 404, "nothing was saved");
    let fields = [("version", "0"), ("do", "save"), ("deny", "shop__echo\n\n shop__lose ")];
    let (_, page) = sent(&visit, place, &fields).await;
    assert!(page.contains("Saved as version 1"), "{page}");
    let audit = visit.get("/console/audit").await.body;
    assert!(audit.contains("policy <code class=\"id\">house</code> version 1"), "{audit}");
    let refused = world.called("echo", json!({"text": "x"}), "k1").await;
    assert_eq!(refused["ok"], false, "in force at once: {refused}");
    assert_eq!(sent(&visit, place, &[("version", "1"), ("do", "remove")]).await.0, 303);
    let done = world.called("echo", json!({"text": "x"}), "k2").await;
    assert_eq!(done["ok"], true, "{done}");
    let page = visit.get(place).await.body;
    assert!(page.contains("It was removed") && page.contains("Versions"), "{page}");
    assert_eq!(sent(&visit, place, &[("version", "x"), ("do", "save")]).await.0, 400);
    assert_eq!(sent(&visit, place, &[("version", "0")]).await.0, 400);
}

#[tokio::test]
async fn a_policy_of_any_name_is_opened_changed_and_removed() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let place = "/console/policies/new";
    // Browsers take away the line end that comes first in a field.
    let cedar = "\n// nothing yet\npermit (principal, action, resource);";
    let (status, page) =
        sent(&visit, place, &[("version", "0"), ("do", "save"), ("cedar", cedar)]).await;
    assert!(status == 200 && page.contains("Saved as version 1"), "{page}");
    assert!(visit.get("/console/policies").await.body.contains(place));
    let page = visit.get(place).await.body;
    assert!(page.contains("value=\"remove\"") && page.contains(">\n\n// nothing yet"), "{page}");
    assert_eq!(sent(&visit, place, &[("version", "1"), ("do", "remove")]).await.0, 303);
    for name in [".", ".."] {
        let page = visit.get(&format!("/console/new-policy?id={name}")).await;
        assert!(page.status == 400 && page.body.contains("dots alone"), "{page:?}");
    }
    assert_eq!(visit.get("/console/new-policy?id=...").await.status, 200);
}

/// What a browser would send of the form of a page that was written in.
fn again(page: &str, deny: &'static str) -> [(&'static str, String); 3] {
    [("version", field(page, "version")), ("do", "save".into()), ("deny", deny.into())]
}

#[tokio::test]
async fn a_colleagues_rule_is_not_overwritten_unseen_however_often_one_saves() {
    let world = World::new().await;
    let (visit, other) = (world.signed_in(&world.admin).await, world.signed_in(&world.admin).await);
    let place = "/console/policies/house";
    sent(&visit, place, &[("version", "0"), ("do", "save"), ("deny", "shop__lose")]).await;
    let read = visit.get(place).await.body;
    sent(&other, place, &[("version", "1"), ("do", "save"), ("deny", "shop__echo")]).await;
    let mut page = read;
    for _ in 0..3 {
        let form = again(&page, "shop__pay");
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        page = sent(&visit, place, &form).await.1;
        assert!(page.contains("Somebody else has changed this policy"), "{page}");
        assert!(page.contains("shop__pay</textarea>"), "what was written is there: {page}");
        assert!(page.contains("&quot;shop__echo&quot;"), "and so is theirs: {page}");
        assert!(!page.contains("ETag") && !page.contains("value=\"remove\""), "{page}");
        assert!(visit.get(place).await.body.contains("shop__echo</textarea>"));
    }
    // Who says which version they replace replaces that one, and no other.
    let over = [("version", "1"), ("over", "2"), ("do", "save"), ("deny", "shop__pay")];
    assert!(sent(&visit, place, &over).await.1.contains("Saved as version 3"));
    let (_, page) = sent(&visit, place, &over).await;
    assert!(page.contains("Somebody else has changed") && page.contains("value=\"3\""), "{page}");
    // It was changed, so it is not removed; it was removed, so it is brought back expressly.
    let (_, page) = sent(&visit, place, &[("version", "2"), ("do", "remove")]).await;
    assert!(page.contains("was not removed") && page.contains("shop__pay</textarea>"), "{page}");
    assert_eq!(sent(&other, place, &[("version", "3"), ("do", "remove")]).await.0, 303);
    let (_, page) = sent(&visit, place, &[("version", "3"), ("do", "save")]).await;
    assert!(page.contains("It has been removed") && page.contains("Bring it back"), "{page}");
}

#[tokio::test]
async fn what_agents_ask_for_is_listed_and_granted() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    assert!(visit.get("/console/suggestions").await.body.contains("Nobody has asked for more"));
    let off = [("enabled", "false")];
    assert_eq!(sent(&visit, "/console/tools/helper/shop__echo/switch", &off).await.0, 303);
    world.called("echo", json!({"text": "x"}), "k1").await;
    world.called("secret", json!({"text": "x"}), "k2").await;
    world.called("make_coffee", json!({}), "k3").await;
    let page = visit.get("/console/suggestions").await.body;
    assert!(page.contains("Enable shop__echo for helper"), "{page}");
    assert!(page.contains("make_coffee") && page.contains("there is no such tool here"), "{page}");
    let wish = [("agent", "helper"), ("tool", "shop__echo")];
    let granted = visit.click("/console/suggestions", "/console/suggestions", &wish).await;
    let place = granted.header("location").unwrap();
    assert_eq!(place, "/console/suggestions?agent=helper&tool=shop__echo#granted");
    let page = visit.get(place.trim_end_matches("#granted")).await.body;
    assert!(page.contains("is enabled for helper"), "{page}");
    let done = world.called("echo", json!({"text": "x"}), "k4").await;
    assert_eq!(done["ok"], true, "{done}");
    let denied = [("agent", "helper"), ("tool", "shop__secret")];
    assert_eq!(sent(&visit, "/console/suggestions", &denied).await.0, 303);
    let page = visit.get("/console/suggestions?agent=helper&tool=shop__secret").await.body;
    assert!(page.contains("still lacks something"), "{page}");
    let none = [("agent", "nobody"), ("tool", "shop__echo")];
    assert_eq!(sent(&visit, "/console/suggestions", &none).await.0, 404);
}

/// Which of the agent's tools have been turned off.
async fn off(visit: &Visit<'_>) -> Vec<String> {
    let page = visit.get("/console/tools?agent=helper").await.body;
    let enable = page.split("aria-label=\"Enable ").skip(1);
    enable.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_click_counts_on_the_page_that_it_was_aimed_at_and_once() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let list = "/console/tools?agent=helper";
    let switch = |tool: &str| format!("/console/tools/helper/shop__{tool}/switch");
    let page = visit.get(list).await.body;
    let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
    let click = [("csrf", csrf.as_str()), ("word", &word), ("enabled", "false")];
    let early = visit.post(&switch("echo"), &click).await;
    assert!(early.status == 409 && early.body.contains("less than a second"), "{early:?}");
    assert!(early.body.contains("That click changed nothing"), "{early:?}");
    later(2).await;
    let done = visit.post(&switch("echo"), &click).await;
    let place = done.header("location").unwrap().to_owned();
    assert_eq!(place, "/console/tools?agent=helper&switched=shop__echo#tool-shop__echo");
    // The rest of a double click, on the page before and on the next one.
    let page = visit.get(place.split('#').next().unwrap()).await.body;
    assert!(page.contains("Turned off for helper.") && page.contains("id=\"tool-shop__echo\""));
    let next = field(&page, "word");
    for (word, why) in [(&word, "was used already"), (&next, "less than a second"), (&csrf, "used")]
    {
        let click = [("csrf", csrf.as_str()), ("word", word), ("enabled", "false")];
        let missed = visit.post(&switch("book"), &click).await;
        assert!(missed.status == 409 && missed.body.contains(why), "{missed:?}");
        let take = visit.post("/console/tools/helper/shop__book/take", &click).await;
        assert_eq!(take.status, 409, "{take:?}");
    }
    assert_eq!(off(&visit).await, ["shop__echo"]);
    later(6 * 60).await;
    let click = [("csrf", csrf.as_str()), ("word", &next), ("enabled", "false")];
    let old = visit.post(&switch("book"), &click).await;
    assert!(old.status == 409 && old.body.contains("older than five minutes"), "{old:?}");
    assert_eq!(off(&visit).await, ["shop__echo"]);
    let page = "/console/tools/helper/shop__echo";
    assert_eq!(visit.click(page, &switch("echo"), &[("enabled", "true")]).await.status, 303);
    assert_eq!(off(&visit).await, [""; 0]);
}

#[tokio::test]
async fn a_double_click_on_a_suggestion_grants_one() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    for tool in ["echo", "book"] {
        let place = format!("/console/tools/helper/shop__{tool}/switch");
        sent(&visit, &place, &[("enabled", "false")]).await;
        world.called(tool, json!({"text": "x"}), tool).await;
    }
    let place = "/console/suggestions";
    let granted = visit.click(place, place, &[("agent", "helper"), ("tool", "shop__book")]).await;
    assert_eq!(granted.status, 303, "{granted:?}");
    let page = visit.get(place).await.body;
    let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
    let second = [("csrf", csrf.as_str()), ("word", &word), ("agent", "helper")];
    let second = [&second[..], &[("tool", "shop__echo")]].concat();
    let missed = visit.post(place, &second).await;
    assert!(missed.status == 409 && missed.body.contains("less than a second"), "{missed:?}");
    assert_eq!(off(&visit).await, ["shop__echo"]);
}

#[tokio::test]
async fn in_a_browser_a_key_is_made_and_a_policy_written() {
    let world = World::new().await;
    let Some(mut tab) = cdp::open().await else { return };
    tab.shape(1280, false).await;
    tab.go(&world.url("/console/sign-in")).await;
    tab.fill("#key", &world.admin).await;
    tab.click_through("button[type=submit]").await;
    tab.click_through("a[href='/console/keys']").await;
    tab.fill("#principal", "user:ann").await;
    tab.click("input[name='role.operator']").await;
    tab.click_through("form.settings button.strong").await;
    let text = tab.eval("document.getElementById('new-key').textContent").await;
    let key = text.as_str().unwrap().to_owned();
    assert_eq!(world.api(&key, "/v1/effects/undo", json!({"call": "x"})).await["status"], 404);
    tab.picture("key-made-1280-light").await;
    tab.click_through("a[href='/console/policies']").await;
    tab.fill("#id", "house").await;
    tab.click_through("main form button").await;
    tab.fill("#deny", "shop__echo").await;
    tab.click_through("form.settings button.strong").await;
    assert!(tab.text().await.contains("Saved as version 1"));
    let refused = world.called("echo", json!({"text": "x"}), "k1").await;
    assert_eq!(refused["ok"], false, "{refused}");
    tab.click_through("a[href='/console/suggestions']").await;
    assert!(tab.text().await.contains("shop__echo"));
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn in_a_browser_a_conflict_is_seen_before_anything_is_replaced() {
    let world = World::new().await;
    let other = world.signed_in(&world.admin).await;
    let Some(mut tab) = cdp::open().await else { return };
    tab.go(&world.url("/console/sign-in")).await;
    tab.fill("#key", &world.admin).await;
    tab.click_through("button[type=submit]").await;
    for (n, (width, dark)) in
        [(1280, false), (1280, true), (390, false), (390, true)].into_iter().enumerate()
    {
        tab.shape(width, dark).await;
        let place = format!("/console/policies/house-{n}");
        sent(&other, &place, &[("version", "0"), ("do", "save"), ("deny", "shop__lose")]).await;
        tab.go(&world.url(&place)).await;
        tab.eval("document.getElementById('deny').value = 'shop__cancel'").await;
        sent(&other, &place, &[("version", "1"), ("do", "save"), ("deny", "shop__echo")]).await;
        tab.click_through("form.settings button.strong").await;
        assert!(tab.text().await.contains("What user:ada has saved as version 2"));
        assert_eq!(tab.overflow().await, serde_json::Value::Null, "at {width}");
        let tone = if dark { "dark" } else { "light" };
        tab.picture(&format!("conflict-{width}-{tone}")).await;
        // Nobody has said that theirs is to go.
        tab.click("form.settings button.strong").await;
        assert!(other.get(&place).await.body.contains("shop__echo</textarea>"));
        tab.click("input[name=over]").await;
        tab.click_through("form.settings button.strong").await;
        let text = tab.text().await;
        assert!(text.contains("Saved as version 3"), "{text}");
        let wrong = "document.querySelector('#principal').value = 'hepler'";
        tab.go(&world.url("/console/keys")).await;
        tab.eval(wrong).await;
        tab.click_through("form.settings button.strong").await;
        tab.picture(&format!("key-wrong-{width}-{tone}")).await;
        tab.go(&world.url("/console/tools/helper/shop__pay")).await;
        tab.fill("[id='a.0']", "tea").await;
        tab.click_through("button[value=dry]").await;
        assert_eq!(tab.overflow().await, serde_json::Value::Null, "at {width}");
        tab.picture(&format!("dry-{width}-{tone}")).await;
    }
    assert_eq!(tab.complaints, Vec::<String>::new());
}

const SECRET: &str = "canary-5e1f0b7a9c3d";

#[tokio::test]
async fn a_connection_is_kept_granted_tested_and_removed_and_its_secret_is_on_no_page() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    assert!(visit.get("/console/connections").await.body.contains("None yet"));
    let service = Service::new().await;
    // What was written stays in the form, and the secret does not.
    let wrong = [("id", "a b"), ("provider", HOSTILE), ("kind", "bearer"), ("secret", SECRET)];
    let (status, page) = sent(&visit, "/console/connections", &wrong).await;
    assert!(status == 200 && page.contains("is not an id"), "{page}");
    assert!(page.contains("onerror=") && !page.contains("<img"), "{page}");
    assert!(!page.contains(SECRET), "{page}");
    let good = [
        ("id", "work"),
        ("provider", "crm"),
        ("kind", "header"),
        ("name", "X-Api-Key"),
        ("hosts", "127.0.0.1"),
        ("secret", SECRET),
    ];
    let (_, page) = sent(&visit, "/console/connections", &good).await;
    assert!(page.contains("is kept, sealed") && !page.contains(SECRET), "{page}");
    let place = "/console/connections/work";
    let grant = [("do", "grant"), ("principals", "agent:helper, user:mara"), ("tools", "shop__*")];
    let (_, page) = sent(&visit, place, &grant).await;
    assert!(page.contains("agent:helper, user:mara"), "{page}");
    assert!(page.contains("uses a connection to"), "a grant that gives nothing now: {page}");
    let (_, page) =
        sent(&visit, place, &[("do", "grant"), ("principals", "x"), ("tools", "*")]).await;
    assert!(page.contains("is nobody"), "{page}");
    let taken = [("do", "revoke"), ("principal", "user:mara")];
    let (csrf, made_for) = (visit.csrf().await, made_for(&visit, place).await);
    let unaimed = [&[("csrf", csrf.as_str()), ("made-for", &made_for)], &taken[..]].concat();
    let missed = visit.post(place, &unaimed).await.body;
    assert!(missed.contains("changed nothing") && missed.contains("from user:mara"), "{missed}");
    let (_, page) = sent(&visit, place, &taken).await;
    assert!(
        page.contains("Taken back") && !page.contains("Take work back from user:mara"),
        "{page}"
    );
    let url = format!("http://127.0.0.1:{}/me", service.port);
    let (_, page) = sent(&visit, place, &[("do", "test"), ("url", &url)]).await;
    assert!(page.contains("the service takes them (200)") && !page.contains(SECRET), "{page}");
    assert!(service.heard().iter().any(|one| one.contains(SECRET)), "it was really sent");
    assert!(visit.get("/console/connections").await.body.contains("accepted"));
    let (_, page) =
        sent(&visit, place, &[("do", "secret"), ("secret", "other-5e1f0b7a9c3d")]).await;
    assert!(page.contains("a new secret") && !page.contains("5e1f0b7a9c3d"), "{page}");
    let (_, page) = sent(&visit, place, &[("do", "remove")]).await;
    assert!(page.contains("not confirmed"), "{page}");
    assert_eq!(sent(&visit, place, &[("do", "remove"), ("sure", "yes")]).await.0, 303);
    assert_eq!(visit.get(place).await.status, 404);
}

#[tokio::test]
async fn a_persons_account_is_connected_over_a_link_that_they_follow() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let provider = Provider::new().await;
    let wanted = provider.wanted("mail");
    let text = |name: &'static str| (name, wanted[name].as_str().unwrap());
    let names = ["id", "provider", "kind", "client_id", "secret", "authorize_url", "token_url"];
    let mut fields: Vec<(&str, &str)> = names.map(text).to_vec();
    fields.push(("scopes", "read write"));
    let without: Vec<_> = fields.iter().copied().filter(|one| one.0 != "authorize_url").collect();
    let (_, page) = sent(&visit, "/console/connections", &without).await;
    assert!(page.contains("`authorize_url`: this kind needs it"), "{page}");
    let (status, page) = sent(&visit, "/console/connections", &fields).await;
    assert!(status == 200 && page.contains("Agree at the provider"), "{page}");
    assert!(!page.contains(text("secret").1), "{page}");
    let link = page.split("href=\"").find(|one| one.contains("/authorize?")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    // The browser comes back from another site, so without the visit's cookie.
    let back = format!("/console/consent?{}", provider.agree(&link));
    let page = world.stranger().get(&back).await;
    assert!(page.status == 200 && page.body.contains("Connected"), "{page:?}");
    assert!(page.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    let kept = visit.get("/console/connections/mail").await.body;
    assert!(kept.contains(text("token_url").1) && kept.contains("authorization-code"), "{kept}");
    assert_eq!(world.stranger().get(&back).await.body, page.body, "whoever reloads sees the same");
    // The connection's page asks again, where it was asked the last time.
    assert!(kept.contains(&format!("value=\"{}\"", text("authorize_url").1)), "{kept}");
    let again = [("do", "consent"), text("authorize_url")];
    let (status, page) = sent(&visit, "/console/connections/mail", &again).await;
    assert!(status == 200 && page.contains("who may use it does not change"), "{page}");
    let link = page.split("href=\"").find(|one| one.contains("/authorize?")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let page = world.stranger().get(&format!("/console/consent?{}", provider.agree(&link))).await;
    assert!(page.body.contains("has new tokens, sealed"), "{page:?}");
    let (_, page) = sent(
        &visit,
        "/console/connections/mail",
        &[("do", "consent"), ("authorize_url", "ftp://x")],
    )
    .await;
    assert!(page.contains("`authorize_url`"), "{page}");
}

#[tokio::test]
async fn connections_are_for_administrators_with_the_forms_own_token() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let fields = [("id", "work"), ("provider", "p"), ("kind", "bearer"), ("secret", SECRET)];
    assert_eq!(visit.post("/console/connections", &fields).await.status, 403, "no token");
    let (_, page) = sent(&visit, "/console/connections", &fields).await;
    assert!(page.contains("is kept, sealed"), "{page}");
    let operator = world.signed_in(&world.operator).await;
    for path in ["/console/connections", "/console/connections/work"] {
        assert_eq!(operator.get(path).await.status, 403);
        let reply = sent(&operator, path, &[("do", "remove"), ("sure", "yes")]).await;
        assert_eq!(reply.0, 403);
    }
    let stranger = world.signed_in(&world.stranger).await;
    assert!(!stranger.get("/console/connections").await.body.contains("work"));
    assert_eq!(stranger.get("/console/connections/work").await.status, 404);
    assert_eq!(visit.get("/console/connections/work").await.status, 200);
}

#[tokio::test]
async fn a_tool_that_the_tenant_left_is_taken_again() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    let change = haft_core::config::Change {
        kind: haft_core::config::Kind::Definition,
        tenant: "ours".to_owned(),
        id: "shop__echo".to_owned(),
        from: 0,
        to: Some(json!({"enabled": false, "version": "^1"})),
        by: haft_core::Principal::user("ada"),
    };
    world.door.runtime.change(change).await.unwrap();
    let refused = world.called("echo", json!({"text": "x"}), "k1").await;
    assert_eq!(refused["ok"], false, "{refused}");
    let page = visit.get("/console/tools?agent=helper").await.body;
    assert!(page.contains("Take shop__echo for this tenant"), "{page}");
    let place = "/console/tools/helper/shop__echo/take";
    let operator = world.signed_in(&world.operator).await;
    assert_eq!(sent(&operator, place, &[]).await.0, 403);
    assert_eq!(sent(&visit, place, &[]).await.0, 303);
    let done = world.called("echo", json!({"text": "x"}), "k2").await;
    assert_eq!(done["ok"], true, "{done}");
    let kept = world.door.runtime.configured();
    let kept = kept.snapshot.entries.iter().find(|one| one.id == "shop__echo").unwrap();
    assert_eq!(kept.body, json!({"enabled": true, "version": "^1"}), "the rest stays");
    assert!(!visit.get("/console/tools?agent=helper").await.body.contains("Take it"));
    assert_eq!(sent(&visit, "/console/tools/helper/shop__nothing/take", &[]).await.0, 404);
}
