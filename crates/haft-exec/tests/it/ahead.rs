//! Realms whose handler was loaded before the call: nobody can tell.

use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{Execute as _, Job};
use haft_exec::Js;
use serde_json::{Value, json};

use crate::rig::{Stubs, body, data, error, pool, run, scope, tool};

/// Enough calls that the later ones find their handler loaded.
const CALLS: usize = 8;

async fn called(js: &Js, source: &str, call: &str) -> Value {
    let host = Arc::new(Stubs::default());
    let deadline = Duration::from_secs(20);
    let job = Job::new(tool(source, &json!(["kb"])), json!({}), scope(call), host, deadline, None);
    data(js.execute(job).await)
}

/// Runs a handler several times in one child; the answer is always the same.
async fn check(source: &str, expected: Value) {
    let js = pool(1);
    for call in 0..CALLS {
        assert_eq!(called(&js, source, "call_1").await, expected, "call {call} of {source}");
    }
}

#[tokio::test]
async fn what_a_module_keeps_is_new_in_every_call() {
    check(
        "let calls = 0; const seen = new Set(); globalThis.kept ??= 0;
         export const execute = ({ context }) => {
             calls += 1; seen.add(context.callId); globalThis.kept += 1; Math.calls = (Math.calls ?? 0) + 1;
             return { ok: true, data: [calls, seen.size, globalThis.kept, Math.calls] };
         };",
        json!([1, 1, 1, 1]),
    )
    .await;
}

#[tokio::test]
async fn jobs_that_loading_leaves_run_as_in_the_first_call() {
    check(
        "const order = []; let turns = 0;
         const again = () => Promise.resolve().then(() => { turns += 1; if (turns < 5) return again(); });
         await null; order.push('loaded'); again();
         export const execute = async () => {
             order.push(turns); for (let i = 0; i < 40; i++) await null; order.push(turns);
             return { ok: true, data: order };
         };",
        json!(["loaded", 1, 5]),
    )
    .await;
}

#[tokio::test]
async fn a_module_that_takes_its_time_works() {
    check(
        "let sum = 0; for (let i = 0; i < 3e5; i++) sum += i % 7;
         export const execute = () => ({ ok: true, data: sum });",
        json!(899_997),
    )
    .await;
}

#[tokio::test]
async fn a_module_that_takes_much_memory_works() {
    check(
        "const large = new Uint8Array(40 << 20).fill(1);
         export const execute = () => ({ ok: true, data: large.length });",
        json!(40 << 20),
    )
    .await;
}

/// S7: what a module breaks while it is loaded is not used to make its context.
#[tokio::test]
async fn the_context_is_whole_whatever_the_module_breaks() {
    let whole = json!(["mode", "session", "tool", "callId", "kb"]);
    for breaks in [
        "Object.defineProperty(Object.prototype, 'kb', { set() { throw 1 }, get() { return 1 } });",
        "Object.prototype.get = () => 1; Object.prototype.writable = true;",
        "Object.prototype.session = { state: 1 }; Object.prototype.__proto__ = null;",
        "Array.prototype[Symbol.iterator] = null; Object.freeze = (o) => o; JSON.parse = () => ({});",
        "Object.defineProperty = Object.create = Reflect.apply = () => { throw 1 };",
    ] {
        let source = format!(
            "const keys = Object.keys, frozen = Object.isFrozen; {breaks}
             export const execute = ({{ context }}) => {{
                 if (!frozen(context) || !frozen(context.session)) return {{ ok: true, data: 'soft' }};
                 return {{ ok: true, data: keys(context) }};
             }};"
        );
        check(&source, whole.clone()).await;
    }
}

/// S10: what is random follows from the call, also while the module is loaded.
#[tokio::test]
async fn a_module_that_draws_lots_gets_those_of_its_call() {
    let js = pool(1);
    for source in [
        "const first = Math.random(); export const execute = () => ({ ok: true, data: [first, Math.random()] });",
        "let first; try { first = Math.random() } catch { first = 'early' }
         export const execute = () => ({ ok: true, data: [first, Math.random()] });",
        "const random = Math.random; export const execute = () => ({ ok: true, data: [random(), random()] });",
    ] {
        let one = called(&js, source, "call_1").await;
        let other = called(&js, source, "call_2").await;
        assert!(one[0].is_f64() && one[0] != one[1] && one != other, "{one} {other}");
        for _ in 0..CALLS {
            assert_eq!(called(&js, source, "call_1").await, one, "{source}");
            assert_eq!(called(&js, source, "call_2").await, other, "{source}");
        }
    }
}

/// One source in two contracts: each call has the capabilities of its own.
#[tokio::test]
async fn a_source_that_two_tools_share_has_the_capabilities_of_each() {
    let js = pool(1);
    let source = "export const execute = ({ context }) =>
        ({ ok: true, data: ['kb', 'audit', 'clock'].filter((name) => name in context) });";
    for _ in 0..CALLS {
        for listed in [json!(["kb"]), json!(["audit", "clock"]), json!([])] {
            let host = Arc::new(Stubs::default());
            let deadline = Duration::from_secs(20);
            let job = Job::new(tool(source, &listed), json!({}), scope("c"), host, deadline, None);
            let mut found = data(js.execute(job).await);
            let mut listed = listed.clone();
            for names in [&mut found, &mut listed] {
                names.as_array_mut().unwrap().sort_by_key(ToString::to_string);
            }
            assert_eq!(found, listed);
        }
    }
}

#[tokio::test]
async fn more_handlers_than_are_kept_ready_take_turns() {
    let js = pool(1);
    for _ in 0..CALLS {
        for n in 0..40 {
            let source = format!("export const execute = () => ({{ ok: true, data: {n} }});");
            assert_eq!(data(run(&js, &source, json!({})).await), n);
        }
    }
}

#[tokio::test]
async fn a_module_that_fails_says_so_in_every_call() {
    let js = pool(1);
    for source in ["throw new Error('no');", "await new Promise(() => {});", "export const a = 1;"]
    {
        let mut first = None;
        for _ in 0..CALLS {
            let (way, error) = error(run(&js, source, json!({})).await);
            assert_eq!(way, "not begun", "{source}");
            assert_eq!(*first.get_or_insert(error.source.clone()), error.source, "{source}");
        }
    }
}

/// An answer that nobody waited for is not taken for the next call.
#[tokio::test]
async fn answers_that_come_too_late_are_passed_over() {
    let js = pool(1);
    for size in [1, 3 << 20] {
        let answer = "x".repeat(size);
        let host = Arc::new(Stubs::default().on("kb.get", move |_| Ok(json!(answer))));
        let busy = "context.kb.get(); for (let i = 0; i < 2e5; i++); return { ok: true, data: 1 };";
        for _ in 0..CALLS {
            assert_eq!(data(body(&js, busy, &host).await), 1);
        }
    }
}
