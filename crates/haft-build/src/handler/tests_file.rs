//! The shape of `tests.json`: calls with stubbed capabilities and what must come of them.
//!
//! Whether `args` fit the tool's parameters is asked elsewhere, by the validator.

use std::collections::HashSet;

use haft_core::contract::Capability;
use serde_json::{Map, Value};

use crate::code;
use crate::diagnostic::{At, File, Finding, Findings, Part, escape};
use haft_core::nearest;

/// Reports everything that is wrong with the file, at once.
pub(crate) fn check(tests: &Value, capabilities: &[Capability], findings: &mut Findings) {
    let mut check = Check { capabilities, findings };
    let Some(file) = check.object(tests, "", &["tests"]) else { return };
    let Some(list) = check.required(file, "", "tests") else { return };
    let Some(list) = check.list(list, "/tests") else { return };
    if list.is_empty() {
        check.add("/tests", "there are no tests").help("write one, or delete the file");
    }
    let mut names = HashSet::new();
    for (index, test) in list.iter().enumerate() {
        check.test(test, &format!("/tests/{index}"), &mut names);
    }
}

struct Check<'c> {
    capabilities: &'c [Capability],
    findings: &'c mut Findings,
}

impl Check<'_> {
    fn test<'t>(&mut self, test: &'t Value, at: &str, names: &mut HashSet<&'t str>) {
        let known = &["name", "mode", "args", "stubs", "session", "expect", "expectCalls"];
        let Some(test) = self.object(test, at, known) else { return };
        if let Some(name) = self.required(test, at, "name")
            && let Some(name) = self.text(name, &format!("{at}/name"))
            && !names.insert(name)
        {
            let message = format!("two tests are called `{name}`");
            self.add(&format!("{at}/name"), message).help("say what is different about this one");
        }
        if let Some(mode) = test.get("mode") {
            self.word(mode, &format!("{at}/mode"), &["text", "voice"]);
        }
        if let Some(args) = self.required(test, at, "args") {
            self.map(args, &format!("{at}/args"));
        }
        if let Some(session) = test.get("session") {
            self.map(session, &format!("{at}/session"));
        }
        if let Some(stubs) = test.get("stubs") {
            self.stubs(stubs, &format!("{at}/stubs"));
        }
        if let Some(expect) = self.required(test, at, "expect") {
            self.expect(expect, &format!("{at}/expect"));
        }
        if let Some(calls) = test.get("expectCalls") {
            self.calls(calls, &format!("{at}/expectCalls"));
        }
    }

    fn stubs(&mut self, stubs: &Value, at: &str) {
        let Some(stubs) = self.map(stubs, at) else { return };
        for (name, answer) in stubs {
            let at = format!("{at}/{}", escape(name));
            self.capability(name, At::Pointer(File::Tests, at.clone(), Part::Key));
            self.answer(answer, &at, &["returns", "throws", "sequence"]);
        }
    }

    /// One answer of a capability, or several in turn.
    fn answer(&mut self, answer: &Value, at: &str, kinds: &[&str]) {
        let Some(answer) = self.object(answer, at, kinds) else { return };
        if answer.keys().filter(|name| kinds.contains(&name.as_str())).count() != 1 {
            let message = format!("a stub has exactly one of {}", nearest::list(kinds));
            self.add(at, message).help("several answers in turn are a `sequence`");
        }
        if let Some(error) = answer.get("throws") {
            self.error(error, &format!("{at}/throws"), &["kind", "message"]);
        }
        if let Some(sequence) = answer.get("sequence").filter(|_| kinds.contains(&"sequence")) {
            let at = format!("{at}/sequence");
            let Some(sequence) = self.list(sequence, &at) else { return };
            if sequence.is_empty() {
                self.add(&at, "a sequence has at least one answer").help("add what comes first");
            }
            for (index, answer) in sequence.iter().enumerate() {
                self.answer(answer, &format!("{at}/{index}"), &["returns", "throws"]);
            }
        }
    }

    fn expect(&mut self, expect: &Value, at: &str) {
        let Some(expect) = self.map(expect, at) else { return };
        match self.required(expect, at, "ok") {
            Some(Value::Bool(true)) => {
                self.known(expect, at, &["ok", "data", "intents"]);
                if let Some(intents) = expect.get("intents") {
                    self.list(intents, &format!("{at}/intents"));
                }
            }
            Some(Value::Bool(false)) => {
                self.known(expect, at, &["ok", "error"]);
                if let Some(error) = self.required(expect, at, "error") {
                    self.error(error, &format!("{at}/error"), ERROR);
                }
            }
            Some(other) => self.wrong(other, &format!("{at}/ok"), "`true` or `false`"),
            None => {}
        }
    }

    fn error(&mut self, error: &Value, at: &str, known: &[&str]) {
        let Some(error) = self.object(error, at, known) else { return };
        if let Some(kind) = self.required(error, at, "kind") {
            self.text(kind, &format!("{at}/kind"));
        }
        for name in ["message", "suggestion"] {
            if let Some(text) = error.get(name).filter(|_| known.contains(&name)) {
                self.text(text, &format!("{at}/{name}"));
            }
        }
        for name in ["retryable", "partialSideEffects", "idempotencyRequired"] {
            if let Some(flag) = error.get(name).filter(|_| known.contains(&name))
                && !flag.is_boolean()
            {
                self.wrong(flag, &format!("{at}/{name}"), "`true` or `false`");
            }
        }
    }

    fn calls(&mut self, calls: &Value, at: &str) {
        let Some(calls) = self.list(calls, at) else { return };
        for (index, call) in calls.iter().enumerate() {
            let at = format!("{at}/{index}");
            let Some(call) = self.object(call, &at, &["capability", "args"]) else { continue };
            let Some(name) = self.required(call, &at, "capability") else { continue };
            let at = format!("{at}/capability");
            if let Some(name) = self.text(name, &at) {
                self.capability(name, At::Pointer(File::Tests, at, Part::Value));
            }
        }
    }

    /// `<capability>.<method>`, of a capability that the contract lists.
    fn capability(&mut self, name: &str, at: At) {
        let (prefix, method) = name.split_once('.').unwrap_or((name, ""));
        let known = |one: &Capability| one.as_str() == prefix || one.in_js() == prefix;
        let Some(capability) = Capability::ALL.into_iter().find(known) else {
            let words = Capability::ALL.map(Capability::in_js);
            let message = format!("`{prefix}` is not a capability");
            let help = nearest::suggest(prefix, &words);
            self.findings.add(&code::TESTS, at, message).help(help);
            return;
        };
        // `callTool` is a function itself; everything else has methods.
        if method.is_empty() && capability != Capability::CallTool {
            let message = format!("`{name}` does not say which method is meant");
            let help = format!("write `{prefix}.<method>`");
            self.findings.add(&code::TESTS, at, message).help(help);
        } else if !self.capabilities.contains(&capability) {
            let word = capability.as_str();
            let message = format!("the contract does not list the capability `{word}`");
            let help = format!("take it out, or add `\"{word}\"` to `capabilities` in schema.json");
            self.findings.add(&code::TESTS, at, message).help(help);
        }
    }

    fn object<'v>(
        &mut self,
        value: &'v Value,
        at: &str,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let object = self.map(value, at)?;
        self.known(object, at, known);
        Some(object)
    }

    fn known(&mut self, object: &Map<String, Value>, at: &str, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let at = At::Pointer(File::Tests, format!("{at}/{}", escape(name)), Part::Key);
            let message = format!("there is no field `{name}` here");
            self.findings.add(&code::TESTS, at, message).help(nearest::suggest(name, known));
        }
    }

    fn required<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        at: &str,
        name: &str,
    ) -> Option<&'v Value> {
        let value = object.get(name);
        if value.is_none() {
            self.add(at, format!("`{name}` is missing")).help(format!("add `\"{name}\"`"));
        }
        value
    }

    fn map<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v Map<String, Value>> {
        if !value.is_object() {
            self.wrong(value, at, "an object");
        }
        value.as_object()
    }

    fn list<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v [Value]> {
        if !value.is_array() {
            self.wrong(value, at, "a list");
        }
        value.as_array().map(Vec::as_slice)
    }

    fn text<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v str> {
        let text = value.as_str().filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.wrong(value, at, "a text that is not empty");
        }
        text
    }

    fn word(&mut self, value: &Value, at: &str, words: &[&str]) {
        if let Some(word) = self.text(value, at)
            && !words.contains(&word)
        {
            let message = format!("`{word}` is none of {}", nearest::list(words));
            self.add(at, message).help(nearest::suggest(word, words));
        }
    }

    fn wrong(&mut self, value: &Value, at: &str, wanted: &str) {
        let found = match value {
            Value::Null => "`null`",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(text) if text.trim().is_empty() => "an empty one",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let what = match at.rsplit_once('/') {
            Some((_, name)) if name.parse::<usize>().is_err() => format!("`{name}`"),
            Some(_) => "the entry".to_owned(),
            None => "the file".to_owned(),
        };
        self.add(at, format!("{what} must be {wanted}, not {found}"));
    }

    fn add(&mut self, at: &str, message: impl Into<String>) -> &mut Finding {
        let at = At::Pointer(File::Tests, at.to_owned(), Part::Value);
        self.findings.add(&code::TESTS, at, message)
    }
}

