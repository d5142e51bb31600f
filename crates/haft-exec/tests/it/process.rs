//! Programs that are handlers, run for real.

#[cfg(target_os = "linux")]
mod keeper;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod reach;

use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::port::{Ended, Execute as _, Job};
use haft_core::registry::Implementation;
use haft_core::{Digest, ErrorKind};
use haft_exec::Process;
use haft_exec::process::Settings;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};

use crate::rig::{Stubs, data, error, scope, tool_with};

const LOOP: &str = r#"#!/usr/bin/env python3
import json, os, sys, time
def ask(call, args):
    print(json.dumps({"id": asked["id"], "call": call, "seq": 1, "args": args}), flush=True)
    return json.loads(sys.stdin.readline())
for line in sys.stdin:
    asked = json.loads(line)
    args, answer = asked["args"], None
    BODY
    print(json.dumps(answer or {"id": asked["id"], "ok": True, "data": data}), flush=True)
"#;

struct Bench {
    folder: tempfile::TempDir,
    process: Process,
    tool: haft_core::Tool,
}

impl Bench {
    /// A handler in Python with this in its loop.
    fn new(body: &str) -> Self {
        Self::of(&LOOP.replace("BODY", body), |_| {})
    }

    fn of(source: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("handler.py");
        std::fs::write(&path, source).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let digest = Digest::of_bytes(source.as_bytes());
        let mut settings = Settings::new(folder.path().to_owned(), folder.path().join("run"));
        settings.starter = Some(env!("CARGO_BIN_EXE_haft-sandbox").into());
        change(&mut settings);
        let handler = Implementation::Process { file: "handler.py".into(), digest };
        let tool = tool_with(handler, &json!(["kb"]));
        Self { folder, process: Process::new(settings), tool }
    }

    async fn call(&self, arguments: Value) -> Ended {
        self.within(arguments, Duration::from_secs(20), Stubs::default()).await
    }

    async fn of_tenant(&self, tenant: &str, arguments: Value) -> Value {
        let mut scope = (*scope("call_1")).clone();
        scope.caller = haft_core::Caller::agent(tenant, "assistant");
        let (tool, host) = (Arc::new(self.tool.clone()), Arc::new(Stubs::default()));
        let time = Duration::from_secs(20);
        let job = Job::new(tool, arguments, Arc::new(scope), host, time, None);
        data(self.process.execute(job).await)
    }

    /// The folders of programs that are there.
    fn homes(&self) -> Vec<std::path::PathBuf> {
        let run = std::fs::read_dir(self.folder.path().join("run")).into_iter().flatten().flatten();
        run.map(|one| one.path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("home-"))
            .collect()
    }

    async fn within(&self, arguments: Value, time: Duration, stubs: Stubs) -> Ended {
        let tool = Arc::new(self.tool.clone());
        let job =
            Job::new(tool, arguments, scope("call_1"), Arc::new(stubs), time, Some("k".into()));
        self.process.execute(job).await
    }
}

#[tokio::test]
async fn a_program_is_started_once_and_asked_often() {
    let bench = Bench::new(
        "data = {'pid': os.getpid(), 'n': args['n'], 'call': asked['context']['callId']}",
    );
    let first = data(bench.call(json!({"n": 1})).await);
    let second = data(bench.call(json!({"n": 2})).await);
    assert_eq!((&first["n"], &second["n"]), (&json!(1), &json!(2)));
    assert_eq!(first["call"], json!("call_1"));
    assert_eq!(first["pid"], second["pid"], "the same program");
}

/// As where a shell starts haft with a file of its own open.
#[tokio::test]
async fn a_program_has_nothing_open_that_haft_was_started_with() {
    let (end, given) = std::io::pipe().unwrap();
    fcntl(&given, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    let bench = Bench::new("data = [os.getpid(), len(os.listdir('/proc/self/fd'))]");
    let first = data(bench.call(json!({})).await);
    assert_eq!(first[1], json!(4), "three, and the folder that is listed");
    drop(given);
    // It hangs up when nobody holds the other end: neither the program nor who keeps it.
    let mut waiting = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut waiting, PollTimeout::from(5_000_u16)), Ok(1), "somebody holds it");
    assert_eq!(data(bench.call(json!({})).await), first, "and both are there still");
}

