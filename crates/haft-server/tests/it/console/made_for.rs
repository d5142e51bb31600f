//! Forms that were opened before what they are about became another.

use haft_core::Principal;
use serde_json::json;

use super::world::{World, field, later};

#[tokio::test]
async fn a_form_of_a_tool_that_has_changed_since_calls_nothing() {
    let text = json!({"type": "string", "description": "A text."});
    for (what, properties) in [
        ("other places", json!({"from": text, "text": text})),
        ("another name", json!({"text": text, "tea": text})),
        ("the same in another order", json!({"count": text, "text": text})),
    ] {
        let world = World::new().await;
        if what.contains("order") {
            world.retype("echo", &json!({"text": text, "count": text}));
        }
        let visit = world.signed_in(&world.operator).await;
        let place = "/console/tools/helper/shop__echo";
        let page = visit.get(place).await.body;
        world.retype("echo", &properties);
        let kept = ["csrf", "made-for", "key"].map(|name| (name, field(&page, name)));
        let form: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
        for button in ["dry", "call"] {
            let filled = [("a.0", "the payee"), ("a.1", "2"), ("do", button)];
            let reply = visit.post(place, &[&form[..], &filled].concat()).await;
            assert_eq!(reply.status, 409, "{what}: {reply:?}");
            let page = reply.body;
            assert!(page.contains("this click called nothing"), "{what}: {page}");
            assert!(!page.contains("the payee"), "no place is what it was: {page}");
            assert!(!page.contains("would run") && !page.contains(">ok<"), "{what}: {page}");
        }
        // What says its names itself is still there, for whoever has looked.
        let raw = [("raw", "{\"text\": \"milk\"}"), ("do", "call")];
        let page = visit.post(place, &[&form[..], &raw].concat()).await.body;
        assert!(page.contains("called nothing") && page.contains("milk"), "{what}: {page}");
        // A form without what it was made for was made for nothing that is known.
        let bare = [("csrf", form[0].1), ("a.0", "tea"), ("a.1", "2"), ("do", "call")];
        assert_eq!(visit.post(place, &bare).await.status, 409, "{what}");
        assert_eq!(world.runs(), 0, "{what}");
        let calls = visit.get("/console/events").await.body;
        assert!(!calls.contains("/console/calls/"), "nothing was called: {calls}");
        // The form of the page that says so is good.
        let again = [("csrf", field(&page, "csrf")), ("made-for", field(&page, "made-for"))];
        let again: Vec<_> = again.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let filled = [("a.0", "x"), ("a.1", "tea"), ("do", "call")];
        let done = visit.post(place, &[&again[..], &filled].concat()).await;
        assert_eq!((done.status, world.runs()), (200, 1), "{what}: {done:?}");
    }
}

/// Makes the account `crm`, which a person may use.
async fn account(world: &World, host: &str) {
    let new = json!({"id": "crm", "provider": "crm", "kind": "bearer", "hosts": [host], "secret": "tok-31b9c07e"});
    let made = world.api(&world.admin, "/v1/connections", new).await;
    assert_eq!(made["hosts"][0], host, "{made}");
    let grant = json!({"principals": ["user:ada"], "tools": ["shop__*"]});
    world.api(&world.admin, "/v1/connections/crm/grants", grant).await;
}

/// Another account under its name.
async fn another(world: &World) {
    let by = Principal::user("bob");
    let accounts = world.door.runtime.accounts().unwrap();
    accounts.remove("ours", "crm", &by).await.unwrap();
    account(world, "other.example.net").await;
}

#[tokio::test]
async fn a_form_calls_with_the_account_that_was_chosen_and_no_other() {
    let world = World::new().await;
    let needs = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
    world.change("echo", |contract| {
        contract.connection = serde_json::from_value(needs).unwrap();
    });
    account(&world, "crm.example.com").await;
    let visit = world.signed_in(&world.admin).await;
    let place = "/console/tools/helper/shop__echo";
    let page = visit.get(place).await.body;
    let kept = ["csrf", "made-for", "made-for.crm", "key"].map(|name| (name, field(&page, name)));
    let form: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let filled = [("a.0", "tea"), ("connection", "crm"), ("do", "call")];
    let form = [&form[..], &filled].concat();
    another(&world).await;
    let reply = visit.post(place, &form).await;
    assert!(reply.status == 409 && reply.body.contains("is not the account"), "{reply:?}");
    assert!(reply.body.contains("tea</textarea>"), "the tool is the same: {reply:?}");
    assert_eq!(world.runs(), 0);
    let mark = field(&reply.body, "made-for.crm");
    let again: Vec<_> = [("made-for.crm", mark.as_str())].into_iter().chain(form).collect();
    assert_eq!((visit.post(place, &again).await.status, world.runs()), (200, 1));
}

#[tokio::test]
async fn a_form_of_an_account_that_was_made_anew_does_nothing_to_the_other() {
    let world = World::new().await;
    account(&world, "crm.example.com").await;
    let visit = world.signed_in(&world.admin).await;
    let place = "/console/connections/crm";
    let page = visit.get(place).await.body;
    later(2).await;
    another(&world).await;
    let before = visit.get(place).await.body;
    for filled in [
        &[("do", "secret"), ("secret", "the-secret-of-the-first")][..],
        &[("do", "grant"), ("principals", "agent:*"), ("tools", "*")],
        &[("do", "revoke"), ("principal", "user:ada")],
        &[("do", "test"), ("url", "https://crm.example.com/")],
        &[("do", "consent"), ("authorize_url", "https://crm.example.com/")],
        &[("do", "remove"), ("sure", "yes")],
    ] {
        let kept = ["csrf", "word", "made-for"].map(|name| (name, field(&page, name)));
        let form: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = visit.post(place, &[&form[..], filled].concat()).await;
        assert_eq!(reply.status, 409, "{filled:?}: {reply:?}");
        assert!(reply.body.contains("another has its id by now"), "{filled:?}: {reply:?}");
    }
    let after = visit.get(place).await.body;
    for page in [&before, &after] {
        assert!(page.contains("other.example.net") && page.contains("<dd>1</dd>"), "{page}");
        assert!(page.contains("Take crm back from user:ada"), "{page}");
        assert!(!page.contains("agent:*</th>"), "{page}");
    }
    // Another secret makes it no other account: a page that was open meanwhile is still about it.
    for secret in ["tok-4d20a1b5c7", "tok-91e3f08b26"] {
        let kept = ["csrf", "made-for"].map(|name| (name, field(&after, name)));
        let form: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let filled = [("do", "secret"), ("secret", secret)];
        let page = visit.post(place, &[&form[..], &filled].concat()).await.body;
        assert!(page.contains("It has a new secret"), "{page}");
    }
}
