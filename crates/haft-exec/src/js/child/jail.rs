//! What a child gives up before it runs anything that is not ours.
//!
//! Every step that fails is written down and gone on from: the pool shows what holds on this
//! machine. What is refused here is a second wall; the first is that a realm has no way to ask.

use nix::sys::resource::{Resource, setrlimit};

use crate::inherited;
use crate::js::Isolation;

/// What the process may use beside its engines: messages, bytecode, and what engines are put back from.
const SLACK_BYTES: u64 = 64 << 20;
/// Allocators reserve address space that they never touch.
const ADDRESS_SPACE: u64 = 8 << 30;
/// A child lives for thousands of calls; whatever runs longer has lost its parent.
const CPU_SECONDS: u64 = 3600;

/// Before anything else: nothing of the parent's is left but the two pipes. `region` is how much memory
/// all engines share, of which one is there at a time: what is reserved for it counts whole against the
/// limit, used or not, so the limit is as close as it would be for one engine.
pub(super) fn enter(region: u64) -> Isolation {
    let mut isolation = Isolation::default();
    inherited::close();
    let data = reserved_bytes().saturating_add(region).saturating_add(SLACK_BYTES);
    let limits = [
        ("core", Resource::RLIMIT_CORE, 0),
        ("data", Resource::RLIMIT_DATA, data),
        ("address space", Resource::RLIMIT_AS, data.saturating_add(ADDRESS_SPACE)),
        ("cpu", Resource::RLIMIT_CPU, CPU_SECONDS),
        ("file size", Resource::RLIMIT_FSIZE, 0),
    ];
    isolation.limits = limit(&mut isolation.missing, &limits);
    own_process(&mut isolation.missing);
    isolation
}

/// Last, when everything is loaded: no more files, no more processes, no more system calls.
pub(super) fn seal(isolation: &mut Isolation) {
    let limits = [("processes", Resource::RLIMIT_NPROC, 0), ("files", Resource::RLIMIT_NOFILE, 3)];
    isolation.limits &= limit(&mut isolation.missing, &limits);
    match filter::install() {
        Ok(()) => isolation.system_calls = true,
        Err(why) => isolation.missing.push(format!("the system call filter: {why}")),
    }
}

/// What the process has reserved already: some allocators take a gigabyte ahead and touch little.
fn reserved_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

fn limit(missing: &mut Vec<String>, limits: &[(&str, Resource, u64)]) -> bool {
    let mut all = true;
    for (name, resource, most) in limits {
        if let Err(why) = setrlimit(*resource, *most, *most) {
            missing.push(format!("the limit on {name}: {why}"));
            all = false;
        }
    }
    all
}

#[cfg(target_os = "linux")]
fn own_process(missing: &mut Vec<String>) {
    use nix::sys::{prctl, signal::Signal};

    let steps = [
        ("dying with the parent", prctl::set_pdeathsig(Signal::SIGKILL)),
        ("no new privileges", prctl::set_no_new_privs()),
        ("no inspection by others", prctl::set_dumpable(false)),
    ];
    for (name, step) in steps {
        if let Err(why) = step {
            missing.push(format!("{name}: {why}"));
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn own_process(missing: &mut Vec<String>) {
    missing.push("dying with the parent: Linux only".to_owned());
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod filter {
    use seccompiler::{Error, SeccompAction};

    use crate::filter::{Condition, Len, Op, Rule, Rules, apply, refuse};

    /// What memory, time and the end of a process need. Pages of engines are closed and opened, which takes
    /// a signal and the way back from it (`haft-rewind`).
    const ALWAYS: &[i64] = &[
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_clock_gettime,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_sched_yield,
        libc::SYS_restart_syscall,
    ];

    /// What allocators ask in passing and can do without; no is answer enough. The last two are
    /// what a filter is put up with: after this one there is no other.
    const REFUSED: &[i64] = &[
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access,
        libc::SYS_faccessat,
        libc::SYS_getcpu,
        libc::SYS_getrusage,
        libc::SYS_mbind,
        libc::SYS_sysinfo,
        libc::SYS_prctl,
        libc::SYS_seccomp,
    ];

    const STDIN: u64 = 0;
    const STDOUT: u64 = 1;

    /// Two filters, of which the kernel takes the harder answer: one kills, one says no.
    pub(super) fn install() -> Result<(), Error> {
        apply(rules()?, SeccompAction::KillProcess, SeccompAction::Allow)?;
        refuse(REFUSED.iter().map(|call| (*call, Vec::new())).collect())
    }

    fn rules() -> Result<Rules, Error> {
        let mut rules: Rules =
            ALWAYS.iter().chain(REFUSED).map(|call| (*call, Vec::new())).collect();
        let only = |argument, op, value| -> Result<Vec<Rule>, Error> {
            let condition = Condition::new(argument, Len::Dword, op, value)?;
            Ok(vec![Rule::new(vec![condition])?])
        };
        rules.insert(libc::SYS_read, only(0, Op::Eq, STDIN)?);
        rules.insert(libc::SYS_write, only(0, Op::Eq, STDOUT)?);
        // Memory, never code.
        let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
        rules.insert(libc::SYS_mmap, only(2, Op::MaskedEq(executable), 0)?);
        rules.insert(libc::SYS_mprotect, only(2, Op::MaskedEq(executable), 0)?);
        Ok(rules)
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod filter {
    pub(super) fn install() -> Result<(), &'static str> {
        Err("there is none for this machine")
    }
}

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::io;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, ExitStatus, Stdio, exit};

    use super::*;

    const TRY: &str = "HAFT_JAIL_TRY";
    const ALONE: &str = "js::child::jail::tests::a_sealed_process_is_killed_for_what_it_tries";

    /// What a process tries after it was sealed.
    fn attempt(what: &str) {
        match what {
            "memory" => drop(std::hint::black_box(vec![1_u8; 8 << 20])),
            "file" => drop(std::fs::File::open("/etc/hostname")),
            "directory" => drop(std::fs::create_dir("/tmp/haft-jail")),
            "socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
            "process" => drop(Command::new("/bin/true").status()),
            "thread" => drop(std::thread::Builder::new().spawn(|| ())),
            "another pipe" => drop(nix::unistd::write(std::io::stderr(), b"out")),
            "signal" => drop(nix::sys::signal::kill(nix::unistd::getppid(), None)),
            _ => {}
        }
    }

    /// This test again, alone in a process of its own, which enters, seals and tries.
    fn sealed(what: &str) -> io::Result<ExitStatus> {
        Command::new(std::env::current_exe()?)
            .args(["--exact", ALONE, "--nocapture"])
            .env(TRY, what)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    }

    #[test]
    fn a_sealed_process_is_killed_for_what_it_tries() {
        if let Ok(what) = std::env::var(TRY) {
            let mut isolation = enter(64 << 20);
            seal(&mut isolation);
            if !isolation.system_calls {
                exit(77);
            }
            attempt(&what);
            exit(0);
        }
        let control = sealed("memory").unwrap();
        if control.code() == Some(77) {
            return; // This machine has no filters; the pool says so, too.
        }
        assert_eq!(control.code(), Some(0), "{control}");
        for what in ["file", "directory", "socket", "process", "thread", "another pipe", "signal"] {
            let status = sealed(what).unwrap();
            assert_eq!(status.signal(), Some(libc::SIGSYS), "{what}: {status}");
        }
    }
}
