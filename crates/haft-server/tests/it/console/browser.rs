//! The console in Chromium: what people do, with the mouse and with the keyboard alone.
//!
//! With `HAFT_PICTURES=<folder>` the pages are kept as pictures to look at.

use serde_json::{Value, json};

use super::cdp::{self, Tab};
use super::world::{HOSTILE, World, field};
use crate::connections::consent::Provider;

async fn signed_in(world: &World, key: &str) -> Option<Tab> {
    let mut tab = cdp::open().await?;
    tab.shape(1280, false).await;
    tab.go(&world.url("/console/sign-in")).await;
    tab.fill("#key", key).await;
    tab.click_through("button[type=submit]").await;
    Some(tab)
}

#[tokio::test]
async fn the_link_signs_in_and_the_keyboard_is_enough() {
    let world = World::new().await;
    let Some(mut tab) = cdp::open().await else { return };
    tab.shape(1280, false).await;
    let link = world.door.invite("admin").unwrap();
    tab.go(&world.url(&link)).await;
    tab.press_through("Enter").await;
    assert!(tab.text().await.contains("Overview"));
    // Sign out, and in again with a key: nothing but keys of the keyboard.
    tab.go(&world.url("/console")).await;
    let focused = "document.activeElement.textContent.trim()";
    let mut seen = Vec::new();
    for _ in 0..16 {
        tab.press("Tab").await;
        let text = tab.eval(focused).await.as_str().unwrap().to_owned();
        seen.push(text.clone());
        if text == "Sign out" {
            break;
        }
    }
    assert_eq!(seen.first().map(String::as_str), Some("Skip to content"), "{seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some("Sign out"), "{seen:?}");
    let ring = "getComputedStyle(document.activeElement).outlineWidth";
    assert_eq!(tab.eval(ring).await, json!("3px"), "the focus can be seen");
    tab.press_through("Enter").await;
    // Browsers give what a page asks for the focus when they draw it, which may be after it has loaded.
    tab.until("document.activeElement.id === 'key'").await;
    tab.write(&world.admin).await;
    tab.press_through("Enter").await;
    assert!(tab.text().await.contains("Overview"));
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_form_calls_a_tool_and_hostile_texts_stay_text() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.operator).await else { return };
    tab.go(&world.url("/console/tools")).await;
    tab.click_through("a[href$='shop__echo']").await;
    tab.fill("[id='a.0']", HOSTILE).await;
    tab.click_through("button[value=dry]").await;
    assert!(tab.text().await.contains("nothing was done"));
    tab.until("document.activeElement.className === 'outcome'").await;
    assert_eq!(world.runs(), 0);
    tab.click_through("button[value=call]").await;
    let text = tab.text().await;
    assert!(text.contains("Outcome") && text.contains("onerror="), "{text}");
    assert_eq!(world.runs(), 1);
    assert_eq!(
        tab.eval("document.querySelectorAll('main img, main script').length").await,
        json!(0)
    );
    let title = tab.eval("document.title").await;
    assert_eq!(title, json!("shop__echo · haft"));
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_person_approves_what_an_agent_asked_for() {
    let world = World::new().await;
    let text = format!("{HOSTILE} for p\u{430}ypal\u{200b}.example \u{202e}elpmaxe");
    world.called("pay", json!({"text": text}), "k1").await;
    let Some(mut tab) = signed_in(&world, &world.approver).await else { return };
    let shown = tab.text().await;
    for part in ["Approvals", "U+200B", "U+202E", "U+0430", "Look twice", "onerror="] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let held = "document.querySelector('button.strong').disabled";
    assert_eq!(tab.eval(held).await, json!(true), "nobody approves in the first second");
    for (width, dark) in [(1280, false), (390, true)] {
        tab.shape(width, dark).await;
        tab.picture(&format!("approval-{width}-{}", if dark { "dark" } else { "light" })).await;
    }
    tab.click_through("button.strong").await;
    assert!(tab.text().await.contains("Recorded: approved"));
    let done = world.called("pay", json!({"text": text}), "k1").await;
    assert_eq!(done["ok"], json!(true), "{done}");
    assert_eq!(world.runs(), 1);
    // Who changes their mind before it was used says so on its page.
    let asked = world.called("pay", json!({"text": "cake"}), "k2").await;
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
    let place = world.url(&format!("/console/confirmations/{id}"));
    tab.go(&place).await;
    tab.click_through("button.strong").await;
    tab.go(&place).await;
    tab.click_through("button[aria-label='Take back shop__pay']").await;
    assert!(tab.text().await.contains("Recorded: denied"));
    let refused = world.called("pay", json!({"text": "cake"}), "k2").await;
    assert_eq!(refused["error"]["kind"], json!("confirmation_refused"), "{refused}");
    assert_eq!(world.runs(), 1);
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_is_turned_off_and_on_again() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    tab.go(&world.url("/console/tools?agent=helper")).await;
    tab.click_through("button[aria-label='Disable shop__echo for helper']").await;
    let text = tab.text().await;
    assert!(text.contains("it is turned off for this agent"), "{text}");
    let refused = world.called("echo", json!({"text": "x"}), "k1").await;
    assert_eq!(refused["error"]["kind"], json!("unavailable"), "{refused}");
    tab.go(&world.url("/console/tools/helper/shop__echo")).await;
    assert!(tab.text().await.contains("Not enabled"));
    tab.go(&world.url("/console/tools?agent=helper")).await;
    tab.click_through("button[aria-label='Enable shop__echo for helper']").await;
    let done = world.called("echo", json!({"text": "x"}), "k2").await;
    assert_eq!(done["ok"], json!(true), "{done}");
    assert_eq!(tab.complaints, Vec::<String>::new());
}

/// A double click ends where the rows have moved to.
#[tokio::test]
async fn a_double_click_switches_one_tool_and_the_focus_stays_with_it() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    let button = "button[aria-label='Disable shop__echo for helper']";
    for (width, scripts) in [(1280, true), (390, true), (1280, false)] {
        tab.shape(width, false).await;
        tab.send("Emulation.setScriptExecutionDisabled", json!({"value": !scripts})).await;
        tab.go(&world.url("/console/tools?agent=helper")).await;
        if !scripts {
            tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        }
        let at = tab.click_through(button).await;
        tab.press_at(&at).await;
        tab.press_at(&at).await;
        let visit = world.signed_in(&world.admin).await;
        let page = visit.get("/console/tools?agent=helper").await.body;
        assert_eq!(page.matches("aria-label=\"Enable ").count(), 1, "at {width}: {page}");
        tab.go(&world.url("/console/tools?agent=helper")).await;
        if !scripts {
            tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        }
        tab.click_through("button[aria-label='Enable shop__echo for helper']").await;
        let text = tab.text().await;
        assert!(text.contains("Enabled for helper."), "{text}");
        let focused = tab.eval("document.activeElement.id").await;
        assert_eq!(focused, json!("tool-shop__echo"), "scripts: {scripts}");
        assert_eq!(tab.overflow().await, Value::Null, "at {width}");
        tab.picture(&format!("switched-{width}-light")).await;
    }
    tab.complaints.retain(|one| !one.contains("409"));
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn an_effect_is_undone() {
    let world = World::new().await;
    world.called("book", json!({"text": "a table"}), "k1").await;
    let Some(mut tab) = signed_in(&world, &world.operator).await else { return };
    tab.go(&world.url("/console/effects?state=succeeded")).await;
    tab.click_through("td a[href^='/console/effects/']").await;
    tab.click_through("button[value=undo]").await;
    let text = tab.text().await;
    assert!(text.contains("Undone") && text.contains("compensated"), "{text}");
    assert_eq!(world.runs(), 2);
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn events_are_seen_as_they_happen() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.operator).await else { return };
    tab.go(&world.url("/console/events")).await;
    tab.until("document.getElementById('live-state').textContent.startsWith('Connected')").await;
    world.called("echo", json!({"text": "x"}), "k1").await;
    tab.until("[...document.querySelectorAll('#live tbody tr')].some((r) => r.textContent.includes('tool call result'))").await;
    let said = "[...document.querySelectorAll('#live tbody tr')].find((r) => r.textContent.includes('tool call result')).cells[2].textContent";
    assert_eq!(tab.eval(said).await, json!("ok"));
    let link = tab.eval("document.querySelector('#live tbody a').getAttribute('href')").await;
    assert!(link.as_str().unwrap().starts_with("/console/calls/"), "{link}");
    world.called(HOSTILE, json!({}), "k2").await;
    tab.until("document.querySelector('#live tbody').textContent.includes('onerror')").await;
    assert_eq!(tab.eval("document.querySelectorAll('#live img').length").await, json!(0));
    assert_eq!(tab.complaints, Vec::<String>::new());
    // Signed out elsewhere: the stream ends, and the page does not say that it would come back.
    let leave = "fetch('/console/sign-out', {method: 'POST', redirect: 'manual', body: \
                 new URLSearchParams({csrf: document.querySelector('[name=csrf]').value})}).then(() => 0)";
    tab.eval(leave).await;
    tab.until("document.getElementById('live-state').textContent.includes('signed out')").await;
}

