//! S8: nothing of one call is left for the next.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{Ended, Execute as _, Job};
use haft_exec::Js;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::pool::one;
use crate::rig::{Stubs, body, data, job, pool, run, scope, tool};

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

/// Leaves what it can, and ends as it is told; or looks for what was left.
const ENDS: &str = r#"
    let calls = 0;
    const kept = [];
    const leave = () => {
        globalThis.left = kept;
        Object.prototype.left = 1;
        Object.freeze(Array.prototype);
        delete globalThis.Map;
        JSON.stringify = Promise.prototype.then = null;
        Symbol.for("left").description;
        new FinalizationRegistry(() => { globalThis.left = 2; }).register({}, 1);
        kept.push(new WeakRef({}), (function* () { yield kept; })(), /left/g, 10n ** 50n);
    };
    const ends = {
        answers: () => ({ ok: true, data: 1 }),
        throws: () => { throw new Error("left"); },
        waits: () => new Promise(() => {}),
        loops: () => { for (;;); },
        recurses: () => ends.recurses() + 1,
        fills: () => { for (;;) kept.push("left".repeat(1e5) + kept.length); },
        works: () => { (async () => { for (;;) await null; })(); return { ok: true, data: 1 }; },
        asks: (context) => { context.kb.get(1); context.kb.get(2); return { ok: true, data: 1 }; },
        rejects: () => { Promise.reject(1); return { ok: false, error: {} }; },
    };
    export function execute({ args, context }) {
        calls += 1;
        const seen = [calls, kept.length, typeof left, ({}).left ?? 0, Object.isFrozen(Array.prototype),
            typeof Map, typeof JSON.stringify, typeof Promise.prototype.then];
        if (args.end === "looks") return { ok: true, data: seen };
        leave();
        return ends[args.end](context);
    }"#;

async fn ended(js: &Js, source: &str, end: &str) -> Ended {
    let host = Arc::new(Stubs::default().on("kb.get", |_| Ok(Value::Null)));
    let limit = Duration::from_millis(if end == "loops" { 100 } else { 20_000 });
    let tool = tool(source, &json!(["kb"]));
    js.execute(Job::new(tool, json!({ "end": end }), scope("c"), host, limit, None)).await
}

/// However a call ends, the next one finds everything as it was: in an engine that has the handler loaded,
/// and in one that loads it for the call.
#[tokio::test]
async fn every_end_leaves_as_much_as_the_others_nothing() {
    let loads_late = format!("const lot = Math.random(); {ENDS}");
    for source in [ENDS, &loads_late] {
        let js = pool(1);
        let fresh = json!([1, 0, "undefined", 0, false, "function", "function", "function"]);
        for _ in 0..3 {
            assert_eq!(data(ended(&js, source, "looks").await), fresh);
        }
        for end in
            ["answers", "throws", "waits", "loops", "recurses", "fills", "works", "asks", "rejects"]
        {
            for _ in 0..2 {
                let returned = matches!(ended(&js, source, end).await, Ended::Returned { .. });
                assert_eq!(returned, ["answers", "works", "asks"].contains(&end), "{end}");
                assert_eq!(data(ended(&js, source, "looks").await), fresh, "after one that {end}");
            }
        }
    }
}

/// Where in a process these bytes stand: the mappings that it can write to, or could, since there is no
/// file behind them. Absent where this test may
/// not look, which root alone may: a child lets nobody inspect it.
fn holds(process: i32, bytes: &[u8]) -> Option<Vec<String>> {
    let memory = fs::File::open(format!("/proc/{process}/mem")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let place = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let end = u64::from_str_radix(end, 16).ok()?;
        let is_closed = rest.starts_with('r') && rest.split_whitespace().nth(3) == Some("0");
        if !rest.starts_with("rw") && !is_closed {
            return None;
        }
        // In parts that overlap: nothing is missed between two of them.
        let mut buffer = vec![0; (1 << 20) + bytes.len()];
        let found = (start..end).step_by(1 << 20).any(|at| {
            let length = buffer.len().min(usize::try_from(end - at).unwrap());
            let read = memory.read_at(&mut buffer[..length], at).unwrap_or(0);
            memmem(&buffer[..read], bytes)
        });
        found.then(|| line.to_owned())
    };
    Some(maps.lines().filter_map(place).collect())
}

fn memmem(all: &[u8], bytes: &[u8]) -> bool {
    let starts = all.iter().enumerate().filter(|(_, byte)| **byte == bytes[0]);
    starts.map(|(at, _)| &all[at..]).any(|rest| rest.starts_with(bytes))
}

/// What a handler made of its arguments is nowhere in its process once the next call is answered: neither
/// in the engine nor around it.
#[tokio::test]
async fn what_a_call_wrote_is_nowhere_in_its_process() {
    // It stands in no message and in no source.
    let source = r#"export async function execute({ args, context }) {
        globalThis.kept = [];
        for (let n = 0; n < 3000; n++) {
            const text = (args.word + "_" + args.word).toUpperCase() + n;
            kept.push({ text, [text]: new Uint8Array(Array.from(text, (letter) => letter.charCodeAt(0))) });
        }
        kept.length = 2000;
        await context.kb.get();
        return { ok: true, data: kept.length };
    }"#;
    let secret = b"CANARY_CANARY1";
    let other = "export const execute = () => ({ ok: true, data: 1 });";
    let js = Arc::new(pool(1));
    // Another handler comes after it; or the same again and again, whose pages are watched by then.
    for round in 0..12 {
        let gate = Arc::new(Semaphore::new(0));
        let host = Arc::new(
            Stubs::default().on("kb.get", |_| Ok(Value::Null)).gated("kb.get", gate.clone()),
        );
        let of =
            |word: &str| job(tool(source, &json!(["kb"])), json!({ "word": word }), host.clone());
        let (js, canary) = (js.clone(), of("canary"));
        let running = tokio::spawn({
            let js = js.clone();
            async move { js.execute(canary).await }
        });
        while host.asked.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        let Some(found) = holds(one(), secret) else {
            assert!(std::env::var_os("CI").is_none(), "root can look, and CI does not skip");
            return;
        };
        assert!(!found.is_empty(), "it is not where it is looked for");
        gate.add_permits(2);
        assert_eq!(data(running.await.unwrap()), 2000);
        if round < 3 {
            assert_eq!(data(run(&js, other, json!({})).await), 1);
        } else {
            assert_eq!(data(js.execute(of("finch")).await), 2000);
        }
        assert_eq!(holds(one(), secret), Some(Vec::new()), "round {round}");
    }
}
