//! S8: nothing of one call is left for the next.

use std::sync::Arc;

use serde_json::json;

use crate::rig::{Stubs, body, data, pool, run};

/// A round takes some milliseconds in a debug build. `HAFT_ROUNDS=10000` is the whole of it.
fn rounds() -> u32 {
    std::env::var("HAFT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

#[tokio::test]
async fn a_secret_of_one_call_is_not_there_for_the_next() {
    let js = pool(1);
    let writer = r#"
        import { ToolError } from "haft";
        let kept = [];
        export function execute({ args }) {
            const before = kept.length;
            kept.push(args.secret);
            globalThis.secret = args.secret;
            Object.prototype.secret = args.secret;
            Array.prototype.push = () => args.secret;
            ToolError.secret = args.secret;
            ToolError.prototype.secret = args.secret;
            JSON.parse = () => args.secret;
            Symbol.for("secret").description;
            new Uint8Array(1 << 16).fill(0x5e);
            return { ok: true, data: before };
        }"#;
    let reader = r#"
        import { ToolError } from "haft";
        export function execute() {
            const found = [];
            if (globalThis.secret !== undefined) found.push("global");
            if (({}).secret !== undefined) found.push("prototype");
            if (ToolError.secret !== undefined || new ToolError("a", "b").secret) found.push("module");
            if (JSON.parse("1") !== 1) found.push("built-in");
            if (new Uint8Array(1 << 16).indexOf(0x5e) >= 0) found.push("memory");
            return { ok: true, data: found };
        }"#;
    for round in 0..rounds() {
        let secret = format!("CANARY_{round}").repeat(100);
        assert_eq!(data(run(&js, writer, json!({ "secret": secret })).await), 0);
        assert_eq!(data(run(&js, reader, json!({})).await), json!([]), "round {round}");
    }
}

#[tokio::test]
async fn jobs_that_are_left_over_never_run() {
    let js = pool(1);
    let host = Arc::new(Stubs::default().on("audit.log", |_| Ok(json!(null))));
    let leaves = "const again = (n) => Promise.resolve().then(() => {
            if (n > 1000) context.audit.log('late'); else return again(n + 1); });
        again(0); return { ok: true, data: 1 };";
    for _ in 0..20 {
        assert_eq!(data(body(&js, leaves, &host).await), 1);
        // Many rounds of jobs, in which those of the call before could run.
        let spins = "for (let i = 0; i < 3000; i++) await null; return { ok: true, data: 2 };";
        assert_eq!(data(body(&js, spins, &host).await), 2);
    }
    assert_eq!(*host.asked.lock(), []);
}
