//! Sessions outlive a change of the tools.

use serde_json::Value;

use crate::project::Project;

/// A call in a session, and the registry that it was made with.
fn call(project: &Project, session: &str) -> Result<String, Value> {
    let arguments =
        ["call", "greet", "--args", r#"{"text": "a b"}"#, "--session", session, "--json"];
    let (_, envelope) = project.json(&arguments);
    match envelope["ok"] == true {
        true => Ok(envelope["meta"]["registryVersion"].as_str().unwrap().to_owned()),
        false => Err(envelope["error"].clone()),
    }
}

/// A session that begins now, and its registry.
fn begin(project: &Project) -> (String, String) {
    let said = project.run(&["call", "greet", "--args", r#"{"text": "a"}"#, "--session", "new"]);
    let line = said.err.lines().find(|line| line.starts_with("session ")).unwrap().to_owned();
    let mut words = line.split([' ', '(', ')']).filter(|word| !word.is_empty());
    (words.nth(1).unwrap().to_owned(), words.nth(1).unwrap().to_owned())
}

#[test]
fn a_session_stays_with_the_tools_that_it_began_with() {
    let project = Project::new();
    let (old, version) = begin(&project);
    project.change_tools();
    assert_eq!(call(&project, &old).unwrap(), version);
    let (new, other) = begin(&project);
    assert_ne!(other, version);
    assert_eq!(call(&project, &new).unwrap(), other);
    assert_eq!(call(&project, &old).unwrap(), version);
}

/// The same act in the same turn is the same call; in another turn it would be done again.
#[test]
fn a_dry_run_opens_no_session_and_begins_no_turn() {
    let project = Project::new();
    let schema = project.read("tools/order/schema.json");
    let unasked =
        schema.replace("\"requiresConfirmation\": true", "\"requiresConfirmation\": false");
    project.write("tools/order/schema.json", &unasked);
    let order = |more: &[&str]| {
        let arguments = ["call", "order", "--args", r#"{"message": "hey"}"#, "--json"];
        project.json(&[&arguments[..], more].concat()).1
    };
    let arguments =
        ["call", "greet", "--args", r#"{"text": "a"}"#, "--session", "new", "--dry-run"];
    let said = project.run(&arguments);
    assert!(
        said.code == 0 && !said.err.lines().any(|line| line.starts_with("session ")),
        "{said:?}"
    );
    let (session, _) = begin(&project);
    assert_eq!(order(&["--session", &session])["meta"]["cached"], false);
    let dry = order(&["--session", &session, "--turn", "--dry-run"]);
    assert_eq!(dry["ok"], true, "{dry}");
    assert_eq!(order(&["--session", &session])["meta"]["cached"], true);
    assert_eq!(order(&["--session", &session, "--turn"])["meta"]["cached"], false);
}

#[test]
fn a_kept_registry_that_was_touched_is_refused() {
    let project = Project::new();
    let (session, version) = begin(&project);
    project.change_tools();
    let file = format!(".haft/registries/{version}.json");
    let text = project.read(&file);
    project.write(&file, &text.replacen("How many words", "How many sheep", 1));
    let error = call(&project, &session).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("is not loaded"), "{error}");
    project.write(&file, &text);
    assert_eq!(call(&project, &session).unwrap(), version);
}

#[test]
fn a_session_has_its_own_mode() {
    let project = Project::new();
    let begun = project.run(&["call", "greet", "--args", r#"{"text": "a"}"#, "--session", "new"]);
    let session = begun.err.split_whitespace().nth(1).unwrap();
    let call = |more: &[&str]| {
        let again = ["call", "greet", "--args", r#"{"text": "b"}"#, "--session", session];
        project.run(&[&again[..], more].concat())
    };
    assert_eq!(call(&[]).code, 0);
    assert_eq!(call(&["--mode", "text"]).code, 0);
    let other = call(&["--mode", "voice"]);
    assert!(other.code == 2 && other.err.contains("the session is in text mode"), "{other:?}");
}

#[test]
fn a_call_without_a_session_is_told_why_its_messages_reach_nobody() {
    let project = Project::new();
    let contract = project.read("tools/order/schema.json");
    let unasked =
        contract.replace("\"requiresConfirmation\": true", "\"requiresConfirmation\": false");
    project.write("tools/order/schema.json", &unasked);
    let order = ["call", "order", "--args", r#"{"message": "hey"}"#];
    let said = project.run(&order);
    assert!(said.code == 1 && said.err.contains("`--session new` begins one"), "{said:?}");
    let heard = project.run(&[&order[..], &["--session", "new"]].concat());
    assert!(heard.code == 0 && heard.err.contains("message: {"), "{heard:?}");
}