/// Everything that a console can have on its pages.
async fn busy(world: &World) -> Vec<String> {
    let long = "a-very-long-word-without-any-place-to-break-".repeat(6);
    let body = json!({"mode": "text"});
    let session = world.api(&world.agent, "/v1/agents/helper/sessions", body).await;
    let id = session["id"].as_str().unwrap().to_owned();
    for n in 0..12 {
        let text = if n % 3 == 0 { long.clone() } else { format!("cup {n} of tea") };
        world.called("echo", json!({"text": text}), &format!("e{n}")).await;
    }
    for tool in ["book", "echo"] {
        let call = json!({"tool": tool, "session": id, "arguments": {"text": long}});
        world.api(&world.agent, "/v1/agents/helper/calls", call).await;
    }
    world.called("lose", json!({"text": "a letter"}), "l").await;
    world.called("secret", json!({"text": "x"}), "s").await;
    world.called("echo", json!({"text": 5, "count": 99}), "w").await;
    world.called("pay", json!({"text": long, "tags": [HOSTILE, "p\u{430}ypal"]}), "p").await;
    world.called(&long, json!({}), "n").await;
    let visit = world.signed_in(&world.admin).await;
    let csrf = visit.csrf().await;
    let fields =
        [("csrf", csrf.as_str()), ("version", "0"), ("do", "save"), ("deny", "shop__lose")];
    visit.post("/console/policies/house", &fields).await;
    let fields = [
        ("csrf", csrf.as_str()),
        ("id", "work-github"),
        ("provider", &long),
        ("kind", "bearer"),
        ("hosts", "api.github.example"),
        ("secret", "canary-5e1f0b7a9c3d"),
    ];
    assert_eq!(visit.post("/console/connections", &fields).await.status, 200);
    let page = visit.get("/console/connections/work-github").await.body;
    let made_for = field(&page, "made-for");
    let granted = [
        ("csrf", csrf.as_str()),
        ("made-for", made_for.as_str()),
        ("do", "grant"),
        ("principals", "agent:helper, user:mara"),
        ("tools", "shop__*"),
    ];
    assert_eq!(visit.post("/console/connections/work-github", &granted).await.status, 200);
    let tested = [("csrf", csrf.as_str()), ("made-for", &made_for), ("do", "test")];
    assert_eq!(visit.post("/console/connections/work-github", &tested).await.status, 200);
    // Accounts of a person who agreed, and of one who did not.
    let provider = Provider::new().await;
    let mut back = Vec::new();
    for id in ["mail", "calendar"] {
        let asked = world.api(&world.admin, "/v1/connections", provider.wanted(id)).await;
        back.push(format!("/consent?{}", provider.agree(asked["url"].as_str().unwrap())));
    }
    back[1] = back[1].replace("code=", "error=access_denied&code=");
    for place in &back {
        assert_eq!(visit.get(&format!("/console{place}")).await.status, 200);
    }
    let effects = visit.get("/console/effects?state=unknown").await.body;
    let effect = effects.split("/console/effects/").nth(1).unwrap().split('"').next().unwrap();
    let events = visit.get("/console/events").await.body;
    let call = events.split("/console/calls/").nth(1).unwrap().split('"').next().unwrap();
    let mut all: Vec<String> = [
        "",
        "/tools",
        "/tools/helper/shop__echo",
        "/tools/helper/shop__secret",
        "/sessions",
        "/confirmations",
        "/effects",
        "/events",
        "/audit",
        "/suggestions",
        "/policies",
        "/policies/house",
        "/new-policy?id=other",
        "/connections",
        "/connections/work-github",
        "/connections/mail",
        &back[0],
        &back[1],
        "/keys",
        "/nowhere",
    ]
    .map(|path| format!("/console{path}"))
    .into();
    all.push(format!("/console/sessions/{id}"));
    all.push(format!("/console/effects/{effect}"));
    all.push(format!("/console/calls/{call}"));
    all
}

