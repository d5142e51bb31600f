use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// An engine with functions of these names and sources.
fn make(engines: &mut Engines, functions: &[(&'static str, &str)]) -> Id {
    engines
        .make(usize::MAX, |runtime| -> Result<_, Error> {
            runtime.set_memory_limit(LIMIT);
            let context = Context::full(runtime)?;
            let mut kept = Kept::default();
            context.with(|ctx| {
                for (name, source) in functions {
                    kept.hold(&ctx, name, ctx.eval(*source)?);
                }
                Ok::<_, Error>(())
            })?;
            Ok((context, kept))
        })
        .unwrap()
}

const LIMIT: usize = 8 << 20;

fn engines() -> Engines {
    Engines::reserve(16 << 20).unwrap()
}

fn call(engines: &mut Engines, id: Id, name: &'static str) -> String {
    let called = engines.run(id, |ctx, kept| {
        let text = kept.get(ctx, name)?.call::<_, String>(());
        // What is thrown is caught, so that nothing but the rewind has to put it away.
        if text.is_err() {
            drop(ctx.catch());
        }
        while ctx.execute_pending_job() {}
        text
    });
    called.unwrap().unwrap_or_else(|why| why.to_string())
}

/// What one run does to its engine. `look` says whether anything of it is left.
const LOOK: &str = "() => [
    typeof globalThis.left, ({}).left, [].left, Array.prototype.push.length, typeof Map,
    Object.isFrozen(Object.prototype), JSON.stringify({ a: 1 }), new Set([1]).size,
].join()";

const LEAVINGS: &[&str] = &[
    "() => { globalThis.left = 1; Object.prototype.left = 1; return '' }",
    "() => { Array.prototype.push = () => 1; delete globalThis.Map; JSON.stringify = null; return '' }",
    "() => { Object.freeze(Object.prototype); Object.freeze(Array.prototype); return '' }",
    "() => { Set.prototype.add = Object.prototype.toString = null; throw new Error('left') }",
    "() => { globalThis.left = new WeakRef({}); new FinalizationRegistry(() => 1).register({}, 1); return '' }",
    "() => { (async () => { for (;;) await 1 })(); throw 1 }",
    "() => { globalThis.left = (function* () { yield 1 })(); left.next(); return left.toString() }",
    "() => { const f = () => f() + 1; return f() }",
    "() => { globalThis.left = []; for (;;) left.push('x'.repeat(1e5) + left.length) }",
    "() => { for (let o = {}; ; ) o = { o } }",
    "() => { globalThis.left = Symbol.for('left'); for (let i = 0; i < 1e4; i++) left['left' + i] = i; return '' }",
    "() => { globalThis.left = /a+/g; left.exec('aaa'); Promise.reject(1); return '' }",
];

#[test]
fn every_run_finds_the_engine_as_it_was_made() {
    for leaves in LEAVINGS {
        // The endless one is ended by hand: nothing is interrupted here.
        let leaves = leaves.replace("for (;;) await 1", "await new Promise(() => {})");
        let mut engines = engines();
        let id = make(&mut engines, &[("look", LOOK), ("leave", &leaves)]);
        let first = call(&mut engines, id, "look");
        for _ in 0..3 {
            call(&mut engines, id, "leave");
            engines.rewind();
            assert_eq!(call(&mut engines, id, "look"), first, "{leaves}");
        }
    }
}

#[test]
fn engines_take_turns() {
    let mut engines = engines();
    let count = |name: &str| format!("let calls = '{name}'; () => calls += 1");
    let (one, other) = (
        make(&mut engines, &[("count", &count("a"))]),
        make(&mut engines, &[("count", &count("b"))]),
    );
    for _ in 0..3 {
        assert_eq!(call(&mut engines, one, "count"), "a1");
        assert_eq!(call(&mut engines, one, "count"), "a1");
        assert_eq!(call(&mut engines, other, "count"), "b1");
    }
    engines.end(one);
    assert_eq!(engines.run(one, |_, _| ()), None);
    assert_eq!(call(&mut engines, other, "count"), "b1");
}

#[test]
fn an_engine_that_cannot_be_made_leaves_the_others_alone() {
    let mut engines = engines();
    let id = make(&mut engines, &[("look", LOOK)]);
    let first = call(&mut engines, id, "look");
    let failed = engines.make(usize::MAX, |runtime| -> Result<_, Error> {
        let context = Context::full(runtime)?;
        context.with(|ctx| ctx.eval::<(), _>("globalThis.left = 1; throw 1"))?;
        Ok((context, Kept::default()))
    });
    assert!(failed.is_err());
    assert_eq!(call(&mut engines, id, "look"), first);
}

/// A closure of ours lives as long as its engine, whatever is done to it in there, and no longer.
#[test]
fn a_closure_outlives_every_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut engines = engines();
    let counted = calls.clone();
    let id = engines
        .make(usize::MAX, |runtime| -> Result<_, Error> {
            let context = Context::full(runtime)?;
            let mut kept = Kept::default();
            context.with(|ctx| {
                let tell =
                    Function::new(ctx.clone(), move || counted.fetch_add(1, Ordering::Relaxed))?;
                ctx.globals().set("tell", tell.clone())?;
                kept.hold(&ctx, "tell", tell);
                kept.hold(&ctx, "use", ctx.eval("() => { tell(); delete globalThis.tell }")?);
                Ok::<_, Error>(())
            })?;
            Ok((context, kept))
        })
        .unwrap();
    for _ in 0..100 {
        let used = engines.run(id, |ctx, kept| {
            let used = kept.get(ctx, "use")?.call::<_, ()>(());
            ctx.run_gc();
            used
        });
        assert_eq!(used.unwrap().ok(), Some(()));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 100);
    assert_eq!(Arc::strong_count(&calls), 2);
    drop(engines);
    assert_eq!(Arc::strong_count(&calls), 1);
}

