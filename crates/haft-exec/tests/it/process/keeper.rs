//! The keeper, as a haft sees it that is stopped, or gone.

use std::io::{PipeWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haft_core::port::{Ended, Execute as _, Job};
use nix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::Bench;
use crate::rig::{Stubs, data, error, scope};

/// Takes a line and acts a while later.
const ACTS: &str = "#!/bin/sh\nread line\necho \"$line\" > begun\nsleep 2\ntouch acted\nsleep 60\n";

/// Whether haft's end of the pipe is still open.
#[derive(Clone, Copy, PartialEq)]
enum Haft {
    Holds,
    HungUp,
}

/// A keeper and its program in a folder, with this written to its pipe.
fn kept(
    folder: &Path,
    (first, parent): (&str, u32),
    haft: Haft,
    lines: &str,
) -> (Child, Option<PipeWriter>) {
    let program = folder.join("program");
    std::fs::write(&program, ACTS).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (from, mut to) = std::io::pipe().unwrap();
    to.write_all(lines.as_bytes()).unwrap();
    let to = Some(to).filter(|_| haft == Haft::Holds);
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_haft-sandbox"));
    keeper.arg(first).arg(parent.to_string()).arg((1_u64 << 30).to_string()).arg(program);
    let keeper = keeper.current_dir(folder).stdin(Stdio::from(from)).stdout(Stdio::null());
    (keeper.spawn().unwrap(), to)
}

/// A keeper of this process.
fn own() -> (&'static str, u32) {
    ("haft:keep", std::process::id())
}

/// The line that says until when a call runs.
fn until(left: Duration) -> String {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).unwrap());
    format!("until {}\n", (now + left).as_millis())
}

/// Waits for the end, and says how long it took.
fn ends(keeper: &mut Child) -> Duration {
    let start = Instant::now();
    while keeper.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            keeper.kill().unwrap();
            panic!("it still runs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

#[test]
fn a_program_ends_with_its_call_though_haft_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let lines = format!("{}{{\"id\": 1}}\n", until(Duration::from_secs(1)));
    let (mut keeper, _haft) = kept(folder.path(), own(), Haft::Holds, &lines);
    let took = ends(&mut keeper);
    assert!(took > Duration::from_millis(500) && took < Duration::from_secs(10), "{took:?}");
    let begun = std::fs::read_to_string(folder.path().join("begun")).unwrap();
    assert_eq!(begun, "{\"id\": 1}\n", "it got its line, and not the keeper's");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!folder.path().join("acted").exists());
}

#[test]
fn nothing_reaches_a_program_after_its_time_or_of_a_haft_that_is_gone() {
    let ask = "{\"id\": 1}\n";
    let (later, over) = (until(Duration::from_secs(60)), until(Duration::ZERO));
    for (what, whose, haft, lines) in [
        ("its time is over", own(), Haft::Holds, format!("{over}{ask}")),
        ("haft was gone before", ("haft:keep", 1), Haft::Holds, format!("{later}{ask}")),
        ("haft hung up", own(), Haft::HungUp, format!("{later}{ask}")),
        ("nobody understands it", own(), Haft::Holds, format!("sometime\n{ask}")),
        ("the keeper was gone before", ("haft:process", 1), Haft::Holds, ask.to_owned()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut keeper, _haft) = kept(folder.path(), whose, haft, &lines);
        ends(&mut keeper);
        assert!(!folder.path().join("begun").exists(), "{what}");
    }
}

#[tokio::test]
async fn a_program_that_has_answered_outlives_the_time_of_its_call() {
    let bench = Bench::new("data = os.getpid()");
    let short = Duration::from_secs(3);
    let first = data(bench.within(json!({}), short, Stubs::default()).await);
    tokio::time::sleep(short + Duration::from_millis(300)).await;
    assert_eq!(data(bench.call(json!({})).await), first, "the same program");
}

#[tokio::test]
async fn long_lines_reach_a_program_whole() {
    let bench = Bench::new("data = [len(args['text']), len(ask('kb.search', {})['value'])]");
    let stubs = Stubs::default().on("kb.search", |_| Ok(json!("y".repeat(3_000_000))));
    let arguments = json!({ "text": "x".repeat(1_000_000) });
    let found = data(bench.within(arguments, Duration::from_secs(20), stubs).await);
    assert_eq!(found, json!([1_000_000, 3_000_000]));
}

#[tokio::test]
async fn a_call_that_gets_its_program_too_late_is_not_begun() {
    let bench = Bench::new("open(args['to'], 'w').write('x'); data = 1");
    let to = bench.folder.path().join("acted");
    let tool = std::sync::Arc::new(bench.tool.clone());
    let (host, time) = (std::sync::Arc::new(Stubs::default()), Duration::from_secs(20));
    let job = Job::new(tool, json!({ "to": to }), scope("call_1"), host, time, None);
    // There is a free program. As if the process had been stopped while it waited for that.
    let ended: Ended = bench.process.execute(job.until(Some(Instant::now()))).await;
    let (how, error) = error(ended);
    assert_eq!((how, error.kind), ("not begun", haft_core::ErrorKind::Timeout));
    assert!(!to.exists());
    assert_eq!(data(bench.call(json!({ "to": to })).await), json!(1));
}
