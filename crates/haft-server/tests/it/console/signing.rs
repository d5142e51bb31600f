//! Who comes in, who does not, and what a form must carry.

use std::sync::Arc;

use haft_store::{Manual, Memory, Options, Sqlite};
use rusqlite::Connection;
use tokio::io::AsyncReadExt as _;

use super::world::{World, field, later};

#[tokio::test]
async fn a_key_signs_in_and_signing_out_ends_it() {
    let world = World::new().await;
    let stranger = world.stranger();
    let turned = stranger.get("/console/tools?agent=helper").await;
    assert_eq!(turned.status, 303);
    let place = turned.header("location").unwrap();
    assert_eq!(place, "/console/sign-in?next=%2Fconsole%2Ftools%3Fagent%3Dhelper");
    let fields = [("key", world.operator.as_str()), ("next", "/console/tools?agent=helper")];
    let reply = stranger.post("/console/sign-in", &fields).await;
    assert_eq!(
        (reply.status, reply.header("location")),
        (303, Some("/console/tools?agent=helper"))
    );
    let set = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    let visit = world.signed_in(&world.operator).await;
    let page = visit.get("/console").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("user:eve"), "{}", page.body);
    let csrf = field(&page.body, "csrf");
    let out = visit.post("/console/sign-out", &[("csrf", &csrf)]).await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
    assert_eq!(visit.get("/console").await.status, 303);
}

#[tokio::test]
async fn wrong_keys_and_agents_keys_do_not() {
    let world = World::new().await;
    let stranger = world.stranger();
    let agent = stranger.post("/console/sign-in", &[("key", &world.agent)]).await;
    assert_eq!(agent.status, 403);
    assert!(agent.body.contains("this key is an agent") && agent.header("set-cookie").is_none());
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses
            .push(stranger.post("/console/sign-in", &[("key", "haft_admin_guess")]).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 10, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
    let other = stranger.post("/console/sign-in", &[("key", &world.approver)]).await;
    assert_eq!(other.status, 303, "others are not kept out");
}

#[tokio::test]
async fn a_form_that_signs_in_holds_a_token_and_not_much_more() {
    let world = World::new().await;
    for (bytes, status) in [(16 << 10, 401), (20 << 10, 413)] {
        let reply = world.stranger().post("/console/sign-in", &[("key", &"x".repeat(bytes))]).await;
        assert_eq!(reply.status, status, "{bytes}: {reply:?}");
    }
}

#[tokio::test]
async fn whoever_tries_a_name_does_not_keep_its_holder_out() {
    let world = World::new().await;
    let stranger = world.stranger();
    let (name, _) = world.approver.rsplit_once('_').unwrap();
    for guess in 0..12 {
        stranger.post("/console/sign-in", &[("key", &format!("{name}_{guess}"))]).await;
    }
    let guessed = stranger.post("/console/sign-in", &[("key", &format!("{name}_x"))]).await;
    assert_eq!(guessed.status, 429);
    let right = stranger.post("/console/sign-in", &[("key", &world.approver)]).await;
    assert_eq!(right.status, 303, "{right:?}");
}

#[tokio::test]
async fn a_link_signs_in_once_and_only_by_its_button() {
    let world = World::new().await;
    let link = world.door.invite("admin").unwrap();
    let stranger = world.stranger();
    for _ in 0..2 {
        let page = stranger.get(&link).await;
        assert_eq!((page.status, page.header("set-cookie")), (200, None), "looking is not using");
    }
    let page = stranger.get(&link).await;
    assert!(page.body.contains("if it was not used before and is not older than 15 minutes"));
    let text = field(&page.body, "link");
    let reply = stranger.post("/console/sign-in", &[("link", &text)]).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some("/console")));
    let again = stranger.post("/console/sign-in", &[("link", &text)]).await;
    assert_eq!(again.status, 401, "{again:?}");
    assert!(again.body.contains("used already"));
}

