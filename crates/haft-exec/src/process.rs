//! Handlers that are programs: Python, say, or anything that reads and writes lines of JSON.
//!
//! A program is started once and asked many times. It gets one line per call and answers with one
//! line; while it works it may ask for the capabilities of its contract, line by line. The protocol
//! is in `docs/process-tools.md`.
//!
//! What is run is what the registry was sealed over: the file is read, held against its digest, and
//! a copy of those bytes is started. Its environment is empty but for what programs need to start,
//! its resources are limited, and at the deadline it is killed with whatever it has started. It serves
//! one tenant, and its folder goes with it. Unlike `handler.js` it is not shut in: it can reach what
//! its user can.

mod home;
#[cfg(target_os = "linux")]
mod keep;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod shield;
mod start;
mod talk;
mod worker;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_core::Digest;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Ended, Execute, Job};
use haft_core::registry::{Implementation, Tool};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::worker::Worker;
use crate::depth::Depths;
use crate::end;

pub(crate) use start::become_if_asked;

/// No handler runs longer, whatever a contract says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How programs are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The toolset, which handler files are relative to.
    pub toolset: PathBuf,
    /// A folder of our own, for the copies that are run.
    pub run: PathBuf,
    /// The program that limits itself and becomes the handler; this one where absent.
    pub starter: Option<PathBuf>,
    /// How many programs run at most for calls that no tool made, and for those that tools made as many again at
    /// each depth.
    pub most: usize,
    /// How many that are done are kept ready, of each handler and tenant. Of all together no more than
    /// run at most for calls that no tool made.
    pub warm: usize,
    /// A program is replaced after this many calls.
    pub calls_per_child: u64,
    /// How much address space a program may use.
    pub memory_bytes: u64,
    /// The longest line that a program may write.
    pub line_bytes: usize,
    /// How often one call may use capabilities.
    pub asks: u64,
}

impl Settings {
    /// The usual numbers for a toolset.
    #[must_use]
    pub fn new(toolset: PathBuf, run: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            toolset,
            run,
            starter: None,
            most: cores * 4,
            warm: cores,
            calls_per_child: 1_000,
            memory_bytes: 2 << 30,
            line_bytes: 4 << 20,
            asks: 1_000,
        }
    }
}

/// Runs handlers that are programs.
pub struct Process {
    settings: Settings,
    places: Depths<Arc<Semaphore>>,
    /// Those that are ready, the one that has waited longest first.
    idle: Mutex<VecDeque<(Of, Worker)>>,
}

/// Whom a program serves: what one tenant left in it, no other finds.
#[derive(Clone, PartialEq, Eq)]
struct Of {
    tenant: Arc<str>,
    digest: Digest,
}

impl Process {
    /// Starts nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        home::sweep(&settings.run);
        let places = Depths::new(places(&settings));
        Self { settings, places, idle: Mutex::default() }
    }

    async fn run(&self, job: &Job, end: Instant) -> Ended {
        let Implementation::Process { file, digest } = &job.tool.handler else {
            let message = format!("`{}` is not a program", job.tool.id);
            return Ended::NotBegun(ToolError::new(ErrorKind::Internal, message));
        };
        let places = self.places.of(job, || places(&self.settings));
        let Ok(Ok(_place)) = tokio::time::timeout_at(end, places.acquire()).await else {
            return too_late();
        };
        let of = Of { tenant: job.scope.caller.tenant.clone(), digest: digest.clone() };
        let mut worker = match self.ready(&of) {
            Some(worker) => worker,
            None => match start::start(&self.settings, file, digest) {
                Ok(worker) => worker,
                Err(why) => return Ended::NotBegun(cannot_start(why)),
            },
        };
        let talk = talk::hold(&mut worker, job, end, &self.settings);
        match tokio::time::timeout_at(end, talk).await {
            Ok(Ok(answer)) => {
                // One that was late with its answer is being killed.
                if !end::is_past(end) && worker.rests().await {
                    self.back(of, worker);
                }
                answer
            }
            // Dropping a worker kills it, and whatever it has started.
            Ok(Err(why)) if !end::is_past(end) => broke_off(&worker, why),
            Ok(Err(_)) | Err(_) => Ended::Lost(ToolError::new(
                ErrorKind::Timeout,
                format!("the tool did not finish within {} ms", job.deadline.as_millis()),
            )),
        }
    }

    /// One that has served the same tenant and still lives.
    fn ready(&self, of: &Of) -> Option<Worker> {
        let mut idle = self.idle.lock();
        while let Some(at) = idle.iter().rposition(|(whose, _)| whose == of) {
            let (_, mut worker) = idle.remove(at)?;
            if worker.is_alive() {
                return Some(worker);
            }
        }
        None
    }

    fn back(&self, of: Of, worker: Worker) {
        if worker.calls >= self.settings.calls_per_child || !worker.is_quiet() {
            return;
        }
        let mut idle = self.idle.lock();
        if idle.iter().filter(|(whose, _)| *whose == of).count() < self.settings.warm {
            idle.push_back((of, worker));
        }
        // However many tenants there are.
        if idle.len() > self.settings.most.max(1) {
            idle.pop_front();
        }
    }
}

impl Execute for Process {
    fn can_run(&self, tool: &Tool) -> bool {
        matches!(tool.handler, Implementation::Process { .. })
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(async move {
            let end = end::of(&job, LONGEST);
            self.run(&job, end).await
        })
    }
}

fn places(settings: &Settings) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(settings.most.max(1)))
}

/// The end of a call for which there was no program in time.
fn too_late() -> Ended {
    let message = "every program was busy until the deadline";
    Ended::NotBegun(ToolError::new(ErrorKind::Timeout, message))
}

fn cannot_start(why: String) -> ToolError {
    ToolError::new(ErrorKind::Internal, "the tool's program cannot be started").caused_by(why)
}

/// What a program wrote to standard error is for the log alone.
fn broke_off(worker: &Worker, why: String) -> Ended {
    let last = worker.last_words();
    let cause = if last.is_empty() { why } else { format!("{why}; it last wrote: {last}") };
    let message = "the tool broke off while it was running";
    let error = ToolError::new(ErrorKind::Internal, message).caused_by(cause);
    if worker.is_unstarted() { Ended::NotBegun(error) } else { Ended::Lost(error) }
}
