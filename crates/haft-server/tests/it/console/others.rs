//! Every page and form of the console, for somebody of another tenant. The routes are those of the
//! source, so that none is forgotten.

use serde_json::json;

use super::world::{World, field};

/// Every route that is not open to all: its path, and whether it takes forms.
fn routes() -> Vec<(String, bool)> {
    let source = include_str!("../../../src/console.rs");
    let inside = source.split("let open = Router::new()").next().unwrap();
    let lines = inside.lines().filter_map(|line| line.trim().strip_prefix(".route(\""));
    let route = |line: &str| {
        let (path, handlers) = line.split_once('"').unwrap();
        (path.to_owned(), handlers.contains("post("))
    };
    lines.map(route).filter(|(path, _)| !path.contains('*')).collect()
}

/// What our own tenant has, by the kind of page that shows it.
struct Ours {
    session: String,
    call: String,
    question: String,
}

impl Ours {
    async fn new(world: &World) -> Self {
        let session = world.api(&world.agent, "/v1/agents/helper/sessions", json!({})).await;
        world.called("lose", json!({"text": "a letter"}), "k1").await;
        let asked = world.called("pay", json!({"text": "tea"}), "k2").await;
        let own = world.signed_in(&world.admin).await;
        let csrf = own.csrf().await;
        let connection = [
            ("csrf", csrf.as_str()),
            ("id", "ours-account"),
            ("provider", "ours-provider"),
            ("kind", "bearer"),
            ("secret", "canary-5e1f0b7a9c3d"),
        ];
        assert_eq!(own.post("/console/connections", &connection).await.status, 200);
        let policy =
            [("csrf", csrf.as_str()), ("version", "0"), ("do", "save"), ("deny", "shop__lose")];
        assert_eq!(own.post("/console/policies/ours-policy", &policy).await.status, 200);
        let effects = own.get("/console/effects").await.body;
        let call = effects.split("/console/effects/").nth(1).unwrap().split('"').next().unwrap();
        let question = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
        Self {
            session: session["id"].as_str().unwrap().to_owned(),
            call: call.to_owned(),
            question: question.to_owned(),
        }
    }

    /// A path that names what is ours.
    fn named(&self, route: &str) -> String {
        let id = match route.split('/').nth(2).unwrap_or_default() {
            "confirmations" => &self.question,
            "connections" => "ours-account",
            "policies" => "ours-policy",
            "keys" => "approver",
            _ => "",
        };
        route
            .replace("{agent}", "helper")
            .replace("{tool}", "shop__echo")
            .replace("{session}", &self.session)
            .replace("{call}", &self.call)
            .replace("{id}", id)
    }
}

/// A form that would change something, for each that there is.
const FORMS: [&[(&str, &str)]; 11] = [
    &[],
    &[("do", "call"), ("text", "x")],
    &[("do", "undo")],
    &[("do", "happened"), ("note", "n")],
    &[("do", "probe")],
    &[("do", "test")],
    &[("do", "secret"), ("secret", "other-secret-71")],
    &[("do", "remove"), ("sure", "yes"), ("version", "1")],
    &[("do", "grant"), ("principals", "*"), ("tools", "*")],
    &[("answer", "approve"), ("word", "x"), ("agent", "helper"), ("tool", "shop__echo")],
    &[("enabled", "false")],
];

#[tokio::test]
async fn no_page_or_form_of_the_console_reaches_into_another_tenant() {
    let world = World::new().await;
    let ours = Ours::new(&world).await;
    let spy = world.signed_in(&world.stranger).await;
    let csrf = field(&spy.get("/console").await.body, "csrf");
    let secrets = [
        ours.session.as_str(),
        &ours.call,
        &ours.question,
        "user:ada",
        "user:ben",
        "ours-provider",
        "canary",
    ];
    let (runs, routes) = (world.runs(), routes());
    assert!(routes.len() >= 24, "{routes:?}");
    for (route, takes_forms) in &routes {
        // The visit itself is the spy's own.
        if route.ends_with("/sign-out") || route.ends_with("/stream") {
            continue;
        }
        let path = ours.named(route);
        let forms = FORMS.iter().filter(|_| *takes_forms);
        let mut replies = vec![spy.get(&path).await];
        for form in forms {
            let mut fields = vec![("csrf", csrf.as_str())];
            fields.extend(*form);
            replies.push(spy.post(&path, &fields).await);
        }
        for reply in replies {
            assert!(reply.status < 500, "{path}: {reply:?}");
            // What the request itself named may be repeated.
            let seen = reply.body.replace(&path, "");
            let found = secrets.iter().find(|one| !path.contains(**one) && seen.contains(**one));
            assert!(found.is_none(), "{path}: {found:?}: {reply:?}");
            // A policy of this name would be the spy's own.
            let named = path != *route && !route.starts_with("/console/policies");
            let refused = [303, 400, 403, 404, 405, 409].contains(&reply.status);
            assert!(!named || refused, "{path}: {reply:?}");
            assert!(reply.status != 303 || !named, "{path} did something: {reply:?}");
        }
    }
    // Nothing of ours was touched.
    assert_eq!(world.runs(), runs, "nothing was run");
    let own = world.signed_in(&world.admin).await;
    assert!(own.get("/console/confirmations").await.body.contains(&ours.question));
    let policy = own.get("/console/policies/ours-policy").await.body;
    assert!(policy.contains("shop__lose"), "{policy}");
    let account = own.get("/console/connections/ours-account").await;
    assert!(account.status == 200 && account.body.contains("Nobody yet"), "{account:?}");
    world.signed_in(&world.approver).await;
    let echo = world.called("echo", json!({"text": "x"}), "k9").await;
    assert_eq!(echo["ok"], true, "{echo}");
}
