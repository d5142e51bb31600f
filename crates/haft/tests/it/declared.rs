//! What `haft.toml` declares, and what is said about it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::project::{Project, Said};

const ACCOUNT: &str = "[[connections.accounts]]\nid = \"crm\"\nprovider = \"crm\"\nkind = \"bearer\"\n\
                       hosts = [\"api.crm.example\"]\nsecret_env = \"HAFT_TEST_CRM\"\n";

fn with(lines: &str) -> Project {
    let project = Project::new();
    let toml = project.read("haft.toml");
    project.write("haft.toml", &format!("{toml}\n{lines}"));
    project
}

fn run(project: &Project, arguments: &[&str], secret: Option<&str>) -> Said {
    let mut command = project.command();
    command.args(arguments).env_remove("HAFT_TEST_CRM");
    if let Some(secret) = secret {
        command.env("HAFT_TEST_CRM", secret);
    }
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
}

#[test]
fn a_declared_connection_is_there_and_changed_in_the_file_alone() {
    let project = with(ACCOUNT);
    let secret = Some("canary-5e1f0b7a9c3d");
    let listed = run(&project, &["connections", "list"], secret);
    assert!(listed.out.contains("declared in haft.toml"), "{listed:?}");
    let tested = run(&project, &["connections", "test", "crm"], secret);
    assert!(tested.code == 0 && tested.out.contains("its credentials are there"), "{tested:?}");
    let missing = run(&project, &["connections", "test", "crm"], None);
    assert!(missing.code != 0 && missing.err.contains("`HAFT_TEST_CRM` is not set"), "{missing:?}");
    for arguments in [
        &["connections", "remove", "crm"][..],
        &["connections", "revoke", "crm"],
        &["connections", "rotate", "crm", "--secret-env", "HAFT_TEST_CRM"],
        &["connections", "grant", "crm", "--to", "*", "--tools", "*"],
        &["connections", "add", "crm", "--provider", "p", "--kind", "bearer"],
    ] {
        let refused = run(&project, arguments, secret);
        assert!(refused.code != 0 && refused.err.contains("is declared in"), "{refused:?}");
    }
    for said in [listed, tested, missing] {
        assert!(!said.out.contains("canary") && !said.err.contains("canary"), "{said:?}");
    }
}

#[test]
fn a_file_without_mistakes_is_fine_and_what_is_not_there_here_is_a_warning() {
    let project = Project::new();
    let fine = project.run(&["check"]);
    assert_eq!((fine.code, fine.out.as_str()), (0, ""), "{fine:?}");
    assert!(fine.err.contains("0 errors, 0 warnings"), "{fine:?}");
    let project = with(ACCOUNT);
    let warned = run(&project, &["check"], None);
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(
        warned.out.contains(": warning: `connections.accounts`, `crm`: the environment"),
        "{warned:?}"
    );
    assert_eq!(run(&project, &["check"], Some("canary-5e1f0b7a9c3d")).out, "");
    assert!(!project.folder.join(".haft").join("haft.db").exists(), "nothing is opened for that");
}

#[test]
fn every_mistake_is_named_with_its_place_and_the_exit_code_is_2() {
    let project = with(
        "[runtime]\nmax_batch = \"ten\"\n\n[[agents]]\nid = \"a\"\ntenant = \"t\"\ntolls = 1\n",
    );
    let said = project.run(&["check"]);
    assert_eq!(said.code, 2, "{said:?}");
    let toml = project.read("haft.toml");
    let line = |text: &str| toml.lines().position(|line| line == text).unwrap() + 1;
    let batch =
        format!("haft.toml:{}:13: error: `max_batch` must be a whole", line("max_batch = \"ten\""));
    assert!(said.out.contains(&batch), "{said:?}");
    let tolls = format!(
        "haft.toml:{}:1: error: unknown key `tolls`; did you mean `tools`?",
        line("tolls = 1")
    );
    assert!(said.out.contains(&tolls), "{said:?}");
    // What makes no sense, beyond its shape.
    let project = with("[runtime]\nundo_attempts = 0\n\n[definitions]\nmax_runtime_ms = 0\n");
    let (code, found) = project.json(&["check", "--json"]);
    assert_eq!(code, 2);
    let toml = project.read("haft.toml");
    let line = |text: &str| toml.lines().position(|line| line == text).unwrap() + 1;
    let lines: Vec<&Value> = found.as_array().unwrap().iter().map(|one| &one["line"]).collect();
    assert_eq!(lines, [line("undo_attempts = 0"), line("max_runtime_ms = 0")], "{found}");
    // A policy that does not fit the tools, and an agent of nobody.
    let project = with("[[agents]]\nid = \"a\"\ntenant = \"nobody\"\n");
    project.write(
        "rules.cedar",
        "forbid(principal, action == Haft::Action::\"shop__nothing\", resource);\n",
    );
    let said = project.run(&["check"]);
    assert!(said.code == 2 && said.out.contains("shop__nothing"), "{said:?}");
}

