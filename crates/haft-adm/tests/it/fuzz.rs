//! No text makes a reader panic or hang, and what is read is written and read again unchanged.

use haft_adm::strict::{self, Limits};
use haft_adm::{Errors, FunctionCall, Tool, ToolResult};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::generate;

fn config() -> Config {
    Config { cases: 400, failure_persistence: None, ..Config::default() }
}

/// Reads by every door and compares what comes out.
fn check<T>(read: fn(&str) -> Result<T, Errors>, text: &str)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let Ok(value) = read(text) else { return };
    let written = serde_json::to_string(&value).unwrap();
    assert_eq!(read(&written).as_ref(), Ok(&value), "{written}");
}

fn check_all(text: &str) {
    check(Tool::parse, text);
    check(FunctionCall::parse, text);
    check(ToolResult::parse, text);
    if let Ok(value) = strict::parse(text, Limits::default()) {
        let written = value.to_string();
        assert_eq!(strict::parse(&written, Limits::default()).as_ref(), Ok(&value), "{written}");
    }
    // Whoever is laxer, it is not the strict reader.
    if serde_json::from_str::<serde_json::Value>(text).is_err() {
        assert!(strict::parse(text, Limits::default()).is_err(), "{text}");
    }
    if serde_json::from_str::<Tool>(text).is_ok() {
        assert!(Tool::parse(text).is_ok(), "{text}");
    }
}

/// The text with some bytes replaced, dropped or doubled.
fn scratched(text: String, scratches: Vec<(prop::sample::Index, u8, char)>) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (place, how, character) in scratches {
        if characters.is_empty() {
            break;
        }
        let at = place.index(characters.len());
        match how {
            0 => characters[at] = character,
            1 => drop(characters.remove(at)),
            2 => characters.insert(at, character),
            _ => characters.truncate(at),
        }
    }
    characters.into_iter().collect()
}

fn scratches() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, char)>> {
    let characters = prop_oneof![
        prop::sample::select("{}[]\",:\\u0123456789eE+-. \n".chars().collect::<Vec<_>>()),
        any::<char>(),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, characters), 1..5)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text(text in any::<String>()) {
        check_all(&text);
    }

    #[test]
    fn text_that_looks_like_json(text in "[\\[\\]{}\",:0-9eE.+\\-\\\\utrfalsn \n]{0,60}") {
        check_all(&text);
    }

    #[test]
    fn numbers(text in "-?[0-9]{0,22}(\\.[0-9]{0,22})?([eE][+-]?[0-9]{0,4})?") {
        check_all(&text);
    }

    #[test]
    fn any_json(value in generate::json()) {
        let text = value.to_string();
        prop_assert_eq!(strict::parse(&text, Limits::default()), Ok(value));
        check_all(&text);
    }

    #[test]
    fn broken_documents(
        document in prop_oneof![
            generate::broken(generate::tool()),
            generate::broken(generate::call()),
            generate::broken(generate::result()),
        ]
    ) {
        check_all(&document.to_string());
    }

    #[test]
    fn scratched_documents(
        document in prop_oneof![generate::tool(), generate::call(), generate::result()],
        scratches in scratches(),
    ) {
        check_all(&scratched(document.to_string(), scratches));
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = strict::parse_bytes(&bytes, Limits::default());
    }

    #[test]
    fn right_tools_come_back_unchanged(document in generate::tool()) {
        let tool = Tool::from_value(document.clone()).unwrap();
        prop_assert_eq!(&serde_json::to_value(&tool).unwrap(), &document);
        let text = serde_json::to_string(&tool).unwrap();
        prop_assert_eq!(&Tool::parse(&text).unwrap(), &tool);
        prop_assert_eq!(&serde_json::from_str::<Tool>(&text).unwrap(), &tool);
    }

    #[test]
    fn any_call_can_be_checked(tool in generate::tool(), call in generate::call()) {
        let (tool, call) = (Tool::from_value(tool).unwrap(), FunctionCall::from_value(call).unwrap());
        let function = &tool.functions()[0];
        let _ = function.check_args(call.args());
        prop_assert!(tool.check_call(&call).is_err() || tool.function(call.name().as_str()).is_some());
    }
}
