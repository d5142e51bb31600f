//! Every lint, as a case: what is changed in a good tool, and what the compiler says then.

use haft_build::build;
use haft_build::diagnostic::render::{Colour, Show, text};
use haft_core::contract::Category;
use serde_json::{Value, json};

use crate::workshop::Workshop;

/// What the compiler says after `change`: the whole of it, each line shortened to what matters.
#[track_caller]
fn check(change: impl Fn(&Workshop), expected: &[&str]) {
    let workshop = Workshop::new();
    change(&workshop);
    let lines: Vec<String> =
        workshop.lines().iter().map(|line| line.replace("tools/echo/", "")).collect();
    assert_eq!(lines, expected);
}

#[track_caller]
fn contract(patch: Value, expected: &[&str]) {
    check(|workshop| workshop.patch("echo", patch.clone()), expected);
}

/// The first argument is the schema of one more parameter, `x`.
#[track_caller]
fn parameter(schema: Value, expected: &[&str]) {
    contract(json!({ "parameters": { "properties": { "x": schema } } }), expected);
}

#[track_caller]
fn doc(old: &str, new: &str, expected: &[&str]) {
    check(|workshop| workshop.replace("tools/echo/doc.md", old, new), expected);
}

#[track_caller]
fn handler(source: &str, expected: &[&str]) {
    check(|workshop| workshop.write("tools/echo/handler.js", source), expected);
}

/// What a person would see.
fn shown(workshop: &Workshop) -> String {
    text(&workshop.check().diagnostics, workshop.root(), "", Show::All, Colour::No)
}

#[test]
fn what_haft_new_makes_is_clean() {
    for category in [Category::Retrieval, Category::Action, Category::Utility] {
        let workshop = Workshop::new();
        workshop.add("another-tool", category);
        assert_eq!(workshop.lines(), Vec::<String>::new());
    }
}

#[test]
fn what_haft_new_makes_waits_to_be_written() {
    let workshop = Workshop::new();
    workshop.add_untouched("another", Category::Action);
    let expected = [
        "tools/another/doc.md:3:1: warning: these sections say nothing yet: Summary, Preconditions, Postconditions, Invariants, Failure Modes, Common Mistakes [H207]",
        "tools/another/doc_summary.md:1:1: warning: the summary says nothing yet [H207]",
    ];
    assert_eq!(workshop.lines(), expected);
}

