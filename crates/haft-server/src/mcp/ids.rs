//! Which requests of one client are under way, by their ids. An answer is known by its id alone: of two
//! requests with the same one at the same time, one would get the other's answer, and the other none.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::problem::Problem;

/// So many requests of one client may be under way. What they do is bounded elsewhere; this bounds what is
/// remembered of them.
const MOST: usize = 10_000;

/// So much of an id is repeated to whoever sent it.
const LONGEST: usize = 64;

/// The ids that one client's requests have which are under way.
#[derive(Clone, Default)]
pub(super) struct Ids(Arc<Mutex<HashSet<Arc<str>>>>);

/// An id that nobody else has, until the last copy of this is dropped: everything that still works at the
/// request keeps one.
#[derive(Clone)]
pub(super) struct Taken {
    _held: Arc<Held>,
}

struct Held {
    ids: Ids,
    id: Arc<str>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ids.set().remove(&self.id);
    }
}

impl Ids {
    fn set(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request has this id.
    pub(super) fn holds(&self, id: &Value) -> bool {
        self.set().contains(&*id.to_string())
    }

    /// Takes an id, as JSON has it: `1` and `"1"` are two.
    pub(super) fn take(&self, id: &Value) -> Result<Taken, Problem> {
        let id: Arc<str> = id.to_string().into();
        let mut all = self.set();
        if all.contains(&id) {
            return Err(doubled(&id));
        }
        if all.len() >= MOST {
            return Err(Problem::crowded(format!(
                "{MOST} requests of this client are under way, which is as many as there may be"
            )));
        }
        all.insert(id.clone());
        Ok(Taken { _held: Arc::new(Held { ids: self.clone(), id }) })
    }
}

/// Two requests of one id.
fn doubled(id: &str) -> Problem {
    let mut letters = id.chars();
    let mut shown: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    Problem::malformed(format!("a request with the id `{shown}` is under way already"))
        .advise("give each request an id of its own; once it is answered, its id is free again")
        .with_details(json!({ "id": shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_until_all_that_works_at_its_request_has_ended() {
        let ids = Ids::default();
        let first = ids.take(&json!(1)).ok().unwrap();
        let part = first.clone();
        assert!(ids.take(&json!("1")).is_ok(), "another id");
        drop(first);
        assert!(ids.take(&json!(1)).is_err());
        drop(part);
        assert!(ids.take(&json!(1)).is_ok());
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let ids = Ids::default();
        let taken: Vec<_> = (0..MOST).map(|id| ids.take(&json!(id)).ok().unwrap()).collect();
        assert_eq!(ids.take(&json!("more")).err().unwrap().code(), "rate_limited");
        drop(taken);
        assert!(ids.take(&json!("more")).is_ok());
    }

    #[test]
    fn a_long_id_is_not_repeated_whole() {
        let problem = doubled(&"x".repeat(1 << 20));
        assert!(problem.detail().len() < 200, "{}", problem.detail().len());
    }
}
