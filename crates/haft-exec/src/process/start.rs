//! Starting a handler: the bytes that the registry names, in a process that has given up what it
//! does not need.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_core::Digest;
use haft_core::digest::hex;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::SigSet;

use super::Settings;
use super::home::Home;
use super::worker::Worker;
use crate::inherited;

/// The first argument of a program that is to become a handler.
pub(super) const ASKED: &str = "haft:process";

/// What is started first. Elsewhere than on Linux nobody can keep what gets away.
#[cfg(target_os = "linux")]
const FIRST: &str = super::keep::ASKED;
#[cfg(not(target_os = "linux"))]
const FIRST: &str = ASKED;

/// Names the word with which the starter says that the handler could not be started at all. It is drawn
/// anew for each start, and not among what the handler finds: a program that has begun cannot say it.
const SIGN: &str = "HAFT_UNSTARTED";

/// What a program finds in its environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How many files a handler may hold open, and how large one may become.
const FILES: u64 = 256;
const FILE_BYTES: u64 = 64 << 20;

/// A program that was forked while another was being written has its file open for writing until it
/// becomes itself, and as long as that is so nobody can run the file.
const BUSY_TRIES: u32 = 100;

pub(super) fn start(settings: &Settings, file: &str, digest: &Digest) -> Result<Worker, String> {
    let program = copied(settings, file, digest)?;
    let starter = match &settings.starter {
        Some(starter) => starter.clone(),
        None => std::env::current_exe().map_err(|why| why.to_string())?,
    };
    let home = Home::new(&settings.run)?;
    let sign = drawn()?;
    let mut command = tokio::process::Command::new(&starter);
    command
        .arg(FIRST)
        .arg(std::process::id().to_string())
        .arg(settings.memory_bytes.to_string())
        .arg(&program)
        .env_clear()
        .env("PATH", PATH)
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC0")
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env(SIGN, &sign)
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: what is meant for ours is not meant for it.
        .process_group(0);
    let child = command.spawn().map_err(|why| format!("{}: {why}", starter.display()))?;
    Worker::new(child, home, settings.line_bytes, sign)
}

/// A word that nobody can guess.
fn drawn() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| why.to_string())?;
    Ok(hex(&bytes))
}

/// A copy of the bytes that were checked: what is run cannot be exchanged in between.
fn copied(settings: &Settings, file: &str, digest: &Digest) -> Result<PathBuf, String> {
    let from = settings.toolset.join(file);
    let bytes = fs::read(&from).map_err(|why| format!("`{}`: {why}", from.display()))?;
    if Digest::of_bytes(&bytes) != *digest {
        return Err(format!(
            "`{file}` is not the file that the registry was built over; build it again"
        ));
    }
    let folder = settings.run.join(digest.hex());
    private_folder(&folder)?;
    let name =
        Path::new(file).file_name().map_or_else(|| OsString::from("handler"), OsString::from);
    let path = fs::canonicalize(&folder).map_err(|why| why.to_string())?.join(name);
    let same = fs::read(&path).is_ok_and(|there| Digest::of_bytes(&there) == *digest);
    if !same {
        put(&folder, &path, &bytes).map_err(|why| format!("`{}`: {why}", path.display()))?;
    }
    Ok(path)
}

/// Puts a file in its place whole. Several may do so at once, in this process and in others: each
/// writes beside it under a name that nobody else has.
fn put(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut unique = [0_u8; 8];
    getrandom::fill(&mut unique).map_err(|why| std::io::Error::other(why.to_string()))?;
    // The number as well: random ones alone may be the same, if hardly ever.
    let unique = u64::from_le_bytes(unique);
    let aside = folder.join(format!("new-{}-{number}-{unique:016x}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o700);
    let written = options.open(&aside).and_then(|mut to| to.write_all(bytes));
    let placed = written.and_then(|()| fs::rename(&aside, path));
    if placed.is_err() {
        // What is half written is of no use; where even that fails, it stays and is never run.
        let _ = fs::remove_file(&aside);
    }
    placed
}

pub(super) fn private_folder(path: &Path) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(|why| format!("`{}`: {why}", path.display()))
}

/// Becomes the handler and does not return, if this process was started for that.
pub(crate) fn become_if_asked() {
    #[cfg(target_os = "linux")]
    super::keep::keep_if_asked();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ASKED) {
        return;
    }
    let parent = arguments.next().and_then(number);
    let memory = arguments.next().and_then(number);
    let (Some(parent), Some(memory), Some(program)) = (parent, memory, arguments.next()) else {
        std::process::exit(2)
    };
    inherited::close();
    for (resource, most) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_AS, memory),
        (Resource::RLIMIT_NOFILE, FILES),
        (Resource::RLIMIT_FSIZE, FILE_BYTES),
    ] {
        if setrlimit(resource, most, most).is_err() {
            std::process::exit(3);
        }
    }
    #[cfg(target_os = "linux")]
    {
        use nix::sys::{prctl, signal::Signal};
        // A session of its own: nobody in it can join the group of its keeper or haft's, and signal that.
        if nix::unistd::setsid().is_err() {
            std::process::exit(3);
        }
        // Not having these is no reason not to run.
        let _ = prctl::set_pdeathsig(Signal::SIGKILL);
        let _ = prctl::set_no_new_privs();
        guard();
    }
    // Whoever was gone before it could be said that this ends with it sends no signal any more.
    if !is_child_of(parent) {
        std::process::exit(3);
    }
    // The keeper's own signals are blocked in it, and what is blocked is inherited.
    let _ = SigSet::empty().thread_set_mask();
    let sign = std::env::var(SIGN).unwrap_or_default();
    let become_it = || Command::new(&program).env_remove(SIGN).exec();
    // Returns only where it failed.
    let mut why = become_it();
    for _ in 0..BUSY_TRIES {
        if why.kind() != ErrorKind::ExecutableFileBusy {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        why = become_it();
    }
    let said = format!("{sign}the handler cannot be started: {why}\n");
    let _ = std::io::stderr().write_all(said.as_bytes());
    std::process::exit(4);
}

/// A number among the arguments.
pub(super) fn number<N: FromStr>(text: OsString) -> Option<N> {
    text.to_str()?.parse().ok()
}

/// Whether the process that started this one is still there.
pub(super) fn is_child_of(parent: i32) -> bool {
    nix::unistd::getppid().as_raw() == parent
}

/// Keeps the keeper and haft, which started it, from what is about to run. Where that cannot be done,
/// whoever kills its keeper is killed itself, and what it has started is not.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn guard() {
    let keeper = nix::unistd::getppid();
    let above = super::keep::parent(&Path::new("/proc").join(keeper.to_string()));
    let guarded: Vec<_> = [keeper].into_iter().chain(above.map(|(_, haft)| haft)).collect();
    let _ = super::shield::raise(&guarded);
}

#[cfg(all(target_os = "linux", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn guard() {}
