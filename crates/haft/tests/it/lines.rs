//! What callers make up does not forge lines, nor speak to the terminal.

use std::fs::File;

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::answering;

#[test]
fn one_call_is_one_line_whatever_it_is_called() {
    let project = Project::new();
    let forged = "gr\u{1b}[2Jeet\r\nFAKE\u{2028}\u{9b}31m\u{202e}x";
    let long = "x".repeat(100_000);
    for name in [forged, &long] {
        let said = project.run(&["call", name, "--args", "{}", "--id", forged]);
        assert_eq!(said.code, 1, "{said:?}");
        for text in [&said.out, &said.err] {
            assert!(!text.contains(['\u{1b}', '\r', '\u{2028}', '\u{9b}', '\u{202e}']), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{text:?}");
            assert!(text.len() < 2_000, "{} bytes", text.len());
        }
    }
    let listed = project.run(&["calls"]);
    assert_eq!(listed.out.lines().count(), 3, "a head and two calls: {listed:?}");
    assert!(!listed.out.contains(['\u{1b}', '\r', '\u{2028}', '\u{9b}', '\u{202e}']), "{listed:?}");
    assert!(listed.out.len() < 2_000, "{} bytes", listed.out.len());
}

/// As at every other door: short, visible, and no two are one.
#[test]
fn what_cannot_be_a_key_is_refused_on_the_command_line() {
    let project = Project::new();
    let contract = project.read("tools/order/schema.json");
    assert!(contract.contains("\"requiresConfirmation\": true"), "{contract}");
    let unasked =
        contract.replace("\"requiresConfirmation\": true", "\"requiresConfirmation\": false");
    project.write("tools/order/schema.json", &unasked);
    let call = |key: &str| {
        project.run(&["call", "order", "--args", r#"{"message":"hi"}"#, "--key", key, "--json"])
    };
    let long = "x".repeat(256);
    for key in ["", " ", "a b", "a\nb", "a\r\nb", "é", "🔑", "\u{1b}[2J", &long, &"x".repeat(4096)]
    {
        let said = call(key);
        assert_ne!(said.code, 0, "{key:?}: {said:?}");
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("1 to 255 visible ASCII"), "{key:?}: {said:?}");
        assert!(!told.contains(['\u{1b}', '\r']) && told.len() < 3_000, "{key:?}: {said:?}");
    }
    assert_eq!(project.json(&["effects", "--json"]).1, json!([]), "nothing was begun");
    for (at, key) in ["a", "A", "a:b", "a/0", "\"a\"", &"x".repeat(255)].into_iter().enumerate() {
        for _ in 0..2 {
            // It is begun, and fails: nobody is connected to be told.
            let said = call(key);
            assert!(said.out.contains("the client is not connected"), "{key:?}: {said:?}");
        }
        let effects = project.json(&["effects", "--json"]).1;
        assert_eq!(effects.as_array().unwrap().len(), at + 1, "{key}");
    }
}

/// Nothing in it speaks to a terminal, begins a line of its own, or is long.
#[track_caller]
fn tame(text: &str) {
    let odd = |c: char| c != '\n' && c.is_control() || "\u{2028}\u{2029}\u{202e}".contains(c);
    assert!(!text.contains(odd), "{text:?}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FAKE")), "{text}");
    assert!(text.len() < 40_000, "{} bytes", text.len());
}

#[test]
fn words_of_a_service_forge_no_line_of_a_log_or_a_list() {
    let forged = "no\r\nFAKE granted\u{1b}[2J\u{2028}FAKE\u{2029}\u{9b}31m\u{202e}x\u{85}FAKE";
    for message in [forged.to_owned(), forged.repeat(20_000)] {
        let answer = json!({"error": {"message": message}}).to_string();
        let (port, _seen) = answering("400 Bad Request", answer);
        let project = Project::new();
        let document = json!({"openapi": "3.1.0",
            "servers": [{"url": format!("http://127.0.0.1:{port}")}],
            "paths": {"/me": {"get": {"operationId": "me"}, "post": {"operationId": "put_me"}}}});
        project.write("api.json", &document.to_string());
        let said = project.run(&["import", "api.json", "--toolset", "api"]);
        assert_eq!(said.code, 0, "{said:?}");
        std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
        for log in ["json", "text"] {
            project.write(
                "haft.toml",
                &format!(
                    "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n\
                     [server]\nlog = \"{log}\"\n"
                ),
            );
            let path = project.folder.join(format!("{log}.log"));
            let server = Server::logging(&project, File::create(&path).unwrap().into());
            let body = json!({"tool": "me", "arguments": {}});
            let (status, told) =
                server.send("POST", "/v1/agents/default/calls", Some(body)).unwrap();
            assert_eq!(status, 422, "{told}");
            let error = told["error"]["message"].as_str().unwrap();
            // Of what is very long, nothing is repeated.
            assert_eq!(error.contains("FAKE granted"), message == forged, "{error}");
            assert!(error.len() < 2_000, "{} bytes", error.len());
            server.stop();
            let logged = std::fs::read_to_string(&path).unwrap();
            tame(&logged);
            let events: Vec<&str> =
                logged.lines().filter(|line| line.contains("tool_exec")).collect();
            assert_eq!(events.len(), 2, "begun and ended: {logged}");
            let noted = |line: &&str| !line.starts_with("note: ");
            for line in logged.lines().filter(|_| log == "json").filter(noted) {
                serde_json::from_str::<Value>(line).expect(line);
            }
        }
        for arguments in [
            &["call", "me", "--args", "{}"][..],
            &["call", "put_me", "--args", "{}", "--key", "k"],
            &["calls"],
            &["calls", "--stats"],
            &["effects"],
            &["audit", "verify"],
        ] {
            let said = project.run(arguments);
            tame(&said.out);
            tame(&said.err);
        }
        let listed = project.run(&["calls"]).out;
        assert_eq!(listed.lines().count(), 5, "a head and four calls: {listed}");
    }
}

/// Whoever looks after tools learns where and why one failed, and nothing that redaction hides.
#[test]
fn the_log_says_what_was_behind_a_failure() {
    let project = Project::new();
    let handler = "export async function execute({ args }) {\n  \
                   throw new TypeError(\"no such thing as \" + args.text);\n}\n";
    project.write("tools/greet/handler.js", handler);
    assert!(project.read("tools/greet/schema.json").contains("\"allowArgs\": []"));
    let path = project.folder.join("log");
    let server = Server::logging(&project, File::create(&path).unwrap().into());
    let body = json!({"tool": "greet", "arguments": {"text": "4111111111111111"}});
    let (_, told) = server.send("POST", "/v1/agents/default/calls", Some(body)).unwrap();
    assert_eq!(told["error"]["kind"], "internal", "{told}");
    assert!(!told.to_string().contains("no such thing"), "it is for the log alone: {told}");
    server.stop();
    let logged = std::fs::read_to_string(&path).unwrap();
    let ended = logged.lines().find(|line| line.contains("tool_execution_completed")).unwrap();
    let ended: Value = serde_json::from_str(ended).unwrap();
    let cause = ended["cause"].as_str().unwrap_or_default();
    assert!(cause.contains("handler.js:2") && cause.contains("no such thing as"), "{ended}");
    assert!(!logged.contains("4111111111111111"), "{logged}");
}
