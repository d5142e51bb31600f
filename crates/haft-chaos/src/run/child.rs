//! The processes. They end with the driver: dropped, they are killed; their input ends with it; and
//! the kernel kills a victim whose driver is gone.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::victim::Sabotage;
use crate::words::{Outcome, Request};

/// Where victims live.
pub(super) struct Stage {
    pub(super) db: PathBuf,
    pub(super) sink: u16,
    pub(super) closed: u16,
    pub(super) sabotage: Option<Sabotage>,
}

fn command(name: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where am I")?);
    command.arg(name).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command.env_remove("HAFT_FAIL");
    Ok(command)
}

/// The sink, until the end of the run.
pub(super) struct Sink {
    child: Child,
    pub(super) port: u16,
}

impl Sink {
    pub(super) async fn start(log: &Path) -> anyhow::Result<Self> {
        let mut child = command("sink")?.arg("--log").arg(log).spawn().context("no sink")?;
        let out = child.stdout.take().context("the sink has no output")?;
        let port = BufReader::new(out).lines().next_line().await?.context("the sink ended")?;
        Ok(Self { port: port.parse()?, child })
    }

    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait().await?;
        anyhow::ensure!(status.success(), "the sink ended with {status}");
        Ok(())
    }
}

/// How long tools may run and how long they are waited for, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) deadline: u64,
    pub(super) grace: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { deadline: 1_000, grace: 1_000 }
    }
}

/// One victim.
pub(super) struct Victim {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Victim {
    /// Starts one, with a failpoint that is armed: `after_claim:kill:3`.
    pub(super) fn start(stage: &Stage, fail: Option<&str>, times: Times) -> anyhow::Result<Self> {
        let mut command = command("victim")?;
        command.arg("--db").arg(&stage.db);
        command.arg("--sink").arg(stage.sink.to_string());
        command.arg("--closed").arg(stage.closed.to_string());
        command.arg("--deadline-ms").arg(times.deadline.to_string());
        command.arg("--grace-ms").arg(times.grace.to_string());
        if let Some(sabotage) = stage.sabotage {
            command.args(["--sabotage", sabotage.as_str()]);
        }
        if let Some(fail) = fail {
            command.env("HAFT_FAIL", fail);
        }
        let mut child = command.spawn().context("no victim")?;
        let input = child.stdin.take();
        let out = child.stdout.take().context("the victim has no output")?;
        Ok(Self { child, input, lines: BufReader::new(out).lines() })
    }

    /// Sends requests. A victim that is gone does not hear them, which its outcomes will show.
    pub(super) async fn send(&mut self, requests: &[Request]) {
        let text: String = requests.iter().map(|request| format!("{request}\n")).collect();
        if let Some(input) = &mut self.input {
            let _ = input.write_all(text.as_bytes()).await;
        }
    }

    /// The next outcome; none when the victim is gone.
    pub(super) async fn outcome(&mut self) -> Option<Outcome> {
        let line = self.lines.next_line().await.ok()??;
        Outcome::parse(&line)
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Whether a signal has stopped it.
    pub(super) fn is_stopped(&self) -> bool {
        let Some(pid) = self.child.id() else { return false };
        // `pid (name) state …`, and the name may hold anything.
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    }

    /// Lets it end by itself: its input is over.
    pub(super) fn let_go(&mut self) {
        self.input = None;
    }

    pub(super) async fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }
}