/// What a run wrote is nowhere in the region after it, neither in blocks that were in use nor in
/// blocks that were free.
#[test]
fn nothing_that_a_run_wrote_is_left_in_memory() {
    let mut engines = Engines::reserve(2 << 20).unwrap();
    let writes = "() => { globalThis.left = [];
        for (let n = 0; n < 400; n++) left.push({ ['KEY' + n]: ('mark' + n).toUpperCase().repeat(50) });
        left.length = 200; return '' }";
    let id = make(&mut engines, &[("write", writes)]);
    let holds = |engines: &Engines| engines.region.holds(b"MARK");
    assert!(!holds(&engines));
    call(&mut engines, id, "write");
    assert!(holds(&engines));
    engines.rewind();
    assert!(!holds(&engines));
}

#[test]
fn memory_runs_out_at_the_engines_own_limit() {
    let mut engines = engines();
    let fills =
        "() => { const all = []; try { for (;;) all.push(new Uint8Array(1 << 16)) } catch {}
        const found = all.length; all.length = 0; return String(found) }";
    let id = make(&mut engines, &[("fill", fills)]);
    for _ in 0..3 {
        let blocks: usize = call(&mut engines, id, "fill").parse().unwrap();
        assert!((LIMIT >> 16) - blocks < 12, "{blocks} of {}", LIMIT >> 16);
    }
}

#[test]
fn jobs_are_seen() {
    let mut engines = engines();
    let id =
        make(&mut engines, &[("wait", "() => { Promise.resolve().then(() => 1); return '' }")]);
    let seen = engines.run(id, |ctx, kept| {
        let before = is_at_rest(ctx);
        let called = kept.get(ctx, "wait").and_then(|wait| wait.call::<_, String>(()));
        (before, called.is_ok(), is_at_rest(ctx))
    });
    assert_eq!(seen, Some((true, true, false)));
    assert_eq!(engines.run(id, |ctx, _| is_at_rest(ctx)), Some(true));
}
