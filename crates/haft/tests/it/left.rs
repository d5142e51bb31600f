//! What a command leaves behind that was interrupted, killed, or whose end nobody heard: what it says of it, and
//! whether it is found.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::{listen, request, shop};

const ORDER: [&str; 4] = ["call", "order", "--args", r#"{"message": "hey"}"#];

/// A service that says what it was asked and answers when the test does.
fn waiting() -> (u16, Receiver<(String, TcpStream)>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(asked) = request(&mut stream) else { continue };
            if send.send((asked, stream)).is_err() {
                return;
            }
        }
    });
    (port, seen)
}

fn answer(mut stream: TcpStream) {
    let text = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                connection: close\r\n\r\n{}";
    stream.write_all(text.as_bytes()).unwrap();
}

/// A shop whose service takes keys, so that an order may be sent again.
fn keyed(port: u16) -> Project {
    let project = shop(port, "[policy.modes.text]\nretries = 0", "");
    change(&project, "api/tools/buy/schema.json", |contract| {
        contract["idempotent"] = json!(true);
        contract["gateway"]["idempotencyHeader"] = json!("Idempotency-Key");
        contract.as_object_mut().unwrap().remove("sideEffectPolicy");
    });
    project
}

fn change(project: &Project, file: &str, change: impl FnOnce(&mut Value)) {
    let mut contract: Value = serde_json::from_str(&project.read(file)).unwrap();
    change(&mut contract);
    project.write(file, &contract.to_string());
}

fn key_of(request: &str) -> String {
    let line = request.lines().find(|line| line.to_lowercase().starts_with("idempotency-key:"));
    line.unwrap().split_once(':').unwrap().1.trim().to_owned()
}

/// A command whose standard error is read line by line.
struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
}

