//! A request's place in the room. Whoever sends a body slowly does not keep it meanwhile: it is given
//! up when the body makes us wait, and taken again when all of the body is there. So it is while an issuer
//! is asked for its keys, for somebody whom nobody knows yet.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::arriving::Part;
use crate::door::Door;
use crate::problem::Problem;
use crate::room::Share;
use crate::who::Who;

/// A place, and the tenant's part of the room.
#[derive(Clone)]
pub(crate) struct Seat(Arc<Mutex<Sitting>>);

struct Sitting {
    door: Arc<Door>,
    place: Option<(At, OwnedSemaphorePermit)>,
    /// Whether it may be among those that are kept for people who decide.
    decides: bool,
    /// Where its place is. None where it needs none.
    at: Option<At>,
    tenant: Option<Arc<str>>,
    share: Option<Share>,
    /// How much of the body came while the place was there.
    bytes: usize,
    /// The body, while it is not.
    body: Option<Part>,
    /// The request was answered.
    left: bool,
}

/// Among which places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Those of all requests.
    Room,
    /// Those that calls cannot take: whoever revokes the key of an agent must not wait behind what that
    /// agent does.
    Aside,
    /// Those of whoever signs in.
    Entrance,
}

/// What ends a body that is there when there is no place any more.
#[derive(Debug)]
pub(crate) struct Unseated(pub(crate) Problem);

impl fmt::Display for Unseated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.detail())
    }
}

impl std::error::Error for Unseated {}

impl Seat {
    /// One that needs no place.
    pub(crate) fn apart(door: Arc<Door>) -> Self {
        Self(Arc::new(Mutex::new(Sitting::new(door, None, false))))
    }

    /// One of those who sign in.
    pub(crate) fn at_entrance(door: Arc<Door>) -> Result<Self, Problem> {
        let mut sitting = Sitting::new(door, Some(At::Entrance), false);
        sitting.sit()?;
        Ok(Self(Arc::new(Mutex::new(sitting))))
    }

    /// One in the room. Nobody knows yet whose it is: where that is full, what people decide has a place
    /// when they are known, and none that strangers could keep.
    pub(crate) fn enter(door: Arc<Door>, decides: bool) -> Result<Self, Problem> {
        let mut sitting = Sitting::new(door, Some(At::Room), decides);
        match sitting.sit_at(At::Room) {
            Err(problem) if !decides => return Err(problem),
            Ok(()) | Err(_) => {}
        }
        Ok(Self(Arc::new(Mutex::new(sitting))))
    }

    fn sitting(&self) -> MutexGuard<'_, Sitting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose it is.
    pub(crate) fn is_of(&self, who: &Who) -> Result<(), Problem> {
        let mut sitting = self.sitting();
        sitting.decides &= who.decides();
        sitting.tenant = Some(who.tenant.clone());
        sitting.sit()
    }

    /// The body makes us wait.
    pub(crate) fn stand_up(&self) {
        let mut sitting = self.sitting();
        if sitting.place.take().is_some() {
            sitting.share = None;
            let mut body = sitting.door.arriving.begin(sitting.tenant.clone());
            // More would be too much, and is refused then.
            let _ = body.grow(sitting.bytes);
            sitting.body = Some(body);
        }
    }

    /// A piece of the body has come.
    pub(crate) fn brings(&self, bytes: usize) -> Result<(), Problem> {
        let mut sitting = self.sitting();
        sitting.bytes += bytes;
        match &mut sitting.body {
            Some(body) => body.grow(bytes),
            None => Ok(()),
        }
    }

    /// All of the body is there.
    pub(crate) fn sit_down(&self) -> Result<(), Problem> {
        let mut sitting = self.sitting();
        if sitting.place.is_some() || sitting.left {
            return Ok(());
        }
        sitting.sit()?;
        sitting.body = None;
        Ok(())
    }

    /// Does something that may wait for others. The place is given up meanwhile, as for a body.
    pub(crate) async fn without<T>(&self, waits: impl Future<Output = T>) -> Result<T, Problem> {
        let mut waits = pin!(waits);
        let done = poll_fn(|task| {
            let done = waits.as_mut().poll(task);
            if done.is_pending() {
                self.stand_up();
            }
            done
        });
        let done = done.await;
        self.sit_down()?;
        Ok(done)
    }

    /// The request is answered. What others keep of it has no place.
    fn leave(&self) {
        let mut sitting = self.sitting();
        (sitting.place, sitting.share, sitting.body) = (None, None, None);
        sitting.left = true;
    }
}

impl Sitting {
    fn new(door: Arc<Door>, at: Option<At>, decides: bool) -> Self {
        let (place, tenant, share, body) = (None, None, None, None);
        Self { door, place, at, decides, tenant, share, bytes: 0, body, left: false }
    }

    /// Takes what is missing of a place and of the tenant's part.
    fn sit(&mut self) -> Result<(), Problem> {
        let Some(at) = self.at else { return Ok(()) };
        match self.sit_at(at) {
            Err(_) if self.decides => self.sit_at(At::Aside),
            sat => sat,
        }
    }

    fn sit_at(&mut self, at: At) -> Result<(), Problem> {
        let sits = self.place.as_ref().is_some_and(|(there, _)| *there == at);
        let room = self.door.room_at(at);
        let place = (!sits).then(|| room.enter()).transpose()?;
        let share = self.tenant.as_ref().map(|tenant| self.door.share(at, tenant)).transpose()?;
        if let Some(place) = place {
            self.place = Some((at, place));
        }
        self.share = share;
        Ok(())
    }
}

/// Somebody who sits there until this is dropped.
pub(crate) struct Seated(pub(crate) Seat);

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.leave();
    }
}
