//! Which executor gets a tool, and what is said when none does.

use std::sync::Arc;

use haft_core::Digest;
use haft_core::port::Execute as _;
use haft_core::registry::Implementation;
use haft_exec::{Executors, Native};
use serde_json::json;

use crate::rig::{Stubs, data, error, job, js, pool, tool_with};

#[tokio::test]
async fn the_first_that_can_runs_it() {
    let native = Native::new().raw("core__probe", |_, _| async { Ok(json!("native")) });
    let executors = Executors::new().with(native).with(pool(1));
    let source = "export const execute = () => ({ ok: true, data: 'js' });";
    for (handler, expected) in [(Implementation::Native, "native"), (js(source), "js")] {
        let tool = Arc::new(tool_with(handler, &json!([])));
        assert!(executors.can_run(&tool));
        let ended = executors.execute(job(tool, json!({}), Arc::new(Stubs::default()))).await;
        assert_eq!(data(ended), expected);
    }
}

#[tokio::test]
async fn what_nobody_runs_is_not_begun() {
    let executors = Executors::new().with(Native::new());
    let file = || ("handler.wasm".to_owned(), Digest::of_bytes(b""));
    for (handler, why) in [
        (Implementation::Unbound, "it has no handler"),
        (Implementation::Gateway, "no executor for its gateway"),
        (Implementation::Native, "no function was registered"),
        (Implementation::Wasm { file: file().0, digest: file().1 }, "`wasm` handlers"),
        (js(""), "`js` handlers"),
    ] {
        let tool = Arc::new(tool_with(handler, &json!([])));
        assert!(!executors.can_run(&tool));
        let ended = executors.execute(job(tool, json!({}), Arc::new(Stubs::default()))).await;
        let (way, error) = error(ended);
        assert_eq!(way, "not begun");
        assert!(error.message.contains(why), "{}", error.message);
    }
}
