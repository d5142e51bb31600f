//! Which secrets are remembered: those that were declared for good, those of connections and models
//! while they are used and for a while afterwards.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use haft_core::port::Owner;

use super::pattern::Secret;

/// Of one owner the last used are kept: a token that was renewed this often is of no use to anyone.
const OF_ONE: usize = 8;
/// How many are kept in all, and how long they are together. Looking for them takes some hundred
/// times that much memory.
const ALL: usize = 4_096;
const ALL_BYTES: usize = 512 << 10;
/// What was used this recently is not dropped to make room, or it would have to be added again at
/// once, and each time all of them prepared anew.
const RECENT_MS: u64 = 10 * 60 * 1_000;

/// Found by its value.
pub(super) struct ByValue(pub(super) Arc<Secret>);

impl Borrow<str> for ByValue {
    fn borrow(&self) -> &str {
        &self.0.value
    }
}

impl Hash for ByValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<str>::borrow(self).hash(state);
    }
}

impl PartialEq for ByValue {
    fn eq(&self, other: &Self) -> bool {
        *self.0.value == *other.0.value
    }
}

impl Eq for ByValue {}

/// Takes out of a list what need not be remembered any more. What is in use now stays, however much
/// that is.
pub(super) fn drop_spare(secrets: &mut Vec<Arc<Secret>>, now_ms: u64) -> Vec<Arc<Secret>> {
    // Of two that were used at the same moment, the one that was added later.
    let mut latest: Vec<&Arc<Secret>> = secrets.iter().rev().collect();
    latest.sort_by_key(|one| std::cmp::Reverse(one.used_ms()));
    let mut of_one: HashMap<&Owner, usize> = HashMap::new();
    let (mut all, mut bytes) = (0_usize, 0_usize);
    let mut spare: HashSet<*const Secret> = HashSet::new();
    for one in latest {
        let Some(owner) = &one.owner else { continue };
        let of_owner = of_one.entry(owner).or_default();
        let is_recent = now_ms.saturating_sub(one.used_ms()) < RECENT_MS;
        let is_old = *of_owner >= OF_ONE;
        let is_too_much = all >= ALL || bytes + one.value.len() > ALL_BYTES;
        if !one.is_leased() && (is_old || is_too_much && !is_recent) {
            spare.insert(Arc::as_ptr(one));
            continue;
        }
        *of_owner += 1;
        all += 1;
        bytes += one.value.len();
    }
    let goes = |one: &Arc<Secret>| spare.contains(&Arc::as_ptr(one));
    let (gone, kept) = std::mem::take(secrets).into_iter().partition(goes);
    *secrets = kept;
    gone
}

#[cfg(test)]
mod tests {
    use haft_core::port::Hidden;

    use super::*;

    fn secret(owner: &str, length: usize, used_ms: u64) -> (Arc<Secret>, Hidden) {
        let owner = Owner::Model(owner.to_owned());
        let (secret, hidden) = Secret::of(owner, "label", "x".repeat(length)).unwrap();
        secret.use_at(used_ms);
        (Arc::new(secret), hidden)
    }

    /// Secrets by owner, length, time of last use and whether they are in use; the times of those
    /// that are dropped.
    #[track_caller]
    fn check(secrets: &[(&str, usize, u64, bool)], now_ms: u64, expected: &[u64]) {
        let mut held = Vec::new();
        let mut list = Vec::new();
        for (owner, length, used_ms, is_leased) in secrets {
            let (secret, hidden) = secret(owner, *length, *used_ms);
            held.extend(is_leased.then_some(hidden));
            list.push(secret);
        }
        let gone = drop_spare(&mut list, now_ms);
        let gone: Vec<u64> = gone.iter().map(|one| one.used_ms()).collect();
        assert_eq!(gone, expected);
        assert_eq!(list.len() + gone.len(), secrets.len());
    }

    #[test]
    fn of_one_owner_the_last_used_are_kept_and_what_is_in_use() {
        let many: Vec<_> = (1..=10).map(|at| ("a", 10, at, false)).collect();
        check(&many, 20, &[1, 2]);
        let many: Vec<_> = (1..=10).map(|at| ("a", 10, at, at == 1)).collect();
        check(&many, 20, &[2]);
        let many: Vec<_> = (1..=10).map(|at| ("a", 10, at, true)).collect();
        check(&many, 20, &[]);
    }

    #[test]
    fn owners_do_not_push_each_other_out() {
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 10, 1, false)).collect();
        check(&many, 20, &[]);
    }

    #[test]
    fn all_together_are_bounded_but_for_what_is_in_use_or_was_a_moment_ago() {
        let half = ALL_BYTES / 2;
        let later = RECENT_MS + 100;
        let four = |leased: bool| {
            [
                ("a", half, 1, leased),
                ("b", half, 2, false),
                ("c", half, 3, false),
                ("d", 9, later, false),
            ]
        };
        check(&four(false), later, &[1, 2]);
        check(&four(true), later, &[2]);
        check(&four(false), RECENT_MS, &[]);
    }

    #[test]
    fn what_was_declared_stays() {
        let declared = Arc::new(Secret::new("label", "x".repeat(ALL_BYTES + 1)).unwrap());
        assert!(drop_spare(&mut vec![declared], u64::MAX).is_empty());
    }
}
