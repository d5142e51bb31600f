//! What may be seen, and secrets that come back in any spelling.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use haft_core::error::{ErrorKind, ToolError};
use haft_runtime::redact::{Marker, Scrubber, Secret, SecretRefused, Unscrubbed, View, clean_text};
use proptest::prelude::*;
use serde_json::{Value, json};

fn paths(paths: &[&str]) -> View {
    View::compile(&paths.iter().map(ToString::to_string).collect::<Vec<_>>())
}

#[test]
fn only_what_is_listed_is_seen() {
    let value = json!({
        "results": [{"id": 1, "text": "a", "meta": {"x": 1, "y": 2}}, {"text": "b"}, "odd"],
        "total": 2, "grid": [[{"id": 1, "s": 2}]], "new_field": "surprise"
    });
    for (allow, expected) in [
        (&["results[].id", "total"][..], json!({"results": [{"id": 1}, {}], "total": 2})),
        (&["results[].meta.x"], json!({"results": [{"meta": {"x": 1}}, {}]})),
        (&["grid[][].id"], json!({"grid": [[{"id": 1}]]})),
        (&["results.id", "total.x", "gone", "total[]"], json!({})),
        (
            &["results[].meta", "results[].meta.x"],
            json!({"results": [{"meta": {"x": 1, "y": 2}}, {}]}),
        ),
        (&["*"], json!({})),
        (&[], json!({})),
    ] {
        assert_eq!(paths(allow).of(&value), expected, "{allow:?}");
    }
    assert_eq!(paths(&["a"]).of(&json!("text")), json!({}));
}

#[test]
fn of_other_arguments_the_shape_and_a_mark_remain() {
    let view = paths(&["namespace", "filters.type", "rows[].id"]);
    let arguments = json!({
        "namespace": "studio", "query": "1234",
        "filters": {"type": "doc", "tags": ["a", "b"]}, "rows": [{"id": 1, "pin": "1234"}], "who": {"a": 1, "b": 2}
    });
    let (one, two) = (Marker::new([1; 32]), Marker::new([2; 32]));
    let seen = view.arguments_view(&arguments, &one);
    assert_eq!(seen["namespace"], "studio");
    assert_eq!(seen["filters"]["type"], "doc");
    assert_eq!(seen["rows"][0]["id"], 1);
    for (pointer, shape) in [
        ("/query", "string(4)"),
        ("/filters/tags", "array(2)"),
        ("/rows/0/pin", "string(4)"),
        ("/who", "object(2)"),
    ] {
        let hidden = seen.pointer(pointer).unwrap();
        assert_eq!(hidden["redacted"], shape);
        assert!(hidden["digest"].as_str().unwrap().starts_with("hmac-sha256:"));
    }
    assert_eq!(seen, view.arguments_view(&arguments, &one), "equal values are recognised");
    assert_ne!(seen["query"], view.arguments_view(&arguments, &two)["query"], "the key counts");
    assert_ne!(seen["query"]["digest"], seen["rows"][0]["pin"]["digest"], "so does the argument");
    assert!(!seen.to_string().contains("1234"));
}

const TOKEN: &str = "sk-p0!/ü \"q\" <&> z\\9";

fn scrubber() -> Scrubber {
    let secrets = [
        Secret::new("conn_x", TOKEN).unwrap(),
        Secret::new("pin", "8842761").unwrap(),
        Secret::new("overlap", "2761zzzz").unwrap(),
    ];
    Scrubber::new(&secrets).unwrap()
}

#[track_caller]
fn scrubbed(text: &str, expected: &str) {
    assert_eq!(scrubber().text(text).unwrap(), expected, "{text}");
}