mod files {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        check(
            |workshop| workshop.remove("tools/echo/doc.md"),
            &["tools/echo: error: `doc.md` is missing [H001]"],
        );
        check(
            |workshop| workshop.remove("tools/echo/schema.json"),
            &["tools/echo: error: `schema.json` is missing [H001]"],
        );
    }

    #[test]
    fn text_is_utf8_without_a_mark() {
        check(
            |workshop| workshop.write("tools/echo/doc_summary.md", b"one\ntwo \xff"),
            &["doc_summary.md: error: byte 8 (line 2) is not UTF-8 [H002]"],
        );
        check(
            |workshop| workshop.write("tools/echo/doc_summary.md", "\u{feff}Echoes."),
            &["doc_summary.md: error: the file starts with a byte order mark [H003]"],
        );
    }

    #[test]
    fn a_large_file_is_not_read() {
        check(
            |workshop| workshop.write("tools/echo/doc.md", vec![b'x'; 50 << 20]),
            &["doc.md: error: the file has 52428800 bytes; at most 1048576 are read [H004]"],
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_inside() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::NamedTempFile::new().unwrap();
        check(
            |workshop| {
                workshop.remove("tools/echo/doc.md");
                symlink(outside.path(), workshop.path("tools/echo/doc.md")).unwrap();
            },
            &["doc.md: error: this link leaves the toolset or leads nowhere [H005]"],
        );
        check(
            |workshop| {
                workshop.write("shared/doc.md", workshop.read("tools/echo/doc.md"));
                workshop.remove("tools/echo/doc.md");
                symlink("../../shared/doc.md", workshop.path("tools/echo/doc.md")).unwrap();
            },
            &[],
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_linked_folder_stays_inside_too() {
        let outside = Workshop::new();
        check(
            |workshop| {
                workshop.remove("tools/echo");
                let target = outside.path("tools/echo");
                std::os::unix::fs::symlink(target, workshop.path("tools/echo")).unwrap();
            },
            &["tools/echo: error: this link leaves the toolset [H005]"],
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_of_tools_stays_inside_as_well() {
        use std::os::unix::fs::symlink;
        let outside = Workshop::new();
        let workshop = Workshop::new();
        workshop.remove("tools");
        symlink(outside.path("tools"), workshop.path("tools")).unwrap();
        let refused = build::check(workshop.root(), build::Reuse::Nothing, &|_, _| {});
        assert!(refused.unwrap_err().to_string().contains("leaves the toolset"));
        workshop.remove("toolset.toml");
        symlink(outside.path("toolset.toml"), workshop.path("toolset.toml")).unwrap();
        assert_eq!(
            workshop.lines(),
            ["toolset.toml: error: this link leaves the toolset or leads nowhere [H005]"]
        );
    }

    #[cfg(unix)]
    #[test]
    fn names_do_not_speak_to_the_terminal() {
        let workshop = Workshop::new();
        workshop.write("tools/echo/no\u{1b}[31mte\n::error::x.txt", "");
        let shown = shown(&workshop);
        assert!(shown.contains("\\u{1b}"), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains("\n::error"), "{shown}");
    }

    #[test]
    fn long_words_and_many_examples_are_looked_at_once() {
        for more in ["`ab`,".repeat(100_000), "hf_".repeat(200_000)] {
            check(
                |workshop| {
                    let doc = workshop.read("tools/echo/doc.md");
                    workshop.write("tools/echo/doc.md", doc + &more);
                },
                &[],
            );
        }
        let workshop = Workshop::new();
        let doc = workshop.read("tools/echo/doc.md");
        workshop.write("tools/echo/doc.md", doc + &"```json\n{}\n```\n".repeat(20_000));
        assert_eq!(workshop.check().diagnostics.len(), 20_000);
        assert!(shown(&workshop).contains("H212"));
    }

    #[test]
    fn the_deepest_contract_that_compiles_also_loads() {
        let deep = (0..55).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "array", "items": inner, "description": "X"}),
        );
        let workshop = Workshop::new();
        workshop.patch("echo", json!({"parameters": {"properties": {"x": deep}}}));
        assert_eq!(workshop.lines(), Vec::<String>::new());
        workshop.check().registry().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_opened() {
        check(
            |workshop| {
                workshop.remove("tools/echo/doc.md");
                let path = workshop.path("tools/echo/doc.md");
                std::process::Command::new("mkfifo").arg(path).status().unwrap();
            },
            &["doc.md: error: this is not a file [H014]"],
        );
    }

    #[test]
    fn json_is_read_strictly() {
        for (text, expected) in [
            ("{\"toolId\": }", "schema.json:1:12: error: expected a value, found `}` [H006]"),
            (
                "{\"toolId\": \"echo\",\n \"tool\\u0049d\": \"b\"}",
                "schema.json:2:2: error: the key `toolId` appears twice in this object; keep one [H007]",
            ),
        ] {
            let workshop = Workshop::new();
            workshop.write("tools/echo/schema.json", text);
            let lines: Vec<String> =
                workshop.lines().iter().map(|line| line.replace("tools/echo/", "")).collect();
            assert!(lines.contains(&expected.to_owned()), "{lines:#?}");
        }
        check(
            |workshop| workshop.write("tools/echo/schema.json", "[".repeat(100_000)),
            &[
                "schema.json:1:121: error: nested more than 120 levels deep; flatten the document [H008]",
            ],
        );
        parameter(
            json!({"type": "integer", "description": "Big", "maximum": 9007199254740993_u64}),
            &["schema.json:29:20: error: 9007199254740993 would be rounded by some readers [H009]"],
        );
    }

    #[test]
    fn line_endings_do_not_change_the_version() {
        let workshop = Workshop::new();
        let before = workshop.check().version();
        let doc = workshop.read("tools/echo/doc.md").replace('\n', "\r\n");
        workshop.write("tools/echo/doc.md", doc);
        assert_eq!(workshop.lines(), ["tools/echo/doc.md: warning: lines end in CRLF [H010]"]);
        assert_eq!(workshop.check().version(), before);
    }

    #[test]
    fn strangers_are_pointed_out() {
        check(
            |workshop| workshop.write("tools/echo/shcema.json", "{}"),
            &["shcema.json: warning: nothing reads the file `shcema.json` [H012]"],
        );
        check(|workshop| workshop.write("tools/echo/.DS_Store", ""), &[]);
    }

    #[test]
    fn folders_are_named_like_tools() {
        let workshop = Workshop::new();
        std::fs::rename(workshop.path("tools/echo"), workshop.path("tools/2nd.echo")).unwrap();
        assert!(workshop.lines().contains(
            &"tools/2nd.echo: error: `2nd.echo` cannot be the name of a tool [H013]".to_owned()
        ));
    }

    #[test]
    fn secrets_and_hidden_text_are_refused() {
        let key = format!("ghp_{}", "0a".repeat(18));
        let workshop = Workshop::new();
        workshop.replace(
            "tools/echo/handler.js",
            "return",
            &format!("const key = \"{key}\";\n  return"),
        );
        let checked = workshop.check();
        assert_eq!(
            checked.diagnostics[0].one_line(),
            "tools/echo/handler.js:3:16: error: this looks like a secret [H015]"
        );
        let shown = shown(&workshop);
        assert!(!shown.contains(&key), "the report repeats the secret: {shown}");
        let workshop = Workshop::new();
        workshop.patch("echo", json!({"category": key}));
        let all = format!("{:?}", workshop.check().diagnostics);
        assert!(all.contains("`[secret]` is not a value of `category`"), "{all}");
        assert!(!all.contains(&key), "{all}");
        for (text, refused) in [
            ("می\u{200c}خواهم", false),
            ("👩\u{200d}💻 and ❤\u{fe0f}", false),
            ("a\u{200d}b", true),
            ("é\u{200d}\u{200d}é", true),
            ("x\u{e0041}", true),
            ("x\u{fe0f}\u{fe0e}", true),
        ] {
            let workshop = Workshop::new();
            workshop.write("tools/echo/doc_summary.md", text);
            assert_eq!(!workshop.lines().is_empty(), refused, "{text:?}: {:?}", workshop.lines());
        }
        let hidden = key.replacen('g', "\\u0067", 1);
        let workshop = Workshop::new();
        workshop.replace("tools/echo/schema.json", "Say in one line", &format!("Use {hidden}"));
        let field = format!("\"{hidden}\": 1, \"capabilities\"");
        workshop.replace("tools/echo/schema.json", "\"capabilities\"", &field);
        let all = workshop.lines().join("\n");
        assert_eq!(all.matches("this looks like a secret").count(), 2, "{all}");
        assert!(!all.contains(&key), "{all}");
        check(
            |workshop| {
                workshop.replace(
                    "tools/echo/schema.json",
                    "Say in one line",
                    "Say\\u202e in one line",
                );
            },
            &["schema.json:4:18: error: an invisible character, U+202E [H016]"],
        );
        check(
            |workshop| workshop.write("tools/echo/doc_summary.md", "Echoes.\u{202e} Really."),
            &["doc_summary.md:1:8: error: an invisible character, U+202E [H016]"],
        );
    }
}

mod the_contract {
    use super::*;

    #[test]
    fn fields_are_there_and_known() {
        contract(
            json!({"version": null, "requiresConfirmation": null, "sideEfects": "none"}),
            &[
                "schema.json:1:1: error: the contract has no `version` [H101]",
                "schema.json:1:1: error: the contract has no `requiresConfirmation` [H101]",
                "schema.json:47:3: error: the contract has no field `sideEfects` [H102]",
            ],
        );
    }

    #[test]
    fn a_misspelt_field_is_one_mistake() {
        check(
            |workshop| {
                workshop.replace("tools/echo/schema.json", "\"sideEffects\"", "\"sideEffect\"")
            },
            &["schema.json:6:3: error: the contract has no field `sideEffect` [H102]"],
        );
    }

    #[test]
    fn values_are_what_they_should_be() {
        contract(
            json!({"idempotent": "yes", "latencyBudgetMs": 0, "category": "utilty"}),
            &[
                "schema.json:5:15: error: `utilty` is not a value of `category` [H104]",
                "schema.json:7:17: error: `idempotent` must be `true` or `false`, not a text [H103]",
                "schema.json:13:22: error: `latencyBudgetMs` must be a whole number of at least 1 [H111]",
            ],
        );
        contract(
            json!({"limits": {"maxRuntimeMs": 86_400_001}}),
            &[
                "schema.json:50:21: error: `maxRuntimeMs` must be a whole number from 1 to 86400000 [H111]",
            ],
        );
        contract(
            json!({"allowedModes": ["text", "text"]}),
            &["schema.json:11:5: error: \"text\" stands twice in `allowedModes` [H123]"],
        );
    }

    #[test]
    fn the_name_is_the_folders() {
        contract(
            json!({"toolId": "ecco"}),
            &[
                "schema.json:2:13: error: `ecco` stands in the folder `echo`, whose tool is `echo` [H105]",
            ],
        );
        contract(
            json!({"version": "1.0"}),
            &[
                "schema.json:3:14: error: `1.0` is not a version: unexpected end of input while parsing minor version number [H106]",
            ],
        );
        contract(
            json!({"description": "One\ntwo"}),
            &["schema.json:4:18: error: the description has several lines [H107]"],
        );
    }

    #[test]
    fn a_retrieval_only_looks() {
        contract(
            json!({"category": "retrieval", "sideEffects": "writes", "idempotent": false, "requiresConfirmation": true}),
            &[
                "schema.json:6:18: error: a retrieval tool must not write [H108]",
                "schema.json:7:17: error: a retrieval tool must be idempotent [H109]",
            ],
        );
    }

    #[test]
    fn writing_is_asked_about() {
        let patch = json!({"category": "action", "sideEffects": "writes"});
        contract(
            patch,
            &["schema.json:8:27: warning: this tool writes and nobody is asked first [H110]"],
        );
        contract(
            json!({"category": "action", "sideEffects": "writes", "lint": {"allow": {"H110": "nothing to lose"}}}),
            &[],
        );
        contract(
            json!({"lint": {"allow": {"H110": "it used to write"}}}),
            &[
                "schema.json:51:7: warning: `H110` is allowed, but nothing here is reported as H110 [H602]",
            ],
        );
        contract(
            json!({"lint": {"allow": {"H101": "no", "H999": "no"}}}),
            &[
                "schema.json:51:7: error: `H101` cannot be allowed [H122]",
                "schema.json:52:7: error: `H999` is not a code [H122]",
            ],
        );
    }

    #[test]
    fn effects_do_not_contradict_each_other() {
        for (patch, expected) in [
            (
                json!({"effect": "state_change"}),
                "`state_change` needs `\"sideEffects\": \"writes\"`",
            ),
            (
                json!({"sideEffectPolicy": "irreversible"}),
                "it does not write, so it is `pure`, not `irreversible`",
            ),
            (
                json!({"sideEffects": "writes", "requiresConfirmation": true, "effect": "read_only"}),
                "it writes, so its effect is not `read_only`",
            ),
            (
                json!({"sideEffects": "writes", "requiresConfirmation": true, "sideEffectPolicy": "compensatable"}),
                "`compensatable` needs a `compensation`",
            ),
            (
                json!({"limits": {"providerKeyWindowMs": 1000}}),
                "only an `idempotent` tool is asked again while its provider knows the key",
            ),
            (
                json!({"allowedModes": ["text"], "modes": {"voice": {"clamp": {"text": {"maxLength": 10}}}}}),
                "`voice` is not among `allowedModes`",
            ),
        ] {
            let workshop = Workshop::new();
            workshop.patch("echo", patch);
            let lines = workshop.lines();
            assert_eq!(lines.len(), 1, "{lines:#?}");
            assert!(lines[0].ends_with(&format!("{expected} [H115]")), "{lines:#?}");
        }
    }

    #[test]
    fn redaction_is_a_list_of_what_may_be_seen() {
        contract(
            json!({"redaction": null}),
            &["schema.json:1:1: error: `redaction.allow` is missing [H112]"],
        );
        contract(
            json!({"redaction": {"allow": ["wrds", "words.more"], "allowArgs": ["txt"]}}),
            &[
                "schema.json:44:7: error: `wrds` leads nowhere [H113]",
                "schema.json:45:7: error: `words.more` leads nowhere [H113]",
                "schema.json:48:7: error: `txt` leads nowhere [H113]",
            ],
        );
    }

    #[test]
    fn clamps_fit_their_parameters() {
        contract(
            json!({"modes": {"voice": {"clamp": {
                "text": {"max": 3, "remove": true},
                "txt": {"maxLength": 3}
            }}}}),
            &[
                "schema.json:53:18: error: `max` does not apply to a parameter of this type [H114]",
                "schema.json:54:21: error: a required parameter cannot be removed [H114]",
                "schema.json:56:9: error: `txt` is not a parameter [H114]",
            ],
        );
    }

    #[test]
    fn conditions_are_cedar() {
        contract(json!({"availability": {"condition": "context.mode == \"voice\""}}), &[]);
        for broken in [
            "context.mode === 'voice'",
            "true } unless { false",
            "context.",
            "!".repeat(5000).as_str(),
        ] {
            let workshop = Workshop::new();
            workshop.patch("echo", json!({"availability": {"condition": broken}}));
            let lines = workshop.lines();
            assert_eq!(lines.len(), 1, "{broken}: {lines:#?}");
            assert!(lines[0].contains("[H116]"), "{lines:#?}");
        }
    }

    #[test]
    fn prompts_and_keys_name_parameters() {
        contract(
            json!({"confirmation": {"prompt": "Count {txt}?"}, "idempotencyKeyFields": ["texts"]}),
            &[
                "schema.json:50:15: error: `{txt}` is not a parameter [H117]",
                "schema.json:53:5: error: `texts` leads nowhere [H118]",
            ],
        );
    }

    #[test]
    fn a_key_has_something_to_be_made_of() {
        let optional = json!({"type": "string", "description": "an id"});
        let with = |fields: &[&str], more: serde_json::Value| {
            let workshop = Workshop::new();
            workshop.patch(
                "echo",
                json!({
                    "idempotencyKeyFields": fields, "parameters": {"properties": {"ref": more}},
                }),
            );
            workshop.lines().into_iter().filter(|line| line.contains("H125")).count()
        };
        assert_eq!(with(&["ref"], optional.clone()), 1);
        assert_eq!(with(&["ref", "text"], optional), 0, "`text` is required");
        let filled = json!({"type": "string", "description": "an id", "default": "none"});
        assert_eq!(with(&["ref"], filled), 0);
    }

    #[test]
    fn a_tool_that_does_not_write_blocks_nobody() {
        let with = |more: serde_json::Value| {
            let workshop = Workshop::new();
            workshop.patch("echo", json!({"capabilities": ["moderation"]}));
            workshop.patch("echo", more);
            let lines = workshop.lines();
            lines.into_iter().filter(|line| line.contains("H126")).collect::<Vec<_>>()
        };
        let found = with(json!({}));
        assert_eq!(found.len(), 1, "{found:#?}");
        let message = "error: `moderation` blocks users, and this tool does not write [H126]";
        assert!(found[0].ends_with(message), "{found:#?}");
        assert_eq!(with(json!({"sideEffects": "writes"})), [""; 0]);
    }

    #[test]
    fn a_gateway_that_does_not_write_does_not_ask_for_what_writes() {
        for (method, effects, expected) in [
            ("GET", "none", None),
            ("HEAD", "read_only", None),
            (
                "POST",
                "read_only",
                Some("warning: this tool does not write, and sends a POST [H413]"),
            ),
            (
                "PUT",
                "none",
                Some("error: a `PUT` changes something, and this tool does not write [H126]"),
            ),
            (
                "PATCH",
                "none",
                Some("error: a `PATCH` changes something, and this tool does not write [H126]"),
            ),
            (
                "DELETE",
                "read_only",
                Some("error: a `DELETE` changes something, and this tool does not write [H126]"),
            ),
            ("POST", "writes", None),
            ("DELETE", "writes", None),
        ] {
            let workshop = Workshop::new();
            workshop.remove("tools/echo/handler.js");
            let gateway =
                json!({"kind": "http", "method": method, "url": "https://api.example.com/"});
            workshop.patch("echo", json!({"gateway": gateway, "sideEffects": effects}));
            let lines = workshop.lines();
            let mut found =
                lines.iter().filter(|line| line.contains("[H126]") || line.contains("[H413]"));
            let said = found.next().and_then(|line| line.split_once(": ")).map(|(_, said)| said);
            assert_eq!((said, found.next()), (expected, None), "{method} {effects}: {lines:#?}");
        }
        // Whoever only looks something up says so.
        let workshop = Workshop::new();
        workshop.remove("tools/echo/handler.js");
        let gateway = json!({"kind": "http", "method": "POST", "url": "https://api.example.com/"});
        let lint = json!({"allow": {"H413": "the search takes its query as a body"}});
        workshop.patch("echo", json!({"gateway": gateway, "lint": lint}));
        assert_eq!(workshop.lines(), [""; 0]);
    }

    #[test]
    fn calls_go_where_the_contract_says() {
        contract(
            json!({"connection": {"provider": "x", "hosts": ["https://api.example.com", "*.example.com"]}}),
            &[
                "schema.json:52:7: error: `https://api.example.com` is not the name of one host [H119]",
                "schema.json:53:7: error: `*.example.com` is not the name of one host [H119]",
            ],
        );
        let gateway = |url: &str| {
            let workshop = Workshop::new();
            workshop.remove("tools/echo/handler.js");
            workshop
                .patch("echo", json!({"gateway": {"kind": "http", "method": "GET", "url": url}}));
            workshop.lines()
        };
        assert_eq!(gateway("https://api.example.com/{text}"), Vec::<String>::new());
        assert_eq!(gateway("http://127.0.0.1:8080/{text}"), Vec::<String>::new());
        for url in [
            "http://api.example.com/",
            "https://h:/x",
            "https://h/{text",
            "https://{text}.example.com/",
            "ftp://example.com/",
            "https://a@b/",
            "https://h/{txt}",
        ] {
            assert!(gateway(url)[0].ends_with("[H120]"), "{url}: {:?}", gateway(url));
        }
    }

    #[test]
    fn an_http_gateway_says_what_can_be_sent_and_read() {
        let found = |more: serde_json::Value| {
            let workshop = Workshop::new();
            workshop.remove("tools/echo/handler.js");
            let mut gateway =
                json!({"kind": "http", "method": "GET", "url": "https://api.example.com/"});
            gateway.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            workshop.patch("echo", json!({ "gateway": gateway }));
            let about = |line: String| {
                let (_, message) = line.split_once("error: ").unwrap_or(("", &line));
                message.to_owned()
            };
            let lines = workshop.lines().into_iter();
            // Whether it may be a `POST` at all is another question.
            let lines = lines.filter(|line| !line.contains("[H413]"));
            lines.map(about).collect::<Vec<_>>().join("; ")
        };
        let fine = json!({"method": "POST", "query": {"v": {"value": 2}}, "headers": {"x-a": "text"},
            "body": {"t": "text"}, "encoding": "form", "errors": {"404": "not_found", "5xx": "transient"},
            "idempotencyHeader": "Idempotency-Key", "maxResponseBytes": 4096, "result": "/a"});
        assert_eq!(found(fine), "");
        let written = |style: &str| json!({"from": "text", "style": style});
        let fine = json!({"method": "POST", "url": "https://api.example.com/{a}/{text}",
            "path": {"a": {"from": "text", "style": "matrix", "explode": true}},
            "query": {"q": {"from": "text", "style": "form", "explode": false, "allowReserved": true},
                "d": written("deepObject")},
            "headers": {"x-a": written("simple")}, "encoding": "form", "body": {"b": written("json")}});
        assert_eq!(found(fine), "");
        assert_eq!(found(json!({"method": "POST", "encoding": "base64", "bodyFrom": "text"})), "");
        for (more, expected) in [
            (json!({"query": {"q": "txt"}}), "`txt` is not a parameter [H120]"),
            (
                json!({"query": {"q": {"from": "txt", "style": "form"}}}),
                "`txt` is not a parameter [H120]",
            ),
            (
                json!({"query": {"q": written("label")}}),
                "`label` is no style of a query or a form [H120]",
            ),
            (json!({"headers": {"x": written("form")}}), "`form` is no style of a header [H120]"),
            (json!({"query": {"q": {"from": "text"}}}), "`style` is missing [H120]"),
            (json!({"query": {"q": {"explode": true}}}), "this fills nothing [H120]"),
            (
                json!({"query": {"q": {"from": "text", "style": "form", "value": 1}}}),
                "this fills nothing [H120]",
            ),
            (
                json!({"query": {"q": {"from": "text", "style": "pipeDelimited", "explode": true}}}),
                "`explode` says nothing with this style [H120]",
            ),
            (
                json!({"headers": {"x": {"from": "text", "style": "simple", "allowReserved": true}}}),
                "`allowReserved` is for a query or a form [H120]",
            ),
            (
                json!({"method": "POST", "body": {"b": written("json")}}),
                "a JSON body holds values as they are [H120]",
            ),
            (json!({"path": {"text": written("simple")}}), "the URL has no slot `text` [H120]"),
            (
                json!({"method": "POST", "body": {"b": "text"}, "encoding": "text"}),
                "this body is one parameter [H120]",
            ),
            (
                json!({"headers": {"Cookie": "text"}}),
                "`Cookie` is not a header that a contract may set [H120]",
            ),
            (
                json!({"headers": {"Expect": {"value": "100-continue"}}}),
                "`Expect` is not a header that a contract may set [H120]",
            ),
            (
                json!({"headers": {"x": {"value": "a\r\nb"}}}),
                "this value cannot stand in a header [H120]",
            ),
            (json!({"query": {"x": {"value": {}}}}), "this value cannot stand in a query [H120]"),
            (json!({"query": {"x": {"valu": 1}}}), "`x` has no field `valu` [H102]"),
            (json!({"body": {"t": "text"}}), "a request that reads has no body [H120]"),
            (
                json!({"method": "POST", "bodyFrom": "text", "encoding": "form"}),
                "a form is made of `body` [H120]",
            ),
            (json!({"result": "a"}), "this is not a JSON pointer [H120]"),
            (
                json!({"errors": {"200": "not_found"}}),
                "`200` is not the status of a failure [H120]",
            ),
            (
                json!({"errors": {"404": "denied"}}),
                "`denied` is not an error that a service can cause [H120]",
            ),
            (json!({"redirects": 4}), "at most 3 redirects are followed [H120]"),
            (
                json!({"method": "POST", "redirects": 1}),
                "a request that writes is not redirected [H120]",
            ),
            (json!({"maxResponseBytes": 1u64 << 40}), "at most 64 MiB are read [H120]"),
            (
                json!({"idempotencyHeader": "K"}),
                "this header cannot carry the key of an effect [H120]",
            ),
            (
                json!({"method": "POST", "idempotencyHeader": "Host"}),
                "this header cannot carry the key of an effect [H120]",
            ),
            (
                json!({"pages": {"by": "cursor", "maxPages": 3}}),
                "`query` is missing [H120]; `next` is missing [H120]",
            ),
            (
                json!({"pages": {"by": "page", "query": "p", "maxPages": 51}}),
                "these are too many requests for one call [H120]",
            ),
            (
                json!({"query": {"p": "text"}, "pages": {"by": "page", "query": "p", "maxPages": 5}}),
                "this query parameter is filled twice [H120]",
            ),
            (
                json!({"result": "", "pages": {"by": "link", "maxPages": 5}}),
                "`pages` and `result` are both there [H120]",
            ),
            (
                json!({"method": "POST", "pages": {"by": "link", "maxPages": 5}}),
                "only a `GET` has pages [H120]",
            ),
            (json!({"url": "https://api.example.com/a?b=c"}), "this is not a plain path [H120]"),
            (json!({"url": "https://api.example.com/../x"}), "this is not a plain path [H120]"),
        ] {
            let said = found(more.clone());
            assert!(said.contains(expected), "{more}: {said}");
        }
    }

    #[test]
    fn a_handler_reaches_hosts_that_are_listed() {
        contract(
            json!({"capabilities": ["http"], "lint": {"allow": {"H408": "only the contract is looked at"}}}),
            &["schema.json:48:19: error: the `http` capability reaches no host [H124]"],
        );
        contract(
            json!({"hosts": ["a.example", "b.example:8443", "c.example:0", "https://d.example"],
                "capabilities": ["http"], "lint": {"allow": {"H408": "only the contract is looked at"}}}),
            &[
                "schema.json:54:5: error: `c.example:0` is not the name of one host [H119]",
                "schema.json:55:5: error: `https://d.example` is not the name of one host [H119]",
            ],
        );
    }

    #[test]
    fn what_an_import_assumed_is_to_be_reviewed() {
        let digest = format!("sha256:{}", "0".repeat(64));
        contract(
            json!({"origin": {"kind": "function", "name": "echo", "digest": digest, "assumed": ["category"]}}),
            &["schema.json:53:16: warning: the import assumed `category` [H121]"],
        );
    }
}

mod the_documents {
    use super::*;

    #[test]
    fn the_summary_is_short() {
        check(
            |workshop| workshop.write("tools/echo/doc_summary.md", "ä".repeat(251)),
            &[
                "doc_summary.md:1:251: error: the summary has 251 characters; at most 250 are taken [H201]",
            ],
        );
        check(
            |workshop| workshop.write("tools/echo/doc_summary.md", " \n"),
            &["doc_summary.md: error: the summary is empty [H202]"],
        );
    }

    #[test]
    fn the_sections_are_there() {
        doc(
            "## Invariants",
            "## Invariant",
            &["doc.md: error: the section `## Invariants` is missing [H203]"],
        );
        doc(
            "- What must be true before it is called, in full.",
            "",
            &["doc.md:6:1: error: the section `## Preconditions` is empty [H204]"],
        );
        doc(
            "## Invariants",
            "## Summary",
            &[
                "doc.md: error: the section `## Invariants` is missing [H203]",
                "doc.md:12:1: error: the section `## Summary` stands twice [H206]",
            ],
        );
        doc("## Common Mistakes", "## Common Mistakes (Do Not)", &[]);
        doc(
            "- What must be true",
            "<!-- haft:generated -->\n- What must be true",
            &[
                "doc.md:6:1: warning: an import left these sections to be written: Preconditions [H205]",
            ],
        );
    }

    #[test]
    fn an_example_that_breaks_its_own_schema_is_reported_at_its_line() {
        doc(
            r#"{ "text": "two words" }"#,
            "{\n  \"text\": 7\n}",
            &[
                "doc.md:22:11: error: example 1 does not match the schema: `text` must be a string, not a number [H212]",
            ],
        );
        doc(
            r#"{ "text": "two words" }"#,
            "{ \"txt\": \"x\" }",
            &[
                "doc.md:21:1: error: example 1 does not match the schema: `text` is missing [H212]",
                "doc.md:21:10: error: example 1 does not match the schema: `txt` is not a known property; did you mean `text`? [H212]",
            ],
        );
        doc(
            r#""data": { "words": 2 }"#,
            r#""data": { "words": -1 }"#,
            &[
                "doc.md:27:34: error: example 2 does not match the output: `words` must be at least 0 [H213]",
            ],
        );
    }

    #[test]
    fn an_example_is_json_or_marked() {
        doc(
            r#"{ "text": "two words" }"#,
            r#"{ "text": … }"#,
            &["doc.md:21:11: error: example 1 is not JSON: expected a value, found `…` [H211]"],
        );
        doc("```json\n{ \"text\": \"two words\" }", "```json ignore\n{ \"text\": … }", &[]);
    }

    #[test]
    fn responses_are_told_from_calls() {
        for intro in
            ["The response:", "Returns:", "Result of `echo`:", "- Response:\n", "### Response"]
        {
            doc("Response:", intro, &[]);
        }
    }

    #[test]
    fn an_example_inside_a_list_is_found_where_it_stands() {
        doc(
            "- What is always true of its result, in full.",
            "- Like so:\n\n  ```json\n  {\n    \"text\": 7\n  }\n  ```",
            &[
                "doc.md:17:13: error: example 1 does not match the schema: `text` must be a string, not a number [H212]",
            ],
        );
    }

    #[test]
    fn parameters_that_are_named_exist() {
        doc(
            "What the tool does,",
            "Counts the words of `txet`, parameter `limit`, with `kb_search` and `words`;",
            &[
                "doc.md:4:21: error: `txet` is not a parameter of this tool [H214]",
                "doc.md:4:39: error: `limit` is not a parameter of this tool [H214]",
            ],
        );
    }
}

mod the_schemas {
    use super::*;

    #[test]
    fn parameters_are_a_closed_object() {
        contract(
            json!({"parameters": {"type": "array", "additionalProperties": null}}),
            &[
                "schema.json:14:17: error: `parameters` must have `\"additionalProperties\": false` [H302]",
                "schema.json:15:13: error: `parameters` must have `\"type\": \"object\"` [H301]",
                "schema.json:16:5: warning: `required` says nothing about an array [H314]",
                "schema.json:19:5: warning: `properties` says nothing about an array [H314]",
            ],
        );
    }

    #[test]
    fn keywords_are_known_and_hold_what_they_should() {
        for (schema, expected) in [
            (
                json!({"type": "string", "description": "X", "maxlength": 3}),
                "`maxlength` is not a keyword of JSON Schema 2020-12 [H303]",
            ),
            (
                json!({"type": "strng", "description": "X"}),
                "`strng` is not a type of JSON Schema; did you mean `string`? [H304]",
            ),
            (
                json!({"type": "integer", "description": "X", "minimum": "1"}),
                "`minimum` must be a number, not a text [H304]",
            ),
            (
                json!({"type": "string", "description": "X", "enum": []}),
                "`enum` is empty: no value could ever fit [H304]",
            ),
            (
                json!({"description": "X", "$ref": "http://127.0.0.1:1/x"}),
                "`http://127.0.0.1:1/x` is not a definition in this schema's `$defs` [H305]",
            ),
            (json!({"description": "X", "$ref": "#/$defs/gone"}), "`$defs` has no `gone` [H306]"),
            (
                json!({"description": "X", "$id": "x"}),
                "`$id` cannot be carried into a registry [H305]",
            ),
            (
                json!({"type": "string", "description": "X", "format": "date-tiem"}),
                "`date-tiem` is not a format that is checked [H308]",
            ),
            (
                json!({"type": "string", "description": "X", "default": 3}),
                "the default does not fit its own schema: the value must be a string, not a number [H310]",
            ),
            (
                json!({"type": "integer", "description": "X", "maximum": 5, "examples": [3, 7]}),
                "the example does not fit its own schema: the value must be at most 5 [H310]",
            ),
            (
                json!({"type": "string", "description": "X", "enum": ["a", 1]}),
                "1 can never be sent: the type is string [H310]",
            ),
            (
                json!({"type": "integer", "description": "X", "minimum": 5, "maximum": 4}),
                "`minimum` is 5, but `maximum` is 4: nothing fits [H315]",
            ),
            (
                json!({"type": "integer", "description": "X", "minItems": 5}),
                "`minItems` says nothing about an integer [H314]",
            ),
            (json!({"type": "string"}), "`x` has no description [H316]"),
            (json!({"description": "X", "default": 1}), "`x` takes any value [H317]"),
            (json!(true), "`x` takes any value [H317]"),
            (
                json!({"type": "object", "description": "X"}),
                "this object takes any further members [H317]",
            ),
            (
                json!({"type": "object", "description": "X", "properties": {}}),
                "this object takes any further members [H317]",
            ),
            (
                json!({"description": "X", "anyOf": [{"type": "string"}]}),
                "not every provider can say `anyOf` [H601]",
            ),
        ] {
            let workshop = Workshop::new();
            workshop.patch("echo", json!({ "parameters": { "properties": { "x": schema } } }));
            let lines = workshop.lines();
            assert_eq!(lines.len(), 1, "{schema}: {lines:#?}");
            assert!(lines[0].ends_with(expected), "{schema}: {lines:#?}");
        }
    }

    #[test]
    fn patterns_run_in_linear_time() {
        for pattern in ["^(a|aa)+\\1$", "(?=x)y", "((a{50}){50}){50}", "("] {
            let workshop = Workshop::new();
            workshop.patch(
                "echo",
                json!({"parameters": {"properties": {"x": {"type": "string", "description": "X", "pattern": pattern}}}}),
            );
            assert!(workshop.lines()[0].ends_with("[H307]"), "{pattern}: {:?}", workshop.lines());
        }
    }

    #[test]
    fn references_that_multiply_are_counted_not_followed() {
        let mut defs = json!({ "d0": {"type": "string"} });
        for level in 1..40 {
            let target = format!("#/$defs/d{}", level - 1);
            defs[format!("d{level}")] =
                json!({"type": "array", "prefixItems": [{"$ref": target}, {"$ref": target}]});
        }
        let workshop = Workshop::new();
        workshop.patch(
            "echo",
            json!({"parameters": {
                "$defs": defs,
                "properties": {"x": {"description": "X", "$ref": "#/$defs/d39"}}
            }}),
        );
        let lines = workshop.lines();
        assert!(lines[0].contains("its references multiply"), "{lines:#?}");
    }

    #[test]
    fn references_that_fork_are_refused_and_others_are_not() {
        let with = |node: Value| {
            let workshop = Workshop::new();
            workshop.patch(
                "echo",
                json!({
                    "parameters": {
                        "$defs": {"node": node},
                        "properties": {"x": {"description": "X", "$ref": "#/$defs/node"}}
                    },
                    "portability": {"allow": ["allOf", "anyOf", "patternProperties"]}
                }),
            );
            workshop.lines().iter().any(|line| line.ends_with("[H313]"))
        };
        let again = json!({"$ref": "#/$defs/node"});
        let object = |child: Value| json!({"type": "object", "additionalProperties": false, "properties": {"c": child}});
        assert!(with(object(json!({"description": "X", "allOf": [again, again]}))));
        assert!(with(object(json!({"description": "X", "anyOf": [again], "allOf": [again]}))));
        // By a member and by a branch that has the same member; by a name and by a pattern.
        let mut twice = object(again.clone());
        twice["allOf"] = json!([{"properties": {"c": again}}]);
        assert!(with(twice));
        let mut named = object(again.clone());
        named["patternProperties"] = json!({"^c": again});
        assert!(with(named));
        // A branch is tried again to find out what it has looked at.
        let inherits = json!({"type": "object", "allOf": [{"properties": {"c": again}}]});
        assert!(!with(inherits.clone()));
        let mut closed = inherits;
        closed["unevaluatedProperties"] = json!(false);
        assert!(with(closed));
        let list = |schema: Value| json!({"type": "array", "description": "X", "items": schema});
        let mut contains = list(again.clone());
        contains["contains"] = again.clone();
        assert!(with(contains));
        assert!(!with(list(again.clone())));
        // Two members are two values.
        let mut tree = object(again.clone());
        tree["properties"]["d"] = again.clone();
        assert!(!with(tree));
        assert!(!with(object(json!({"description": "X", "anyOf": [again, {"type": "null"}]}))));
        assert!(!with(object(again.clone())));
    }

    #[test]
    fn references_that_go_round_in_a_circle_arrive_nowhere() {
        let x = json!({"description": "X", "$ref": "#/$defs/a"});
        for (defs, expected) in [
            (json!({"a": {"$ref": "#/$defs/a"}}), "`a` leads back to itself"),
            (
                json!({"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}),
                "`a` leads back to itself through `b`",
            ),
        ] {
            let workshop = Workshop::new();
            workshop.patch("echo", json!({"parameters": {"$defs": defs, "properties": {"x": x}}}));
            let found = workshop.check().diagnostics;
            assert_eq!(found.len(), 1, "{found:#?}");
            let expected = format!("error: {expected}, at one and the same value [H306]");
            assert!(found[0].one_line().ends_with(&expected), "{found:#?}");
            let contract = workshop.read("tools/echo/schema.json");
            let last = contract.rfind("\"#/$defs/a\"").unwrap();
            assert_eq!(found[0].span.as_ref().unwrap().start, last, "{contract}");
        }
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword_and_still_counts() {
        let mut defs = json!({ "d0": {"type": "string"} });
        for level in 1..30 {
            let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
            defs[format!("d{level}")] = json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {"$defs": below, "b": below}
            });
        }
        let workshop = Workshop::new();
        workshop.patch(
            "echo",
            json!({"parameters": {
                "$defs": defs,
                "properties": {"x": {"description": "X", "$ref": "#/$defs/d29"}}
            }}),
        );
        assert!(workshop.lines().iter().any(|line| line.contains("its references multiply")));
    }

    #[test]
    fn a_pattern_does_not_let_reserved_names_through() {
        contract(
            json!({
                "parameters": {"patternProperties": {"^conn": {"type": "string", "description": "X"}}},
                "portability": {"allow": ["patternProperties"]}
            }),
            &[
                "schema.json:28:7: error: this pattern lets `connectionId` through, which is not for a model to set [H311]",
            ],
        );
    }

    #[test]
    fn required_names_exist() {
        contract(
            json!({"parameters": {"required": ["text", "txt"]}}),
            &[
                "schema.json:19:7: error: `txt` is required, but it is not among the properties [H309]",
            ],
        );
    }

    #[test]
    fn what_the_host_decides_is_no_parameter() {
        for (name, code) in [
            ("connectionId", "H311"),
            ("connection_id", "H311"),
            ("confirmed", "H311"),
            ("_meta", "H311"),
            ("api_key", "H312"),
            ("password", "H312"),
            ("tenant_id", "H320"),
        ] {
            let workshop = Workshop::new();
            workshop.patch(
                "echo",
                json!({"parameters": {"properties": {name: {"type": "string", "description": "X"}}}}),
            );
            let lines = workshop.lines();
            assert_eq!(lines.len(), 1, "{name}: {lines:#?}");
            assert!(lines[0].ends_with(&format!("[{code}]")), "{name}: {lines:#?}");
        }
        contract(
            json!({
                "parameters": {"properties": {"password": {"type": "string", "description": "One-time"}}},
                "lint": {"allow": {"H312": "it is a one-time code that the user reads out"}}
            }),
            &[
                "schema.json:26:7: warning: `password` looks like a secret, and a model would have to know it [H312]",
            ],
        );
    }

    #[test]
    fn one_of_several_can_be_required() {
        contract(
            json!({
                "parameters": {"anyOf": [{"required": ["text"]}, {"required": ["text"]}]},
                "portability": {"allow": ["anyOf"]}
            }),
            &[],
        );
    }

    #[test]
    fn an_output_is_described() {
        contract(
            json!({"output": null, "redaction": {"allow": []}}),
            &["schema.json:1:1: warning: there is no `output`: results are not checked [H318]"],
        );
    }

    #[test]
    fn an_allowance_is_used() {
        contract(
            json!({"portability": {"allow": ["oneOf"]}}),
            &["schema.json:51:7: warning: `oneOf` is allowed but not used in `parameters` [H602]"],
        );
    }

    #[test]
    fn what_is_compared_each_with_each_is_bounded() {
        let refused = |list: Value| {
            let workshop = Workshop::new();
            let deep = (0..100).map(|n| (format!("d{n}"), to(&format!("d{}", n + 1))));
            let mut defs: serde_json::Map<String, Value> = deep.collect();
            defs.extend([
                ("text".to_owned(), json!({"type": "string"})),
                ("name".to_owned(), to("text")),
                ("d100".to_owned(), to("text")),
                ("round".to_owned(), json!({"anyOf": [{"type": "string"}, to("round")]})),
                ("pair".to_owned(), json!({"type": "array", "items": to("text")})),
                ("twin".to_owned(), to("pair")),
            ]);
            let parameters = json!({ "properties": { "x": list }, "$defs": defs });
            let allow = json!({"allow": ["anyOf", "oneOf", "allOf"]});
            workshop.patch("echo", json!({ "parameters": parameters, "portability": allow }));
            workshop.lines().iter().any(|line| line.ends_with("at most 1000 [H313]"))
        };
        let unique = |items: Value, most: Value| {
            refused(json!({
                "type": "array", "description": "X", "uniqueItems": true, "items": items,
                "maxItems": most,
            }))
        };
        let object = json!({"type": "object", "additionalProperties": false, "properties": {}});
        let any = json!(100_000);
        for dear in [
            object.clone(),
            json!({"type": ["string", "array"]}),
            json!({}),
            json!(true),
            to("pair"),
            to("twin"),
            to("round"),
            to("d0"),
            json!({"anyOf": [{"type": "string"}, to("twin")]}),
            json!({"oneOf": [{"type": "string"}, {}]}),
            json!({"allOf": [{"minLength": 1}, {}]}),
        ] {
            assert!(unique(dear.clone(), any.clone()), "{dear}");
        }
        assert!(!unique(object.clone(), json!(1_000)));
        for plain in [
            json!({"type": "string"}),
            json!({"type": "integer"}),
            json!({"type": "number"}),
            json!({"type": "boolean"}),
            json!({"enum": [[1], [2]]}),
            to("text"),
            to("name"),
            to("d90"),
            json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
            json!({"anyOf": [to("name"), {"oneOf": [{"const": 1}, {"type": "null"}]}]}),
            json!({"allOf": [{"minLength": 1}, to("name")]}),
            json!({"$ref": "#/$defs/name", "minLength": 1}),
        ] {
            assert!(!unique(plain.clone(), any.clone()), "{plain}");
        }
    }

    fn to(name: &str) -> Value {
        json!({"$ref": format!("#/$defs/{name}")})
    }

    #[test]
    fn a_list_of_ten_megabytes_is_not_read() {
        let words: Vec<String> = (0..1_000_000).map(|n| format!("word{n:06}")).collect();
        let workshop = Workshop::new();
        let x = json!({"type": "string", "description": "X", "enum": words});
        workshop.patch("echo", json!({ "parameters": { "properties": { "x": x } } }));
        let lines = workshop.lines();
        assert!(lines[0].contains("at most 262144 are read"), "{lines:#?}");
    }

    #[test]
    fn a_schema_has_bounds() {
        let properties: serde_json::Map<String, Value> = (0..2_100)
            .map(|n| (format!("p{n}"), json!({"type": "string", "description": "X"})))
            .collect();
        let workshop = Workshop::new();
        workshop.patch("echo", json!({ "parameters": { "properties": properties } }));
        assert!(workshop.lines()[0].contains("[H313]"), "{:?}", workshop.lines().first());
    }
}

mod the_handler {
    use super::*;

    #[test]
    fn exactly_one_thing_runs_a_tool() {
        check(
            |workshop| workshop.remove("tools/echo/handler.js"),
            &["tools/echo: error: nothing runs this tool [H401]"],
        );
        check(
            |workshop| workshop.write("tools/echo/handler.py", "#!/usr/bin/env python3\n"),
            &[
                "tools/echo: error: more than one thing would run this tool: the file `handler.js`, the file `handler.py` [H402]",
            ],
        );
        check(
            |workshop| {
                workshop.remove("tools/echo/handler.js");
                workshop.patch("echo", json!({"handler": {"kind": "unbound"}}));
            },
            &["schema.json:49:14: warning: nothing runs this tool yet [H411]"],
        );
        check(
            |workshop| {
                workshop.remove("tools/echo/handler.js");
                workshop.patch(
                    "echo",
                    json!({"handler": {"kind": "native", "crate": "mine", "revision": 1}}),
                );
            },
            &["schema.json:49:14: error: `handler` has no `crateVersion` [H101]"],
        );
    }

    #[test]
    fn whether_it_may_write_is_the_contracts_to_say() {
        let handler = "export async function execute({ args, context }) {
            return { ok: true, data: await context.http.METHOD({ url: args.text }) };
        }";
        for (method, effects, expected) in [
            ("get", "none", None),
            ("post", "none", Some("H413")),
            ("delete", "read_only", Some("H126")),
            ("delete", "writes", None),
        ] {
            let workshop = Workshop::new();
            let listed = json!({"capabilities": ["http"], "hosts": ["api.example.com"]});
            workshop.patch("echo", listed);
            workshop.patch("echo", json!({ "sideEffects": effects }));
            workshop.write("tools/echo/handler.js", handler.replace("METHOD", method));
            let lines = workshop.lines();
            let found = ["H126", "H413"].into_iter().find(|code| {
                lines.iter().any(|line| line.contains("handler.js") && line.contains(code))
            });
            assert_eq!(found, expected, "{method} {effects}: {lines:#?}");
        }
    }

    #[test]
    fn its_source_is_checked() {
        for (source, code) in [
            ("export async function execute({ args ) {}", "H403"),
            ("export async function run() {}", "H404"),
            (
                "import fs from \"fs\";\nexport async function execute({ args }) { return fs; }",
                "H405",
            ),
            ("export async function execute({ args }) { return await fetch(args.text); }", "H406"),
            (
                "export async function execute({ args, context }) { return context.kb.get(args); }",
                "H407",
            ),
        ] {
            let workshop = Workshop::new();
            workshop.write("tools/echo/handler.js", source);
            let lines = workshop.lines();
            assert!(
                lines.iter().any(|line| line.ends_with(&format!("[{code}]"))),
                "{source}: {lines:#?}"
            );
        }
        handler(
            "export async function execute({ args }) { return { ok: true, data: { words: 0 } }; }",
            &[],
        );
        let workshop = Workshop::new();
        workshop.patch("echo", json!({"capabilities": ["clock"]}));
        assert!(workshop.lines()[0].ends_with("[H408]"), "{:?}", workshop.lines());
    }

    #[test]
    fn binaries_are_what_they_claim() {
        for (file, bytes, code) in
            [("handler.wasm", &b"not wasm"[..], "H409"), ("handler.py", &b"print(1)"[..], "H410")]
        {
            let workshop = Workshop::new();
            workshop.remove("tools/echo/handler.js");
            workshop.write(&format!("tools/echo/{file}"), bytes);
            assert!(
                workshop.lines().iter().any(|l| l.ends_with(&format!("[{code}]"))),
                "{:?}",
                workshop.lines()
            );
        }
    }

    /// Code that somebody else's engine has compiled is not taken for what it was compiled from.
    #[test]
    fn compiled_code_is_no_source() {
        // QuickJS's own format, a module that was compiled ahead of time, and a cut-off module.
        let bytecode = b"\x43\x02\x0eexecute\x08args\x0d\xc8\x03\x00\xff";
        for (file, bytes) in [
            ("handler.js", &bytecode[..]),
            ("handler.js", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"),
            ("handler.js", b"\0asm\x01\0\0\0"),
            ("handler.wasm", b"\x7fELF\x02\x01\x01\xc8\x00\x00\x00\x00"),
            ("handler.wasm", bytecode),
            ("handler.wasm", b"\0as"),
        ] {
            let workshop = Workshop::new();
            workshop.remove("tools/echo/handler.js");
            workshop.write(&format!("tools/echo/{file}"), bytes);
            let lines = workshop.lines();
            assert!(
                lines.iter().any(|line| line.contains("error: ")),
                "{file} {bytes:?}: {lines:?}"
            );
        }
    }

    #[test]
    fn its_tests_would_run() {
        check(
            |workshop| workshop.replace("tools/echo/tests.json", "\"text\":", "\"txt\":"),
            &[
                "tests.json:5:15: error: these arguments would be refused: `text` is missing [H412]",
                "tests.json:5:24: error: these arguments would be refused: `txt` is not a known property; did you mean `text`? [H412]",
            ],
        );
    }
}

mod the_toolset {
    use super::*;

    #[test]
    fn its_file_is_checked() {
        for (text, expected) in [
            ("namespace = \"a__\"\n", "`a__` is not a namespace"),
            ("namespace = \"core\"\nexlude = []\n", "unknown field `exlude`"),
            (
                "namespace = \"core\"\n[defaults]\ncategory = \"action\"\n",
                "`category` cannot have a default",
            ),
            (
                "namespace = \"core\"\n[defaults]\nlatencyBudgetMs = \"long\"\n",
                "`latencyBudgetMs` must be a whole number",
            ),
            (
                "namespace = \"core\"\n[prompts]\nvioce = \"x.md\"\n",
                "`vioce` is not a prompt that is composed",
            ),
            ("namespace = ", "toolset.toml:1:"),
        ] {
            let workshop = Workshop::new();
            workshop.write("toolset.toml", text);
            let lines = workshop.lines();
            assert!(
                lines.iter().any(|line| line.contains(expected) && line.ends_with("[H501]")),
                "{text}: {lines:#?}"
            );
        }
        check(
            |workshop| {
                workshop
                    .write("toolset.toml", "namespace = \"core\"\n[prompts]\ncore = \"../x.md\"\n")
            },
            &["toolset.toml:3:8: error: `../x.md` cannot be used as a prompt [H508]"],
        );
        check(
            |workshop| {
                workshop.write("toolset.toml", "namespace = \"core\"\nexclude = [\"draft-*\"]\n")
            },
            &["toolset.toml: warning: `draft-*` under `exclude` matches no folder [H510]"],
        );
        check(
            |workshop| workshop.remove("tools/echo"),
            &["tools: error: there are no tools here [H509]"],
        );
    }

    #[test]
    fn defaults_fill_in() {
        check(
            |workshop| {
                workshop.write(
                    "toolset.toml",
                    "namespace = \"core\"\n[defaults]\nlatencyBudgetMs = 300\n",
                );
                workshop.patch("echo", json!({"latencyBudgetMs": null}));
            },
            &[],
        );
    }

    #[test]
    fn names_do_not_clash() {
        check(
            |workshop| {
                workshop.add("a-b", Category::Utility);
                std::fs::rename(workshop.path("tools/a-b"), workshop.path("tools/a_b")).unwrap();
                workshop.add("x", Category::Utility);
                std::fs::rename(workshop.path("tools/x"), workshop.path("tools/a-b")).unwrap();
                workshop.patch("a-b", json!({"toolId": "a_b"}));
            },
            &["tools/a_b: error: the folders `a-b` and `a_b` are both `a_b` [H502]"],
        );
        let workshop = Workshop::new();
        workshop.add("x", Category::Utility);
        std::fs::rename(workshop.path("tools/x"), workshop.path("tools/Echo")).unwrap();
        workshop.patch("Echo", json!({"toolId": "Echo"}));
        assert_eq!(
            workshop.lines(),
            ["tools/echo: error: `Echo` and `echo` are the same but for letter case [H503]"]
        );
    }

    #[test]
    fn an_id_fits_every_provider() {
        let name = "a".repeat(45);
        let workshop = Workshop::new();
        workshop.add(&name, Category::Utility);
        workshop.write("toolset.toml", "namespace = \"a_namespace_of_its_own\"\n");
        assert!(workshop.lines()[0].ends_with("[H504]"), "{:?}", workshop.lines());
    }

    #[test]
    fn one_bad_tool_does_not_hide_the_others() {
        let workshop = Workshop::new();
        for name in ["one", "two", "three"] {
            workshop.add(name, Category::Utility);
        }
        workshop.write("tools/one/schema.json", "{");
        workshop.patch("two", json!({"category": "x"}));
        let checked = workshop.check();
        let files: Vec<&str> = checked.diagnostics.iter().map(|d| d.file.as_str()).collect();
        assert_eq!(files, ["tools/one/schema.json", "tools/two/schema.json"]);
        assert_eq!(checked.entries.len(), 2);
        assert!(checked.has_errors());
    }
}

mod what_is_left_to_say {
    use super::*;

    #[test]
    fn a_text_that_waits_is_reported() {
        for text in ["TODO", "TBD.", "- TODO: TBD", "…"] {
            check(
                |workshop| workshop.write("tools/echo/doc_summary.md", text),
                &["doc_summary.md:1:1: warning: the summary says nothing yet [H207]"],
            );
        }
        doc(
            "- What must be true before it is called, in full.",
            "TODO",
            &["doc.md:6:1: warning: these sections say nothing yet: Preconditions [H207]"],
        );
        doc("- What must be true before it is called, in full.", "- Todo lists exist.", &[]);
    }

    #[test]
    fn what_a_page_does_not_show_is_reported() {
        doc(
            "- What must be true before it is called, in full.",
            "- Something. <!-- and obey me -->",
            &["doc.md:7:14: error: an HTML comment [H016]"],
        );
        doc(
            "- What must be true before it is called, in full.",
            "<!--\nobey me\n-->\n- Something.",
            &["doc.md:7:1: error: an HTML comment [H016]"],
        );
        doc("- What must be true before it is called, in full.", "- `<!-- shown -->`", &[]);
        for (character, kind) in [
            ('\u{e000}', "a private-use character, U+E000"),
            ('\u{10fffd}', "a private-use character, U+10FFFD"),
            ('\u{206a}', "an invisible character, U+206A"),
            ('\u{fffe}', "an invisible character, U+FFFE"),
            ('\u{e0fff}', "an invisible character, U+E0FFF"),
        ] {
            let expected = format!("doc_summary.md:1:8: error: {kind} [H016]");
            let text = format!("Echoes.{character} Really.");
            check(|workshop| workshop.write("tools/echo/doc_summary.md", &text), &[&expected]);
        }
    }

    #[test]
    fn an_example_counts_however_its_fence_is_marked() {
        let drift =
            "example 1 does not match the schema: `text` must be a string, not a number [H212]";
        for fence in ["```jsonc", "```", "```JSON", "~~~"] {
            let close = if fence.starts_with('~') { "~~~" } else { "```" };
            let expected = format!("doc.md:21:11: error: {drift}");
            doc(
                "```json\n{ \"text\": \"two words\" }\n```",
                &format!("{fence}\n{{ \"text\": 2 }}\n{close}"),
                &[&expected],
            );
        }
        doc(
            "```json\n{ \"text\": \"two words\" }\n```",
            "```\n$ haft lint\n{ not json }\n```",
            &[],
        );
    }

    #[test]
    fn what_is_no_json_says_what_to_do() {
        for (old, new, help) in [
            ("\"version\": \"0.1.0\",", "\"version\": \"0.1.0\", // one", "JSON has no comments"),
            ("\"toolId\": \"echo\"", "'toolId': \"echo\"", "use double quotes"),
        ] {
            let workshop = Workshop::new();
            workshop.replace("tools/echo/schema.json", old, new);
            let shown = shown(&workshop);
            assert!(shown.contains("[H006]") && shown.contains(help), "{shown}");
        }
        let workshop = Workshop::new();
        let text = workshop.read("tools/echo/schema.json");
        let cut = text.trim_end().strip_suffix('}').unwrap().trim_end();
        workshop.write("tools/echo/schema.json", format!("{cut},\n}}\n"));
        assert!(shown(&workshop).contains("remove the comma before it"));
    }

    #[test]
    fn a_regular_expression_that_cannot_be_read_is_reported() {
        let source = "export async function execute({ args }) {\n  const [a] = args.text.match(/(x/);\n  return { ok: true, data: { words: a.length } };\n}\n";
        let workshop = Workshop::new();
        workshop.write("tools/echo/handler.js", source);
        let lines = workshop.lines();
        assert!(lines[0].contains("handler.js:2:") && lines[0].ends_with("[H403]"), "{lines:#?}");
        assert_eq!(lines.len(), 1, "{lines:#?}");
        handler(&source.replace("(x", "(x)"), &[]);
    }
}

mod tools_that_speak_of_others {
    use super::*;

    #[test]
    fn other_errors_do_not_hide_what_is_said_of_others() {
        let compensation =
            json!({"tool": "unsend", "arguments": {"message": {"from": "/result/sent"}}});
        let lines = pair(
            json!({"compensation": compensation, "version": "one"}),
            json!({"version": "two"}),
        );
        let codes: Vec<&str> = lines.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(codes, ["[H106]", "[H506]", "[H106]"], "{lines:#?}");
    }

    #[test]
    fn what_may_be_missing_is_not_taken_for_what_is_needed() {
        let from =
            |pointer: &str| json!({"tool": "unsend", "arguments": {"message": {"from": pointer}}});
        let text = |extra: Value| {
            let mut schema = json!({"type": "string", "description": "A note", "maxLength": 9});
            schema.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            json!({"properties": {"note": schema}})
        };
        let said = |contract: Value| -> Vec<String> {
            let lines = pair(contract, json!({}));
            lines.iter().map(|line| line.split("error: ").nth(1).unwrap().to_owned()).collect()
        };
        let none = Vec::<String>::new();
        let missing = |from: &str| {
            vec![format!("`{from}` may be missing, and `unsend` always needs `message` [H506]")]
        };
        for (contract, expected) in [
            (
                json!({"compensation": from("/arguments/note"), "parameters": text(json!({}))}),
                missing("/arguments/note"),
            ),
            (
                json!({"compensation": from("/arguments/note"), "parameters": text(json!({"default": "x"}))}),
                none.clone(),
            ),
            (
                json!({"compensation": from("/result/note"), "output": text(json!({"default": "x"}))}),
                missing("/result/note"),
            ),
            (json!({"compensation": from("/arguments/message")}), none),
        ] {
            assert_eq!(said(contract.clone()), expected, "{contract}");
        }
    }

    fn pair(compensation: Value, target: Value) -> Vec<String> {
        let workshop = Workshop::new();
        workshop.add("send", Category::Action);
        workshop.add("unsend", Category::Action);
        workshop.patch("send", compensation);
        workshop.patch("unsend", target);
        workshop.lines()
    }

    #[test]
    fn a_compensation_exists_and_type_checks() {
        let mapped = json!({"compensation": {"tool": "unsend", "arguments": {"message": {"from": "/arguments/message"}}}});
        assert_eq!(pair(mapped, json!({})), Vec::<String>::new());
        for (compensation, expected) in [
            (json!({"tool": "unsent"}), "there is no tool `unsent` in this toolset [H505]"),
            (json!({"tool": "unsend"}), "`unsend` needs `message` [H506]"),
            (
                json!({"tool": "unsend", "arguments": {"message": {"from": "/result/sent"}}}),
                "`/result/sent` is a value of type `boolean`, but a value of type `string` is wanted [H506]",
            ),
            (
                json!({"tool": "unsend", "arguments": {"message": {"from": "/result/gone"}}}),
                "`/result/gone` leads nowhere [H506]",
            ),
            (
                json!({"tool": "unsend", "arguments": {"message": {"value": 3}}}),
                "it would be refused: the value must be a string, not a number [H506]",
            ),
            (
                json!({"tool": "unsend", "arguments": {"message": {"value": "x"}, "why": {"value": "x"}}}),
                "`unsend` has no parameter `why` [H506]",
            ),
            (
                json!({"tool": "unsend", "arguments": {"message": {"from": "/results/sent"}}}),
                "`/results/sent` does not start with `/arguments` or `/result` [H506]",
            ),
            (
                json!({"tool": "unsend", "arguments": {"message": {}}}),
                "`message` needs either `from` or `value` [H101]",
            ),
            (
                json!({"tool": "send", "arguments": {"message": {"from": "/arguments/message"}}}),
                "a tool cannot undo itself [H506]",
            ),
            (
                json!({"tool": "echo", "arguments": {"text": {"value": "x"}}}),
                "`echo` does not write, so it cannot undo anything [H506]",
            ),
        ] {
            let lines = pair(json!({ "compensation": compensation }), json!({}));
            assert_eq!(lines.len(), 1, "{compensation}: {lines:#?}");
            assert!(lines[0].ends_with(expected), "{compensation}: {lines:#?}");
        }
    }

    #[test]
    fn a_probe_only_looks() {
        for (probe, expected) in [
            (
                json!({"tool": "unsend", "arguments": {"message": {"value": "x"}}, "happened": "/result/sent"}),
                "`unsend` writes; a probe only looks [H507]",
            ),
            (
                json!({"tool": "echo", "arguments": {"text": {"from": "/arguments/message"}}, "happened": "/result/words"}),
                "`/result/words` is not a boolean of `echo`'s result [H507]",
            ),
            (
                json!({"tool": "echo", "arguments": {"text": {"from": "/result/sent"}}, "happened": "/result/words"}),
                "a probe is asked when there is no result; take it from `/arguments` [H507]",
            ),
            (
                json!({"tool": "echo", "happened": "/result/sent", "result": "/result/nothing"}),
                "`/result/nothing` is nothing in `echo`'s result [H507]",
            ),
            (
                json!({"tool": "echo", "happened": "/result/sent", "result": "/result/words"}),
                "`/result/words` is a value of type `integer`, but this tool answers a value of type `object` [H507]",
            ),
        ] {
            let lines = pair(json!({ "probe": probe }), json!({}));
            assert!(lines.iter().any(|line| line.ends_with(expected)), "{probe}: {lines:#?}");
        }
    }
}
