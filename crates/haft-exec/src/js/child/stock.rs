//! Realms made while nobody waits: one with nothing but the prelude, and for the handlers that were
//! called last some in which their module is loaded already. Each is used once.
//!
//! A module is loaded ahead only after a call of it has shown that this is quick, and its realm is
//! handed to no other handler. It has seen neither arguments nor seed nor capability.

use std::collections::VecDeque;
use std::time::Duration;

use super::compile::{Handler, Library};
use super::reach::Reach;
use super::realm::{NotAhead, Realm};
use super::wire::Wire;
use crate::js::frame::{Call, End};

/// How many handlers are made ready for.
const HANDLERS: usize = 6;
/// How many realms the last of them has; the others have one each.
const FOR_THE_LAST: usize = 3;
/// A module that takes longer is loaded when it is called.
const QUICK: Duration = Duration::from_millis(2);
/// How long loading ahead may hold a child up.
const LIMIT: Duration = Duration::from_millis(10);
/// A realm that uses more is not kept in stock.
const LIGHT_BYTES: usize = 2 << 20;

pub(super) struct Stock {
    library: Library,
    memory: usize,
    wire: Wire,
    bare: Option<Realm>,
    /// The handlers, last called first.
    recent: VecDeque<Shelf>,
}

struct Shelf {
    handler: Handler,
    ahead: Ahead,
    realms: Vec<Realm>,
}

/// Whether a handler is loaded ahead of its calls.
#[derive(Clone, Copy, PartialEq)]
enum Ahead {
    /// Not unless its next call shows that it is quick.
    NotYet,
    /// It was quick in a call.
    Try,
    /// It was loaded ahead before.
    Yes,
    Never,
}

impl Stock {
    pub(super) fn new(memory: usize, wire: Wire) -> Result<Self, String> {
        let library = Library::new(memory)?;
        let mut stock = Self { library, memory, wire, bare: None, recent: VecDeque::new() };
        // The first engine of a process loads what the later ones share: the time zone, say.
        drop(stock.make(Reach::ALL)?);
        Ok(stock)
    }

    fn make(&mut self, reach: Reach) -> Result<Realm, String> {
        Realm::new(&mut self.library, reach, self.memory)
    }

    /// Runs a call in a realm of its own. The realm comes back to be dropped once nobody waits.
    pub(super) fn run(&mut self, call: &Call) -> Result<(End, String, Option<Realm>), String> {
        let shelf = self.recent.iter().position(|shelf| shelf.handler.serves(call));
        let Some(shelf) = shelf.and_then(|at| self.recent.remove(at)) else {
            return match self.library.handler(call) {
                Ok(handler) => {
                    self.run_on(Shelf { handler, ahead: Ahead::NotYet, realms: Vec::new() }, call)
                }
                Err(why) => Ok((End::NotBegun, why, None)),
            };
        };
        self.run_on(shelf, call)
    }

    fn run_on(
        &mut self,
        mut shelf: Shelf,
        call: &Call,
    ) -> Result<(End, String, Option<Realm>), String> {
        let mut realm = match shelf.realms.pop().or_else(|| self.bare.take()) {
            Some(realm) => realm,
            None => self.make(shelf.handler.reach)?,
        };
        let ((end, json), loading) = realm.run(&shelf.handler, call, &self.wire);
        if shelf.ahead == Ahead::NotYet && loading.is_some_and(|took| took < QUICK) {
            shelf.ahead = Ahead::Try;
        }
        self.recent.push_front(shelf);
        Ok((end, json, Some(realm)))
    }

    /// Whether the next call finds a realm.
    pub(super) fn is_ready(&self) -> bool {
        self.bare.is_some() || self.recent.front().is_some_and(|last| !last.realms.is_empty())
    }

    /// Makes what is missed most; false where nothing is missed.
    pub(super) fn fill(&mut self) -> Result<bool, String> {
        self.recent.truncate(HANDLERS);
        self.recent.iter_mut().skip(1).for_each(|shelf| shelf.realms.truncate(1));
        if self.lacks(0, 1) {
            self.load(0)?;
        } else if self.bare.is_none() {
            self.bare = Some(self.make(Reach::ALL)?);
        } else if let Some(at) = (1..self.recent.len()).find(|at| self.lacks(*at, 1)) {
            self.load(at)?;
        } else if self.lacks(0, FOR_THE_LAST) {
            self.load(0)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn lacks(&self, at: usize, wanted: usize) -> bool {
        self.recent.get(at).is_some_and(|shelf| {
            matches!(shelf.ahead, Ahead::Try | Ahead::Yes) && shelf.realms.len() < wanted
        })
    }

    fn load(&mut self, at: usize) -> Result<(), String> {
        // Not the one that stands ready for any handler: this one needs less.
        let Some(reach) = self.recent.get(at).map(|shelf| shelf.handler.reach) else {
            return Ok(());
        };
        let mut realm = self.make(reach)?;
        let Some(shelf) = self.recent.get_mut(at) else { return Ok(()) };
        shelf.ahead = match realm.load_ahead(&shelf.handler, &self.wire, LIMIT) {
            Ok(()) if shelf.ahead == Ahead::Try && realm.used_bytes() > LIGHT_BYTES => Ahead::Never,
            Ok(()) => {
                shelf.realms.push(realm);
                Ahead::Yes
            }
            Err(NotAhead::Slow) => Ahead::NotYet,
            Err(NotAhead::Unfit) => Ahead::Never,
        };
        Ok(())
    }
}
