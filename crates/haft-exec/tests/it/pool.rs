//! S12: children that die, and what becomes of calls, processes and file descriptors.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::error::ErrorKind;
use haft_core::port::{Execute as _, Job};
use haft_exec::Js;
use haft_exec::js::Settings;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::rig::{Stubs, data, error, job, pool, run, scope, settings, tool};

const GOOD: &str = "export const execute = () => ({ ok: true, data: 1 });";
const LOOP: &str =
    "export async function execute({ context }) { await context.clock.now(); for (;;); }";

/// This process's children: number and state.
fn children() -> Vec<(i32, char)> {
    let own = std::process::id().to_string();
    let stat = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut rest = text.rsplit_once(')')?.1.split_whitespace();
        let state = rest.next()?.chars().next()?;
        (rest.next()? == own).then_some((pid, state))
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat).collect()
}

fn living() -> BTreeSet<i32> {
    children().into_iter().filter(|(_, state)| *state != 'Z').map(|(pid, _)| pid).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until something holds; the system takes its time to end a process.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what}: {:?}", children());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(crate) fn one() -> i32 {
    let living = living();
    assert_eq!(living.len(), 1, "{living:?}");
    *living.first().unwrap()
}

/// A call that has certainly begun, and never ends by itself.
fn endless(host: &Arc<Stubs>, deadline: Duration) -> Job {
    let tool = tool(LOOP, &json!(["clock"]));
    Job::new(tool, json!({}), scope("c"), host.clone(), deadline, None)
}

fn clock(begun: &Arc<Semaphore>) -> Arc<Stubs> {
    let begun = begun.clone();
    Arc::new(Stubs::default().on("clock.now", move |_| {
        begun.add_permits(1);
        Ok(Value::Null)
    }))
}