#[tokio::test]
async fn no_page_is_wider_than_its_window_and_none_breaks_its_policy() {
    let world = World::new().await;
    let pages = busy(&world).await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        tab.shape(width, dark).await;
        tab.go(&world.url("/console/connections/mail")).await;
        tab.click_through("form:has(input[value=consent]) button").await;
        assert_eq!(tab.overflow().await, Value::Null, "where a person agrees, at {width}");
        tab.picture(&format!("agree-{width}-{}", if dark { "dark" } else { "light" })).await;
        for path in &pages {
            tab.go(&world.url(path)).await;
            assert_eq!(tab.overflow().await, Value::Null, "{path} at {width}");
            let parts: Vec<_> = path.split('/').skip(2).take(3).collect();
            let name = if parts.is_empty() { "overview".to_owned() } else { parts.join("-") };
            tab.picture(&format!(
                "{}-{width}-{}",
                &name[..name.len().min(30)],
                if dark { "dark" } else { "light" }
            ))
            .await;
        }
    }
    tab.send("Network.clearBrowserCookies", json!({})).await;
    for width in [1280, 390] {
        tab.shape(width, false).await;
        tab.go(&world.url("/console/sign-in")).await;
        assert_eq!(tab.overflow().await, Value::Null);
        tab.picture(&format!("sign-in-{width}-light")).await;
    }
    // The page that is not there is an error to the browser as well; nothing else is.
    tab.complaints.retain(|one| !one.contains("404"));
    assert_eq!(tab.complaints, Vec::<String>::new());
}

