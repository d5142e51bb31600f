//! Lists: what matters is in them whatever room there is, a part is not taken for the whole, and a name
//! that nothing has is not an empty list.

use serde_json::json;

use crate::project::Project;

/// Calls of both tools, one of which has an effect.
fn busy(calls: usize) -> Project {
    let project = Project::new();
    let contract = project.read("tools/order/schema.json");
    let unasked =
        contract.replace("\"requiresConfirmation\": true", "\"requiresConfirmation\": false");
    project.write("tools/order/schema.json", &unasked);
    for n in 0..calls {
        let args = json!({ "message": n.to_string() }).to_string();
        // It is begun, and fails: nobody is connected to be told.
        project.run(&["call", "order", "--args", &args]);
    }
    project
}

#[test]
fn what_matters_is_there_in_a_terminal_of_80_columns() {
    let project = busy(1);
    for (command, words, left_out) in
        [("effects", ["CALL", "STATE", "TOOL"], "GROUP"), ("calls", ["CALL", "END", "TOOL"], "MS")]
    {
        let output = project.command().arg(command).env("COLUMNS", "80").output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let head = out.lines().next().unwrap();
        assert!(words.iter().all(|word| head.contains(word)), "{command}: {out}");
        assert!(out.contains("failed") || out.contains("transient"), "how it ended: {out}");
        assert!(!head.contains(left_out) && err.contains(left_out), "{command}: {out}{err}");
        assert!(err.contains("`--json`") && !out.contains("no room"), "{out}{err}");
        assert!(project.run(&[command]).out.contains(left_out), "a file has room");
    }
    let output = project.command().args(["why", "default"]).env("COLUMNS", "40").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("STATUS") && out.contains("available"), "{out}");
}

#[test]
fn a_part_of_a_list_says_that_there_is_more() {
    let project = busy(3);
    for command in ["effects", "calls"] {
        for json in [&[][..], &["--json"]] {
            let run = |limit: &str| project.run(&[&[command, "--limit", limit], json].concat());
            let part = run("2");
            assert!(part.err.contains("there are more: `--limit 20`"), "{part:?}");
            assert_eq!(part.out.matches("call_").count() % 2, 0, "{part:?}");
            let whole = run("3");
            assert!(whole.code == 0 && !whole.err.contains("more"), "{whole:?}");
            assert!(whole.out.len() > part.out.len(), "{part:?} {whole:?}");
            let none = run("0");
            assert!(none.code == 2 && none.err.contains("1 or more"), "{none:?}");
        }
    }
}

#[test]
fn a_name_that_nothing_has_is_said() {
    let project = Project::new();
    for command in [&["calls"][..], &["calls", "--stats"], &["effects"], &["confirmations"]] {
        let said = project.run(&[command, &["--tenant", "defalt"]].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.err.contains("there is no tenant `defalt`; did you mean `default`"),
            "{said:?}"
        );
        assert_eq!(project.run(command).code, 0, "none of what there is: {command:?}");
    }
    for command in [&["agents"][..], &["keys", "list"], &["connections", "list"]] {
        let said = project.run(&[command, &["--tenant", "defalt"]].concat());
        assert!(said.code == 2 && said.err.contains("did you mean `default`"), "{said:?}");
    }
    let said = project.run(&["calls", "--agent", "defolt"]);
    assert!(said.code == 2 && said.err.contains("did you mean `default`"), "{said:?}");
    for command in ["calls", "effects"] {
        let said = project.run(&[command, "--session", "ses_none"]);
        assert!(said.code == 2 && said.err.contains("no session `ses_none`"), "{said:?}");
    }
    let said = project.run(&["call", "greet", "--tenant", "defalt", "--args", "{}"]);
    assert!(said.code == 2 && said.err.contains("there is no tenant `defalt`"), "{said:?}");
}