#[tokio::test]
async fn a_right_link_is_good_whatever_strangers_have_tried() {
    let world = World::new().await;
    let link = world.door.invite("admin").unwrap();
    let text = link.rsplit_once('/').unwrap().1;
    let stranger = world.stranger();
    let mut last = 0;
    for _ in 0..12 {
        last = stranger.post("/console/sign-in", &[("link", "wrong")]).await.status;
    }
    assert_eq!(last, 429);
    assert_eq!(stranger.post("/console/sign-in", &[("link", text)]).await.status, 303);
}

#[tokio::test]
async fn the_way_back_stays_inside() {
    let world = World::new().await;
    for next in ["https://evil.example/", "//evil.example", "/v1/calls", "/console/\\evil"] {
        let fields = [("key", world.operator.as_str()), ("next", next)];
        let reply = world.stranger().post("/console/sign-in", &fields).await;
        assert_eq!(reply.header("location"), Some("/console"), "{next}");
    }
}

#[tokio::test]
async fn forms_are_taken_from_our_own_pages_only() {
    let world = World::new().await;
    let visit = world.signed_in(&world.operator).await;
    let csrf = field(&visit.get("/console").await.body, "csrf");
    let fields = [("csrf", csrf.as_str())];
    let own = format!("http://127.0.0.1:{}", world.port);
    for origin in ["", "null", "http://127.0.0.1:1", "http://localhost", "https://evil.example"] {
        let reply = visit.post_from(origin, "/console/audit", &fields).await;
        assert_eq!(reply.status, 403, "{origin}: {reply:?}");
        let reply = visit.post_from(origin, "/console/sign-in", &[("key", &world.admin)]).await;
        assert_eq!(reply.status, 403, "{origin}: {reply:?}");
    }
    for wrong in [&[][..], &[("csrf", "")], &[("csrf", "0000")]] {
        let reply = visit.post_from(&own, "/console/audit", wrong).await;
        assert_eq!(reply.status, 403, "{reply:?}");
    }
    let other = world.signed_in(&world.operator).await;
    let reply = other.post("/console/audit", &fields).await;
    assert_eq!(reply.status, 403, "another visit's token");
    assert_eq!(visit.post("/console/audit", &fields).await.status, 200);
    let stranger = world.stranger().post("/console/audit", &fields).await;
    assert_eq!(stranger.status, 401);
}

#[tokio::test]
async fn no_page_goes_without_its_headers() {
    let world = World::new().await;
    let visit = world.signed_in(&world.admin).await;
    for path in [
        "/console",
        "/console/tools",
        "/console/nowhere",
        "/console/sign-in",
        "/console/assets/console.js",
    ] {
        let page = visit.get(path).await;
        let policy = page.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "trusted-types 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        let cache = page.header("cache-control").unwrap();
        assert_eq!(cache, if path.contains("assets") { "no-cache" } else { "no-store" }, "{path}");
    }
    assert_eq!(visit.get("/console/nowhere").await.status, 404);
}

#[tokio::test]
async fn a_visit_does_not_travel_in_the_clear() {
    let world = World::new().await;
    let mut visit = world.stranger();
    visit.host = "far.example".to_owned();
    let clear = visit.post("/console/sign-in", &[("key", &world.admin)]).await;
    assert_eq!(clear.status, 403);
    assert!(clear.body.contains("in the clear"), "{}", clear.body);
    let fields = [("key", world.admin.as_str())];
    let safe = visit.post_from("https://far.example", "/console/sign-in", &fields).await;
    assert_eq!(safe.status, 303);
    let set = safe.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-haft=") && set.contains("Secure"), "{set}");
}

/// The page of a question that an agent has put.
async fn question(world: &World) -> String {
    let asked = world.called("pay", serde_json::json!({"text": "tea"}), "k1").await;
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
    format!("/console/confirmations/{id}")
}

