//! Handlers that mean harm. Each is stopped in time, and a neighbour notices nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::contract::Capability;
use haft_core::port::{Ended, Execute as _, Job};
use haft_exec::Js;
use serde_json::{Value, json};

use crate::rig::{Stubs, body, data, pool, run, scope, tool};

const BUDGET: Duration = Duration::from_millis(300);
/// The bound is 50 ms on a machine that is not busy with other things; tests share theirs.
const LATE: Duration = Duration::from_millis(400);

/// What must come of a hostile handler.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    /// Stopped at the deadline.
    Stopped,
    /// Out of memory, or stopped on the way there.
    Starved,
    /// It fails by itself.
    Fails,
}

/// Runs the bodies one after the other, each with a neighbour right after it.
async fn check(rows: &[(&str, Comes)]) {
    let js = pool(1);
    neighbour(&js, "at first").await;
    for (text, comes) in rows {
        let source = format!("export async function execute({{ args, context }}) {{ {text} }}");
        let host = Arc::new(Stubs::default());
        let tool = tool(&source, &json!([]));
        let start = Instant::now();
        let ended =
            js.execute(Job::new(tool, json!({}), scope("call_1"), host, BUDGET, None)).await;
        let took = start.elapsed();
        assert!(took < BUDGET + LATE, "{text}: {took:?}");
        let came = match &ended {
            Ended::Lost(error) if error.kind.as_str() == "timeout" => Comes::Stopped,
            Ended::Lost(error) if error.message == "the tool ran out of memory" => Comes::Starved,
            Ended::Failed(_) | Ended::Unusable(_) => Comes::Fails,
            Ended::Lost(_) | Ended::NotBegun(_) | Ended::Returned { .. } => {
                panic!("{text}: {ended:?}")
            }
        };
        let fits = came == *comes || (*comes == Comes::Starved && came == Comes::Stopped);
        assert!(fits, "{text}: {ended:?}");
        neighbour(&js, text).await;
    }
}

async fn neighbour(js: &Js, after: &str) {
    let source = "export const execute = ({ args }) => ({ ok: true, data: args.n + 1 });";
    assert_eq!(data(run(js, source, json!({"n": 1})).await), 2, "after {after}");
}

/// S1: loops that the engine itself can stop, and some that catch everything.
#[tokio::test]
async fn endless_loops_are_stopped() {
    check(&[
        ("while (1);", Comes::Stopped),
        ("for (;;) { try { null.x } catch {} }", Comes::Stopped),
        ("for (;;) { try { throw 1 } catch {} finally { continue } }", Comes::Stopped),
        ("const f = () => { try { f() } finally { f() } }; f();", Comes::Stopped),
        ("const f = () => f() + 1; f();", Comes::Fails),
        ("const f = () => Promise.resolve().then(f); await f();", Comes::Stopped),
        ("(function f() { queueMicrotask(f) })(); await new Promise(() => {});", Comes::Stopped),
        ("/^(a|aa)+$/.test('a'.repeat(60) + 'b');", Comes::Stopped),
        ("/^(a+)+$/.test('a'.repeat(60) + 'b');", Comes::Stopped),
        ("let n = 3n; for (;;) n = (n * n) % (10n ** 2000n);", Comes::Stopped),
        ("return { get ok() { for (;;); } };", Comes::Stopped),
        ("return new Proxy({}, { get() { for (;;); } });", Comes::Stopped),
        ("return { then() { for (;;); } };", Comes::Stopped),
        ("return { then(resolve) { resolve(this); } };", Comes::Stopped),
        ("return { ok: true, data: { toJSON() { for (;;); } } };", Comes::Stopped),
        ("throw { get message() { for (;;); } };", Comes::Stopped),
        ("Error.prepareStackTrace = () => { for (;;); }; throw new Error('x');", Comes::Stopped),
    ])
    .await;
}

/// S2: single calls that hold the engine for very long. Only a kill ends them.
#[tokio::test]
async fn calls_that_hold_the_engine_are_killed() {
    check(&[
        ("const a = 'a'.repeat(4e6); for (let i = 0; i < 99; i++) a.indexOf('a'.repeat(2e6) + 'b');", Comes::Stopped),
        ("Array.prototype.copyWithin.call({ length: 2 ** 30 }, 0, 1);", Comes::Stopped),
        ("Array.prototype.reverse.call({ length: 2 ** 30 });", Comes::Stopped),
        ("Array.prototype.unshift.call({ length: 2 ** 30 }, 1);", Comes::Stopped),
        ("Array.prototype.fill.call({ length: 2 ** 30 }, 1);", Comes::Starved),
        ("Array.prototype.join.call({ length: 2 ** 26 }, '');", Comes::Stopped),
        ("new Array(2 ** 31).join('');", Comes::Stopped),
        ("String((3n ** 600000n)); String((3n ** 600000n)); String((3n ** 900000n));", Comes::Stopped),
        ("Array.from({ length: 1e5 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e4; i++); return Math.random() - 0.5 });", Comes::Stopped),
        ("String.raw({ raw: { length: 2 ** 30 } });", Comes::Stopped),
        ("structuredClone({});", Comes::Fails),
        ("let o = 1; for (let i = 0; i < 1000; i++) o = { o }; return { ok: true, data: o };", Comes::Fails),
    ])
    .await;
}

