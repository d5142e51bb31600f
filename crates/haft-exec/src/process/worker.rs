//! One program that runs: its pipes, and its end.

#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::home::Home;
#[cfg(target_os = "linux")]
use super::keep::{MOST, TOO_MANY};
#[cfg(target_os = "linux")]
use super::relay::{REST, until};
use crate::said::visible;

/// Elsewhere nobody stands between, and haft alone ends a program.
#[cfg(not(target_os = "linux"))]
const REST: &str = "";
#[cfg(not(target_os = "linux"))]
fn until(_: Instant) -> &'static str {
    ""
}

/// How long its keeper may take to end what it started.
const SLOWEST: Duration = Duration::from_secs(10);

/// How long its keeper may take to read a line.
const PROMPT: Duration = Duration::from_millis(100);

/// What was written to standard error last, and whether more came before.
#[derive(Default)]
struct Words {
    last: Vec<u8>,
    cut: bool,
}

impl Words {
    fn hear(&mut self, more: &[u8]) {
        self.last.extend_from_slice(more);
        let spare = self.last.len().saturating_sub(WORDS);
        self.last.drain(..spare);
        self.cut |= spare > 0;
    }

    /// Without a line that was cut: it may hold the rest of a secret, by which nobody would know it.
    fn whole(&self) -> &[u8] {
        let first = |byte: &u8| *byte == b'\n';
        let from = match self.cut {
            true => self.last.iter().position(first).unwrap_or(self.last.len()),
            false => 0,
        };
        self.last.get(from..).unwrap_or_default()
    }
}

/// The most of standard error that is kept.
const WORDS: usize = 4 << 10;

pub(super) struct Worker {
    child: Option<Child>,
    home: Option<Home>,
    group: Option<Pid>,
    to: ChildStdin,
    from: ChildStdout,
    /// What was read and not yet taken.
    inbox: Vec<u8>,
    most: usize,
    words: Arc<Mutex<Words>>,
    /// What its starter says first where it could not be started.
    sign: String,
    /// How many calls it has served.
    pub(super) calls: u64,
}

impl Worker {
    pub(super) fn new(
        mut child: Child,
        home: Home,
        most: usize,
        sign: String,
    ) -> Result<Self, String> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(errors)) = pipes else {
            return Err("the program has no pipes".to_owned());
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let words = Arc::new(Mutex::new(Words::default()));
        tokio::spawn(listen(errors, words.clone()));
        let (child, home) = (Some(child), Some(home));
        let inbox = Vec::new();
        Ok(Self { child, home, group, to, from, inbox, most, words, sign, calls: 0 })
    }

    pub(super) fn is_alive(&mut self) -> bool {
        let alive = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        if !alive {
            self.kill();
        }
        alive
    }

    /// Whether it said nothing after its answer.
    pub(super) fn is_quiet(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Begins a call with its first line. Its keeper learns first until when it runs.
    pub(super) async fn begin(&mut self, line: &str, end: Instant) -> Result<(), String> {
        self.write(&format!("{}{line}", until(end))).await
    }

    /// Has its keeper keep it for the next call, and says whether that can be.
    pub(super) async fn rests(&mut self) -> bool {
        if cfg!(not(target_os = "linux")) {
            return true;
        }
        // Where a program has not read what it was told, there is no place for another line.
        let told = tokio::time::timeout(PROMPT, self.write(REST)).await;
        matches!(told, Ok(Ok(())))
    }

    pub(super) async fn write(&mut self, line: &str) -> Result<(), String> {
        let text = format!("{line}\n");
        let written = async {
            self.to.write_all(text.as_bytes()).await?;
            self.to.flush().await
        };
        written.await.map_err(|why| format!("it does not read: {why}"))
    }

    /// The next line, without its end.
    pub(super) async fn read(&mut self) -> Result<Vec<u8>, String> {
        let mut buffer = [0; 16 << 10];
        let mut seen = 0;
        loop {
            let new = self.inbox.get(seen..).unwrap_or_default();
            if let Some(at) = new.iter().position(|byte| *byte == b'\n') {
                let rest = self.inbox.split_off(seen + at + 1);
                let mut line = std::mem::replace(&mut self.inbox, rest);
                line.pop();
                return Ok(line);
            }
            seen = self.inbox.len();
            if seen > self.most {
                return Err(format!("it wrote a line of more than {} bytes", self.most));
            }
            match self.from.read(&mut buffer).await {
                Ok(0) => return Err(self.gone().await),
                Ok(count) => self.inbox.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(why) => return Err(format!("it cannot be read: {why}")),
            }
        }
    }

    async fn gone(&mut self) -> String {
        let soon = Duration::from_millis(500);
        let waited = async {
            match &mut self.child {
                Some(child) => child.wait().await.ok(),
                None => None,
            }
        };
        let ended = tokio::time::timeout(soon, waited).await;
        // What it left behind goes with it, at once: its number is free for others now.
        self.kill();
        match ended {
            #[cfg(target_os = "linux")]
            Ok(Some(status)) if status.signal() == Some(TOO_MANY as i32) => {
                format!("it was ended: it had more than {MOST} processes at a time")
            }
            Ok(Some(status)) => format!("it ended with {status}"),
            Ok(None) | Err(_) => "it closed its output".to_owned(),
        }
    }

    /// Whether the program was never begun, as only its starter can say.
    pub(super) fn is_unstarted(&self) -> bool {
        self.words.lock().last.starts_with(self.sign.as_bytes())
    }

    /// The end of what it wrote to standard error.
    pub(super) fn last_words(&self) -> String {
        let words = self.words.lock();
        let whole = words.whole();
        let said = whole.strip_prefix(self.sign.as_bytes()).unwrap_or(whole);
        visible(String::from_utf8_lossy(said).trim())
    }
}

impl Worker {
    /// Has it ended with everything that it has started, once.
    fn kill(&mut self) {
        let Some(group) = self.group.take() else { return };
        let lives = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        // Whoever is gone already cannot be killed.
        let _ = match (lives, cfg!(target_os = "linux")) {
            (true, true) => kill(group, Signal::SIGTERM),
            // Its keeper has done that. Where somebody has killed the keeper, the number may be another's.
            (false, true) => Ok(()),
            (_, false) => killpg(group, Signal::SIGKILL),
        };
    }
}

impl Drop for Worker {
    /// Its folder goes when it is really gone: until then it may write into it.
    fn drop(&mut self) {
        self.kill();
        let (child, home) = (self.child.take(), self.home.take());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Some(mut child) = child
                && tokio::time::timeout(SLOWEST, child.wait()).await.is_err()
            {
                let _ = child.kill().await;
            }
            let _ = tokio::task::spawn_blocking(move || drop(home)).await;
        });
    }
}

/// Reads standard error to its end, so that nobody waits for it, and keeps the last of it.
async fn listen(mut errors: ChildStderr, words: Arc<Mutex<Words>>) {
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        words.lock().hear(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_standard_error_begins_with_a_whole_line() {
        let mut words = Words::default();
        words.hear(b"first\nsecond\n");
        assert_eq!(words.whole(), b"first\nsecond\n");
        // However it comes, no part of a line is shown whose beginning is gone.
        for more in [&[b'x'; WORDS][..], b"canary", b"-number", &[b'y'; WORDS], b"-end"] {
            words.hear(more);
            assert_eq!(words.whole(), b"");
            assert_eq!(words.last.len(), WORDS);
        }
        words.hear(b"\nlast\n");
        assert_eq!(words.whole(), b"\nlast\n");
    }
}
