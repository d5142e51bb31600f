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
