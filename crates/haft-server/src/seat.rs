//! A request's place in the room. Whoever sends a body slowly does not keep it meanwhile: it is given
//! up when the body makes us wait, and taken again when all of the body is there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::arriving::Part;
use crate::door::Door;
use crate::problem::Problem;
use crate::room::Share;

/// A place, and the tenant's part of the room.
#[derive(Clone)]
pub(crate) struct Seat(Arc<Mutex<Sitting>>);

struct Sitting {
    door: Arc<Door>,
    place: Option<OwnedSemaphorePermit>,
    /// Whether it is one of those that are given up: few wait at the entrance, and have their own.
    lent: bool,
    tenant: Option<Arc<str>>,
    share: Option<Share>,
    /// How much of the body came while the place was there.
    bytes: usize,
    /// The body, while it is not.
    body: Option<Part>,
    /// The request was answered.
    left: bool,
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
    pub(crate) fn new(door: Arc<Door>, place: Option<OwnedSemaphorePermit>, lent: bool) -> Self {
        let (tenant, share, body) = (None, None, None);
        let lent = lent && place.is_some();
        let sitting = Sitting { door, place, lent, tenant, share, bytes: 0, body, left: false };
        Self(Arc::new(Mutex::new(sitting)))
    }

    fn sitting(&self) -> MutexGuard<'_, Sitting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose it is.
    pub(crate) fn is_of(&self, tenant: &Arc<str>) -> Result<(), Problem> {
        let mut sitting = self.sitting();
        sitting.share = Some(sitting.door.share(tenant)?);
        sitting.tenant = Some(tenant.clone());
        Ok(())
    }

    /// The body makes us wait.
    pub(crate) fn stand_up(&self) {
        let mut sitting = self.sitting();
        if sitting.lent && sitting.place.take().is_some() {
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
        if !sitting.lent || sitting.place.is_some() || sitting.left {
            return Ok(());
        }
        let place = sitting.door.room.enter()?;
        if let Some(tenant) = sitting.tenant.clone() {
            sitting.share = Some(sitting.door.share(&tenant)?);
        }
        sitting.place = Some(place);
        sitting.body = None;
        Ok(())
    }

    /// The request is answered. What others keep of it has no place.
    fn leave(&self) {
        let mut sitting = self.sitting();
        (sitting.place, sitting.share, sitting.body) = (None, None, None);
        sitting.left = true;
    }
}

/// Somebody who sits there until this is dropped.
pub(crate) struct Seated(pub(crate) Seat);

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.leave();
    }
}