#[test]
fn without_a_file_there_is_nothing_to_check() {
    let said = Project::new().run(&["--config", "none.toml", "check"]);
    assert!(said.code != 0 && said.err.contains("none.toml"), "{said:?}");
}

/// What an MCP client is told that asks for the tools.
fn listed(project: &Project, arguments: &[&str]) -> String {
    let mut child = project
        .command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let asked = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{hello}\n{begun}\n{asked}").unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = lines.find(|line| line.as_ref().unwrap().contains("\"id\":2")).unwrap().unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    answer
}

#[test]
fn mcp_serves_the_agent_of_a_tenant_that_is_named() {
    let agent = |tenant: &str, tool: &str| {
        format!(
            "[[tenants]]\nid = \"{tenant}\"\n\n[[agents]]\nid = \"helper\"\ntenant = \"{tenant}\"\n\
             tools = [\"shop__{tool}\"]\n\n"
        )
    };
    let project = with(&[agent("acme", "greet"), agent("globex", "order")].concat());
    for (arguments, tool) in [
        (&["mcp"][..], "greet"),
        (&["mcp", "--tenant", "globex"], "order"),
        (&["mcp", "--tenant", "globex", "--agent", "helper"], "order"),
        (&["mcp", "--tenant", "acme", "--agent", "helper"], "greet"),
    ] {
        let listed = listed(&project, arguments);
        for one in ["greet", "order"] {
            assert_eq!(
                listed.contains(&format!("\"{one}\"")) || listed.contains(&format!("__{one}\"")),
                one == tool,
                "{listed}"
            );
        }
    }
    let nobody = project.run(&["mcp", "--tenant", "nobody"]);
    assert!(nobody.code == 2 && nobody.err.contains("`nobody` has no agent"), "{nobody:?}");
}

#[test]
fn a_declared_policy_holds_and_its_files_are_read() {
    let call = |project: &Project| {
        project.run(&["call", "greet", "--args", "{\"text\": \"a\"}", "--json"]).code
    };
    let project = with(
        "[[policies]]\nid = \"quiet\"\ndescription = \"At night.\"\ndeny = [\"shop__greet\"]\n",
    );
    assert_eq!(call(&Project::new()), 0);
    assert_eq!(call(&project), 1, "it is denied");
    let project = with("[[policies]]\nid = \"quiet\"\ncedar = [\"night.cedar\"]\n");
    let missing = project.run(&["check"]);
    assert!(
        missing.code == 2 && missing.out.contains("`night.cedar` cannot be read"),
        "{missing:?}"
    );
    project.write(
        "night.cedar",
        "forbid(principal, action == Haft::Action::\"shop__greet\", resource);\n",
    );
    assert_eq!(project.run(&["check"]).code, 0);
    assert_eq!(call(&project), 1);
    project.write(
        "night.cedar",
        "forbid(principal, action == Haft::Action::\"shop__grete\", resource);\n",
    );
    let wrong = project.run(&["check"]);
    assert!(wrong.code == 2 && wrong.out.contains("shop__grete"), "{wrong:?}");
    assert_eq!(call(&project), 1, "what might forbid is not left out");
    for command in ["serve", "mcp"] {
        let refused = project.run(&[command]);
        assert!(refused.code == 3 && refused.err.contains("so nothing is started"), "{refused:?}");
    }
}

