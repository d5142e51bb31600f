//! A tenant whose trail was touched: what its people see, and what others do not.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use haft_store::{Options, Sqlite};
use rusqlite::Connection;
use serde_json::json;

use super::cdp;
use super::world::{Visit, World};

/// Somebody changes an entry of a tenant with other means than ours.
fn touch(file: &Path, tenant: &str) {
    let conn = Connection::open(file).unwrap();
    let unlock = "DROP TRIGGER IF EXISTS audit_keeps; DROP TRIGGER IF EXISTS audit_keeps_all;";
    conn.execute_batch(unlock).unwrap();
    let touch = "UPDATE audit SET at_ms = at_ms + 1 WHERE number = \
                 (SELECT max(number) FROM audit WHERE tenant = ?1)";
    assert_eq!(conn.execute(touch, [tenant]).unwrap(), 1);
}

/// What a dry run of a form says.
async fn dry(visit: &Visit<'_>, tool: &str) -> String {
    visit.call(tool, &[("a.0", "tea"), ("do", "dry")]).await.body
}

/// Where log lines go.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn whoever_is_stopped_is_told_so_and_what_lifts_it() {
    let log = Log::default();
    let to = log.clone();
    let lines = tracing_subscriber::fmt().json().flatten_event(true);
    let _guard = tracing::subscriber::set_default(lines.with_writer(move || to.clone()).finish());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haft.db");
    let store = Arc::new(Sqlite::open(&file, Options::default()).unwrap());
    let world = World::on(store).await;
    let done = world.called("book", json!({"text": "a table"}), "k1").await;
    assert_eq!(done["ok"], true, "{done}");
    let visit = world.signed_in(&world.admin).await;
    let spy = world.signed_in(&world.stranger).await;
    assert!(dry(&visit, "book").await.contains(">would run<"));
    assert!(!visit.get("/console/tools").await.body.contains("Effects are stopped"));
    touch(&file, "ours");
    let csrf = visit.csrf().await;
    let found = visit.post("/console/audit", &[("csrf", &csrf)]).await.body;
    for said in ["Not intact", "It stops the effects", "Effects are stopped", "haft audit acknowl"]
    {
        assert!(found.contains(said), "{said}: {found}");
    }
    let said = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for event in ["\"event\":\"trail_touched\"", "\"event\":\"effects_refused\""] {
        assert!(said.contains(event), "{said}");
    }
    assert!(said.contains("\"tenant_id\":\"ours\"") && !said.contains("\"theirs\""), "{said}");
    for path in ["", "/tools", "/confirmations", "/effects", "/keys"] {
        let (own, other) = (format!("/console{path}"), spy.get(&format!("/console{path}")).await);
        let page = visit.get(&own).await.body;
        assert!(
            page.contains("Effects are stopped") && page.contains("tools that only read go on")
        );
        assert!(!page.contains("No work is taken"), "{page}");
        assert!(!other.body.contains("Effects are stopped"), "{path}: {}", other.body);
    }
    let page = dry(&visit, "book").await;
    assert!(page.contains(">would not run<") && page.contains("changed from outside"), "{page}");
    assert!(dry(&visit, "echo").await.contains(">would run<"));
    let Some(mut tab) = cdp::open().await else { return };
    tab.go(&world.url("/console/sign-in")).await;
    tab.fill("#key", &world.admin).await;
    tab.click_through("button[type=submit]").await;
    for width in [1280, 390] {
        tab.shape(width, false).await;
        tab.go(&world.url("/console/audit")).await;
        tab.click_through("main button").await;
        assert_eq!(tab.overflow().await, json!(null), "at {width}");
        tab.picture(&format!("touched-{width}-light")).await;
    }
    assert_eq!(tab.complaints, Vec::<String>::new());
}
