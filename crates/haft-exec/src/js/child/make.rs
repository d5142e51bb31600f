//! How an engine is made: with a realm in which only the prelude has run, or the prelude and one
//! handler's module.

use std::sync::Arc;
use std::time::Duration;

use haft_rewind::Kept;
use rquickjs::context::Context;
use rquickjs::{Ctx, Error, Runtime};

use super::compile::{Compiled, Handler, Only, Shelf};
use super::outside::{Outside, sender, teller};
use super::prelude::{self, called};
use super::reach::{Part, Reach};
use super::realm::Realm;

/// How deep the engine may go, in bytes of stack.
pub(super) const STACK_BYTES: usize = 512 << 10;

/// How long loading ahead may hold a child up.
const LIMIT: Duration = Duration::from_millis(10);

/// Garbage that refers to itself is looked for when this part of the memory is in use. A new realm is
/// close to the engine's own threshold, and most calls end before there is any.
const GARBAGE_PART: usize = 8;

/// What an engine is made of.
pub(super) struct Parts<'a> {
    pub(super) prelude: Compiled,
    pub(super) haft: Compiled,
    pub(super) reach: Reach,
    /// The handler that is loaded ahead of its calls.
    pub(super) handler: Option<&'a Handler>,
    pub(super) memory: usize,
    pub(super) outside: &'a Arc<Outside>,
}

/// Why there is no engine.
pub(super) enum NotMade {
    /// The module took too long, this time.
    Slow,
    /// The module fails, waits, or wants to know something about its call.
    Unfit,
    /// The engine cannot be had, and why.
    Failed(String),
}

impl From<Error> for NotMade {
    fn from(why: Error) -> Self {
        Self::Failed(why.to_string())
    }
}

impl Parts<'_> {
    pub(super) fn build(&self, runtime: &Runtime) -> Result<(Context, Kept), NotMade> {
        runtime.set_memory_limit(self.memory);
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(self.memory / GARBAGE_PART);
        runtime.set_loader(Only, Shelf(self.haft));
        let outside = self.outside.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || outside.is_late())));
        self.outside.end_never();
        let context = self.reach.context(runtime)?;
        let kept = context.with(|ctx| self.fill(&ctx))?;
        Ok((context, kept))
    }

    fn fill(&self, ctx: &Ctx<'_>) -> Result<Kept, NotMade> {
        let mut kept = prelude::load(ctx, self.prelude, self.reach)?;
        let about = teller(ctx, self.outside.clone())?;
        called::<_, ()>(ctx, &kept, "know", (about.clone(),))?;
        kept.hold(ctx, "about", about);
        if self.reach.has(Part::Capabilities) {
            kept.hold(ctx, "send", sender(ctx, self.outside.clone())?);
        }
        if let Some(handler) = self.handler {
            self.load_ahead(ctx, &mut kept, handler)?;
        }
        Ok(kept)
    }

    /// Loads a handler ahead of its calls. Its module gets neither arguments nor a seed, and it has some
    /// time to be done with; where it needs more, the engine is of no use.
    fn load_ahead(&self, ctx: &Ctx<'_>, kept: &mut Kept, handler: &Handler) -> Result<(), NotMade> {
        self.outside.end_in(LIMIT);
        let loaded = Realm { ctx, kept, outside: self.outside }.load(handler);
        if self.outside.is_late() {
            return Err(NotMade::Slow);
        }
        self.outside.end_never();
        let execute = loaded.map_err(|_| NotMade::Unfit)?;
        // Something random was asked for before there was a seed.
        if self.reach.has(Part::Chance) && called(ctx, kept, "isEarly", ())? {
            return Err(NotMade::Unfit);
        }
        kept.hold(ctx, "execute", execute);
        Ok(())
    }
}