#[test]
fn a_dry_run_names_no_record() {
    let project = Project::new();
    let call = |more: &[&str]| {
        project.run(&[&["call", "greet", "--args", r#"{"text":"hi"}"#], more].concat())
    };
    assert!(call(&[]).err.contains(", call call_"));
    let dry = call(&["--dry-run"]);
    assert!(dry.code == 0 && !dry.err.contains("call_"), "{dry:?}");
}

#[test]
fn nothing_in_a_question_is_hidden_from_whoever_answers() {
    let project = Project::new();
    let hidden = ["\u{3164}", "\u{115f}", "\u{fe0f}", "\u{200b}", "\u{2800}"];
    let args = json!({ "message": format!("pay{}", hidden.concat()) }).to_string();
    let asked = project.run(&["call", "order", "--args", &args]);
    assert_eq!(asked.code, 1, "{asked:?}");
    let listed = project.run(&["confirmations"]);
    assert!(hidden.iter().all(|letter| !listed.out.contains(letter)), "{listed:?}");
    assert!(listed.out.contains("\\u3164\\u115f\\ufe0f"), "{listed:?}");
}

/// A question that mara's agent asks in a session.
fn asking() -> (Project, String) {
    let project = Project::new();
    let before = project.read("haft.toml");
    let lines = "[[tenants]]\nid = \"default\"\n[[agents]]\nid = \"default\"\ntenant = \"default\"\n\
        [[delegations]]\ntenant = \"default\"\nactor = \"agent:default\"\nsubject = \"user:mara\"\n\
        tools = [\"*\"]\nuntil = \"2999-01-01T00:00:00Z\"\n";
    project.write("haft.toml", &format!("{before}{lines}"));
    let order = ["call", "order", "--args", r#"{"message": "hey"}"#, "--for", "user:mara"];
    let asked = project.run(&[&order[..], &["--session", "new"]].concat());
    assert_eq!(asked.code, 1, "{asked:?}");
    let session = asked.err.split_whitespace().nth(1).unwrap().to_owned();
    (project, session)
}

#[test]
fn whoever_answers_is_told_for_whom_and_in_which_session() {
    let (project, session) = asking();
    let listed = project.run(&["confirmations"]);
    for line in ["  for user:mara", "  agent default", &format!("  session {session}")] {
        assert!(listed.out.lines().any(|one| one == line), "{line}: {listed:?}");
    }
    assert!(listed.out.contains("\n  call call_"), "{listed:?}");
    assert!(!listed.out.contains("connection"), "there is none: {listed:?}");
}

#[test]
fn no_service_answers_a_question() {
    let project = Project::new();
    for who in ["service:billing", "agent:default"] {
        for answer in ["approve", "deny"] {
            let said = project.run(&["confirmations", answer, "cnf_1", "--as", who]);
            assert!(said.code == 2 && said.err.contains("name a person, `user:<id>`"), "{said:?}");
        }
    }
}

/// As keys and tokens demand.
#[test]
fn nobody_answers_under_a_name_that_only_looks_like_anothers() {
    let project = Project::new();
    for who in ["user:mara ", "user:ma\u{200b}ra", "user:mara  lee", "user:user:mara"] {
        let said = project.run(&["confirmations", "approve", "cnf_1", "--as", who]);
        assert!(said.code == 2 && said.err.contains("names somebody "), "{said:?}");
    }
}

#[test]
fn effects_are_listed_without_what_redaction_strips() {
    let (project, session) = asking();
    let (_, asked) = project.json(&["confirmations", "--json"]);
    let id = asked[0]["id"].as_str().unwrap();
    let (_, approved) = project.json(&["confirmations", "approve", id, "--json"]);
    let token = approved["token"].as_str().unwrap();
    let order = ["call", "order", "--args", r#"{"message": "hey"}"#, "--for", "user:mara"];
    let done = [&order[..], &["--session", &session, "--confirm", token]].concat();
    assert_eq!(project.run(&done).code, 0);
    let (_, listed) = project.json(&["effects", "--json"]);
    assert_eq!(listed[0]["state"], "succeeded", "{listed}");
    for member in ["arguments", "rawArguments", "result"] {
        assert!(listed[0].get(member).is_none(), "{member}: {listed}");
    }
    let (_, whole) = project.json(&["effects", "--json", "--full"]);
    assert_eq!(whole[0]["arguments"], json!({ "message": "hey" }), "{whole}");
    assert_eq!(whole[0]["result"], json!({ "sent": true }), "{whole}");
}
