//! `handler.js` in child processes that can be killed.
//!
//! One native call of the engine (`indexOf` on a long text, say) can hold a thread for a minute,
//! whatever its interrupt handler says. So handlers run in children of this program: confined to
//! two pipes, with a memory limit, killed at the deadline, each call in an engine as it was made.
//!
//! A program that runs handlers calls [`serve_if_asked`] first thing in `main`: its children are
//! the program itself, started anew. One that cannot names another program in [`Settings`].
//!
//! What a handler finds beside the language: `args`; `context` with `mode`, `session`, `tool`,
//! `callId` and the capabilities of its contract; and `ToolError` from `haft`. A capability's
//! method takes JSON and gives a promise. What it was given arrives at the host as it is; no
//! argument arrives as `null`, several arrive as a list. There is no clock (`Date.now()` and
//! `new Date()` throw, `new Date(text)` works in UTC), and `Math.random()` gives the same numbers
//! in every attempt of one call.

mod answer;
mod child;
mod frame;
mod pool;
mod talk;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_core::Digest;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Ended, Execute, Job};
use haft_core::registry::{Implementation, Tool};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

pub(crate) use self::answer::{Speaker, answered};
use self::pool::{Lease, Pool};
use self::talk::{Broken, Said};
use crate::depth::Depths;
use crate::end;

/// The first argument of a program that is to be a child.
const ASKED: &str = "haft:sandbox";

/// The engine stops itself at the deadline; what it cannot stop is killed this much later.
const GRACE: Duration = Duration::from_millis(15);

/// No handler runs longer, whatever a contract says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Serves a pool and does not return, if this process was started for that; otherwise does nothing.
///
/// To be called first thing in `main`, before threads are started and files are opened.
pub fn serve_if_asked() {
    crate::process::become_if_asked();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == ASKED) {
        let memory = arguments.next().and_then(|text| text.to_str()?.parse().ok());
        child::serve(memory.unwrap_or(Settings::default().memory_bytes));
    }
}

/// How handlers are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The program that the children run; this one where absent.
    pub program: Option<PathBuf>,
    /// How many children are started at once and kept ready.
    pub warm: usize,
    /// How many there are at most for calls that no tool made, and for those that tools made as many again at each
    /// depth. A child whose handler waits for a capability is busy.
    pub most: usize,
    /// A child is replaced after this many calls.
    pub calls_per_child: u64,
    /// How much memory a handler may use.
    pub memory_bytes: u64,
    /// The longest answer of a tool whose contract allows less or does not say.
    pub answer_bytes: u64,
    /// How often one call may use capabilities.
    pub asks: u64,
    /// How much that may carry in all, to the host.
    pub ask_bytes: u64,
    /// The longest answer of a capability.
    pub told_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            program: None,
            warm: cores,
            most: cores * 4,
            calls_per_child: 10_000,
            memory_bytes: 64 << 20,
            answer_bytes: 1 << 20,
            asks: 1_000,
            ask_bytes: 4 << 20,
            told_bytes: 4 << 20,
        }
    }
}

/// What confines the children on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// Only the system calls that reading, writing and memory need; any other kills the child.
    pub system_calls: bool,
    /// Memory, processes, files, processor time and core dumps are limited.
    pub limits: bool,
    /// What could not be had, and why.
    pub missing: Vec<String>,
}

/// Runs `handler.js`.
pub struct Js {
    pools: Depths<Arc<Pool>>,
}

impl Js {
    /// Starts the warm children in the background.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { pools: Depths::new(Pool::start(settings)) }
    }

    /// Waits for a child and says what confines it.
    ///
    /// # Errors
    ///
    /// Why no child could be started.
    pub async fn isolation(&self) -> Result<Isolation, ToolError> {
        let pool = self.pools.outermost();
        drop(pool.take(None).await.map_err(cannot_start)?);
        Ok(pool.isolation())
    }
}

impl Execute for Js {
    fn can_run(&self, tool: &Tool) -> bool {
        match &tool.handler {
            Implementation::Js { .. } => true,
            Implementation::Wasm { .. }
            | Implementation::Process { .. }
            | Implementation::Native
            | Implementation::Gateway
            | Implementation::Unbound => false,
        }
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(async move {
            let end = end::of(&job, LONGEST);
            let Implementation::Js { digest, .. } = &job.tool.handler else {
                return Ended::NotBegun(not_js(&job));
            };
            let pool = self.pool(&job);
            loop {
                let lease = match lease(&pool, digest, end).await {
                    Ok(lease) => lease,
                    Err(why) => return Ended::NotBegun(why),
                };
                if let Some(ended) = run(lease, &job, pool.settings(), end).await {
                    return ended;
                }
            }
        })
    }
}

impl Js {
    /// The children for calls as deep as this one. Most tools call no others, so those for nested calls
    /// are started when they are needed.
    fn pool(&self, job: &Job) -> Arc<Pool> {
        let settings = self.pools.outermost().settings();
        self.pools.of(job, || Pool::start(Settings { warm: 0, ..settings.clone() }))
    }
}

/// A child, until `end` at the latest. No timer is made where none is waited for.
async fn lease(pool: &Arc<Pool>, digest: &Digest, end: Instant) -> Result<Lease, ToolError> {
    if let Some(lease) = pool.take_idle(Some(digest)) {
        return Ok(lease);
    }
    match tokio::time::timeout_at(end, pool.take(Some(digest))).await {
        Ok(taken) => taken.map_err(cannot_start),
        Err(_) => Err(all_busy()),
    }
}

/// Runs a job in a child; nothing comes of it where the child was gone before it began.
/// Dropping this kills the child: nothing keeps running unseen.
async fn run(mut lease: Lease, job: &Job, settings: &Settings, end: Instant) -> Option<Ended> {
    // Before the child is said to know the source.
    if end::is_past(end) {
        return Some(Ended::NotBegun(all_busy()));
    }
    if let Some(why) = job.host.withdrawn() {
        return Some(Ended::NotBegun(why));
    }
    let budget = end.saturating_duration_since(Instant::now());
    let call = match talk::call(lease.worker()?, job, budget, settings) {
        Ok(call) => call,
        Err(error) => return Some(Ended::NotBegun(error)),
    };
    match talk::hold(lease.begin()?, call, job, end + GRACE, settings.told_bytes).await {
        Ok(Said { end, json, ready }) => {
            lease.back(end, ready);
            Some(answer::read(end, &json, job))
        }
        Err(Broken::Unsent) => None,
        Err(Broken::Lost(why)) => Some(Ended::Lost(
            ToolError::new(ErrorKind::Internal, "the tool broke off while it was running")
                .caused_by(why),
        )),
        Err(Broken::Late) => Some(Ended::Lost(answer::timed_out(job))),
        Err(Broken::Busy) => Some(Ended::NotBegun(all_busy())),
    }
}

fn not_js(job: &Job) -> ToolError {
    let message = format!("`{}` is not written in JavaScript", job.tool.id);
    ToolError::new(ErrorKind::Internal, message)
}

fn cannot_start(why: String) -> ToolError {
    ToolError::new(ErrorKind::Internal, "the sandbox for handlers cannot be started").caused_by(why)
}

fn all_busy() -> ToolError {
    ToolError::new(ErrorKind::Timeout, "every sandbox was busy until the deadline")
        .suggest("nothing was done; try again later")
}
