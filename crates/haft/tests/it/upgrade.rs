//! Told to stop while a store of before is brought to this version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use serde_json::json;

use crate::project::Project;
use crate::server::Server;

/// The version of the store of before, and ours.
const BEFORE: i64 = 9;
const NOW: i64 = 18;

/// So many blocks, each with a reason of twice so many letters: every one of them is rewritten on the way. Together they are
/// larger than what SQLite keeps in memory, so its log grows long before the step is done.
const BLOCKS: i64 = 120_000;
const TEXT: usize = 250;

/// When it is told.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as it runs.
    Begun,
    /// As soon as its log has so many MiB of a step that is not done.
    Written(u64),
    /// As soon as all steps are done.
    Done,
}

fn in_project(project: &Project, name: &str) -> PathBuf {
    project.folder.join(".haft").join(name)
}

/// A project with a large store of before.
fn laid_out() -> Project {
    let project = Project::new();
    let toml = project.read("haft.toml");
    let more = "[store]\nkeep_days = 0\n[connections]\nkey_file = \"seal.key\"\n";
    project.write("haft.toml", &format!("{toml}{more}"));
    project.write("seal.key", &"7".repeat(64));
    fs::create_dir_all(project.folder.join(".haft")).unwrap();
    project.write(
        ".haft/before.db.key",
        include_str!("../../../haft-store/tests/it/before/schema9.key"),
    );
    project.write(
        ".haft/before.db.checkpoints",
        include_str!("../../../haft-store/tests/it/before/schema9.checkpoints"),
    );
    let conn = Connection::open(in_project(&project, "before.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(include_str!("../../../haft-store/tests/it/before/schema9.sql")).unwrap();
    conn.execute_batch(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {BLOCKS})
         INSERT INTO blocks
         SELECT 'acme', 'user:' || i, 9000000000000000, ' ' || i || hex(zeroblob({TEXT})) FROM n"
    ))
    .unwrap();
    private(&project, "before.db");
    private(&project, "before.db.key");
    fs::set_permissions(project.folder.join("seal.key"), owner_only()).unwrap();
    project
}

fn owner_only() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

fn private(project: &Project, name: &str) {
    fs::set_permissions(in_project(project, name), owner_only()).unwrap();
}

/// Puts the store of before in its place, as it was.
fn begin_again(project: &Project) {
    for name in ["", ".key", ".checkpoints", ".head", ".checked", "-wal", "-shm"] {
        let to = in_project(project, &format!("haft.db{name}"));
        let _ = fs::remove_file(&to);
        let from = in_project(project, &format!("before.db{name}"));
        if from.exists() {
            fs::copy(from, to).unwrap();
        }
    }
}

/// The version of a store, how many of its blocks are as they were, and how many there are.
fn of(path: &Path) -> (i64, i64, i64) {
    let conn = Connection::open(path).unwrap();
    let number = |sql: &str| conn.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap();
    let sound: String = conn.query_row("PRAGMA quick_check", (), |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    (
        number("PRAGMA user_version"),
        number("SELECT count(*) FROM blocks WHERE reason LIKE ' %'"),
        number("SELECT count(*) FROM blocks"),
    )
}

/// The same of a copy: to look into it is to mend it, and that is for haft to do.
fn looked_at(project: &Project) -> (i64, i64, i64) {
    for name in ["", "-wal"] {
        let from = in_project(project, &format!("haft.db{name}"));
        let to = in_project(project, &format!("copy.db{name}"));
        let _ = fs::remove_file(&to);
        if from.exists() {
            fs::copy(from, to).unwrap();
        }
    }
    of(&in_project(project, "copy.db"))
}

fn is_at(project: &Project, moment: Moment) -> bool {
    match moment {
        Moment::Begun => true,
        Moment::Written(mib) => {
            let log = fs::metadata(in_project(project, "haft.db-wal"));
            log.is_ok_and(|log| log.len() >= mib << 20)
        }
        Moment::Done => {
            let conn = Connection::open(in_project(project, "haft.db")).unwrap();
            let version = conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
            version.is_ok_and(|version| version == NOW)
        }
    }
}

fn tell(child: &Child, signal: &str) {
    // It may be gone after the first.
    let _ =
        Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
}

#[test]
fn told_while_a_store_is_brought_to_this_version_it_ends_and_the_next_start_goes_on() {
    let project = laid_out();
    let (mut cut, mut done) = (0, 0);
    for (moment, signals) in [
        (Moment::Begun, &["-TERM"] as &[&str]),
        (Moment::Written(1), &["-TERM"]),
        (Moment::Written(8), &["-INT", "-TERM"]),
        (Moment::Written(16), &["-TERM", "-INT", "-TERM"]),
        (Moment::Done, &["-TERM"]),
    ] {
        begin_again(&project);
        let mut command = project.command();
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !is_at(&project, moment) {
            assert_eq!(child.try_wait().unwrap(), None, "{moment:?}: it ended by itself");
            std::thread::yield_now();
        }
        signals.iter().for_each(|signal| tell(&child, signal));
        let code = child.wait().unwrap().code();
        // It heard of it, and was not struck down; before it listens, that is the system's to do.
        let expected = matches!(moment, Moment::Begun) && code.is_none() || code == Some(0);
        assert!(expected, "{moment:?}: {code:?}");
        let (version, as_they_were, all) = looked_at(&project);
        assert_eq!(all, BLOCKS + 1, "{moment:?}");
        match version {
            BEFORE => assert_eq!(as_they_were, BLOCKS, "{moment:?}: half a step is there"),
            _ => assert_eq!(as_they_were, 0, "{moment:?}: half a step is there"),
        }
        cut += usize::from(version == BEFORE && matches!(moment, Moment::Written(_)));
        done += usize::from(version == NOW);
        goes_on(&project, moment);
    }
    assert!(cut > 0, "no signal came in the middle of a step");
    assert!(done > 0, "no signal came when it was done");
}

/// The next start: everything is there, and it serves.
fn goes_on(project: &Project, moment: Moment) {
    let server = Server::start(project);
    let body = json!({"tool": "greet", "arguments": {"text": "a"}});
    let (status, said) = server.send("POST", "/v1/agents/default/calls", Some(body)).unwrap();
    assert_eq!(status, 200, "{moment:?}: {said}");
    server.stop();
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{moment:?}: {verified:?}");
    let path = in_project(project, "haft.db");
    assert_eq!(of(&path), (NOW, 0, BLOCKS + 1), "{moment:?}");
    let conn = Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM audit WHERE number <= 12";
    let entries: i64 = conn.query_row(sql, (), |row| row.get(0)).unwrap();
    assert_eq!(entries, 12, "{moment:?}");
}
