//! Native functions.

use std::sync::Arc;
use std::time::Duration;

use haft_core::Digest;
use haft_core::contract::Capability;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::names::Namespace;
use haft_core::outcome::Intent;
use haft_core::port::{Ended, Execute as _, Job};
use haft_core::registry::{Build, Implementation, Registry};
use haft_exec::native::{Asking, Context, Fault, Native};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rig::{Stubs, data, error, job, returned, scope, tool_with};

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Serialize)]
struct Echoed {
    text: String,
}

async fn run(native: Native, arguments: Value) -> Ended {
    run_with(native, arguments, Arc::new(Stubs::default()), Duration::from_secs(20)).await
}

async fn run_with(native: Native, arguments: Value, host: Arc<Stubs>, limit: Duration) -> Ended {
    let tool = Arc::new(tool_with(Implementation::Native, &json!(["kb"])));
    assert!(native.can_run(&tool));
    native.execute(Job::new(tool, arguments, scope("call_1"), host, limit, None)).await
}

#[tokio::test]
async fn arguments_and_answers_have_types() {
    let echo = async |args: Echo, _: Context| Ok(Echoed { text: args.text });
    let native = Native::new().tool("core__probe", echo);
    assert_eq!(run(native, json!({"text": "hi"})).await, returned(json!({"text": "hi"})));
}

#[tokio::test]
async fn an_answer_can_come_with_intents() {
    let intents = vec![Intent::SuppressAudio { value: true }];
    let asked = intents.clone();
    let native = Native::new().asking("core__probe", move |_: Value, _| {
        let intents = asked.clone();
        async move { Ok(Asking { data: 1, intents }) }
    });
    assert_eq!(run(native, json!({})).await, Ended::Returned { data: json!(1), intents });
}

#[tokio::test]
async fn what_the_type_does_not_take_is_not_begun() {
    let native = Native::new().tool("core__probe", |args: Echo, _| async { Ok(args.text) });
    let (way, error) = error(run(native, json!({"text": 5})).await);
    assert_eq!((way, error.kind), ("not begun", ErrorKind::Internal));
    assert!(error.source.clone().unwrap().contains("invalid type"));
}

