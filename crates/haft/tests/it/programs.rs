//! Tests of tools whose handler is a program: stubs do not hold it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::project::Project;

/// `order` is a program that leaves a mark in the project's folder.
fn marking() -> Project {
    let project = Project::new();
    let folder = project.folder.join("tools/order");
    fs::remove_file(folder.join("handler.js")).unwrap();
    let mark = project.folder.join("mark");
    let script = format!(
        "#!/bin/sh\nwhile read -r line; do\n  echo done >> '{}'\n  \
         echo '{{\"id\": 1, \"ok\": true, \"data\": {{\"sent\": true}}}}'\ndone\n",
        mark.display()
    );
    fs::write(folder.join("handler.sh"), script).unwrap();
    fs::set_permissions(folder.join("handler.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let tests = json!({ "tests": [{
        "name": "sends it", "args": { "message": "hey" },
        "expect": { "ok": true, "data": { "sent": true } },
    }]});
    project.write("tools/order/tests.json", &tests.to_string());
    project
}

#[test]
fn a_program_that_writes_is_not_tested_in_earnest_unless_somebody_says_so() {
    let project = marking();
    let mark = project.folder.join("mark");
    let said = project.run(&["test"]);
    assert_eq!(said.code, 0, "the other tool's tests pass: {said:?}");
    assert!(said.out.contains(" passed, 0 failed, 1 not run in "), "{said:?}");
    assert!(said.err.contains("programs that write") && said.err.contains("order"), "{said:?}");
    assert!(said.err.contains("`--run-programs`"), "{said:?}");
    let (_, report) = project.json(&["test", "--json"]);
    let left = &report["notRun"][0];
    assert_eq!((&left["tool"], &left["tests"]), (&json!("order"), &json!(1)), "{report}");
    assert!(left["help"].as_str().is_some_and(|help| help.contains("--run-programs")), "{report}");
    let alone = project.run(&["test", "order"]);
    assert!(alone.code == 3 && alone.err.contains("no tests were run; `--run"), "{alone:?}");
    assert!(!mark.exists(), "it was run");
    let meant = project.run(&["test", "order", "--run-programs"]);
    assert!(meant.code == 0 && meant.out.contains("1 passed, 0 failed in "), "{meant:?}");
    assert!(mark.exists(), "it was not run");
}

#[test]
fn a_program_that_only_reads_is_tested() {
    let project = marking();
    let contract = project.read("tools/order/schema.json");
    let mut contract: serde_json::Value = serde_json::from_str(&contract).unwrap();
    contract["sideEffects"] = json!("read_only");
    contract["requiresConfirmation"] = json!(false);
    project.write("tools/order/schema.json", &contract.to_string());
    let said = project.run(&["test", "order"]);
    assert!(said.code == 0 && said.out.contains("1 passed"), "{said:?}");
}