#[tokio::test]
async fn two_hundred_kills_leave_nothing_behind() {
    let js = pool(2);
    for _ in 0..4 {
        assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    }
    let (before, were) = (descriptors(), children().len());
    for round in 0..100 {
        // While it waits for work: the next call gets another one.
        let victims = living();
        for victim in &victims {
            let _ = kill(Pid::from_raw(*victim), Signal::SIGKILL);
        }
        until("they are dead", || living().is_disjoint(&victims)).await;
        assert_eq!(data(run(&js, GOOD, json!({})).await), 1, "round {round}");
    }
    until("children are replaced and reaped", || {
        let all = children();
        all.len() <= 2 && all.iter().all(|(_, state)| *state != 'Z')
    })
    .await;
    // A child that was on its way at first has three of its own.
    let more = 3 * children().len().saturating_sub(were);
    assert!(descriptors() <= before + more + 2, "{} before, {} after", before, descriptors());
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

#[tokio::test]
async fn a_child_that_is_killed_while_it_runs_is_lost() {
    let js = Arc::new(pool(1));
    for _ in 0..10 {
        assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
        let begun = Arc::new(Semaphore::new(0));
        let job = endless(&clock(&begun), Duration::from_secs(20));
        let running = tokio::spawn({
            let js = js.clone();
            async move { js.execute(job).await }
        });
        begun.acquire().await.unwrap().forget();
        kill(Pid::from_raw(one()), Signal::SIGKILL).unwrap();
        let (way, error) = error(running.await.unwrap());
        assert_eq!((way, error.kind), ("lost", ErrorKind::Internal));
        assert_eq!(error.message, "the tool broke off while it was running");
    }
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

#[tokio::test]
async fn a_dropped_call_takes_its_child_along() {
    let js = Arc::new(pool(1));
    let begun = Arc::new(Semaphore::new(0));
    let job = endless(&clock(&begun), Duration::from_secs(600));
    let running = tokio::spawn({
        let js = js.clone();
        async move { js.execute(job).await }
    });
    begun.acquire().await.unwrap().forget();
    let child = one();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    until("the child is gone", || children().iter().all(|(pid, _)| *pid != child)).await;
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

#[tokio::test]
async fn a_dropped_pool_takes_its_children_along() {
    let before = descriptors();
    let js = pool(3);
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    until("three are warm", || living().len() == 3).await;
    drop(js);
    until("none is left", || children().is_empty()).await;
    until("no descriptor is left", || descriptors() <= before + 4).await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_child_has_its_deadline_counting() {
    let js = Arc::new(pool(1));
    let begun = Arc::new(Semaphore::new(0));
    let job = endless(&clock(&begun), Duration::from_secs(600));
    let running = tokio::spawn({
        let js = js.clone();
        async move { js.execute(job).await }
    });
    begun.acquire().await.unwrap().forget();
    let host = Arc::new(Stubs::default());
    let limit = Duration::from_millis(100);
    let waits = Job::new(tool(GOOD, &json!([])), json!({}), scope("c"), host, limit, None);
    let (way, error) = error(js.execute(waits).await);
    assert_eq!((way, error.kind), ("not begun", ErrorKind::Timeout));
    running.abort();
    // Who gave up waiting is not in the way of the next.
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

#[tokio::test]
async fn a_deadline_beyond_all_time_is_no_trouble() {
    let host = Arc::new(Stubs::default());
    let tool = tool(GOOD, &json!([]));
    let job = Job::new(tool, json!({}), scope("c"), host, Duration::MAX, None);
    assert_eq!(data(pool(1).execute(job).await), 1);
}

#[tokio::test]
async fn a_child_is_replaced_after_its_calls() {
    let js = Js::new(Settings { calls_per_child: 3, ..settings(1) });
    let mut seen = Vec::new();
    for _ in 0..9 {
        assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
        // One look: between two, a child may be replaced.
        let child = std::cell::Cell::new(0);
        until("a child is there", || {
            let living = living();
            child.set(living.first().copied().unwrap_or_default());
            living.len() == 1
        })
        .await;
        seen.push(child.get());
    }
    let different: BTreeSet<_> = seen.iter().collect();
    assert!((3..=4).contains(&different.len()), "{seen:?}");
}

#[tokio::test]
async fn a_program_that_is_no_sandbox_is_named() {
    for (program, why) in [("/nowhere/at/all", "does not start"), ("/bin/true", "`serve_if_asked`")]
    {
        let js = Js::new(Settings { program: Some(program.into()), ..settings(2) });
        let (way, error) = error(run(&js, GOOD, json!({})).await);
        assert_eq!((way, error.kind), ("not begun", ErrorKind::Internal));
        let source = error.source.clone().unwrap();
        assert!(source.contains(why) && source.contains(program), "{source}");
    }
}

#[test]
fn a_pool_outlives_the_runtime_that_it_was_used_in() {
    let js = pool(1);
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(data(runtime.block_on(run(&js, GOOD, json!({})))), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_share_few_children() {
    let js = Arc::new(pool(2));
    let source = "export const execute = ({ args }) => ({ ok: true, data: args.n });";
    let calls: Vec<_> = (0..200)
        .map(|n| {
            let js = js.clone();
            tokio::spawn(async move {
                let host = Arc::new(Stubs::default());
                data(js.execute(job(tool(source, &json!([])), json!({"n": n}), host)).await)
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), n);
    }
    assert!(living().len() <= 2);
}

#[tokio::test]
async fn a_child_has_nothing_but_its_pipes() {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    // A file that some library forgot to keep to itself.
    let leaked = fs::File::open("/proc/self/status").unwrap();
    fcntl(&leaked, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    let js = pool(1);
    let isolation = js.isolation().await.unwrap();
    let child = one();
    let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let line = |name: &str| {
        let found = status.lines().find(|line| line.starts_with(name)).unwrap();
        found.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(line("NoNewPrivs:"), "1");
    assert_eq!(line("Threads:"), "1");
    assert_eq!(line("Seccomp:") == "2", isolation.system_calls);
    assert_eq!(
        isolation.system_calls && isolation.limits,
        isolation.missing.is_empty(),
        "{isolation:?}"
    );
    // A child cannot be looked into except by the superuser.
    if let Ok(open) = fs::read_dir(format!("/proc/{child}/fd")) {
        let open: BTreeSet<_> = open.flatten().map(|fd| fd.file_name()).collect();
        assert_eq!(open, ["0", "1", "2"].map(Into::into).into());
        assert_eq!(fs::read_to_string(format!("/proc/{child}/environ")).unwrap(), "TZ=UTC0\0");
        assert_eq!(fs::read_link(format!("/proc/{child}/cwd")).unwrap().to_str(), Some("/"));
    }
    drop(leaked);
}

/// A program that says what a child says, answers one call, and then does as told.
fn puppet(dir: &std::path::Path, then: &str) -> Settings {
    use std::os::unix::fs::PermissionsExt as _;

    let frame = |tag: u8, fields: &[&[u8]]| {
        let body = [&[tag], fields.concat().as_slice()].concat();
        [&(body.len() as u32).to_le_bytes(), body.as_slice()].concat()
    };
    let number = |number: u64| number.to_le_bytes();
    let isolation = br#"{"system_calls":true,"limits":true,"missing":[]}"#;
    let answer = br#"{"ok":true,"data":1}"#;
    let ready = frame(0, &[&number(isolation.len() as u64), isolation]);
    // The last number says that it is not ready for the next call.
    let done = frame(2, &[&number(0), &number(answer.len() as u64), answer, &number(0)]);
    fs::write(dir.join("ready"), ready).unwrap();
    fs::write(dir.join("done"), done).unwrap();
    let at = dir.display();
    let text = format!(
        "#!/bin/sh\ncat {at}/ready\ndd bs=65536 count=1 >{at}/call 2>{at}/log\ncat {at}/done\n{then}\n"
    );
    let program = dir.join("puppet");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Settings { program: Some(program), ..settings(1) }
}

/// A call lies in the pipe until a child is done with the last one. One that never is has not begun it.
#[tokio::test]
async fn a_call_that_its_child_never_comes_to_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let js = Js::new(puppet(dir.path(), "exec sleep 600"));
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    let host = Arc::new(Stubs::default());
    let limit = Duration::from_millis(100);
    let waits = Job::new(tool(GOOD, &json!([])), json!({}), scope("c"), host, limit, None);
    let (way, error) = error(js.execute(waits).await);
    assert_eq!((way, error.kind), ("not begun", ErrorKind::Timeout));
    // Another takes its place.
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

/// A call that has the time for it goes to another child.
#[tokio::test]
async fn a_call_outlives_a_child_that_never_comes_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let js = Js::new(puppet(dir.path(), "exec sleep 600"));
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    let stuck = one();
    // At once, so that it is given to the child that is never ready.
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    assert!(!living().contains(&stuck));
}

/// S12: what a child was not ready for, it has not begun when it dies.
#[tokio::test]
async fn a_call_before_a_child_that_dies_goes_to_another() {
    let dir = tempfile::tempdir().unwrap();
    // Whatever it dies of, it has the next call by then.
    let js = Js::new(puppet(dir.path(), "dd bs=1 count=1 >/dev/null 2>&1"));
    for _ in 0..5 {
        assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    }
}

/// S12: a child that does not end with what a handler left is ended, though nobody calls.
#[tokio::test]
async fn a_child_that_is_not_done_in_time_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let js = Js::new(puppet(dir.path(), "exec sleep 600"));
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
    let stuck = one();
    until("it is replaced", || living().len() == 1 && !living().contains(&stuck)).await;
    assert_eq!(data(run(&js, GOOD, json!({})).await), 1);
}

#[tokio::test]
async fn a_call_that_gets_its_child_too_late_is_not_begun() {
    let js = pool(1);
    js.isolation().await.unwrap();
    let host = Arc::new(Stubs::default().on("clock.now", |_| Ok(json!({}))));
    // There is a free child. As if the process had been stopped while it waited for that.
    let late = endless(&host, Duration::from_secs(20)).until(Some(Instant::now()));
    let (how, error) = error(js.execute(late).await);
    assert_eq!((how, error.kind), ("not begun", ErrorKind::Timeout));
    assert!(host.asked.lock().is_empty());
    assert_eq!(data(run(&js, GOOD, json!({})).await), json!(1), "the child is none the worse");
}