#[tokio::test]
async fn approving_takes_a_page_that_was_read_and_a_key_that_was_shown_lately() {
    let world = World::new().await;
    let place = question(&world).await;
    let visit = world.signed_in(&world.approver).await;
    let page = visit.get("/console/confirmations").await.body;
    let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
    let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "approve")];
    let early = visit.post(&place, &fields).await;
    assert!(early.status == 403 && early.body.contains("less than a second"), "{early:?}");
    assert!(early.body.contains("read it, then answer"), "{early:?}");
    assert!(!early.body.contains("the role that this needs"), "{early:?}");
    later(6 * 60).await;
    let late = visit.post(&place, &fields).await;
    assert!(late.status == 403 && late.body.contains("show your key again"), "{late:?}");
    let page = visit.get("/console/confirmations").await.body;
    assert!(page.contains("Show your key again to answer"), "{page}");
    assert!(!page.contains("name=\"word\""), "no buttons for whoever signed in long ago");
    let wrong = visit.post("/console/prove", &[("csrf", &csrf), ("key", &world.admin)]).await;
    assert_eq!(wrong.status, 403, "somebody else's key");
    let proven = visit.post("/console/prove", &[("csrf", &csrf), ("key", &world.approver)]).await;
    assert_eq!(proven.status, 303);
    let stale = visit.post(&place, &fields).await;
    assert!(stale.status == 403 && stale.body.contains("too old"), "{stale:?}");
    let word = field(&visit.get("/console/confirmations").await.body, "word");
    later(2).await;
    let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "approve")];
    let done = visit.post(&place, &fields).await;
    assert_eq!(done.header("location"), Some("/console/confirmations?done=approved"), "{done:?}");
    let again = visit.post(&place, &fields).await;
    assert_eq!(again.status, 409, "once");
    assert!(again.body.contains("answered already, by user:ben: approved"), "{again:?}");
}

#[tokio::test]
async fn an_approval_that_was_not_used_is_taken_back_by_whoever_may_answer() {
    let world = World::new().await;
    let place = question(&world).await;
    let visit = world.signed_in(&world.approver).await;
    let approved = visit.click(&place, &place, &[("answer", "approve")]).await;
    assert_eq!(approved.status, 303, "{approved:?}");
    let list = visit.get("/console/confirmations").await.body;
    assert!(list.contains(&place) && !list.contains("Take back"), "its page is one click away");
    // By the rules of every answer: whoever has shown their key lately, on a page that was read, once.
    later(6 * 60).await;
    let page = visit.get(&place).await.body;
    assert!(page.contains("Show your key again to answer"), "{page}");
    assert!(!page.contains("name=\"word\""), "{page}");
    let visit = world.signed_in(&world.admin).await;
    let page = visit.get(&place).await.body;
    assert!(page.contains("Take back shop__pay") && !page.contains("Approve shop__pay"), "{page}");
    let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
    let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "deny")];
    assert_eq!(visit.post(&place, &fields).await.status, 403, "too early");
    later(2).await;
    let taken = visit.post(&place, &fields).await;
    let place_after = format!("/console/confirmations?done=denied&word={word}");
    assert_eq!(taken.header("location"), Some(&*place_after), "{taken:?}");
    let again = world.called("pay", serde_json::json!({"text": "tea"}), "k1").await;
    assert_eq!(again["error"]["kind"], "confirmation_refused", "{again}");
    assert_eq!(world.runs(), 0, "nothing was done");
    let page = visit.get(&place).await.body;
    assert!(page.contains(">denied<") && !page.contains("name=\"word\""), "{page}");
}

#[tokio::test]
async fn an_approval_that_was_used_or_has_expired_is_not_taken_back() {
    let clock = Manual::at(1_800_000_000_000);
    let world = World::on(Arc::new(Memory::with_clock(clock.clone()))).await;
    for (text, is_used, why) in [
        ("tea", true, "the call was made with it"),
        ("cake", false, "its time was over before a call was made with it"),
    ] {
        let asked = world.called("pay", serde_json::json!({"text": text}), text).await;
        let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
        let place = format!("/console/confirmations/{id}");
        let visit = world.signed_in(&world.approver).await;
        visit.click(&place, &place, &[("answer", "approve")]).await;
        let open = visit.get(&place).await.body;
        let (csrf, word) = (field(&open, "csrf"), field(&open, "word"));
        if is_used {
            let done = world.called("pay", serde_json::json!({"text": text}), text).await;
            assert_eq!(done["ok"], true, "{done}");
        } else {
            clock.advance(16 * 60 * 1000);
        }
        let page = visit.get(&place).await.body;
        assert!(!page.contains("Take back"), "{text}: {page}");
        later(2).await;
        let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "deny")];
        let late = visit.post(&place, &fields).await;
        assert_eq!(late.status, 409, "{text}: {late:?}");
        assert!(late.body.contains(why), "{text}: {late:?}");
    }
}

