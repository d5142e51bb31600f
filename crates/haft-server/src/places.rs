//! Places for whoever stays: sockets, and streams that have no end of their own. There are so many
//! for all; no tenant takes more than half of them, and no credential more than a quarter.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::Problem;
use crate::who::Who;

/// All places.
#[derive(Clone)]
pub(crate) struct Places {
    most: usize,
    taken: Arc<Mutex<Taken>>,
}

/// A key's name is the issuer's where somebody came with a token, so their own name counts too.
type Holder = (Arc<str>, Arc<str>, String);

#[derive(Default)]
struct Taken {
    all: usize,
    tenants: HashMap<Arc<str>, usize>,
    holders: HashMap<Holder, usize>,
}

/// A place that is taken until this is dropped.
pub(crate) struct Place {
    holder: Holder,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a place.
    pub(crate) fn take(&self, who: &Who) -> Result<Place, Problem> {
        let holder = holder(who);
        let mut taken = locked(&self.taken);
        if taken.all >= self.most {
            return Err(Problem::overloaded());
        }
        let share = |part: usize| (self.most / part).max(1);
        if taken.tenants.get(&who.tenant).is_some_and(|own| *own >= share(2)) {
            return Err(Problem::too_many_open("the tenant"));
        }
        if taken.holders.get(&holder).is_some_and(|own| *own >= share(4)) {
            return Err(Problem::too_many_open("the key"));
        }
        taken.all += 1;
        *taken.tenants.entry(who.tenant.clone()).or_default() += 1;
        *taken.holders.entry(holder.clone()).or_default() += 1;
        Ok(Place { holder, taken: self.taken.clone() })
    }
}

impl Place {
    /// Whether it counts as somebody's.
    pub(crate) fn is_of(&self, who: &Who) -> bool {
        self.holder == holder(who)
    }
}

fn holder(who: &Who) -> Holder {
    (who.tenant.clone(), who.key.clone(), who.principal.to_string())
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        taken.all = taken.all.saturating_sub(1);
        leave(&mut taken.tenants, &self.holder.0);
        leave(&mut taken.holders, &self.holder);
    }
}

fn locked(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One less; whoever has none is forgotten.
fn leave<K: Hash + Eq>(counts: &mut HashMap<K, usize>, of: &K) {
    if let Some(count) = counts.get_mut(of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::Principal;

    use super::*;
    use crate::who::Role;

    fn who(tenant: &str, user: &str) -> Who {
        Who::by_token(
            "issuer",
            tenant,
            Principal::user(user),
            None,
            vec![Role::Operator],
            &crate::who::facts::Facts::default(),
        )
    }

    /// Takes places for each until one is refused, and gives how many each got and why no more.
    #[track_caller]
    fn check(most: usize, of: &[(&str, &str)], expected: &[(usize, &str)]) {
        let places = Places::new(most);
        let mut held = Vec::new();
        let mut got = Vec::new();
        for (tenant, user) in of {
            let before = held.len();
            let why = loop {
                match places.take(&who(tenant, user)) {
                    Ok(place) => held.push(place),
                    Err(problem) => break problem.code().to_owned() + " " + problem.detail(),
                }
            };
            got.push((held.len() - before, why));
        }
        for ((count, why), (most, part)) in got.iter().zip(expected) {
            assert!(count == most && why.contains(part), "{got:?} is not {expected:?}");
        }
        drop(held);
        let taken = locked(&places.taken);
        assert_eq!((taken.all, taken.tenants.len(), taken.holders.len()), (0, 0, 0));
    }

    #[test]
    fn nobody_takes_the_others_places() {
        check(
            8,
            &[("a", "mara"), ("a", "ole"), ("a", "eve"), ("b", "ann"), ("c", "bob"), ("d", "cy")],
            &[
                (2, "rate_limited the key"),
                (2, "rate_limited the tenant"),
                (0, "rate_limited the tenant"),
                (2, "rate_limited the key"),
                (2, "overloaded"),
                (0, "overloaded"),
            ],
        );
        check(1, &[("a", "mara"), ("b", "ann")], &[(1, "overloaded"), (0, "overloaded")]);
    }
}