/// What deceives the eye is drawn as it is written: every letter stands to the right of the one before
/// it, or on a later line.
#[tokio::test]
async fn what_is_approved_is_drawn_in_the_order_of_its_letters() {
    let world = World::new().await;
    let turned = "https://bank.example/\u{5d0}/1000/50/\u{5d1}/eve";
    for (at, text) in [
        turned.to_owned(),
        " mara\u{a0}adm\u{200b}\u{200b}\u{200b} ".to_owned(),
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{5e2}\u{5d5}\u{5dc}\u{5dd}".to_owned(),
        format!("tea{}", "\u{200b}\u{200c}".repeat(20_000)),
    ]
    .into_iter()
    .enumerate()
    {
        world.called("pay", json!({"text": text}), &format!("k{at}")).await;
    }
    let Some(mut tab) = signed_in(&world, &world.approver).await else { return };
    let disorder = "(() => { const wrong = [];\
        for (const one of document.querySelectorAll('.question .text:not([dir]), .question .preview')) {\
            const walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT); let last = null;\
            while (walk.nextNode()) { const node = walk.currentNode;\
                for (let at = 0; at < Math.min(node.length, 200); at++) {\
                    const range = document.createRange(); range.setStart(node, at); range.setEnd(node, at + 1);\
                    const box = range.getBoundingClientRect(); if (!box.width) continue;\
                    if (last && box.top < last.bottom - 2 && box.left < last.left - 1)\
                        wrong.push(one.textContent.slice(0, 40));\
                    last = box; } } }\
        return wrong; })()";
    for width in [1280, 390] {
        tab.shape(width, false).await;
        tab.go(&world.url("/console/confirmations")).await;
        assert_eq!(tab.eval(disorder).await, json!([]), "at {width}");
        assert_eq!(tab.overflow().await, Value::Null, "at {width}");
        let text = tab.text().await;
        assert!(text.contains("is written in two directions"), "{text}");
        assert!(text.contains("U+200B × 3"), "{text}");
        tab.picture(&format!("questions-{width}-light")).await;
        tab.click_through("a.action").await;
        assert_eq!(tab.overflow().await, Value::Null, "a long one at {width}");
        tab.until("document.querySelectorAll('button.strong').length == 1").await;
    }
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[tokio::test]
async fn a_document_of_quotes_in_quotes_stays_in_its_page() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    for width in [1280, 390] {
        tab.shape(width, false).await;
        tab.go(&world.url("/console/tools/helper/shop__echo")).await;
        for part in ["blockquote", "ul"] {
            let nest = format!(
                "(() => {{ let at = document.querySelector('.doc');\
                 for (let n = 0; n < 150; n++) {{ const one = document.createElement('{part}');\
                 at.append(one); at = one; }} at.append('deep'); }})()"
            );
            tab.eval(&nest).await;
        }
        assert_eq!(tab.overflow().await, Value::Null, "at {width}");
    }
}

