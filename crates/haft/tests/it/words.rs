//! What commands say, and how they end.

use serde_json::json;

use crate::project::Project;

#[test]
fn why_is_decided_with_the_arguments_and_names_the_rule() {
    let project = Project::new();
    let why = ["why", "default", "order", "--args"];
    let with = |arguments: &'static str| [why.as_slice(), &[arguments]].concat();
    let quiet = project.run(&with(r#"{"message": "hey"}"#));
    assert_eq!(quiet.code, 0, "{quiet:?}");
    assert!(quiet.out.starts_with("`default` may use `shop__order`"), "{quiet:?}");
    let loud = project.run(&with(r#"{"message": "HEY"}"#));
    assert_eq!(loud.code, 1, "{loud:?}");
    let expected = "`default` may not use `order` in text mode with these arguments: ";
    assert!(loud.out.starts_with(expected), "{loud:?}");
    assert!(loud.out.contains("shouting is for people"), "{loud:?}");
    assert!(loud.out.contains("  stage:  authorize\n"), "{loud:?}");
    assert!(loud.out.lines().any(|l| l.starts_with("  rule:") && l.contains("no-shouting")));
    let wrong = project.run(&with(r#"{"message": 7}"#));
    assert!(wrong.code == 1 && wrong.out.contains("  stage:  arguments\n"), "{wrong:?}");
}

#[test]
fn why_knows_of_what_the_tenant_does_not_have() {
    let project = Project::new();
    let mut config = project.read("haft.toml");
    config.push_str(
        "[[tenants]]\nid = \"default\"\n[[tenants.definitions]]\ntool = \"greet\"\nenabled = false\n\
         [[agents]]\nid = \"default\"\ntenant = \"default\"\n",
    );
    project.write("haft.toml", &config);
    for name in ["greet", "shop__greet"] {
        let (code, answer) = project.json(&["why", "default", name, "--json"]);
        assert_eq!((code, &answer["why"]), (1, &json!("disabled_for_tenant")), "{answer}");
        assert!(
            answer["enable"].as_str().is_some_and(|help| help.contains("enabled = true")),
            "{answer}"
        );
    }
    let (_, all) = project.json(&["why", "default", "--json"]);
    let ids = all["unavailable"].as_array().unwrap().iter().map(|one| one["tool"].clone());
    assert!(ids.collect::<Vec<_>>().contains(&json!("shop__greet")), "{all}");
}

#[test]
fn why_asks_for_somebody() {
    let project = Project::new();
    let ask = |who: &[&str]| {
        let arguments = [&["why", "default", "greet", "--args", r#"{"text": "a"}"#], who].concat();
        project.run(&arguments).code
    };
    assert_eq!(ask(&[]), 0);
    assert_eq!(ask(&["--as", "user:mara"]), 0);
    assert_eq!(ask(&["--as", "user:eve"]), 1);
    assert_eq!(ask(&["--for", "user:eve"]), 1);
    assert_eq!(ask(&["--as", "nobody"]), 2);
    assert_eq!(ask(&["--user", "{"]), 2);
    assert_eq!(ask(&["--tenant", "nowhere"]), 2);
    assert_eq!(project.run(&["why", "default", "greet", "--connection", "mail"]).code, 2);
}

#[test]
fn a_refused_dry_run_names_rule_and_stage() {
    let project = Project::new();
    let loud = r#"{"message": "HEY"}"#;
    let (code, envelope) = project.json(&["call", "order", "--args", loud, "--dry-run", "--json"]);
    let decision = &envelope["error"]["details"]["decision"];
    assert_eq!((code, &decision["stage"]), (1, &json!("authorize")), "{envelope}");
    assert!(decision["rule"].as_str().unwrap().contains("no-shouting"), "{envelope}");
}

#[test]
fn a_dry_run_ends_as_it_says_whether_the_call_would_run() {
    let project = Project::new();
    let dry = |tool: &str, args: &str| {
        let (code, told) = project.json(&["call", tool, "--args", args, "--dry-run", "--json"]);
        (code, told["data"]["wouldRun"].clone())
    };
    assert_eq!(dry("greet", r#"{"text": "a"}"#), (0, json!(true)));
    assert_eq!(dry("order", r#"{"message": "hey"}"#), (1, json!(false)), "it would be asked about");
}

#[test]
fn an_override_is_named_where_it_is_why_a_person_is_asked() {
    let project = Project::new();
    let dry = ["call", "greet", "--args", r#"{"text": "a"}"#, "--dry-run", "--json"];
    let because = || project.json(&dry).1["data"]["confirmation"]["because"].clone();
    assert_eq!(because(), json!(null));
    let before = project.read("haft.toml");
    let lines = "[[tenants]]\nid = \"default\"\n[[agents]]\nid = \"default\"\ntenant = \"default\"\n\
        [[agents.activations]]\ntool = \"shop__greet\"\nenabled = true\n\
        overrides = { requires_confirmation = true }\n";
    project.write("haft.toml", &format!("{before}{lines}"));
    let override_ = "the override `requires_confirmation` of the agent's activation";
    assert_eq!(because(), json!(override_));
}

#[test]
fn what_is_said_of_the_user_must_be_what_rules_read() {
    let project = Project::new();
    let config = project.read("haft.toml");
    let declared = "[policy.user]\nlevel = \"integer\"\nroles = \"strings\"\n";
    project.write("haft.toml", &format!("{config}{declared}"));
    for command in
        [&["call", "greet", "--args", r#"{"text": "a"}"#][..], &["why", "default", "greet"]]
    {
        for (user, code, words) in [
            (r#"{"level": 1, "roles": ["a"], "isAuthenticated": true}"#, 0, ""),
            (r#"{"level": null}"#, 0, ""),
            (
                r#"{"levl": 1}"#,
                2,
                "`levl` is not declared in `[policy.user]`, so no rule reads it; did you mean `level`",
            ),
            (r#"{"level": "1"}"#, 2, "`level` must be a whole number, not \"1\""),
            (r#"{"roles": "a"}"#, 2, "`roles` must be a list of texts"),
            (r#"{"isAuthenticated": 1}"#, 2, "`isAuthenticated` must be true or false"),
        ] {
            let said = project.run(&[command, &["--user", user]].concat());
            assert!(said.code == code && said.err.contains(words), "{user}: {said:?}");
        }
    }
    // What nobody declared, a contract's condition may read all the same.
    let contract = project.read("tools/greet/schema.json");
    let mut contract: serde_json::Value = serde_json::from_str(&contract).unwrap();
    let condition = "context has user && context.user has levl && context.user.levl == 1";
    contract["availability"] = json!({ "condition": condition });
    project.write("tools/greet/schema.json", &contract.to_string());
    let said = project.run(&["why", "default", "greet", "--user", r#"{"levl": 1}"#]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn why_says_no_while_the_user_is_blocked() {
    let project = Project::new();
    assert_eq!(project.run(&["new", "--from", "ignore-user"]).code, 0);
    let args = r#"{"duration_seconds": 600, "farewell_message": "bye"}"#;
    let zed = ["--as", "user:zed"];
    let done = ["call", "ignore_user", "--args", args, "--session", "new"];
    let done = project.run(&[&done[..], &zed].concat());
    assert_eq!(done.code, 0, "{done:?}");
    for more in [&[][..], &["--args", r#"{"text": "a"}"#]] {
        let said = project.run(&[&["why", "default", "greet"], &zed[..], more].concat());
        assert!(said.code == 1 && said.out.contains("is blocked until 2"), "{said:?}");
    }
    let (_, all) = project.json(&[&["why", "default", "--json"], &zed[..]].concat());
    assert!(all["blockedUntil"].is_string(), "{all}");
    let other = project.run(&["why", "default", "greet", "--as", "user:mara"]);
    assert_eq!(other.code, 0, "{other:?}");
}

#[test]
fn an_intact_trail_needs_no_acknowledging() {
    let project = Project::new();
    assert_eq!(project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]).code, 0);
    let (_, before) = project.json(&["audit", "verify", "--json"]);
    let said = project.run(&["audit", "acknowledge", "--note", "looked"]);
    assert!(said.code == 0 && said.out.contains("nothing to acknowledge"), "{said:?}");
    let (_, after) = project.json(&["audit", "verify", "--json"]);
    assert_eq!(before["entries"], after["entries"]);
    for empty in ["", " \n", "\u{200b}"] {
        let said = project.run(&["audit", "acknowledge", "--note", empty]);
        assert!(said.code == 2 && said.err.contains("the note is empty"), "{said:?}");
    }
}

#[test]
fn names_that_nothing_has_are_told_with_the_nearest() {
    let project = Project::new();
    for (arguments, code, words) in [
        (&["why", "default", "gret"][..], 1, "did you mean `greet`?"),
        (&["why", "default", "gret", "--args", "{}"], 1, "did you mean `greet`?"),
        (&["test", "ordr"], 2, "there is no tool `ordr`; did you mean `order`?"),
        (&["calls", "--call", "nosuch"], 2, "has no call `nosuch`"),
        (&["explain", "denide"], 3, "there is no code `denide`; did you mean `denied`?"),
        (&["explain", "H21O"], 3, "did you mean `H21"),
    ] {
        let said = project.run(arguments);
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.out.contains(words) || said.err.contains(words), "{said:?}");
    }
}

#[test]
fn the_numbers_of_the_ledger_are_set_in_haft_toml() {
    let project = Project::new();
    let before = project.read("haft.toml");
    let with = |lines: &str| {
        project.write("haft.toml", &format!("{before}[runtime]\n{lines}\n"));
        project.run(&["call", "greet", "--args", r#"{"text": "a"}"#])
    };
    let all = "lease_grace_ms = 5000\nkeep_keys_s = 100000\nundo_attempts = 5\nbackoff_ms = 10";
    assert_eq!(with(all).code, 0);
    for (line, why) in [
        ("keep_keys_s = 60", "`runtime.keep_keys_s` must be above `runtime.request_max_age_s`"),
        ("undo_attempts = 0", "`runtime.undo_attempts` must be at least 1"),
        ("undo_attemps = 1", "undo_attempts"),
    ] {
        let said = with(line);
        assert!(said.code == 3 && said.err.contains(why), "{said:?}");
    }
}

/// What is wrong with the command line ends with 2 and says what to do, before anything is asked.
#[test]
fn a_conversation_that_cannot_begin_says_what_to_do() {
    let project = Project::new();
    let chat = |more: &[&str]| {
        let all = [&["chat", "hi", "--provider", "openai"], more].concat();
        project.command().env("A_KEY", "sk-some-key").args(all).output().unwrap()
    };
    let local = "http://127.0.0.1:9";
    for (more, words) in [
        (&["--model", "m", "--url", "ftp://x"][..], "--url: `ftp://x` is not the URL of a model"),
        (&["--model", "m", "--url", "x.example"], "write http(s)://host/"),
        (&["--model", "m", "--url", "https://me:pw@x"], "must not hold credentials"),
        (&["--model", "m", "--url", "http://x.example", "--key-env", "A_KEY"], "use https"),
        (&["--model", "m", "--url", ""], "--url: it is empty"),
        (&["--model", " ", "--url", local], "--model: it is empty"),
        (&["--model", "m", "--key-env", ""], "--key-env: it is empty"),
        (&["--url", local], "no model is named; use `--model NAME`"),
        (&["--model", "m", "--url", local, "--max-rounds", "0"], "0 is not in 1.."),
        (&["--model", "m", "--url", local, "--agent", "nobody"], "there is no agent `nobody`"),
    ] {
        let said = chat(more);
        let err = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(2), "{more:?}: {err}");
        assert!(err.contains(words) && !err.contains("pw"), "{more:?}: {err}");
    }
    let said = project.run(&["chat", "hi"]);
    assert!(said.code == 2 && said.err.contains("no model is set up"), "{said:?}");
    // What the environment or a file lacks is no misuse.
    let said = chat(&["--model", "m", "--key-env", "NO_SUCH_KEY"]);
    let err = String::from_utf8(said.stderr).unwrap();
    assert!(said.status.code() == Some(3) && err.contains("`NO_SUCH_KEY`"), "{err}");
    let before = project.read("haft.toml");
    let wrong = "[model]\nprovider = \"openai\"\nname = \"m\"\nurl = \"ftp://x\"\n";
    project.write("haft.toml", &format!("{before}{wrong}"));
    let said = project.run(&["chat", "hi"]);
    assert!(said.code == 3 && said.err.contains("`url` of the model in haft.toml"), "{said:?}");
}

#[test]
fn what_comes_on_standard_input_is_a_message_or_none() {
    let project = Project::new();
    let model = ["chat", "--provider", "openai", "--model", "m", "--url", "http://127.0.0.1:9"];
    for (bytes, words) in [
        (&b""[..], "there is nothing to say"),
        (b" \n", "there is nothing to say"),
        (b"\xff\xfe", "standard input is not text in UTF-8"),
    ] {
        let said = project.fed(&model, bytes);
        assert!(said.code == 2 && said.err.contains(words), "{said:?}");
    }
    let decode = ["decode", "--format", "openai"];
    for (bytes, words) in [
        (&b""[..], "the recording is empty"),
        (b"\x7fELF\x00\xff", "nothing in it is said as `openai` says it"),
    ] {
        let said = project.fed(&decode, bytes);
        assert!(said.code == 1 && said.err.contains(words), "{said:?}");
    }
    let said = project.run(&["decode", "--format", "nope"]);
    assert!(said.code == 2 && said.err.contains("openai-responses"), "{said:?}");
}

#[test]
fn arguments_that_cannot_be_read_name_their_file() {
    let project = Project::new();
    std::fs::create_dir(project.folder.join("folder")).unwrap();
    std::fs::write(project.folder.join("bytes"), b"\xff\xfe").unwrap();
    for (argument, words) in [
        ("@folder", "--args: `folder` cannot be read: it is a folder"),
        ("@bytes", "--args: `bytes` cannot be read: it is not text"),
        ("@gone", "--args: `gone` cannot be read: there is no such file"),
    ] {
        let said = project.run(&["call", "greet", "--args", argument]);
        assert!(said.code == 3 && said.err.contains(words), "{said:?}");
    }
    let said = project.fed(&["call", "greet", "--args", "-"], b"\xff");
    assert!(said.err.contains("standard input cannot be read: it is not text"), "{said:?}");
}

#[test]
fn what_is_missing_without_a_haft_toml_is_missing_in_a_file_with_a_name() {
    let project = Project::new();
    std::fs::remove_file(project.folder.join("haft.toml")).unwrap();
    let said = project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]);
    assert!(said.err.contains("haft.toml (there is none): `allow` is empty"), "{said:?}");
}

/// A word that is no API is a mistake, whoever reads it.
#[test]
fn a_model_of_no_provider_is_refused_by_the_check_and_by_the_server() {
    let project = Project::new();
    let before = project.read("haft.toml");
    project.write("haft.toml", &format!("{before}[model]\nprovider = \"gpt\"\nname = \"m\"\n"));
    let checked = project.run(&["check"]);
    let words = "error: `model.provider`: `gpt` is not a provider";
    assert!(checked.code == 2 && checked.out.matches(words).count() == 1, "{checked:?}");
    let served = project.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(served.code == 3 && served.err.contains("`gpt` is not a provider"), "{served:?}");
}