impl Running {
    fn start(project: &Project, arguments: &[&str]) -> Self {
        let mut command = project.command();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, err }
    }

    fn tell(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// What it says up to some words.
    fn until(&mut self, words: &str) -> String {
        let mut said = String::new();
        while !said.contains(words) {
            assert!(self.err.read_line(&mut said).unwrap() > 0, "`{words}` is not in: {said}");
        }
        said
    }

    /// How it ends, and what it says until then.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.err.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

#[test]
fn an_effect_whose_process_was_killed_is_found_by_its_tools_short_name() {
    let (port, seen) = waiting();
    let project = shop(port, "", "");
    let mut call = Running::start(&project, &["call", "buy", "--args", r#"{"item": "lamp"}"#]);
    let held = seen.recv().unwrap();
    call.child.kill().unwrap();
    call.child.wait().unwrap();
    drop(held);
    let (code, found) = project.json(&["effects", "--tool", "buy", "--json"]);
    assert_eq!((code, found.as_array().map(Vec::len)), (0, Some(1)), "{found}");
    assert_eq!(found[0]["state"], "unknown", "{found}");
    let server = Server::start(&project);
    let (_, served) = server.send("GET", "/v1/effects?tool=buy", None).unwrap();
    assert_eq!(served.as_array().map(Vec::len), Some(1), "{served}");
    server.stop();
}

#[test]
fn a_key_that_the_command_made_is_told_where_the_call_has_to_be_repeated_under_it() {
    let (port, seen) = waiting();
    let project = keyed(port);
    let buy = ["call", "buy", "--args", r#"{"item": "lamp"}"#];
    let call = Running::start(&project, &[&buy[..], &["--json"]].concat());
    let (asked, stream) = seen.recv().unwrap();
    let provider_key = key_of(&asked);
    drop(stream);
    let mut call = call;
    let said = call.until("--key cli-");
    let key = said.split("--key ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let mut out = String::new();
    call.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["error"]["kind"], "unknown_outcome", "{told}");
    assert_eq!(told["key"], json!(key), "{told}");
    assert_eq!(call.end().0, Some(1));
    let again = Running::start(&project, &[&buy[..], &["--key", &key]].concat());
    let (asked, stream) = seen.recv().unwrap();
    assert_eq!(key_of(&asked), provider_key, "the provider knows it");
    answer(stream);
    let (code, said) = again.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("--key"), "whoever gave it knows it: {said}");
}

#[test]
fn a_call_that_is_told_to_end_waits_for_what_it_has_begun() {
    let (port, seen) = waiting();
    let project = shop(port, "", "");
    for signal in ["-INT", "-TERM", "-HUP"] {
        let args = json!({ "item": format!("lamp {signal}") }).to_string();
        let buy = ["call", "buy", "--args", &args];
        let mut call = Running::start(&project, &buy);
        let (_, stream) = seen.recv().unwrap();
        call.tell(signal);
        call.until("an effect has begun and goes on");
        answer(stream);
        let (code, said) = call.end();
        assert_eq!(code, Some(0), "{signal}: {said}");
        let args = json!({ "item": format!("chair {signal}") }).to_string();
        let mut call = Running::start(&project, &["call", "buy", "--args", &args]);
        let held = seen.recv().unwrap();
        call.tell(signal);
        call.until("an effect has begun and goes on");
        call.tell("-TERM");
        let (code, said) = call.end();
        assert_eq!(code, Some(1), "{signal}: {said}");
        assert!(said.contains("left; nobody knows now whether the effect happened"), "{said}");
        assert!(said.contains("--happened yes|no --note TEXT") && said.contains("--key cli-"));
        drop(held);
    }
}

/// What was ordered may go on when whoever ordered it has given up.
#[test]
fn an_answer_is_shown_before_what_goes_on_behind_it_has_ended() {
    let (port, seen) = waiting();
    let project = relayed(port);
    for leaves in [false, true] {
        let args = json!({ "message": format!("lamp {leaves}") }).to_string();
        let mut call = Running::start(&project, &["call", "relay", "--args", &args, "--json"]);
        let (_, stream) = seen.recv().unwrap();
        let mut out = BufReader::new(call.child.stdout.take().unwrap());
        let mut shown = String::new();
        while shown.lines().last() != Some("}") {
            assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
        }
        let told: Value = serde_json::from_str(&shown).unwrap();
        assert!(told["error"]["kind"].is_string(), "{told}");
        call.until("an effect has begun and goes on");
        if leaves {
            call.tell("-INT");
            let (code, said) = call.end();
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains("left; nobody knows now whether the effect happened"), "{said}");
            drop(stream);
        } else {
            answer(stream);
            let (code, said) = call.end();
            assert!(code == Some(1) && !said.contains("left; "), "{said}");
            let (_, found) = project.json(&["effects", "--tool", "buy", "--json"]);
            assert_eq!(found[0]["state"], "succeeded", "{found}");
        }
    }
}

/// A shop with a tool that buys, and does not wait as long as buying takes.
fn relayed(port: u16) -> Project {
    let project = shop(port, "[policy.modes.text]\ndeadline = \"enforce\"", "");
    change(&project, "api/tools/buy/schema.json", |contract| {
        contract["latencyBudgetMs"] = json!(60_000);
        contract["limits"] = json!({ "maxRuntimeMs": 60_000 });
    });
    assert_eq!(project.run(&["new", "relay", "--category", "action"]).code, 0);
    change(&project, "api/tools/relay/schema.json", |contract| {
        contract["requiresConfirmation"] = json!(false);
        contract["latencyBudgetMs"] = json!(1_000);
        contract["limits"] = json!({ "maxRuntimeMs": 1_000 });
        contract["capabilities"] = json!(["call_tool"]);
        contract["redaction"] = json!({ "allow": [], "allowArgs": [] });
        let all = contract.as_object_mut().unwrap();
        all.retain(|name, _| name != "confirmation" && name != "output");
    });
    project.write(
        "api/tools/relay/handler.js",
        "export async function execute({ args, context }) {\n  \
         const data = await context.callTool(\"buy\", { item: args.message });\n  \
         return { ok: true, data };\n}\n",
    );
    let tests = json!({ "tests": [{ "name": "buys", "args": { "message": "x" },
        "stubs": { "call_tool.buy": { "returns": {} } }, "expect": { "ok": true } }] });
    project.write("api/tools/relay/tests.json", &tests.to_string());
    project
}

/// Tools that are programs: `order`, what undoes it and what tells of it. The last two say when they have begun,
/// and wait to be let go.
fn programs() -> Project {
    let project = Project::new();
    for tool in ["unorder", "ordered"] {
        assert_eq!(project.run(&["new", tool, "--category", "action"]).code, 0);
    }
    let folder = project.folder.display().to_string();
    for pipe in ["begun", "go"] {
        let made = Command::new("mkfifo").arg(project.folder.join(pipe)).status().unwrap();
        assert!(made.success());
    }
    let wait = format!("echo begun > '{folder}/begun'; read -r _ < '{folder}/go'");
    for (tool, does, data) in [
        ("order", format!("test -e '{folder}/lose' && exit 1"), r#"{"sent": true}"#),
        ("unorder", wait.clone(), r#"{"sent": true}"#),
        ("ordered", wait, r#"{"sent": true}"#),
    ] {
        fs::remove_file(project.folder.join(format!("tools/{tool}/handler.js"))).unwrap();
        let script = format!(
            "#!/bin/sh\nwhile read -r line; do\n  {does}\n  id=${{line#*\\\"id\\\":}}\n  id=${{id%%,*}}\n  \
             echo \"{{\\\"id\\\": $id, \\\"ok\\\": true, \\\"data\\\": \"'{data}'\"}}\"\ndone\n"
        );
        let file = project.folder.join(format!("tools/{tool}/handler.sh"));
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        change(&project, &format!("tools/{tool}/schema.json"), |contract| {
            contract["requiresConfirmation"] = json!(false);
            contract["capabilities"] = json!([]);
        });
        let tests = json!({ "tests": [{ "name": "works", "args": { "message": "hey" },
            "expect": { "ok": true, "data": { "sent": true } } }] });
        project.write(&format!("tools/{tool}/tests.json"), &tests.to_string());
    }
    let arguments = json!({ "message": { "from": "/arguments/message" } });
    change(&project, "tools/order/schema.json", |contract| {
        contract["compensation"] = json!({ "tool": "unorder", "arguments": arguments });
        contract["probe"] =
            json!({ "tool": "ordered", "arguments": arguments, "happened": "/result/sent" });
    });
    change(&project, "tools/ordered/schema.json", |contract| {
        contract["sideEffects"] = json!("read_only");
        contract["category"] = json!("utility");
        contract["idempotent"] = json!(true);
        contract.as_object_mut().unwrap().remove("confirmation");
    });
    project
}

impl Project {
    /// Waits until a program has begun.
    fn begun(&self) {
        fs::read(self.folder.join("begun")).unwrap();
    }

    fn let_go(&self) {
        fs::write(self.folder.join("go"), "go\n").unwrap();
    }

    /// The effect of an order, and its state.
    fn order(&self) -> (String, Value) {
        let (_, found) = self.json(&["effects", "--tool", "order", "--json"]);
        (found[0]["call"].as_str().unwrap().to_owned(), found[0]["state"].clone())
    }
}

#[test]
fn undoing_that_is_told_to_end_waits_for_what_it_has_begun() {
    let project = programs();
    let done = project.run(&ORDER);
    assert_eq!(done.code, 0, "{done:?}");
    let (call, _) = project.order();
    let mut undo = Running::start(&project, &["undo", &call]);
    project.begun();
    undo.tell("-TERM");
    undo.until("something is being undone, and goes on");
    project.let_go();
    let (code, said) = undo.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(project.order().1, "compensated");
}

#[test]
fn whoever_leaves_an_undoing_is_told_how_it_goes_on() {
    let project = programs();
    assert_eq!(project.run(&ORDER).code, 0);
    let (call, _) = project.order();
    let mut undo = Running::start(&project, &["undo", &call]);
    project.begun();
    undo.tell("-INT");
    undo.until("something is being undone, and goes on");
    undo.tell("-HUP");
    let (code, said) = undo.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("left; nobody knows now whether"), "{said}");
    assert!(said.contains(&format!("`haft undo {call}` goes on from there")), "{said}");
}

#[test]
fn a_probe_that_is_told_to_end_says_that_the_effect_is_as_it_was() {
    let project = programs();
    project.write("lose", "");
    let lost = project.run(&ORDER);
    assert_eq!(lost.code, 1, "{lost:?}");
    let (call, state) = project.order();
    assert_eq!(state, "unknown");
    let probe = Running::start(&project, &["effects", "probe", &call]);
    project.begun();
    probe.tell("-TERM");
    let (code, said) = probe.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("interrupted; ") && said.contains("the effect is as it was"), "{said}");
    assert_eq!(project.order().1, "unknown");
    let agent = project.run(&["effects", "probe", &call, "--as", "agent:default"]);
    assert!(agent.code == 3 && agent.err.contains("an agent cannot do this"), "{agent:?}");
}

#[test]
fn what_needs_no_tool_is_said_although_another_does_not_build() {
    let project = programs();
    project.write("lose", "");
    assert_eq!(project.run(&ORDER).code, 1);
    let (call, _) = project.order();
    change(&project, "tools/unorder/schema.json", |contract| {
        contract["requiresConfirmation"] = json!(true);
    });
    let asks = project.json(&["call", "unorder", "--args", r#"{"message": "hey"}"#, "--json"]).1;
    let question = asks.pointer("/error/details/confirmation/id").unwrap().as_str().unwrap();
    project.write("tools/greet/schema.json", "{");
    let settle = ["effects", "settle", &call, "--happened", "yes", "--note"];
    let empty = project.run(&[&settle[..], &["\u{200b} "]].concat());
    assert!(empty.code == 2 && empty.err.contains("the note is empty"), "{empty:?}");
    // Its own tool builds, so what it would have answered is known.
    let wrong = project.run(&[&settle[..], &["seen", "--answer", r#"{"sent": 1}"#]].concat());
    assert!(wrong.code == 2 && wrong.err.contains("does not fit"), "{wrong:?}");
    let wrong = project.run(&[&settle[..], &["seen", "--answer", "\"sent\""]].concat());
    assert!(wrong.code == 2 && wrong.err.contains("contract: the value"), "{wrong:?}");
    let settled = project.run(&[&settle[..], &["seen"]].concat());
    assert!(settled.code == 0 && settled.err.contains("does not build"), "{settled:?}");
    let denied = project.run(&["confirmations", "deny", question, "--as", "user:mara"]);
    assert!(denied.code == 0 && denied.out.contains("denied"), "{denied:?}");
    // To call something is another matter; and so is a toolset of which nothing can be read.
    assert_eq!(project.run(&["effects", "probe", &call]).code, 3);
    project.write("toolset.toml", "[");
    let answered = project.run(&[&settle[..], &["read", "--answer", r#"{"sent": true}"#]].concat());
    assert!(answered.code == 0 && answered.err.contains("does not build"), "{answered:?}");
}

#[test]
fn the_session_that_a_call_began_is_in_its_json() {
    let project = Project::new();
    let greet = ["call", "greet", "--args", r#"{"text": "a"}"#, "--json"];
    let (code, told) = project.json(&[&greet[..], &["--session", "new"]].concat());
    let session = told["session"].as_str().unwrap();
    assert!(code == 0 && told["ok"] == true && told["key"].is_null(), "{told}");
    let (_, again) = project.json(&[&greet[..], &["--session", session]].concat());
    assert_eq!((&again["ok"], &again["session"]), (&json!(true), &json!(session)), "{again}");
    let (_, alone) = project.json(&greet);
    assert!(alone["session"].is_null() && alone["key"].is_string(), "{alone}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_whose_answer_cannot_be_written_was_made_all_the_same() {
    let project = Project::new();
    let mut command = project.command();
    command.args(["call", "greet", "--args", r#"{"text": "a"}"#]).stderr(Stdio::piped());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command.stdout(full).spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let (_, calls) = project.json(&["calls", "--json"]);
    let call = calls[0]["call"].as_str().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    let words = format!("the call `{call}` was made, and is done");
    assert!(said.contains("could not be written") && said.contains(&words), "{said}");
}