#[test]
fn operators_are_told_of_the_first_tenant_where_they_name_none() {
    let project =
        with("[[tenants]]\nid = \"acme\"\n\n[[agents]]\nid = \"helper\"\ntenant = \"acme\"\n");
    let call = ["call", "greet", "--agent", "helper", "--args", "{\"text\": \"a\"}"];
    assert_eq!(project.run(&call).code, 0);
    assert!(project.run(&["calls"]).out.contains("shop__greet"));
    assert!(!project.run(&["calls", "--tenant", "default"]).out.contains("shop__greet"));
    let agents = project.run(&["agents"]);
    assert!(agents.out.contains("helper"), "{agents:?}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_with_a_secret() {
    let project =
        with(&ACCOUNT.replace("secret_env = \"HAFT_TEST_CRM\"", "secret_file = \"pipe\""));
    let pipe = project.folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = run(&project, &["connections", "test", "crm"], None);
    assert!(said.code != 0 && said.err.contains("that is no file"), "{said:?}");
}

#[test]
fn agents_are_described_and_keys_have_names_and_ends() {
    let project = with(
        "[[tenants]]\nid = \"acme\"\n\n[[agents]]\nid = \"helper\"\ntenant = \"acme\"\n\
         description = \"Helps.\"\n\n[agents.model]\nprovider = \"openai\"\nname = \"m\"\nconnection = \"key\"\n",
    );
    let made = project.run(&[
        "keys",
        "new",
        "night",
        "--as",
        "user:nora",
        "--role",
        "operator",
        "--tenant",
        "acme",
        "--expires",
        "2999-01-31T00:00:00Z",
    ]);
    let entry = made.err.split_once("[[keys]]").unwrap().1;
    assert!(entry.contains("expires = \"2999-01-31T00:00:00Z\""), "{made:?}");
    let toml = project.read("haft.toml");
    project.write("haft.toml", &format!("{toml}\n[[keys]]\nname = \"at night\"{entry}"));
    assert_eq!(project.run(&["check"]).code, 0, "{:?}", project.run(&["check"]));
    let listed = project.run(&["keys", "list", "--tenant", "acme"]);
    assert!(listed.out.contains("at night") && listed.out.contains("2999-01-31"), "{listed:?}");
}

/// The messages of `haft check` and the lines that they are about, in the order of the lines.
fn checked(text: &str) -> (i32, Vec<(u64, String, String)>) {
    let project = Project::new();
    let own = "toolset = \".\"\n[policy]\nallow = [\"shop__*\"]\n";
    project.write("haft.toml", &format!("{own}{text}"));
    let (code, found) = project.json(&["check", "--json"]);
    let before = own.lines().count();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    let line = |one: &Value| one["line"].as_u64().unwrap_or_default().saturating_sub(before as u64);
    let found = found.as_array().unwrap().iter();
    let mut all: Vec<_> =
        found.map(|one| (line(one), text(one, "severity"), text(one, "message"))).collect();
    all.sort();
    (code, all)
}

/// A project that makes all of these mistakes: by line, how grave it is and what is said of it.
#[track_caller]
fn finds(text: &str, expected: &[(u64, &str, &str)]) {
    let (code, found) = checked(text);
    for (at, severity, said) in expected {
        let is = |one: &&(u64, String, String)| {
            one.0 == *at && one.1 == *severity && one.2.contains(said)
        };
        assert!(found.iter().any(|one| is(&one)), "line {at}, {severity}: {said}: {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    let wrong = expected.iter().any(|(_, severity, _)| *severity == "error");
    assert_eq!(code, if wrong { 2 } else { 0 }, "{found:#?}");
}

#[test]
fn everything_that_a_server_would_stumble_over_is_said_at_once() {
    finds(
        "[server]\nmax_streams = 0\ntend_s = 0\nmax_requests = 0\n\n\
         [store]\npath = \"haft.toml/haft.db\"\n\n\
         [model]\nprovider = \"openai\"\nname = \"m\"\nurl = \"no address\"\ntenants = [\"nobody\"]\n\n\
         [models.ghost]\nname = \"m\"\nconnection = \"nowhere\"\n\n\
         [otlp]\nendpoint = \"collector:4317\"\nheaders = { a = \"HAFT_TEST_NOT_SET\" }\n\n\
         [http]\nallow = [\"ten\", \"eleven\"]\n\n\
         [[connections.accounts]]\nid = \"x\"\nprovider = \"p\"\nkind = \"bearer\"\n\n\
         [[connections.accounts]]\nid = \"y\"\nprovider = \"p\"\nkind = \"header\"\nsecret_env = \"Y\"\n",
        &[
            (2, "error", "`server.max_streams` must be at least 1"),
            (3, "error", "`server.tend_s` must be at least 1"),
            (4, "error", "`server.max_requests` must be at least 1"),
            (7, "error", "is no folder"),
            (12, "error", "no address"),
            (13, "warning", "no tenant `nobody` is declared"),
            (15, "warning", "no agent `ghost`"),
            (17, "warning", "no connection `nowhere`"),
            (0, "warning", "connections.key"),
            (20, "error", "`otlp.endpoint`"),
            (21, "warning", "HAFT_TEST_NOT_SET"),
            (24, "error", "`http.allow`"),
            (24, "error", "`http.allow`"),
            (26, "error", "where is its secret?"),
            (31, "error", "`name`: this kind needs it"),
        ],
    );
}

#[test]
fn what_has_no_end_or_fits_no_registry_is_refused() {
    let huge = u64::MAX / 2;
    for version in ["x", "1.0.zzzzzzzz", "1.0.4F1C02AA", "1.0.0"] {
        finds(
            &format!("[registry]\nversion = \"{version}\"\n"),
            &[(2, "error", "is the version of no registry; one looks like `1.0.4f1c02aa`")],
        );
    }
    finds(
        &format!(
            "[runtime]\ndefault_timeout_ms = {huge}\nattach_ms = {huge}\nlease_grace_ms = 86400001\n\
             backoff_ms = {huge}\nconfirmation_ttl_s = {huge}\nkeep_results_s = {huge}\n\
             keep_keys_s = {huge}\n[definitions]\nmax_runtime_ms = 86400001\n"
        ),
        &[
            (2, "error", "`runtime.default_timeout_ms` must be at most 86400000"),
            (3, "error", "`runtime.attach_ms` must be at most 86400000"),
            (4, "error", "`runtime.lease_grace_ms` must be at most 86400000"),
            (5, "error", "`runtime.backoff_ms` must be at most 86400000"),
            (6, "error", "`runtime.confirmation_ttl_s` must be at most 315360000"),
            (7, "error", "`runtime.keep_results_s` must be at most 315360000"),
            (8, "error", "`runtime.keep_keys_s` must be at most 315360000"),
            (10, "error", "`definitions.max_runtime_ms` must be at most 86400000"),
        ],
    );
    let most = "[registry]\nversion = \"1.0.4f1c02aa\"\n[runtime]\ndefault_timeout_ms = 86400000\n";
    finds(most, &[]);
}

#[test]
fn what_cannot_be_counted_reached_or_found_hides_nothing() {
    finds(
        "[runtime]\nmax_depth = 99999999999999999999\ndefault_timeout_ms = 0\nconfirmation_ttl_s = 0\n\n\
         [http]\nconnect_ms = 0\n\n[images]\nurl = \"images\"\npublic_url = \"ftp://x/\"\n\n\
         [server]\nlisten = \"here\"\n\n[store]\npath = \"/proc/x/haft.db\"\n\n\
         [model]\nidle_s = 0\n",
        &[
            (2, "error", "`max_depth` is more than can be counted here"),
            (3, "error", "`runtime.default_timeout_ms` must be at least 1"),
            (4, "error", "`runtime.confirmation_ttl_s` must be at least 1"),
            (7, "error", "`http.connect_ms` must be at least 1"),
            (10, "error", "`images.url`: `images` must be an address"),
            (11, "error", "`images.public_url`: `ftp://x/` must be an address"),
            (14, "error", "`listen` must be an address of this machine"),
            (17, "error", "`/proc` cannot be written"),
            (20, "error", "`model.idle_s` must be at least 1"),
        ],
    );
    finds(
        "[mcp]\nsession_idle_s = 0\nmax_sessions = 0\npublic_url = \"here\"\n\
         authorization_servers = [\"there\"]\n\n[server]\nhosts = [\"*.example.org\"]\n\n\
         [kb]\nsources = [\"nowhere.md\", \"toolset.toml\"]\n\n\
         [runtime]\nrequest_max_age_s = 8640000\nmax_batch = 0x7fffffffffffffffff\n\n\
         [model]\nmax_rounds = 0\nmax_output_tokens = 0\n",
        &[
            (2, "error", "`mcp.session_idle_s` must be at least 1"),
            (3, "error", "`mcp.max_sessions` must be at least 1"),
            (4, "error", "`mcp.public_url`: `here` must be an address"),
            (5, "error", "`mcp.authorization_servers`: `there` must be an address"),
            (8, "error", "`server.hosts`: `*.example.org` must be a name"),
            (11, "warning", "nowhere.md` cannot be read"),
            (14, "error", "`runtime.request_max_age_s` must be below the day"),
            (14, "error", "`runtime.keep_keys_s` must be above"),
            (15, "error", "`max_batch` is more than can be counted here"),
            (18, "error", "`model.max_rounds` must be at least 1"),
            (19, "error", "`model.max_output_tokens` must be at least 1"),
        ],
    );
    // Two files that are not there, and a mistake in one that is.
    let project = Project::new();
    let head = "[policy]\nallow = [\"shop__*\"]\ncedar = [\"a.cedar\", \"b.cedar\", \"c.cedar\"]\n";
    project.write("haft.toml", &format!("toolset = \".\"\n{head}"));
    project.write("b.cedar", "permit(everybody);\n");
    let said = project.run(&["check"]);
    for file in ["`a.cedar` cannot be read", "b.cedar:1", "`c.cedar` cannot be read"] {
        assert!(said.out.contains(file), "{file}: {said:?}");
    }
    assert!(!said.out.contains("os error"), "{said:?}");
    // Nor does a toolset that is not there.
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    project.write("haft.toml", &format!("toolset = \"nowhere\"\n{head}"));
    let said = project.run(&["check"]);
    for part in ["`toolset`: ", "`a.cedar` cannot be read", "`c.cedar` cannot be read"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
}

/// What cannot be read at all keeps nothing else from being said.
#[test]
fn mistakes_of_shape_hide_no_toolset_no_rules_and_no_key() {
    let hash = "0".repeat(64);
    let key = |id: &str, sha256: &str, roles: &str| {
        format!(
            "[[keys]]\nid = \"{id}\"\nsha256 = \"{sha256}\"\ntenant = \"default\"\n\
             principal = \"user:eve\"\nroles = [\"{roles}\"]\n\n"
        )
    };
    let keys = key("whole", "12", "operator")
        + &key("half", "34", "operatr")
        + &key("odd_", "56", "operator")
        + &key("fine", &hash, "operatr");
    let shape = "[runtime]\nmax_batch = \"ten\"\n\n";
    let huge = "[store]\nkeep_days = 99999999999999999999\n";
    let head = "toolset = \"nowhere\"\n[policy]\nallow = [\"shop__*\"]\ncedar = [\"a.cedar\"]\n";
    let project = Project::new();
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    project.write("haft.toml", &format!("{head}{shape}{keys}{huge}"));
    let said = project.run(&["check"]);
    for (line, part) in [
        (1, "`toolset`: "),
        (4, "`a.cedar` cannot be read"),
        (6, "`max_batch` must be a whole number"),
        (8, "`keys`, `whole`: key `whole` needs `sha256`"),
        (15, "`keys`, `half`: key `half` needs `sha256`"),
        (20, "`operatr`"),
        (22, "`keys`, `odd_`: key `odd_` has no usable id"),
        (22, "`keys`, `odd_`: key `odd_` needs `sha256`"),
        (34, "`operatr`"),
        (37, "`keep_days` is more than can be counted here"),
    ] {
        let place = format!("haft.toml:{line}:");
        let is = |one: &str| one.contains(&place) && one.contains(part);
        assert!(said.out.lines().any(is), "{line}, {part}: {said:?}");
    }
    assert_eq!((said.code, said.out.lines().count()), (2, 10), "{said:?}");
    // Rules that do not fit the tools, where there are some; but not where tenants may bring them along.
    let project = Project::new();
    let rules = "forbid(principal, action == Haft::Action::\"shop__nothing\", resource);\n";
    project.write("rules.cedar", rules);
    let toml = project.read("haft.toml");
    for (more, told) in
        [("", true), ("# no definitions\n", true), ("[[tenants.definitions]]\nid = 3\n", false)]
    {
        project.write("haft.toml", &format!("{toml}{shape}{more}"));
        let said = project.run(&["check"]);
        assert_eq!(said.out.contains("shop__nothing"), told, "{said:?}");
    }
    // A toolset that could not be read is not missed.
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    project.write("haft.toml", "toolset = 3\n");
    let said = project.run(&["check"]);
    assert_eq!(said.out.lines().count(), 1, "{said:?}");
}

#[cfg(unix)]
#[test]
fn a_key_that_is_here_and_none_is_an_error_and_one_that_is_not_here_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = with("[connections]\nkey_file = \"seal.key\"\n");
    let path = project.folder.join("seal.key");
    let said = |variable: Option<&str>| {
        let mut command = project.command();
        command.args(["check", "--json"]).env_remove("HAFT_TEST_SEAL");
        command.envs(variable.map(|text| ("HAFT_TEST_SEAL", text)));
        let done = command.output().unwrap();
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        (done.status.code(), found[0]["severity"].as_str().unwrap_or_default().to_owned())
    };
    let is = |found: (Option<i32>, String), expected: &str| {
        let code = if expected == "error" { 2 } else { 0 };
        assert_eq!(found, (Some(code), expected.to_owned()));
    };
    is(said(None), "warning");
    for (text, mode, expected) in [
        ("not a key", 0o600, "error"),
        ("", 0o600, "error"),
        (&"ab".repeat(32), 0o644, "error"),
        (&"ab".repeat(32), 0o600, ""),
    ] {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        is(said(None), expected);
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    is(said(None), "error");
    let toml = project.read("haft.toml");
    let toml = toml.replace("key_file = \"seal.key\"", "key_env = \"HAFT_TEST_SEAL\"");
    project.write("haft.toml", &toml);
    is(said(None), "warning");
    is(said(Some("not a key")), "error");
    is(said(Some(&"ab".repeat(32))), "");
}

#[cfg(unix)]
#[test]
fn a_key_that_is_named_and_missing_lost_or_open_to_all_is_said_as_such() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = with("[connections]\nkey_file = \"seal.key\"\n");
    let key = project.folder.join("seal.key");
    for (text, what) in [(None, "there is no such file"), (Some("\n"), "it is empty")] {
        if let Some(text) = text {
            project.write("seal.key", text);
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let said = project.run(&["check"]);
        assert!(said.out.contains("`connections.key_file`") && said.out.contains(what), "{said:?}");
        for command in [&["connections", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let refused = project.run(command);
            assert!(refused.code != 0 && refused.err.contains(what), "{command:?}: {refused:?}");
        }
    }
    project.write("seal.key", &"ab".repeat(32));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = project.run(&["check"]);
    assert!(
        said.out.contains("`connections.key_file`") && said.out.contains("chmod 600"),
        "{said:?}"
    );
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(project.run(&["check"]).out, "");
    let add = [
        "connections",
        "add",
        "crm",
        "--provider",
        "crm",
        "--kind",
        "bearer",
        "--secret-env",
        "HAFT_TEST_CRM",
    ];
    let kept = run(&project, &add, Some("canary-5e1f0b7a9c3d"));
    assert_eq!(kept.code, 0, "{kept:?}");
    let rotated = project.run(&["connections", "rotate", "--key"]);
    assert!(rotated.out.contains("1 connection and the keys of 0 tenants"), "{rotated:?}");
    // Another key is not the one that was lost.
    project.write("seal.key", &"cd".repeat(32));
    let said = project.run(&["check"]);
    assert!(said.code == 2 && said.out.contains("was sealed with the key"), "{said:?}");
    assert!(!said.err.contains("are kept in the store as they are"), "{said:?}");
}

#[test]
fn names_keys_and_rules_that_do_not_hold_are_said_with_their_lines() {
    let hash = "0".repeat(64);
    let key = |id: &str, more: &str| {
        format!(
            "[[keys]]\nid = \"{id}\"\nsha256 = \"{hash}\"\ntenant = \"default\"\n\
             principal = \"user:eve\"\nroles = [\"operator\"]\n{more}\n"
        )
    };
    let keys =
        key("old", "expires = \"2001-01-01T00:00:00Z\"") + &key("O D D", "") + &key("odd_", "");
    let (_, found) = checked(&keys);
    let of = |line: u64| found.iter().filter(|one| one.0 == line).count();
    assert_eq!((of(1), of(8), of(15), found.len()), (1, 1, 1, 3), "{found:#?}");
    let project = with("[[policies]]\nid = \"house\"\ncedar = [\"house.cedar\"]\n");
    project.write("house.cedar", "// House rules\npermit(everybody);\n");
    let said = project.run(&["check"]);
    assert!(said.code == 2 && said.out.contains("`house`: line 2 of its Cedar"), "{said:?}");
    finds(
        "[[tenants]]\nid = \"a b\"\n\n[[tenants]]\nid = \"default\"\n\n\
         [[agents]]\nid = \"..\"\ntenant = \"default\"\n\n\
         [[policies]]\nid = \"house\"\ntenant = \"default\"\nallow = [\"shop__nowhere\"]\n\
         cedar = [\"none.cedar\"]\n",
        &[
            (1, "error", "`tenants`, `a b`: an id has 1 to 64"),
            (7, "error", "`agents`, `..`: an id has 1 to 64"),
            (11, "error", "`none.cedar` cannot be read"),
            (11, "error", "`policies`, `house`: allow: there is no tool `shop__nowhere`"),
        ],
    );
}

/// Whatever else names a tool that is not there: each is said once, where it stands.
#[test]
fn tools_that_are_not_there_are_said_in_each_place_and_once() {
    let tenant = |id: &str, deny: &str| {
        format!(
            "[[tenants]]\nid = \"{id}\"\n\n[[policies]]\nid = \"of-{id}\"\ntenant = \"{id}\"\n\
             deny = [\"{deny}\"]\n\n"
        )
    };
    let agent = |id: &str, tool: &str| {
        format!("[[agents]]\nid = \"{id}\"\ntenant = \"t\"\ntools = [\"{tool}\"]\n\n")
    };
    let tenants = tenant("t", "shop__one") + &tenant("u", "shop__two");
    finds(
        &(tenants.clone() + &agent("a1", "shop__three") + &agent("a2", "shop__four")),
        &[
            (4, "error", "`policies`, `of-t`: deny: there is no tool `shop__one`"),
            (12, "error", "`policies`, `of-u`: deny: there is no tool `shop__two`"),
            (17, "error", "agent `a1`: there is no tool `shop__three`"),
            (22, "error", "agent `a2`: there is no tool `shop__four`"),
        ],
    );
    // A mistake in the common rules is one, however many read theirs together with them.
    let project = Project::new();
    let common = "toolset = \".\"\n[policy]\nallow = [\"shop__*\"]\ndeny = [\"shop__none\"]\n";
    let fine = tenants.replace("shop__one", "shop__greet").replace("shop__two", "shop__greet");
    project.write("haft.toml", &format!("{common}{fine}"));
    let said = project.run(&["check"]);
    assert!(said.code == 2 && said.out.lines().count() == 1, "{said:?}");
    assert!(said.out.contains("haft.toml:4:") && said.out.contains("`shop__none`"), "{said:?}");
}

#[cfg(unix)]
#[test]
fn a_secret_that_everybody_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = with(
        "[[connections.accounts]]\nid = \"crm\"\nprovider = \"crm\"\nkind = \"bearer\"\n\
         secret_file = \"crm.token\"\n",
    );
    project.write("crm.token", "canary-5e1f0b7a9c3d");
    let token = project.folder.join("crm.token");
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode)).unwrap();
        let said = project.run(&["check"]);
        assert_eq!(said.out.contains("everybody on this machine can read"), warned, "{said:?}");
        assert!(said.code == 0 && !said.out.contains("canary"), "{said:?}");
    }
}
