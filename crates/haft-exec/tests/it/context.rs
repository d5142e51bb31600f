//! What a handler finds: arguments, context, capabilities.

use std::sync::Arc;
use std::time::Duration;

use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Execute as _, Job, Scope, SessionView};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::rig::{Stubs, body, data, error, job, pool, returned, run, scope, tool};

#[tokio::test]
async fn the_context_says_what_the_call_is() {
    let source = "export const execute = ({ context }) => ({ ok: true, data: context });";
    assert_eq!(
        data(run(&pool(1), source, json!({})).await),
        json!({
            "mode": "text",
            "session": {
                "active": true, "isActive": true, "mode": "text", "turn": 3, "registryVersion": "",
                "suppressAudio": false, "suppressTranscript": false,
                "state": { "turn": 3, "suppressAudio": false, "suppressTranscript": false },
            },
            "tool": { "id": "core__probe", "version": "1.2.3", "idempotent": true },
            "callId": "call_1",
        })
    );
}

/// Each field in its own place, whatever the handler did to its realm before it asks.
#[tokio::test]
async fn the_context_of_a_session_is_whole_in_a_realm_that_was_changed() {
    let source = r#"
        const { keys } = Object;
        for (const name of ["mode", "active", "turn", "state", "id", "0", "1"]) {
            Object.defineProperty(Object.prototype, name, { get: () => "changed", set: () => {} });
        }
        Array.prototype[Symbol.iterator] = () => { throw new Error("changed"); };
        Object.freeze = (value) => value;
        export const execute = ({ context }) => ({
            ok: true, data: { session: context.session, first: keys(context.session).shift() },
        });"#;
    let mut scope = Scope::clone(&scope("call_1"));
    scope.session = SessionView {
        id: Some("s1".into()),
        registry_version: "r7".into(),
        suppress_transcript: true,
        ..scope.session
    };
    let (tool, host) = (tool(source, &json!([])), Arc::new(Stubs::default()));
    let limit = Duration::from_secs(20);
    let job = Job::new(tool, json!({}), Arc::new(scope), host, limit, None);
    let session = json!({
        "id": "s1", "active": true, "turn": 3, "registryVersion": "r7", "suppressAudio": false,
        "suppressTranscript": true, "mode": "text", "isActive": true,
        "state": { "turn": 3, "suppressAudio": false, "suppressTranscript": true },
    });
    let expected = json!({ "session": session, "first": "id" });
    assert_eq!(data(pool(1).execute(job).await), expected);
}

/// A child is said to know a source when it was sent, and not before.
#[tokio::test]
async fn a_call_that_is_too_large_does_not_keep_the_source_from_its_child() {
    let source = "export const execute = ({ args }) => ({ ok: true, data: args.length });";
    let js = pool(1);
    let (_, refused) = error(run(&js, source, json!("a".repeat(16 << 20))).await);
    assert_eq!(refused.kind, ErrorKind::InvalidArguments);
    assert_eq!(data(run(&js, source, json!("abc")).await), json!(3));
}

#[tokio::test]
async fn the_context_cannot_be_changed_and_holds_only_what_the_contract_lists() {
    let source = r#"export function execute({ context }) {
        const changed = [];
        for (const change of [
            () => { context.mode = "voice"; },
            () => { context.session.active = false; },
            () => { context.session.state.turn = 9; },
            () => { context.tool.id = "other"; },
            () => { context.kb.search = () => 1; },
            () => { context.extra = 1; },
        ]) {
            try { change(); changed.push(String(change)); } catch {}
        }
        return { ok: true, data: { changed, members: Object.keys(context) } };
    }"#;
    let tool = tool(source, &json!(["kb", "call_tool"]));
    let ended = pool(1).execute(job(tool, json!({}), Arc::new(Stubs::default()))).await;
    let members = ["mode", "session", "tool", "callId", "kb", "callTool"];
    assert_eq!(data(ended), json!({"changed": [], "members": members}));
}

/// A14: names that mean something to the language are plain data in arguments.
#[tokio::test]
async fn arguments_called_proto_are_plain_data() {
    let source = r#"export function execute({ args }) {
        return { ok: true, data: {
            keys: Object.keys(args), polluted: ({}).admin, proto: args["__proto__"],
            inherits: Object.getPrototypeOf(args) === Object.prototype, back: args,
        } };
    }"#;
    let text = r#"{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toString":1,"hasOwnProperty":null}"#;
    let arguments: Value = serde_json::from_str(text).unwrap();
    let data = data(run(&pool(1), source, arguments.clone()).await);
    assert_eq!(data["keys"], json!(["__proto__", "constructor", "toString", "hasOwnProperty"]));
    assert_eq!(data["proto"], json!({"admin": true}));
    assert_eq!(data["inherits"], true);
    assert_eq!(data.get("polluted"), None);
    assert_eq!(data["back"], arguments);
}

