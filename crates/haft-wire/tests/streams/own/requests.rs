//! MCP and ADM: a call is a request of its own.

use haft_wire::Dialect;

use super::check;

#[test]
fn mcp_calls() {
    let call = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let one = call("7", r#"{"name":"f","arguments":{"n":1.0},"_meta":{}}"#);
    check(Dialect::Mcp, &one, &["call 0 7 f {\"n\":1.0}", "end calls"]);
    let two = call("\"x\"", r#"{"name":"g"}"#);
    check(
        Dialect::Mcp,
        &format!("[{one},{two}]"),
        &["call 0 7 f {\"n\":1.0}", "call 1 x g ", "end calls"],
    );
    check(
        Dialect::Mcp,
        &call("1", r#"{"name":"f","arguments":[]}"#),
        &["no call f not_object (answered)", "end calls"],
    );
    check(Dialect::Mcp, r#"{"id":1,"method":"tools/list"}"#, &["end failed [not_a_call]"]);
    check(Dialect::Mcp, "", &["end cut [cut]"]);
}

#[test]
fn adm_calls() {
    check(Dialect::Adm, r#"{"name":"f","args":{"a":1}}"#, &["call 0 - f {\"a\":1}", "end calls"]);
    for (call, why) in [
        (r#"{"name":"f","args":[1]}"#, "no call f not_object (answered)"),
        (r#"{"name":"f"}"#, "no call f contradiction (answered)"),
        (r#"{"name":"no spaces","args":{}}"#, "no call no spaces contradiction (answered)"),
        (r#"{"name":"f","args":{"a":1,"a":2}}"#, "no call f contradiction (answered)"),
    ] {
        check(Dialect::Adm, call, &[why, "end calls"]);
    }
    check(Dialect::Adm, r#"{"args":{}}"#, &["no call  unnamed (dropped)", "end stop"]);
}