fn percent(text: &str, all: bool) -> String {
    let plain = |byte: u8| !all && byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

#[test]
fn a_secret_is_found_in_every_spelling() {
    let hidden = "a [secret:conn_x] b";
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let colons: Vec<String> = TOKEN.bytes().map(|byte| format!("{byte:02X}")).collect();
    let json = serde_json::to_string(TOKEN).unwrap();
    let json = &json[1..json.len() - 1];
    let unicode: String = TOKEN.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    let html = TOKEN
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&#x22;");
    let form = percent(TOKEN, false).replace("%20", "+");
    for spelling in [
        TOKEN.to_owned(),
        percent(TOKEN, false),
        percent(TOKEN, true).to_lowercase(),
        percent(TOKEN, true),
        percent(&percent(TOKEN, false), false),
        hex.clone(),
        hex.to_uppercase(),
        colons.join(":"),
        json.to_owned(),
        serde_json::to_string(&json).unwrap().trim_matches('"').to_owned(),
        unicode,
        html,
        form,
        TOKEN.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        TOKEN.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
    ] {
        scrubbed(&format!("a {spelling} b"), hidden);
    }
}

fn hexed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_secret_is_found_in_groups_of_a_dump_wherever_it_begins() {
    for size in [2, 4] {
        for before in 0..size {
            let text = format!("{}{TOKEN}!!!!", "x".repeat(before));
            let dump: Vec<String> = text.as_bytes().chunks(size).map(hexed).collect();
            let clean = scrubber().text(&dump.join(" ")).unwrap().into_owned();
            assert!(clean.contains("[secret:conn_x]"), "{size}, {before}: {clean}");
            assert!(!clean.contains("39"), "nothing of it is left: {clean}");
        }
    }
}

#[test]
fn a_secret_is_found_in_spellings_of_spellings() {
    let hidden = "a [secret:conn_x] b";
    let each = |write: fn(u8) -> String| TOKEN.bytes().map(write).collect::<Vec<_>>();
    let hex = each(|byte| format!("{byte:02x}")).concat();
    for spelling in [
        TOKEN.to_ascii_uppercase(),
        each(|byte| byte.to_string()).join(","),
        each(|byte| byte.to_string()).join(", "),
        each(|byte| format!("0x{byte:02X}")).join(", "),
        each(|byte| byte.to_string()).join(" "),
        each(|byte| format!("0x{byte:02x}")).join(" "),
        each(|byte| format!("\\{byte:03o}")).concat(),
        each(|byte| format!("={byte:02X}")).concat(),
        TOKEN.chars().map(|c| format!("\\u{{{:x}}}", u32::from(c))).collect(),
        TOKEN.encode_utf16().map(|unit| format!("%u{unit:04x}")).collect(),
        TOKEN.chars().map(|c| format!("&#{}", u32::from(c))).collect::<String>(),
        TOKEN
            .chars()
            .map(|c| format!("{c}\u{200b}"))
            .collect::<String>()
            .trim_end_matches('\u{200b}')
            .to_owned(),
        TOKEN.encode_utf16().flat_map(u16::to_le_bytes).map(|byte| format!("{byte:02x}")).collect(),
        TOKEN.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect(),
        TOKEN
            .chars()
            .map(|c| format!("{c}\0"))
            .collect::<String>()
            .trim_end_matches('\0')
            .to_owned(),
        TOKEN.replace('!', "!\t"),
        TOKEN.as_bytes().chunks(2).map(hexed).collect::<Vec<_>>().join(" "),
        TOKEN.as_bytes().chunks(4).map(hexed).collect::<Vec<_>>().join(" ").to_uppercase(),
        STANDARD
            .encode(TOKEN)
            .trim_end_matches('=')
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    ] {
        scrubbed(&format!("a {spelling} b"), hidden);
    }
    let little: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for spelling in [
        STANDARD.encode(STANDARD.encode(TOKEN)),
        STANDARD.encode(&hex),
        STANDARD.encode(hex.to_uppercase()),
        STANDARD.encode(little),
        URL_SAFE_NO_PAD.encode(big),
        // By RFC 4648, as `printf … | base32` writes it.
        "ONVS24BQEEX4HPBAEJYSEIB4EY7CA6S4HE======".to_owned(),
    ] {
        let clean = scrubber().text(&spelling).unwrap().into_owned();
        assert!(clean.contains("[secret:conn_x]"), "{spelling}: {clean}");
    }
    let mut buffer = json!({ "type": "Buffer", "data": TOKEN.as_bytes() });
    assert!(scrubber().value(&mut buffer).unwrap());
    assert_eq!(buffer, json!({ "type": "Buffer", "data": "[secret:conn_x]" }));
    let mut numbers = json!([1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(!scrubber().value(&mut numbers).unwrap(), "{numbers}");
}

#[test]
fn a_secret_is_found_in_base64_wherever_it_begins() {
    for before in ["", "u", "us", "user:", "x".repeat(61).as_str()] {
        for after in ["", "!", "!!", "!!!"] {
            let text = format!("{before}{TOKEN}{after}");
            for spelling in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let clean = scrubber().text(&spelling).unwrap().into_owned();
                assert!(clean.contains("[secret:conn_x]"), "{before}|{after}: {clean}");
                let folded: Vec<String> = spelling
                    .as_bytes()
                    .chunks(8)
                    .map(|part| String::from_utf8_lossy(part).into_owned())
                    .collect();
                let clean = scrubber().text(&folded.join("\r\n")).unwrap().into_owned();
                assert!(clean.contains("[secret:conn_x]"), "folded: {clean}");
            }
        }
    }
}

#[test]
fn values_names_numbers_and_errors_are_scrubbed() {
    let mut value = json!({
        "ok": [1, true, null, "plain"], "n": 8842761, "f": 18842761.5,
        TOKEN: {"deep": [format!("Bearer {TOKEN}")]}, format!("x{TOKEN}"): 1, "[secret:conn_x]": 2
    });
    assert!(scrubber().value(&mut value).unwrap());
    assert_eq!(
        value,
        json!({
            "ok": [1, true, null, "plain"], "n": "[secret:pin]", "f": "1[secret:pin].5",
            "[secret:conn_x]": {"deep": ["Bearer [secret:conn_x]"]}, "x[secret:conn_x]": 1,
            "[secret:conn_x]#2": 2
        })
    );
    scrubbed("88427612761zzzz 8842761zzzz", "[secret:pin][secret:overlap] [secret:pin]");
    let mut error = ToolError::new(ErrorKind::Permanent, format!("GET /?key={TOKEN}"))
        .with_details(json!({"header": TOKEN}))
        .suggest(TOKEN)
        .caused_by(TOKEN);
    assert!(scrubber().error(&mut error).unwrap());
    assert!(!format!("{error:?}").contains("sk-p0"));
    let mut plain = json!({"a": "nothing here"});
    assert!(!scrubber().value(&mut plain).unwrap());
}

/// What is no escape, and makes one with the first letters of a secret that is escaped itself.
#[test]
fn nothing_before_a_secret_hides_its_beginning() {
    for (secret, text) in [
        ("0a0A++", "100%0a0A%2B%2B!"),
        ("0a0A++", "%250a0A%2b+"),
        ("nabc/d", r"C:\nabc\/d"),
        ("u0041/x", r"\u0041\u002fx"),
        ("#65;=/", "&#65;&#61;/"),
    ] {
        let scrubber = Scrubber::new(&[Secret::new("s", secret).unwrap()]).unwrap();
        let clean = scrubber.text(text).unwrap();
        assert!(clean.contains("[secret:s]"), "{secret} in {text}: {clean}");
    }
}

#[test]
fn a_key_of_many_lines_is_found_in_parts() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    let scrubber = Scrubber::new(&[Secret::new("key", key).unwrap()]).unwrap();
    for text in [
        key.to_owned(),
        key.replace('\n', "\\n"),
        key.replace('\n', "\r\n"),
        "only hkiG9w0BAQEFAASC of it".to_owned(),
    ] {
        let clean = scrubber.text(&text).unwrap().into_owned();
        assert!(!clean.contains("hkiG9w0BAQEF"), "{clean}");
    }
}

#[test]
fn what_cannot_be_looked_through_is_withheld() {
    let mut deep = json!("x");
    for _ in 0..200 {
        deep = json!([deep]);
    }
    assert_eq!(scrubber().value(&mut deep), Err(Unscrubbed::TooDeep));
    let large = "x".repeat(65 << 20);
    assert_eq!(scrubber().text(&large), Err(Unscrubbed::TooLarge));
    assert_eq!(Secret::new("a", "12345").err(), Some(SecretRefused::TooShort));
    assert_eq!(Secret::new("a]\n", "1234567").err(), Some(SecretRefused::Label));
}

#[test]
fn an_escape_that_ends_in_a_secret_hides_none() {
    let scrubber = Scrubber::new(&[Secret::new("s", "00 -  ").unwrap()]).unwrap();
    for text in ["%100%20-%20%20", "%1000%20-%20%20", "\\x100%20-%20%20", "=100%20-%20%20"] {
        let safe = scrubber.text(text).unwrap();
        assert!(safe.contains("[secret:s]"), "{text}: {safe}");
    }
}

#[test]
fn what_cannot_be_seen_hides_no_secret() {
    for hidden in [
        "\0",
        "\u{7}",
        "\u{7f}",
        "\u{85}",
        "\u{ad}",
        "\u{34f}",
        "\u{61c}",
        "\u{115f}",
        "\u{17b4}",
        "\u{180b}",
        "\u{200b}",
        "\u{202e}",
        "\u{2060}",
        "\u{3164}",
        "\u{e000}",
        "\u{fe0f}",
        "\u{feff}",
        "\u{ffa0}",
        "\u{13430}",
        "\u{1d159}",
        "\u{e0041}",
        "\u{e0100}",
        "\u{f0000}",
        "\u{10fffd}",
        "\u{1b}[31m",
        "\u{1b}[0;1m",
        "\r\n\t",
    ] {
        for at in [1, 4, TOKEN.len() - 1] {
            let (one, other) = TOKEN.split_at(at);
            scrubbed(&format!("a {one}{hidden}{other} b"), "a [secret:conn_x] b");
        }
    }
}

#[test]
fn foreign_texts_are_cleaned() {
    for (text, expected) in [
        ("plain", "plain"),
        ("\u{1b}[2J\u{1b}]0;title\u{7}ok\u{9b}31m!", "ok!"),
        ("a\r\nlevel=error b", "a level=error b"),
        ("a\n\n\n   \n\nb", "a b"),
        ("a\u{2028}b\u{202e}c\u{200b}d\0e", "a bcde"),
        ("\u{1b}[ truncated", "runcated"),
        ("\u{1b}", ""),
    ] {
        assert_eq!(clean_text(text, 100), expected, "{text:?}");
    }
    assert_eq!(clean_text(&"ä".repeat(1 << 20), 3), "äää…");
}

proptest! {
    #[test]
    fn no_spelling_of_a_secret_gets_through(
        secret in "[a-zA-Z0-9/+=_. -]{6,40}", before in ".{0,20}", after in ".{0,20}", kind in 0..6,
    ) {
        let spelled = match kind {
            0 => secret.clone(),
            1 => percent(&secret, false),
            2 => secret.bytes().map(|byte| format!("{byte:02X}")).collect(),
            3 => STANDARD.encode(&secret),
            4 => serde_json::to_string(&secret).unwrap().trim_matches('"').to_owned(),
            _ => URL_SAFE_NO_PAD.encode(format!("{before}{secret}{after}")),
        };
        let scrubber = Scrubber::new(&[Secret::new("s", secret.clone()).unwrap()]).unwrap();
        let mut value = json!([format!("{before}{spelled}{after}")]);
        prop_assert!(scrubber.value(&mut value).unwrap());
        let clean = value[0].as_str().unwrap();
        prop_assert!(clean.contains("[secret:s]"));
    }

    #[test]
    fn scrubbing_never_panics_and_leaves_plain_text_alone(text in "\\PC{0,60}|[%&\\\\;#xu0-9a-f]{0,60}") {
        let clean = scrubber().text(&text).unwrap().into_owned();
        prop_assert_eq!(clean, text.clone());
        prop_assert!(clean_text(&text, 10).chars().count() <= 11);
    }

    #[test]
    fn a_view_shows_nothing_but_what_is_listed(text in "[a-z]{12}") {
        let value = json!({"open": 1, "shut": {"open": text, "list": [text]}, "list": [{"shut": text}]});
        let seen: Value = paths(&["open", "list[].open"]).of(&value);
        prop_assert!(!seen.to_string().contains(&text));
    }
}