#[tokio::test]
async fn capabilities_are_promises_and_arguments_arrive_as_they_are() {
    let host = Arc::new(
        Stubs::default()
            .on("kb.search", |query| Ok(json!({ "found": query })))
            .on("audit.log", |_| Ok(Value::Null))
            .on("clock.now", |_| Ok(json!({ "epochMs": 5 })))
            .on("callTool.core__echo", |values| Ok(values.clone())),
    );
    let ended = body(
        &pool(1),
        r#"const [a, b, c, d, e] = await Promise.all([
            context.kb.search({ q: 1, left: undefined }), context.audit.log("event", { why: "x" }),
            context.clock.now(), context.callTool("core__echo", { x: 1 }), context.callTool("core__echo"),
        ]);
        return { ok: true, data: [a, b, c, d, e] };"#,
        &host,
    )
    .await;
    assert_eq!(data(ended), json!([{"found": {"q": 1}}, null, {"epochMs": 5}, {"x": 1}, {}]));
    let asked = host.asked.lock().clone();
    assert_eq!(
        asked,
        [
            ("kb.search".to_owned(), json!({"q": 1})),
            ("audit.log".to_owned(), json!(["event", {"why": "x"}])),
            ("clock.now".to_owned(), Value::Null),
            ("callTool.core__echo".to_owned(), json!({"x": 1})),
            ("callTool.core__echo".to_owned(), json!({})),
        ]
    );
}

#[tokio::test]
async fn a_failing_capability_is_an_error_that_can_be_caught_or_passed_on() {
    let js = pool(1);
    let busy = || ToolError::new(ErrorKind::Transient, "busy").suggest("wait");
    let unknown = || ToolError::new(ErrorKind::UnknownOutcome, "who knows");
    let host = Arc::new(
        Stubs::default()
            .on("kb.search", move |_| Err(busy()))
            .on("callTool.pay", move |_| Err(unknown())),
    );
    let caught = "try { await context.kb.search() } catch (e) {
        return { ok: true, data: [e instanceof Error, e.kind, e.message, e.retryable] } }";
    assert_eq!(data(body(&js, caught, &host).await), json!([true, "transient", "busy", true]));

    let (way, error_) = error(body(&js, "await context.kb.search()", &host).await);
    assert_eq!((way, error_.kind, error_.retryable), ("failed", ErrorKind::Transient, true));
    assert_eq!((error_.message.as_str(), error_.suggestion.as_str()), ("busy", "wait"));

    // What was called in turn may have been done: nobody may hear that it was not.
    let (_, error_) = error(body(&js, "await context.callTool('pay')", &host).await);
    assert_eq!((error_.kind, error_.partial_side_effects), (ErrorKind::Internal, true));
}

#[tokio::test]
async fn capabilities_answer_in_any_order() {
    let (first, second) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1)));
    let open = first.clone();
    let host = Arc::new(
        Stubs::default()
            .on("kb.get", |_| Ok(json!("slow")))
            .on("kb.search", move |_| {
                open.add_permits(1);
                Ok(json!("quick"))
            })
            .gated("kb.get", first)
            .gated("kb.search", second),
    );
    let ended = body(
        &pool(1),
        "const order = [];
         await Promise.all([context.kb.get().then((v) => order.push(v)),
                            context.kb.search().then((v) => order.push(v))]);
         return { ok: true, data: order };",
        &host,
    )
    .await;
    assert_eq!(ended, returned(json!(["quick", "slow"])));
}

#[tokio::test]
async fn what_is_asked_for_and_not_waited_for_is_still_done() {
    let gate = Arc::new(Semaphore::new(0));
    let host = Arc::new(
        Stubs::default().on("audit.log", |_| Ok(Value::Null)).gated("audit.log", gate.clone()),
    );
    let js = pool(1);
    let call = body(&js, "context.audit.log('x'); return { ok: true, data: 1 };", &host);
    tokio::pin!(call);
    let waiting = tokio::time::timeout(Duration::from_millis(300), &mut call).await;
    assert!(waiting.is_err(), "the call ended before its audit entry was written");
    gate.add_permits(1);
    assert_eq!(call.await, returned(json!(1)));
}

/// S10: nothing differs between two attempts of one call.
#[tokio::test]
async fn attempts_of_one_call_agree() {
    let js = pool(2);
    let source = r#"export function execute() {
        const refused = (f) => { try { f(); return false; } catch (e) { return e.name; } };
        return { ok: true, data: {
            random: [Math.random(), Math.random()],
            clock: [refused(() => Date.now()), refused(() => new Date()), refused(() => Date()),
                    refused(() => Reflect.construct(Date, [], Array)),
                    refused(() => new (new Date(0)).constructor())],
            day: new Date("2026-01-15T12:00:00+02:00").toISOString(),
            local: new Date(2026, 0, 15).getTimezoneOffset(),
        } };
    }"#;
    let attempt = async |call: &str, key: Option<&str>| {
        let host = Arc::new(Stubs::default());
        let deadline = Duration::from_secs(20);
        let key = key.map(str::to_owned);
        let job = Job::new(tool(source, &json!([])), json!({}), scope(call), host, deadline, key);
        data(js.execute(job).await)
    };
    let first = attempt("call_1", None).await;
    assert_eq!(first["clock"], json!(vec!["TypeError"; 5]));
    assert_eq!(first["day"], "2026-01-15T10:00:00.000Z");
    assert_eq!(first["local"], 0);
    assert_ne!(first["random"][0], first["random"][1]);
    assert_eq!(attempt("call_1", None).await, first);
    assert_ne!(attempt("call_2", None).await["random"], first["random"]);
    let keyed = attempt("call_3", Some("key")).await;
    assert_eq!(attempt("call_4", Some("key")).await, keyed);
}
