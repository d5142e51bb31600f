//! The engines of a child: one in which nothing but the prelude has run, for any handler, and for the
//! handlers that were called last one each, in which their module is loaded already. After a call an
//! engine is put back as it was made, so every call finds it as if there had been no other.
//!
//! A module is loaded ahead only after a call of it has shown that this is quick, and its engine is
//! used for no other handler. It has seen neither arguments nor seed nor capability.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use haft_rewind::{Engines, Id};

use super::compile::{Handler, Library};
use super::make::{NotMade, Parts};
use super::outside::Outside;
use super::reach::Reach;
use super::realm::{NULL, Ran, Realm};
use crate::js::frame::{Call, End};

/// How many handlers have an engine of their own. Most take a fifth of a megabyte.
const HANDLERS: usize = 32;
/// A module that takes longer is loaded when it is called.
const QUICK: Duration = Duration::from_millis(2);
/// A larger engine is not kept: all of it would be copied after each of its first calls. Where that
/// begins to cost more than loading the module was not measured.
const LIGHT_BYTES: usize = 1 << 20;

/// How much memory the engines share, for so much that a handler may use: enough more that it meets its
/// own limit first, and not what lies unused between blocks.
pub(super) fn region_bytes(memory: u64) -> u64 {
    memory.saturating_add(memory / 2).saturating_add(1 << 20)
}

/// How much the copies of engines may take beside that.
pub(super) const IMAGE_BYTES: u64 = (HANDLERS * LIGHT_BYTES) as u64;

pub(super) struct Stock {
    library: Library,
    memory: usize,
    outside: Arc<Outside>,
    engines: Engines,
    bare: Id,
    /// The handlers, last called first.
    recent: VecDeque<Shelf>,
}

struct Shelf {
    handler: Handler,
    ahead: Ahead,
}

/// Whether a handler is loaded ahead of its calls.
#[derive(Clone, Copy, PartialEq)]
enum Ahead {
    /// Not unless its next call shows that it is quick.
    NotYet,
    /// It was quick in a call.
    Try,
    /// It is.
    In(Id),
    Never,
}

impl Stock {
    pub(super) fn new(memory: u64, outside: Arc<Outside>) -> Result<Self, String> {
        let bytes = |bytes| usize::try_from(bytes).map_err(|_| "too much memory".to_owned());
        let region = Engines::reserve(bytes(region_bytes(memory))?);
        let mut engines = region.ok_or("there is no memory for engines")?;
        let memory = bytes(memory)?;
        let mut library = Library::new(memory)?;
        // It also loads what engines share: the time zone, say.
        let made = make(&mut engines, &mut library, Reach::ALL, None, memory, &outside);
        let bare = made.map_err(|why| match why {
            NotMade::Failed(why) => why,
            NotMade::Slow | NotMade::Unfit => "the prelude does not run".to_owned(),
        })?;
        Ok(Self { library, memory, outside, engines, bare, recent: VecDeque::new() })
    }

    /// Runs a call in an engine that has not seen another.
    pub(super) fn run(&mut self, call: &Call) -> (End, String) {
        let known = self.recent.iter().position(|shelf| shelf.handler.serves(call));
        let mut shelf = match known.and_then(|at| self.recent.remove(at)) {
            Some(shelf) => shelf,
            None => match self.library.handler(call) {
                Ok(handler) => Shelf { handler, ahead: Ahead::NotYet },
                Err(why) => return (End::NotBegun, why),
            },
        };
        let Ran { end, json, loading } = self.run_in(&shelf, call);
        if shelf.ahead == Ahead::NotYet && loading.is_some_and(|took| took < QUICK) {
            shelf.ahead = Ahead::Try;
        }
        self.recent.push_front(shelf);
        if self.is_starved(end, &json) { (End::OutOfMemory, String::new()) } else { (end, json) }
    }

    /// Whether a call ended for want of memory, where no error could be made to say so: nothing was left
    /// to run, or `null` was thrown. What it used may have been freed on the way out.
    fn is_starved(&self, end: End, json: &str) -> bool {
        let threw_null = matches!(end, End::Thrown | End::Unwritable) && json == NULL;
        let is_mute = end == End::Stuck || threw_null;
        is_mute && self.engines.peak_bytes() > self.memory / 10 * 9
    }

    fn run_in(&mut self, shelf: &Shelf, call: &Call) -> Ran {
        let engine = match shelf.ahead {
            Ahead::In(engine) => engine,
            Ahead::NotYet | Ahead::Try | Ahead::Never => self.bare,
        };
        let (outside, handler) = (&self.outside, &shelf.handler);
        let ran =
            self.engines.run(engine, |ctx, kept| Realm { ctx, kept, outside }.run(handler, call));
        ran.unwrap_or_else(|| {
            let json = "its engine is gone".to_owned();
            Ran { end: End::NotBegun, json, loading: None }
        })
    }

    /// Whether the next call can be run at once.
    pub(super) fn is_ready(&self) -> bool {
        self.recent.front().is_none_or(|last| last.ahead != Ahead::Try)
    }

    /// Leaves nothing of the last call.
    pub(super) fn tidy(&mut self) {
        while self.recent.len() > HANDLERS {
            if let Some(Shelf { ahead: Ahead::In(engine), .. }) = self.recent.pop_back() {
                self.engines.end(engine);
            }
        }
        self.engines.rewind();
        self.outside.forget();
    }

    /// Makes what the last handler called misses.
    pub(super) fn fill(&mut self) {
        let Some(last) = self.recent.front_mut().filter(|last| last.ahead == Ahead::Try) else {
            return;
        };
        let Self { library, engines, outside, memory, .. } = self;
        let handler = &last.handler;
        last.ahead = match make(engines, library, handler.reach, Some(handler), *memory, outside) {
            Ok(engine) => Ahead::In(engine),
            Err(NotMade::Slow) => Ahead::NotYet,
            Err(NotMade::Unfit | NotMade::Failed(_)) => Ahead::Never,
        };
    }
}

fn make(
    engines: &mut Engines,
    library: &mut Library,
    reach: Reach,
    handler: Option<&Handler>,
    memory: usize,
    outside: &Arc<Outside>,
) -> Result<Id, NotMade> {
    let prelude = library.prelude(reach).map_err(NotMade::Failed)?;
    let parts = Parts { prelude, haft: library.haft(), reach, handler, memory, outside };
    let most = if handler.is_some() { LIGHT_BYTES } else { usize::MAX };
    engines.make(most, |runtime| parts.build(runtime))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::child::wire::Wire;

    /// What is copied after each call of a handler that needs little.
    #[test]
    fn what_is_put_back_is_small() {
        let mut stock = Stock::new(64 << 20, Outside::new(Wire::new())).unwrap();
        let call = Call {
            source: "export const execute = ({ args }) => ({ ok: true, data: args });".into(),
            arguments: "[1]".into(),
            capabilities: "[]".into(),
            budget_ms: 10_000,
            answer_bytes: 100,
            ..Call::default()
        };
        for _ in 0..3 {
            assert_eq!(stock.run(&call), (End::Returned, r#"{"ok":true,"data":[1]}"#.to_owned()));
            stock.tidy();
            stock.fill();
        }
        let Some(Shelf { ahead: Ahead::In(engine), .. }) = stock.recent.front() else {
            panic!("it is not loaded ahead");
        };
        let (bare, own) =
            (stock.engines.image_bytes(stock.bare), stock.engines.image_bytes(*engine));
        assert!(own < bare && own < 256 << 10 && bare < 320 << 10, "{own} of {bare}");
    }
}
