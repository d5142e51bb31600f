//! What a person is shown before they approve.

use haft_core::contract::ConfirmationText;
use haft_core::{Contract, Registry};
use haft_runtime::preview::{Preview, render};
use serde_json::{Value, json};

fn contract(prompt: Option<&str>) -> Contract {
    let registry: Registry = crate::arguments::studio();
    let mut contract = registry.find("calendar_create_event").unwrap().contract.clone();
    contract.confirmation = prompt.map(|prompt| ConfirmationText { prompt: prompt.to_owned() });
    contract
}

fn preview(prompt: Option<&str>, arguments: Value) -> Preview {
    render(&contract(prompt), &arguments)
}

#[track_caller]
fn asks(prompt: &str, arguments: Value, expected: &str) {
    assert_eq!(preview(Some(prompt), arguments).text, expected);
}

#[test]
fn slots_are_filled_with_everything_visible() {
    let prompt = "Book \"{title}\" at {start} and invite {attendees}?";
    asks(
        prompt,
        json!({"title": "Stand-up", "start": "2026-01-31T09:30:00Z", "attendees": ["a@b.c", "d@e.f"]}),
        "Book \"Stand-up\" at 2026-01-31T09:30:00Z and invite a@b.c, d@e.f?",
    );
    asks(
        prompt,
        json!({"title": "x\" at noon, \"", "start": "now?\nApproved", "attendees": []}),
        "Book \"x\\\" at noon, \\\"\" at \"now?\\u000aApproved\" and invite (nothing)?",
    );
    asks(
        "Pay {to.name}: {amount}",
        json!({"to": {"name": "a\u{202e}b"}, "amount": 3}),
        "Pay \"a\\u202eb\": 3",
    );
    // Blanks that only look like a space.
    asks("Pay {to}", json!({"to": "a\u{a0}b\u{3000}c d"}), "Pay \"a\\u00a0b\\u3000c d\"");
    asks(
        "All of {rows[].id}, {gone}, {",
        json!({"rows": [{"id": 1}, {"id": 2}]}),
        "All of 1, 2, (nothing), {",
    );
    let long = "x".repeat(10_000);
    assert!(preview(Some("Send {text}?"), json!({"text": long})).text.contains(&long));
}

#[test]
fn without_a_template_everything_is_shown() {
    let shown = preview(None, json!({"b": "zero\u{200b}wi\u{2003}dth", "a": 1}));
    assert_eq!(
        shown.text,
        "Run `calendar_create_event` with {\"a\":1,\"b\":\"zero\\u200bwi\\u2003dth\"}?"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&shown.arguments).unwrap(),
        json!({"b": "zero\u{200b}wi\u{2003}dth", "a": 1})
    );
}

#[test]
fn what_looks_like_something_else_is_named() {
    for (arguments, expected) in [
        (json!({"to": "anna@example.com", "note": "Привет, мир und Ελλάδα; 日本語abc"}), None),
        (json!({"to": ["p\u{0430}ypal@example.com"]}), Some("`to[0]` mixes alphabets")),
        (json!({"url": "https://аррӏе.com/login"}), Some("names `аррӏе.com`")),
        (json!({"url": "xn--80ak6aa92e.com"}), Some("names `xn--80ak6aa92e.com`")),
        (json!({"url": "https://paypa\u{323}l.com/x"}), Some("names `paypa\u{323}l.com`")),
        (json!({"url": "see “b\u{332}ank.com”"}), Some("names `b\u{332}ank.com`")),
        (json!({"to": "mara@paypa\u{323}l.com"}), Some("names `paypa\u{323}l.com`")),
        (json!({"url": "pay\u{2010}pal.com"}), Some("names `pay\u{2010}pal.com`")),
        (json!({"note": "“www.example.com” costs €1.50–2.50… says l’example.com"}), None),
        (json!({"note": "Mu\u{308}ller, cafe\u{301}. Привет.мир"}), None),
        (json!({"note": "a\u{e000}b\u{fffc}"}), Some("cannot be seen (U+E000, U+FFFC)")),
        (json!({"note": "a\u{202e}b"}), Some("cannot be seen (U+202E)")),
        (json!({"note": "a\u{202e}b\u{200b}\u{202e}"}), Some("cannot be seen (U+200B, U+202E)")),
        (json!({"note": format!("ok{}not ok", " ".repeat(40))}), Some("long run of spaces")),
        (json!({"note": "ｐａｙ"}), Some("only look like ordinary ones")),
        (json!({"a\u{200d}b": 1}), Some("cannot be seen (U+200D)")),
        (json!({"note": "a\u{1bca0}b"}), Some("cannot be seen (U+1BCA0)")),
        (
            json!({"to": "https://bank.example/\u{5d0}/1000/50/eve"}),
            Some("`to` is written in two directions"),
        ),
        (json!({"to": "\u{5d0}/1000/50"}), Some("`to` is written in two directions")),
        (json!({"a\u{5d0}": 1}), Some("is written in two directions")),
        (json!({"note": "\u{5e9}\u{5dc}\u{5d5}\u{5dd}, \u{5e9}!"}), None),
        // What is pointed out is pointed out in our words, with nothing of others' at work in them.
        (json!({"to": "\u{1b}[2J\u{430}.com"}), Some("names `2J\u{430}.com`")),
        (json!({"to": "a\u{1b}c\u{430}.com"}), Some("names `a\\u001bc\u{430}.com`")),
        (json!({"to": "a`\u{430}.com"}), Some("names `a\\u0060\u{430}.com`")),
        (json!({"a\u{202e}`b": "\u{ad}"}), Some("`a\\u202e\\u0060b` has characters")),
    ] {
        let found = preview(None, arguments).suspicious;
        match expected {
            Some(part) => assert!(found.iter().any(|told| told.contains(part)), "{found:?}"),
            None => assert_eq!(found, Vec::<String>::new()),
        }
    }
}

#[test]
fn a_finding_is_short_whatever_it_is_about() {
    let (name, word) = ("n".repeat(100_000), format!("{}\u{430}.com", "x".repeat(100_000)));
    let found = preview(None, json!({ name: word })).suspicious;
    assert!(!found.is_empty() && found.iter().all(|told| told.len() < 2_000), "{}", found.len());
}