/// What an expected error can say: the error of every answer.
const ERROR: &[&str] = &[
    "kind",
    "message",
    "retryable",
    "idempotencyRequired",
    "partialSideEffects",
    "suggestion",
    "details",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn run(tests: &Value) -> Vec<String> {
        let mut findings = Findings::default();
        check(tests, &[Capability::Kb, Capability::CallTool], &mut findings);
        let line = |finding: &Finding| match &finding.at {
            At::Pointer(File::Tests, at, Part::Key) => format!("{at} (key): {}", finding.message),
            At::Pointer(File::Tests, at, Part::Value) => format!("{at}: {}", finding.message),
            other @ (At::Whole(_) | At::Bytes(..) | At::Pointer(..)) => panic!("{other:?}"),
        };
        assert!(findings.list().iter().all(|finding| finding.code.id == "H412"));
        findings.list().iter().map(line).collect()
    }

    /// A test that is right, with one member put in its place.
    #[track_caller]
    fn with(name: &str, value: Value, expected: &[&str]) {
        let mut test = json!({"name": "it works", "args": {}, "expect": {"ok": true}});
        test[name] = value;
        let found = run(&json!({ "tests": [test] }));
        let found: Vec<_> = found.iter().map(|one| one.trim_start_matches("/tests/0")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_file_is_a_list_of_tests() {
        let test = json!({"name": "it works", "args": {}, "expect": {"ok": true}});
        let cases = [
            (json!({ "tests": [test] }), vec![]),
            (json!([]), vec![": the file must be an object, not a list"]),
            (json!({}), vec![": `tests` is missing"]),
            (json!({"tests": {}}), vec!["/tests: `tests` must be a list, not an object"]),
            (json!({"tests": []}), vec!["/tests: there are no tests"]),
            (json!({"tests": [1]}), vec!["/tests/0: the entry must be an object, not a number"]),
            (
                json!({"test": []}),
                vec!["/test (key): there is no field `test` here", ": `tests` is missing"],
            ),
            (
                json!({ "tests": [test, test] }),
                vec!["/tests/1/name: two tests are called `it works`"],
            ),
            (
                json!({"tests": [{}]}),
                vec![
                    "/tests/0: `name` is missing",
                    "/tests/0: `args` is missing",
                    "/tests/0: `expect` is missing",
                ],
            ),
        ];
        for (file, expected) in cases {
            assert_eq!(run(&file), expected, "{file}");
        }
    }

    #[test]
    fn each_member_has_its_shape() {
        with(
            "name",
            json!(" "),
            &["/name: `name` must be a text that is not empty, not an empty one"],
        );
        with("mode", json!("voice"), &[]);
        with("mode", json!("spoken"), &["/mode: `spoken` is none of `text`, `voice`"]);
        with("args", json!([]), &["/args: `args` must be an object, not a list"]);
        with("session", json!(null), &["/session: `session` must be an object, not `null`"]);
        with("expected", json!({}), &["/expected (key): there is no field `expected` here"]);
        with("expectCalls", json!([{"capability": "kb.search", "args": [1]}]), &[]);
        with("expectCalls", json!([{}]), &["/expectCalls/0: `capability` is missing"]);
        with(
            "expectCalls",
            json!([{"capability": "clock.now"}]),
            &["/expectCalls/0/capability: the contract does not list the capability `clock`"],
        );
    }

    #[test]
    fn an_expectation_is_a_success_or_a_failure() {
        with("expect", json!({"ok": true, "data": 1, "intents": []}), &[]);
        with("expect", json!({"ok": false, "error": {"kind": "x", "message": "y"}}), &[]);
        with("expect", json!({"ok": false, "error": {"kind": "x", "retryable": true}}), &[]);
        with(
            "expect",
            json!({"ok": 1}),
            &["/expect/ok: `ok` must be `true` or `false`, not a number"],
        );
        with("expect", json!({}), &["/expect: `ok` is missing"]);
        with("expect", json!({"ok": false}), &["/expect: `error` is missing"]);
        with(
            "expect",
            json!({"ok": true, "error": {}}),
            &["/expect/error (key): there is no field `error` here"],
        );
        with("expect", json!({"ok": false, "error": {}}), &["/expect/error: `kind` is missing"]);
        with(
            "expect",
            json!({"ok": true, "intents": {}}),
            &["/expect/intents: `intents` must be a list, not an object"],
        );
    }

    #[test]
    fn a_stub_stands_for_a_listed_capability() {
        with("stubs", json!({"kb.search": {"returns": null}}), &[]);
        with("stubs", json!({"callTool": {"returns": 1}, "call_tool.x": {"returns": 1}}), &[]);
        with("stubs", json!({"kb.get": {"throws": {"kind": "transient", "message": "x"}}}), &[]);
        with(
            "stubs",
            json!({"kb.get": {"sequence": [{"returns": 1}, {"throws": {"kind": "x"}}]}}),
            &[],
        );
        with(
            "stubs",
            json!({"kbb.search": {"returns": 1}}),
            &["/stubs/kbb.search (key): `kbb` is not a capability"],
        );
        with(
            "stubs",
            json!({"http.get": {"returns": 1}}),
            &["/stubs/http.get (key): the contract does not list the capability `http`"],
        );
        with(
            "stubs",
            json!({"kb": {"returns": 1}}),
            &["/stubs/kb (key): `kb` does not say which method is meant"],
        );
        with(
            "stubs",
            json!({"kb.get": {"returns": 1, "throws": {"kind": "x"}}}),
            &["/stubs/kb.get: a stub has exactly one of `returns`, `throws`, `sequence`"],
        );
        with(
            "stubs",
            json!({"kb.get": {"sequence": []}}),
            &["/stubs/kb.get/sequence: a sequence has at least one answer"],
        );
        with(
            "stubs",
            json!({"kb.get": {"sequence": [{"sequence": []}]}}),
            &[
                "/stubs/kb.get/sequence/0/sequence (key): there is no field `sequence` here",
                "/stubs/kb.get/sequence/0: a stub has exactly one of `returns`, `throws`",
            ],
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "tests",
            "name",
            "args",
            "expect",
            "ok",
            "stubs",
            "kb.get",
            "returns",
            "throws",
            "sequence",
            "expectCalls",
            "capability",
            "error",
            "kind",
            "",
            "~/",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            word.clone().prop_map(|word| json!(word)),
        ];
        leaf.prop_recursive(6, 64, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((word.clone(), inner), 0..4).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_answered(file in any_json()) {
            run(&file);
        }
    }
}
