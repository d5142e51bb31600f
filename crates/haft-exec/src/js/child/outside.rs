//! What an engine shares with the child around it: the pipes, the deadline, and what its handler asked
//! for. Only one engine runs at a time, so there is one for all of them.

use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rquickjs::{Ctx, Error, Function};

use super::wire::Wire;
use crate::js::frame::{Call, FromChild, ToChild};

pub(super) struct Outside {
    wire: Wire,
    deadline: Mutex<Option<Instant>>,
    asked: Mutex<Asked>,
    /// What the handler may know about its call, as JSON.
    about: Mutex<String>,
}

/// What the handler asks for, and how often and how much it may.
#[derive(Default)]
struct Asked {
    asked: u64,
    carried: u64,
    open: u64,
    asks: u64,
    ask_bytes: u64,
}

impl Outside {
    pub(super) fn new(wire: Wire) -> Arc<Self> {
        let (deadline, asked, about) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { wire, deadline, asked, about })
    }

    /// A call begins, and nothing of the last one counts.
    pub(super) fn begin(&self, call: &Call) {
        self.end_in(Duration::from_millis(call.budget_ms));
        self.about.lock().clone_from(&call.context);
        *self.asked.lock() =
            Asked { asks: call.asks, ask_bytes: call.ask_bytes, ..Asked::default() };
    }

    /// A call has ended: what runs between calls, a module that is loaded ahead, learns nothing about it.
    pub(super) fn forget(&self) {
        self.about.lock().clear();
    }

    /// Whatever runs is stopped in so much time.
    pub(super) fn end_in(&self, limit: Duration) {
        *self.deadline.lock() = Instant::now().checked_add(limit);
    }

    /// Nothing that is ours to run is stopped.
    pub(super) fn end_never(&self) {
        *self.deadline.lock() = None;
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.lock().is_some_and(|at| Instant::now() >= at)
    }

    /// Sends a question and gives its number, or a negative one that says why not.
    fn ask(&self, capability: String, method: String, json: String) -> f64 {
        let mut asked = self.asked.lock();
        let carries = (capability.len() + method.len() + json.len()) as u64;
        if asked.asked >= asked.asks {
            return -1.0;
        }
        if asked.carried.saturating_add(carries) > asked.ask_bytes {
            return -2.0;
        }
        if capability != "callTool" && !is_method(&method) {
            return -3.0;
        }
        asked.asked += 1;
        asked.carried += carries;
        asked.open += 1;
        let id = asked.asked;
        if self.wire.send(&FromChild::Ask { id, capability, method, json }).is_err() {
            exit(0);
        }
        id as f64
    }

    /// Waits for the next answer: its number, whether it is one, and what it says. None comes where
    /// nothing was asked for.
    pub(super) fn answer(&self) -> Option<(u64, bool, String)> {
        let mut asked = self.asked.lock();
        if asked.open == 0 {
            return None;
        }
        let Ok(ToChild::Answer { id, ok, json }) = self.wire.receive() else { return None };
        asked.open -= 1;
        Some((id, ok, json))
    }
}

/// The function through which the handler asks for something. It belongs to the engine for good: made in
/// a call, what of it lies outside of the engine would be left over each time.
pub(super) fn sender<'js>(ctx: &Ctx<'js>, outside: Arc<Outside>) -> Result<Function<'js>, Error> {
    Function::new(ctx.clone(), move |capability: String, method: String, json: String| -> f64 {
        outside.ask(capability, method, json)
    })
}

/// The function that says what the handler may know about its call. Most never ask, and their engine is not
/// given it.
pub(super) fn teller<'js>(ctx: &Ctx<'js>, outside: Arc<Outside>) -> Result<Function<'js>, Error> {
    Function::new(ctx.clone(), move || -> String { outside.about.lock().clone() })
}

fn is_method(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}