const KEEPING: &str = "before = globals().get('kept', []); files = sorted(os.listdir('.')); \
    kept = before + [args['n']]; open('note-' + args['n'], 'w').write('x'); \
    data = {'pid': os.getpid(), 'before': before, 'files': files, 'home': os.environ['HOME']}";

#[tokio::test]
async fn what_one_tenant_leaves_no_other_finds() {
    let bench = Bench::new(KEEPING);
    let first = bench.of_tenant("acme", json!({"n": "a"})).await;
    let other = bench.of_tenant("globex", json!({"n": "b"})).await;
    assert_eq!((&other["before"], &other["files"]), (&json!([]), &json!([])));
    assert_ne!((&first["pid"], &first["home"]), (&other["pid"], &other["home"]));
    let again = bench.of_tenant("acme", json!({"n": "c"})).await;
    assert_eq!((&again["pid"], &again["before"]), (&first["pid"], &json!(["a"])));
    assert_eq!(bench.homes().len(), 2);
}

#[tokio::test]
async fn the_folder_of_a_program_goes_with_it() {
    let once = LOOP.replace("BODY", KEEPING);
    let bench = Bench::of(&once, |settings| settings.calls_per_child = 1);
    for n in ["a", "b"] {
        let found = bench.of_tenant("acme", json!({"n": n})).await;
        assert_eq!(found["files"], json!([]), "{n}");
    }
    gone(&bench).await;
    // However many tenants there are, no more wait than may run.
    let bench = Bench::of(&once, |settings| settings.most = 2);
    for n in ["a", "b", "c", "d", "e"] {
        bench.of_tenant(n, json!({"n": n})).await;
    }
    let end = Instant::now() + Duration::from_secs(20);
    while bench.homes().len() > 2 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(bench.homes().len(), 2);
}

async fn gone(bench: &Bench) {
    let end = Instant::now() + Duration::from_secs(20);
    while !bench.homes().is_empty() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(bench.homes(), [""; 0].map(std::path::PathBuf::from));
}

#[tokio::test]
async fn what_a_killed_haft_left_is_removed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let of = |id: u32| folder.path().join(format!("home-{id}-0"));
    let (left, lives) = (of(child.id()), of(std::process::id()));
    for home in [&left, &lives] {
        std::fs::create_dir(home).unwrap();
        std::fs::write(home.join("note"), "x").unwrap();
    }
    let process = Process::new(Settings::new(folder.path().to_owned(), folder.path().to_owned()));
    assert!(!left.exists() && lives.exists());
    drop(process);
}