/// S3: memory has a limit of its own, and the next handler has all of it.
#[tokio::test]
async fn memory_runs_out_for_its_owner_alone() {
    check(&[
        ("let s = 'ab'; for (;;) s += s;", Comes::Fails),
        ("const a = []; for (let s = 'ab'; ; s += 'x') a.push(s.repeat(1e5));", Comes::Starved),
        ("const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1));", Comes::Starved),
        ("const m = new Map(); for (let i = 0; ; i++) m.set(i, [i]);", Comes::Starved),
        ("const s = new Set(); for (let i = 0; ; i++) s.add({ i });", Comes::Starved),
        ("let f = () => 1; for (;;) { const g = f; f = () => g; }", Comes::Starved),
        ("new ArrayBuffer(4 * 2 ** 30);", Comes::Fails),
        ("return { ok: true, data: 'x'.repeat(200 << 20) };", Comes::Starved),
        // Its own words, whatever else it did.
        ("throw null;", Comes::Fails),
        ("new Uint8Array(40 << 20).fill(1); throw null;", Comes::Fails),
    ])
    .await;
}

/// S3: one that catches the lack of memory does not get more of it.
#[tokio::test]
async fn catching_the_end_of_memory_gives_no_more_memory() {
    let js = pool(1);
    let ended = run(
        &js,
        "export function execute() {
            let total = 0;
            const kept = [];
            try { for (;;) { kept.push(new Uint8Array(1 << 20)); total += 1; } } catch {}
            kept.length = 0;
            return { ok: true, data: total };
        }",
        json!({}),
    )
    .await;
    let megabytes = data(ended).as_u64().unwrap();
    assert!((32..=64).contains(&megabytes), "{megabytes} MiB");
    neighbour(&js, "a handler that survived").await;
}

/// S7 and S11: ways out, tried one by one. Each expression must be false.
#[tokio::test]
async fn there_is_no_way_out_of_the_realm() {
    let js = pool(1);
    let ways = [
        "typeof eval !== 'undefined'",
        "works(() => Function('return 1')())",
        "works(() => new Function('return this')())",
        "works(() => (() => {}).constructor('return 1')())",
        "works(() => (async () => {}).constructor('return 1')())",
        "works(() => (function* () {}).constructor('yield 1')())",
        "works(() => Reflect.construct(Function, ['return 1'])())",
        "works(() => context.callTool.constructor('return 1')())",
        "await passes(import('fs'))",
        "await passes(import('haft:prelude'))",
        "await passes(import('./handler.js'))",
        "await passes(import('data:text/javascript,export default 1'))",
        "await passes(import('/etc/passwd', { with: { type: 'json' } }))",
        "typeof require !== 'undefined'",
        "typeof process !== 'undefined'",
        "typeof std !== 'undefined' || typeof os !== 'undefined' || typeof bjson !== 'undefined'",
        "typeof print !== 'undefined' || typeof scriptArgs !== 'undefined'",
        "typeof fetch !== 'undefined'",
        "typeof console !== 'undefined'",
        "typeof setTimeout !== 'undefined'",
        "typeof setInterval !== 'undefined' || typeof setImmediate !== 'undefined'",
        "typeof requestAnimationFrame !== 'undefined' || typeof scheduler !== 'undefined'",
        "typeof performance !== 'undefined'",
        "typeof SharedArrayBuffer !== 'undefined'",
        "typeof Atomics !== 'undefined'",
        "typeof WebAssembly !== 'undefined'",
        "typeof Worker !== 'undefined'",
        "works(() => Date.now())",
        "works(() => new Date())",
        "works(() => new Date(0).constructor.now())",
        "works(() => new (class extends Date {})())",
        "'made' in ToolError",
        "works(() => context.kb.then.x)",
        "await passes(context.kb['__proto__']())",
        "await passes(context.kb['a.b']())",
        "await passes(context.kb['a'.repeat(65)]())",
        "works(() => { Object.setPrototypeOf(context.kb, {}).x })",
        "new Uint8Array(1 << 16).some(Boolean)",
        "Object.keys(globalThis).length > 0",
    ];
    let source = format!(
        "import {{ ToolError }} from 'haft';
         const works = (way) => {{ try {{ way(); return true; }} catch {{ return false; }} }};
         const passes = (promise) => promise.then(() => true, () => false);
         export async function execute({{ context }}) {{
             return {{ ok: true, data: [{}] }};
         }}",
        ways.join(",\n")
    );
    let host = Arc::new(Stubs::default().on("kb.a.b", |_| Ok(Value::Null)));
    let tool = tool(&source, &json!(["kb", "call_tool"]));
    let job = Job::new(tool, json!({}), scope("c"), host.clone(), Duration::from_secs(20), None);
    let found = data(js.execute(job).await);
    let open: Vec<_> =
        ways.iter().zip(found.as_array().unwrap()).filter(|(_, f)| **f != false).collect();
    assert_eq!(open, [], "ways out");
    assert_eq!(*host.asked.lock(), [], "asked of the host");
}