#[tokio::test]
async fn buttons_and_words_in_tables_are_not_broken() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    for width in [1280, 390] {
        tab.shape(width, false).await;
        for path in ["/console/tools", "/console/keys", "/console/audit", "/console/connections"] {
            tab.go(&world.url(path)).await;
            // A tool with much to say takes all the room that it can get.
            let long = "document.querySelectorAll('.about')\
                        .forEach(one => one.textContent = 'many words '.repeat(60))";
            tab.eval(long).await;
            let highest = "Math.max(...[...document.querySelectorAll('main button')]\
                           .map(one => one.offsetHeight))";
            let highest = tab.eval(highest).await.as_f64().unwrap();
            assert!(highest < 40.0, "{path} at {width}: a button of two lines, {highest}");
            // A label in one line and its field in the next would be read with somebody else's field.
            let astray = "[...document.querySelectorAll('.row > label[for]')].filter(label => {\
                          const at = label.getBoundingClientRect();\
                          const own = document.getElementById(label.htmlFor).getBoundingClientRect();\
                          const fields = label.parentElement.querySelectorAll('select, input:not([type=hidden])');\
                          const beside = [...fields].map(one => one.getBoundingClientRect())\
                            .some(one => one.top < at.bottom && one.bottom > at.top);\
                          return own.top >= at.bottom && beside }).length";
            assert_eq!(tab.eval(astray).await, json!(0), "{path} at {width}");
            tab.picture(&format!("buttons-{}-{width}", &path[9..])).await;
        }
    }
}

#[tokio::test]
async fn a_legend_keeps_its_colours_where_the_system_has_its_own() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    let media = json!({"features": [{"name": "forced-colors", "value": "active"}]});
    tab.send("Emulation.setEmulatedMedia", media).await;
    tab.go(&world.url("/console")).await;
    let forced = "matchMedia('(forced-colors: active)').matches";
    assert_eq!(tab.eval(forced).await, json!(true));
    let colours = "new Set([...document.querySelectorAll('.plot:last-child .swatch')]\
                   .map(one => getComputedStyle(one).backgroundColor)).size";
    assert_eq!(tab.eval(colours).await, json!(5));
    tab.picture("forced-1280").await;
}

#[tokio::test]
async fn a_broken_policy_would_be_noticed() {
    let world = World::new().await;
    let Some(mut tab) = signed_in(&world, &world.admin).await else { return };
    tab.eval("document.body.setAttribute('style', 'color: red')").await;
    tab.until("true").await;
    assert!(
        tab.complaints.iter().any(|one| one.contains("Content Security Policy")),
        "{:?}",
        tab.complaints
    );
    let wide = "const p = document.createElement('p'); p.className = 'wide'; p.textContent = 'x'; document.body.append(p); \
                p.style.width = '3000px';";
    tab.eval(wide).await;
    assert_ne!(tab.overflow().await, Value::Null, "a page that is too wide is noticed, too");
}