/// What could not be recorded is not told as if somebody else had been faster.
#[tokio::test]
async fn an_answer_that_was_not_recorded_is_told_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haft.db");
    let world = World::on(Arc::new(Sqlite::open(&file, Options::default()).unwrap())).await;
    let place = question(&world).await;
    let (first, second) =
        (world.signed_in(&world.approver).await, world.signed_in(&world.admin).await);
    let open = second.get(&place).await.body;
    let approved = first.click(&place, &place, &[("answer", "approve")]).await;
    assert_eq!(approved.status, 303, "{approved:?}");
    let refuses = "CREATE TRIGGER refuses BEFORE UPDATE ON confirmations \
                   BEGIN SELECT RAISE(ABORT, 'no'); END;";
    Connection::open(&file).unwrap().execute_batch(refuses).unwrap();
    let (csrf, word) = (field(&open, "csrf"), field(&open, "word"));
    let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "deny")];
    let failed = second.post(&place, &fields).await;
    assert_eq!(failed.status, 503, "{failed:?}");
    assert!(failed.body.contains("the answer could not be recorded"), "{failed:?}");
    assert!(!failed.body.contains("answered already"), "{failed:?}");
}

#[tokio::test]
async fn live_events_end_with_their_visit_and_no_other_does() {
    let world = World::new().await;
    let (gone, stays) =
        (world.signed_in(&world.operator).await, world.signed_in(&world.operator).await);
    let (mut theirs, head) = gone.listen("/console/events/stream").await;
    assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
    let (mut ours, _) = stays.listen("/console/events/stream").await;
    let csrf = gone.csrf().await;
    assert_eq!(gone.post("/console/sign-out", &[("csrf", &csrf)]).await.status, 303);
    assert!(crate::lasting::ends(&mut theirs).await, "it goes on without a visit");
    // The same key, in a browser that is still signed in.
    world.called("echo", serde_json::json!({"text": "x"}), "k1").await;
    let mut heard = [0; 16];
    ours.read_exact(&mut heard).await.unwrap();
    assert!(!heard.ends_with(b"0\r\n\r\n"), "{heard:?}");
}

#[tokio::test]
async fn of_two_who_answer_at_once_the_second_is_told_who_was_first() {
    let world = World::new().await;
    let place = question(&world).await;
    let (first, second) =
        (world.signed_in(&world.approver).await, world.signed_in(&world.admin).await);
    let open = [first.get(&place).await.body, second.get(&place).await.body];
    later(2).await;
    for ((visit, page), (status, answer)) in
        [&first, &second].into_iter().zip(&open).zip([(303, "deny"), (409, "approve")])
    {
        let (csrf, word) = (field(page, "csrf"), field(page, "word"));
        let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", answer)];
        let reply = visit.post(&place, &fields).await;
        assert_eq!(reply.status, status, "{reply:?}");
        let is_told = reply.body.contains("answered already, by user:ben: denied");
        assert_eq!(is_told, status == 409, "{reply:?}");
    }
}

#[tokio::test]
async fn whoever_declines_what_was_approved_meanwhile_is_told_what_that_did() {
    let world = World::new().await;
    let place = question(&world).await;
    let (first, second) =
        (world.signed_in(&world.approver).await, world.signed_in(&world.admin).await);
    let page = second.get(&place).await.body;
    first.click(&place, &place, &[("answer", "approve")]).await;
    let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
    let fields = [("csrf", csrf.as_str()), ("word", &word), ("answer", "deny")];
    let denied = second.post(&place, &fields).await;
    let after = second.get(denied.header("location").unwrap()).await.body;
    assert!(after.contains("Recorded: denied. It took back the approval of user:ben"), "{after}");
    // An address says nothing to whoever has not done it.
    let other = first.get(denied.header("location").unwrap()).await.body;
    assert!(other.contains("Recorded: denied.") && !other.contains("took back"), "{other}");
}