/// S7: what a handler does to the language is its own affair, and its answer is still JSON.
#[tokio::test]
async fn broken_built_ins_break_nothing_of_ours() {
    let js = pool(1);
    for tampering in [
        "JSON.stringify = () => '{\"ok\":true,\"data\":\"forged\"}'; JSON.parse = () => 1;",
        "Promise.prototype.then = () => {}; globalThis.Promise = undefined;",
        "Object.prototype.toJSON = undefined; Array.prototype[Symbol.iterator] = null;",
        "Object.defineProperty(Object.prototype, 'kind', { get() { throw 1 }, configurable: true });",
        "globalThis.Object = globalThis.Reflect = globalThis.Proxy = globalThis.Error = undefined;",
        "Array.prototype.push = Map.prototype.get = Function.prototype.call = null;",
        "String.prototype.split = RegExp.prototype.exec = () => { throw 1 };",
    ] {
        let source = format!(
            "{tampering}
             export async function execute({{ args, context }}) {{
                 const found = await context.kb.search({{ q: args.n }});
                 return {{ ok: true, data: found }};
             }}"
        );
        let host = Arc::new(Stubs::default().on("kb.search", |query| Ok(json!({"for": query}))));
        let tool = tool(&source, &json!(["kb"]));
        let job = Job::new(tool, json!({"n": 5}), scope("c"), host, Duration::from_secs(20), None);
        assert_eq!(data(js.execute(job).await), json!({"for": {"q": 5}}), "{tampering}");
        neighbour(&js, tampering).await;
    }
}

/// S9: what a handler may ask for is counted and weighed.
#[tokio::test]
async fn asking_has_a_quota() {
    let js = pool(1);
    let host = || Arc::new(Stubs::default().on("audit.log", |_| Ok(Value::Null)));
    let rows: [(&str, Value, usize); 4] = [
        (
            "let done = 0; for (let i = 0; i < 1e6; i++) {
                 try { await context.audit.log(i); done++ } catch (e) {
                     return { ok: true, data: [done, e.kind, e.retryable] } } }",
            json!([1000, "rate_limited", false]),
            1000,
        ),
        (
            "const all = await Promise.allSettled(Array.from({ length: 1e4 }, () => context.audit.log('x')));
             return { ok: true, data: all.filter((one) => one.status === 'fulfilled').length };",
            json!(1000),
            1000,
        ),
        (
            "try { await context.audit.log('x'.repeat(10e6)) } catch (e) { return { ok: true, data: e.message } }",
            json!("the handler's calls carry too much"),
            0,
        ),
        (
            "let done = 0; try { for (;;) { await context.audit.log('x'.repeat(1e6)); done++ } }
             catch (e) { return { ok: true, data: done } }",
            json!(4),
            4,
        ),
    ];
    for (text, expected, asked) in rows {
        let host = host();
        assert_eq!(data(body(&js, text, &host).await), expected, "{text}");
        assert_eq!(host.asked.lock().len(), asked, "{text}");
        neighbour(&js, text).await;
    }
}

/// I5 and S7: a capability that the contract does not list cannot even be named.
#[tokio::test]
async fn an_unlisted_capability_is_not_there() {
    let js = pool(1);
    let names: Vec<&str> = Capability::ALL.iter().map(|capability| capability.in_js()).collect();
    let source = "export const execute = ({ args, context }) =>
        ({ ok: true, data: args.names.filter((name) => context[name] !== undefined) });";
    assert_eq!(data(run(&js, source, json!({ "names": names })).await), json!([]));
}

/// A capability whose answer is too large is refused, and the handler can go on.
#[tokio::test]
async fn an_answer_that_is_too_large_is_refused() {
    let host = Arc::new(Stubs::default().on("kb.get", |_| Ok(json!("x".repeat(5 << 20)))));
    let text = "try { await context.kb.get() } catch (e) { return { ok: true, data: e.kind } }";
    assert_eq!(data(body(&pool(1), text, &host).await), "permanent");
}