#[tokio::test]
async fn a_panic_is_lost_and_says_nothing_of_the_inside() {
    let early = |_: Arc<Value>, _: Context| -> std::future::Ready<Result<Value, ToolError>> {
        panic!("canary")
    };
    let late = |_: Arc<Value>, _: Context| async {
        tokio::task::yield_now().await;
        panic!("canary")
    };
    let blocking = |_: Arc<Value>, _: Context| -> Result<Value, ToolError> { panic!("canary") };
    for native in [
        Native::new().raw("core__probe", early),
        Native::new().raw("core__probe", late),
        Native::new().blocking("core__probe", blocking),
    ] {
        let (way, error) = error(run(native, json!({})).await);
        assert_eq!((way, error.kind), ("lost", ErrorKind::Internal));
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_drops_the_function() {
    struct Tell(Option<tokio::sync::oneshot::Sender<()>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.take().map(|tell| tell.send(()));
        }
    }
    let (tell, dropped) = tokio::sync::oneshot::channel();
    let tell = parking_lot::Mutex::new(Some(Tell(Some(tell))));
    let native = Native::new().raw("core__probe", move |_, _| {
        let tell = tell.lock().take();
        async move {
            std::future::pending::<()>().await;
            drop(tell);
            Ok(Value::Null)
        }
    });
    let host = Arc::new(Stubs::default());
    let ended = run_with(native, json!({}), host, Duration::from_millis(250)).await;
    let (way, error) = error(ended);
    assert_eq!((way, error.kind), ("lost", ErrorKind::Timeout));
    assert_eq!(error.message, "the tool did not finish within 250 ms");
    dropped.await.unwrap();
}

#[tokio::test]
async fn a_function_reaches_what_its_contract_lists() {
    let host = Arc::new(Stubs::default().on("kb.search", |query| Ok(query.clone())));
    let native = Native::new().raw("core__probe", |args, context: Context| async move {
        let found = context.call(Capability::Kb, "search", Value::clone(&args)).await?;
        let refused = context.call(Capability::Http, "get", json!({})).await.unwrap_err();
        Ok(json!([found, refused.message, context.call_id()]))
    });
    let ended = run_with(native, json!({"q": 1}), host, Duration::from_secs(1)).await;
    let refused = "`core__probe` does not list the capability `http`";
    assert_eq!(data(ended), json!([{"q": 1}, refused, "call_1"]));
}

#[tokio::test]
async fn a_function_that_does_not_know_what_it_did_is_lost() {
    for (kind, way, told) in [
        (ErrorKind::UnknownOutcome, "lost", ErrorKind::Internal),
        (ErrorKind::Denied, "failed", ErrorKind::Internal),
        (ErrorKind::NotFound, "failed", ErrorKind::NotFound),
    ] {
        let native = Native::new()
            .raw("core__probe", move |_, _| async move { Err(ToolError::new(kind, "no")) });
        let (came, error) = error(run(native, json!({})).await);
        assert_eq!((came, error.kind), (way, told), "{kind}");
    }
}

#[test]
fn functions_and_tools_that_lack_each_other_are_named() {
    let tool = |id: &str, handler| {
        let mut tool = tool_with(handler, &json!([]));
        id.clone_into(&mut tool.id);
        tool
    };
    let registry = Registry {
        version: "1.0.0".into(),
        digest: Digest::of_bytes(b""),
        namespace: Namespace::parse("core").unwrap(),
        prompts: std::collections::BTreeMap::new(),
        tools: vec![
            tool("core__a", Implementation::Native),
            tool("core__b", Implementation::Native),
            tool("core__c", Implementation::Unbound),
        ],
        build: Build { at: String::new(), by: String::new(), commit: None },
    };
    let done = |_: Arc<Value>, _: Context| async { Ok(Value::Null) };
    let native = Native::new().raw("core__a", done).raw("core__c", done).raw("core__d", done);
    assert_eq!(
        native.check(&registry),
        [
            "the native tool `core__b` has no function; register one for it",
            "the function `core__c` has no native tool in the registry",
            "the function `core__d` has no native tool in the registry",
        ]
    );
}

#[tokio::test]
async fn a_blocking_function_gets_a_thread_of_its_own() {
    let native = Native::new().blocking("core__probe", |args: Echo, _| Ok(args.text.len()));
    let host = Arc::new(Stubs::default());
    let tool = Arc::new(tool_with(Implementation::Native, &json!([])));
    assert_eq!(native.execute(job(tool, json!({"text": "four"}), host)).await, returned(json!(4)));
}

#[tokio::test]
async fn a_function_says_what_it_knows_about_its_effect() {
    type Says = fn(ToolError) -> Fault;
    let cases: [(Says, &str); 3] =
        [(Fault::NotBegun, "not begun"), (Fault::from, "failed"), (Fault::Lost, "lost")];
    for (fault, expected) in cases {
        let native = Native::new().effect("core__probe", move |_: Value, _| async move {
            Err::<Value, _>(fault(ToolError::new(ErrorKind::Transient, "no connection")))
        });
        let (way, error) = error(run(native, json!({})).await);
        assert_eq!((way, error.kind), (expected, ErrorKind::Transient));
    }
}

#[tokio::test]
async fn a_function_that_acts_is_not_gone_on_with_after_its_time() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use haft_core::contract::SideEffectPolicy;

    for (class, acts) in [(SideEffectPolicy::Irreversible, false), (SideEffectPolicy::Pure, true)] {
        let acted = Arc::new(AtomicBool::new(false));
        let seen = acted.clone();
        let native = Native::new().tool("core__probe", move |_: Value, _| {
            let acted = acted.clone();
            async move {
                tokio::task::yield_now().await;
                acted.store(true, Ordering::SeqCst);
                Ok(1)
            }
        });
        let mut tool = tool_with(Implementation::Native, &json!([]));
        tool.contract.side_effect_policy = class;
        let (host, limit) = (Arc::new(Stubs::default()), Duration::from_secs(20));
        let job = Job::new(Arc::new(tool), json!({}), scope("call_1"), host, limit, None);
        let ended = native.execute(job.until(Some(std::time::Instant::now()))).await;
        assert_eq!(seen.load(Ordering::SeqCst), acts, "{class:?}");
        if !acts {
            let (how, error) = error(ended);
            assert_eq!((how, error.kind), ("lost", ErrorKind::Timeout));
        }
    }
}
