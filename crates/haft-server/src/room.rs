//! Room to work: so many requests at once for all. Where there are several tenants, none of them
//! takes more than half of it. There are two: one for all requests, and a small one where people who
//! decide about others' work have theirs when that is full.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::problem::Problem;

/// All of it.
pub(crate) struct Room {
    most: usize,
    all: Arc<Semaphore>,
    shares: Arc<Mutex<HashMap<Arc<str>, usize>>>,
    /// How much is worked on whose request may be over.
    lasting: watch::Sender<usize>,
}

/// How many tenants there are to share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenants {
    One,
    Several,
}

/// A tenant's part of it, until this is dropped.
pub(crate) struct Share {
    tenant: Arc<str>,
    shares: Arc<Mutex<HashMap<Arc<str>, usize>>>,
}

/// Work of a tenant that lasts longer than the request that began it.
pub(crate) struct Work {
    room: Option<(Share, OwnedSemaphorePermit)>,
    lasting: watch::Sender<usize>,
}

impl Room {
    pub(crate) fn new(most: usize) -> Self {
        let (all, lasting) = (Arc::new(Semaphore::new(most)), watch::Sender::new(0));
        Self { most, all, shares: Arc::default(), lasting }
    }

    /// How much of it is taken.
    pub(crate) fn taken(&self) -> usize {
        self.most.saturating_sub(self.all.available_permits())
    }

    /// Room for a request. Nobody knows yet whose it is.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.all.clone().try_acquire_owned().map_err(|_| Problem::overloaded())
    }

    /// A tenant's part, for a request that has its room.
    pub(crate) fn share(&self, tenant: &Arc<str>, tenants: Tenants) -> Result<Share, Problem> {
        let mut shares = locked(&self.shares);
        // A request that begins something lasting has two for a moment.
        let most = match tenants {
            Tenants::One => usize::MAX,
            Tenants::Several => (self.most / 2).max(2),
        };
        match shares.get_mut(tenant) {
            Some(own) if *own >= most => return Err(Problem::too_much_at_once()),
            Some(own) => *own += 1,
            None => {
                shares.insert(tenant.clone(), 1);
            }
        }
        Ok(Share { tenant: tenant.clone(), shares: self.shares.clone() })
    }

    /// Room for what lasts longer than the request that began it.
    pub(crate) fn work(&self, tenant: &Arc<str>, tenants: Tenants) -> Result<Work, Problem> {
        let room = (self.share(tenant, tenants)?, self.enter()?);
        self.lasting.send_modify(|lasting| *lasting += 1);
        Ok(Work { room: Some(room), lasting: self.lasting.clone() })
    }

    /// Resolves when nothing is worked on that lasts longer than its request.
    pub(crate) async fn rests(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.lasting.subscribe().wait_for(|lasting| *lasting == 0).await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Whoever waits until all is done finds the room free.
        drop(self.room.take());
        self.lasting.send_modify(|lasting| *lasting -= 1);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut shares = locked(&self.shares);
        if let Some(own) = shares.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                shares.remove(&self.tenant);
            }
        }
    }
}

fn locked<T>(shares: &Mutex<T>) -> MutexGuard<'_, T> {
    shares.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets each tenant take as much work as it gets, and gives how much that was and why no more.
    #[track_caller]
    fn check(most: usize, tenants: Tenants, expected: &[(&str, usize, &str)]) {
        let room = Room::new(most);
        let mut held = Vec::new();
        for (tenant, count, code) in expected {
            let (tenant, before) = (Arc::from(*tenant), held.len());
            let why = loop {
                match room.work(&tenant, tenants) {
                    Ok(work) => held.push(work),
                    Err(problem) => break problem.code().to_owned(),
                }
            };
            assert_eq!((held.len() - before, why.as_str()), (*count, *code), "{tenant} of {most}");
        }
        assert_eq!(room.taken(), held.len());
        drop(held);
        assert_eq!((room.taken(), locked(&room.shares).len()), (0, 0));
    }

    #[test]
    fn nobody_takes_more_than_half_where_there_are_others() {
        let several = Tenants::Several;
        check(
            8,
            several,
            &[("a", 4, "rate_limited"), ("b", 4, "rate_limited"), ("c", 0, "overloaded")],
        );
        check(8, Tenants::One, &[("a", 8, "overloaded")]);
        check(2, several, &[("a", 2, "rate_limited")]);
        check(1, several, &[("a", 1, "overloaded"), ("b", 0, "overloaded")]);
    }
}