#[tokio::test]
async fn its_environment_is_empty_and_its_limits_hold() {
    let bench = Bench::new(
        "import resource; data = {'env': sorted(os.environ), 'core': resource.getrlimit(resource.RLIMIT_CORE)[0], 'files': resource.getrlimit(resource.RLIMIT_NOFILE)[0]}",
    );
    let found = data(bench.call(json!({})).await);
    let expected = ["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TZ"];
    let env: Vec<&str> = found["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap())
        .filter(|name| *name != "LC_CTYPE")
        .collect();
    assert_eq!(env, expected);
    assert_eq!((&found["core"], &found["files"]), (&json!(0), &json!(256)));
    let source = LOOP.replace("BODY", "data = len('x' * 500_000_000)");
    let small = Bench::of(&source, |settings| settings.memory_bytes = 256 << 20);
    assert_eq!(error(small.call(json!({})).await).0, "lost");
}

#[tokio::test]
async fn what_it_says_about_a_failure_is_believed() {
    let bench = Bench::new(
        "answer = {'id': asked['id'], 'ok': False, 'error': {'kind': 'not_found', 'message': 'no such row'}}",
    );
    let (how, error) = error(bench.call(json!({})).await);
    assert_eq!(
        (how, error.kind, error.message.as_str()),
        ("failed", ErrorKind::NotFound, "no such row")
    );
}

#[tokio::test]
async fn what_a_program_does_not_say_of_a_failure_in_the_middle_is_not_known() {
    let bench = Bench::new("answer = {'id': asked['id'], 'ok': False, 'error': args}");
    // What it says, and whether something may have been done.
    for (said, in_doubt) in [
        (json!({"kind": "timeout"}), true),
        (json!({"kind": "internal"}), true),
        (json!({"kind": "mishap"}), true),
        (json!({"kind": "timeout", "partialSideEffects": null}), true),
        (json!({"kind": "timeout", "partialSideEffects": false}), false),
        (json!({"kind": "internal", "partialSideEffects": false}), false),
        (json!({"kind": "not_found", "partialSideEffects": true}), true),
        (json!({"kind": "permanent"}), false),
        (json!({"kind": "transient"}), true),
        (json!({"kind": "transient", "partialSideEffects": false}), false),
    ] {
        let (how, error) = error(bench.call(said.clone()).await);
        assert_eq!((how, error.partial_side_effects), ("failed", in_doubt), "{said}");
    }
}

#[tokio::test]
async fn it_uses_the_capabilities_of_its_contract() {
    let bench = Bench::new("data = ask('kb.search', {'query': args['q']})");
    let stubs = Stubs::default().on("kb.search", |asked| Ok(json!({"for": asked["query"]})));
    let found = data(bench.within(json!({"q": "x"}), Duration::from_secs(20), stubs).await);
    assert_eq!(found, json!({"id": 1, "seq": 1, "ok": true, "value": {"for": "x"}}));
}

#[tokio::test]
async fn a_crash_in_the_middle_is_not_a_failure_but_a_doubt() {
    for body in [
        "sys.stderr.write('secret-token-in-a-trace'); sys.exit(3)",
        "os.kill(os.getpid(), 11)",
        "print('{')",
        "print(json.dumps({'id': 99, 'ok': True, 'data': 1}), flush=True); time.sleep(1)",
        "sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); time.sleep(1)",
    ] {
        let bench = Bench::new(&format!("{body}; data = None"));
        let (how, error) = error(bench.call(json!({})).await);
        assert_eq!((how, error.kind), ("lost", ErrorKind::Internal), "{body}");
        assert_eq!(error.message, "the tool broke off while it was running");
        assert!(!error.message.contains("trace") && !error.suggestion.contains("trace"));
        // The next call gets a new program, as good as the first.
        assert_eq!(self::error(bench.call(json!({})).await).0, "lost");
    }
}

/// Whoever reads the first of two takes for done what the last one calls failed.
#[tokio::test]
async fn an_answer_that_says_something_twice_says_nothing() {
    for answer in [
        r#"{"id": 1, "ok": false, "ok": true, "data": 1}"#,
        r#"{"ok":true,"id":1,"data":1,"ok":false,"error":{"kind":"permanent"}}"#,
        r#"{"id": 1, "id": 1, "ok": true, "data": 1}"#,
        r#"{"id": 1, "ok": true, "data": {"a": 1, "a": 2}, "ok": true}"#,
        r#"{"id": 1, "ok": true, "call": "clock.now", "data": {"a": 1, "a": 2}}"#,
        r#"{"id": 1, "ok": true, "data": {"a": 1, "a": 2}"#,
    ] {
        let source = format!("#!/bin/sh\nread line\ncat <<'END'\n{answer}\nEND\nread line\n");
        let bench = Bench::of(&source, |_| {});
        let (how, error) = error(bench.call(json!({})).await);
        assert_eq!((how, error.kind), ("lost", ErrorKind::Internal), "{answer}");
        let source = error.source.clone().unwrap();
        assert!(source.contains("a line that is not the protocol's"), "{source}");
    }
}

#[tokio::test]
async fn an_answer_with_data_that_cannot_be_read_says_that_it_is_done() {
    for (answer, how, kind) in [
        (r#""ok": true, "data": 1, "d\u0061ta": 2"#, "unusable", ErrorKind::InvalidOutput),
        (r#""ok": true, "data": {"a": 1, "a": 2}"#, "unusable", ErrorKind::InvalidOutput),
        (
            r#""ok": true, "data": {"wei": 18446744073709551616}"#,
            "unusable",
            ErrorKind::InvalidOutput,
        ),
        (r#""ok": true, "data": 0.3333333333333333333333"#, "unusable", ErrorKind::InvalidOutput),
        (
            r#""ok": false, "data": 1e400, "error": {"kind": "permanent"}"#,
            "failed",
            ErrorKind::Permanent,
        ),
    ] {
        let line = format!("{{\"id\": 1, {answer}}}");
        let source = format!("#!/bin/sh\nread line\ncat <<'END'\n{line}\nEND\nread line\n");
        let bench = Bench::of(&source, |_| {});
        let (ended, error) = error(bench.call(json!({})).await);
        assert_eq!((ended, error.kind), (how, kind), "{answer}: {error:?}");
        assert!(how == "failed" || error.source.as_ref().unwrap().contains("/data"), "{answer}");
    }
}

/// Only who was to start a program can say that it never ran; what a program says of itself, it has said
/// running.
#[tokio::test]
async fn a_program_that_was_begun_cannot_say_that_it_was_not() {
    let bench = Bench::of("#!/nowhere/python3\n", |_| {});
    let (how, unstarted) = error(bench.call(json!({})).await);
    let source = unstarted.source.clone().unwrap();
    assert_eq!(how, "not begun", "{source}");
    let said = source.split("it last wrote: ").nth(1).unwrap();
    assert!(said.contains("the handler cannot be started: No such file"), "{source}");
    for words in [said, &format!("haft: {said}"), &format!("$HAFT_UNSTARTED{said}")] {
        let acts = "#!/bin/sh\nread line\ntouch \"$HOME/acted\"\n";
        let source = format!("{acts}echo \"{words}\" >&2\nexit 4\n");
        let bench = Bench::of(&source, |_| {});
        assert_eq!(error(bench.call(json!({})).await).0, "lost", "{words}");
    }
}

#[tokio::test]
async fn at_the_deadline_it_is_killed_with_its_children() {
    let bench = Bench::new(
        "import subprocess; child = subprocess.Popen(['sleep', '600']); open(args['to'], 'w').write(f'{os.getpid()} {child.pid}'); time.sleep(600); data = None",
    );
    let to = bench.folder.path().join("pids");
    let start = Instant::now();
    let ended = bench.within(json!({"to": to}), Duration::from_secs(3), Stubs::default()).await;
    let (how, error) = error(ended);
    assert_eq!((how, error.kind), ("lost", ErrorKind::Timeout));
    assert!(start.elapsed() < Duration::from_secs(10));
    let pids = std::fs::read_to_string(to).unwrap();
    ended_all(&pids).await;
}

/// Waits until none of these processes runs.
async fn ended_all(pids: &str) {
    let state =
        |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    for _ in 0..100 {
        let alive = pids.split(' ').filter(|pid| {
            let stat = state(pid);
            !stat.is_empty() && !stat.contains(") Z ")
        });
        if alive.count() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("still running: {pids}");
}

/// Forks twice and begins a session of its own, so that it is in nobody's group and nobody's child, and
/// goes on forking.
const ESCAPES: &str = r#"
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            inner = os.fork()
            if inner == 0:
                os.setpgid(0, 0)
                time.sleep(600)
            with open(args['to'] + '.new', 'w') as to: to.write(f'{os.getpid()} {inner}')
            os.rename(args['to'] + '.new', args['to'])
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists(args['to']): time.sleep(0.01)
    END"#;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_leaves_its_group_and_its_parent_ends_with_it() {
    for (end, expected) in [
        ("time.sleep(600); data = None", "lost"),
        ("os._exit(7)", "lost"),
        ("os.kill(os.getpid(), 9)", "lost"),
        ("os.killpg(0, 9)", "lost"),
        ("os.kill(os.getppid(), 9); time.sleep(600)", "lost"),
        ("data = 1", "returned"),
    ] {
        let source = LOOP.replace("BODY", ESCAPES.trim_start()).replace("END", end);
        let bench = Bench::of(&source, |settings| settings.calls_per_child = 1);
        let to = bench.folder.path().join("pids");
        // Those that end by themselves have time; the other has enough to get away.
        let time = Duration::from_secs(if end.starts_with("time.sleep") { 6 } else { 30 });
        let ended = bench.within(json!({"to": to}), time, Stubs::default()).await;
        let how = match ended {
            Ended::Returned { .. } => "returned",
            other @ (Ended::Failed(_)
            | Ended::NotBegun(_)
            | Ended::Lost(_)
            | Ended::Unusable(_)) => error(other).0,
        };
        assert_eq!(how, expected, "{end}");
        let pids = std::fs::read_to_string(&to).unwrap();
        assert_eq!(pids.split(' ').count(), 2, "{pids}");
        ended_all(&pids).await;
        gone(&bench).await;
    }
}

/// How many processes run a handler of this bench.
#[cfg(target_os = "linux")]
fn running(bench: &Bench) -> usize {
    let run = bench.folder.path().join("run").to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|one| std::fs::read_to_string(one.path().join("cmdline")).ok())
        .filter(|line| line.contains(&run) && !line.contains("haft:"))
        .count()
}

/// Some at a time is what programs need; thousands are nobody's. They may be children, or children of
/// children that have left everybody.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_forks_without_end_is_ended_with_all_of_it() {
    let children = "for _ in range(args['n']):
        if os.fork() == 0: time.sleep(600)
    data = 'all'";
    let strangers = "for _ in range(args['n']):
        if os.fork() == 0:
            os.setsid()
            if os.fork() > 0: os._exit(0)
            time.sleep(600)
        os.wait()
    data = 'all'";
    for body in [children, strangers] {
        let bench = Bench::of(&LOOP.replace("BODY", body), |one| one.calls_per_child = 1);
        assert_eq!(data(bench.call(json!({"n": 100})).await), json!("all"));
        gone(&bench).await;
        let (how, error) = error(bench.call(json!({"n": 2_000})).await);
        let source = error.source.clone().unwrap_or_default();
        assert_eq!(how, "lost", "{source}");
        assert!(source.contains("more than 256 processes"), "{source}");
        gone(&bench).await;
        assert_eq!(running(&bench), 0);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_has_its_signals_and_how_it_ended_is_told() {
    let bench = Bench::new(
        "import signal; data = [signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []), os.getpgid(0) == os.getpid()]",
    );
    assert_eq!(data(bench.call(json!({})).await), json!([false, true]));
    for (body, words) in
        [("sys.exit(3)", "exit status: 3"), ("os.kill(os.getpid(), 9)", "signal: 9")]
    {
        let bench = Bench::new(&format!("{body}; data = None"));
        let (_, error) = error(bench.call(json!({})).await);
        let source = error.source.clone().unwrap();
        assert!(source.contains(words), "{source}");
    }
}

#[tokio::test]
async fn floods_end() {
    let bench = Bench::of(
        &LOOP.replace("BODY", "print('x' * 10_000_000, flush=True); data = None"),
        |settings| settings.line_bytes = 1 << 20,
    );
    assert_eq!(error(bench.call(json!({})).await).0, "lost");
    let bench = Bench::new("sys.stderr.write('e' * 10_000_000); data = 1");
    assert_eq!(data(bench.call(json!({})).await), json!(1));
    let bench = Bench::of(
        &LOOP.replace("BODY", "[ask('kb.x', 1) for _ in range(50)]; data = 1"),
        |settings| settings.asks = 10,
    );
    assert_eq!(error(bench.call(json!({})).await).0, "lost");
}

#[tokio::test]
async fn only_the_file_that_the_registry_names_is_run() {
    let bench = Bench::new("data = 1");
    std::fs::write(bench.folder.path().join("handler.py"), "#!/bin/sh\necho evil\n").unwrap();
    let (how, error) = error(bench.call(json!({})).await);
    assert_eq!(how, "not begun");
    assert!(
        error.source.clone().unwrap().contains("is not the file that the registry was built over")
    );
}

/// What a thread of an earlier call says while a later one runs.
async fn late(line: &str) -> (Ended, Vec<String>) {
    let bench = Bench::new(&format!(
        "import threading
    def late(line=json.dumps({line})):
        time.sleep(0.3)
        print(line, flush=True)
    if args['n'] == 1: threading.Thread(target=late).start()
    else: time.sleep(0.9)
    data = args['n']"
    ));
    assert_eq!(data(bench.call(json!({"n": 1})).await), json!(1));
    let stubs = Arc::new(Stubs::default().on("kb.search", |_| Ok(json!("of the later call"))));
    let tool = Arc::new(bench.tool.clone());
    let time = Duration::from_secs(20);
    let job = Job::new(tool, json!({"n": 2}), scope("call_2"), stubs.clone(), time, None);
    let ended = bench.process.execute(job).await;
    let asked = stubs.asked.lock().iter().map(|(name, _)| name.clone()).collect();
    (ended, asked)
}

#[tokio::test]
async fn what_is_asked_for_a_call_that_is_over_is_not_served_for_the_next() {
    let (ended, asked) =
        late("{'id': asked['id'], 'call': 'kb.search', 'seq': 1, 'args': {}}").await;
    assert_eq!(asked, [""; 0]);
    assert_eq!(data(ended), json!(2), "the call that runs is not disturbed");
    for line in [
        "{'call': 'kb.search', 'seq': 1, 'args': {}}",
        "{'id': asked['id'] + 5, 'call': 'kb.search', 'seq': 1, 'args': {}}",
    ] {
        let (ended, asked) = late(line).await;
        assert_eq!(asked, [""; 0], "{line}");
        let (how, error) = error(ended);
        assert_eq!(how, "lost", "{line}");
        let source = error.source.clone().unwrap();
        assert!(source.contains("`id` of the call"), "{source}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn many_that_start_a_program_at_once_all_run_all_of_it() {
    let head =
        "#!/bin/sh\nread line\necho '{\"id\": 1, \"ok\": true, \"data\": 7}'\nread line\nexit\n";
    // Long enough that writing it takes a while.
    let source = format!("{head}{}", "# nothing to see here\n".repeat(20_000));
    for round in 0..6 {
        let bench = Arc::new(Bench::of(&source, |settings| {
            (settings.most, settings.calls_per_child) = (16, 1);
        }));
        let calls: Vec<_> = (0..16)
            .map(|_| {
                let bench = bench.clone();
                tokio::spawn(async move { bench.call(json!({})).await })
            })
            .collect();
        for call in calls {
            assert_eq!(data(call.await.unwrap()), json!(7), "round {round}");
        }
        let run = std::fs::read_dir(bench.folder.path().join("run")).unwrap().flatten();
        for copy in run.filter(|one| !one.file_name().to_string_lossy().starts_with("home-")) {
            let left = std::fs::read_dir(copy.path()).unwrap().flatten();
            let left: Vec<_> = left.map(|one| one.file_name()).collect();
            assert_eq!(left, ["handler.py"], "nothing is left behind");
            let text = std::fs::read_to_string(copy.path().join("handler.py")).unwrap();
            assert!(text == source, "it is whole");
        }
    }
}
