//! Calls of one connection: so many run at once, others wait in their order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many calls of one connection run at once, and so many more wait.
pub(super) const AT_ONCE: usize = 32;
pub(super) const WAITING: usize = 256;

/// What runs and what waits.
pub(super) struct Queue<T>(Mutex<State<T>>);

struct State<T> {
    running: usize,
    waiting: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(Mutex::new(State { running: 0, waiting: VecDeque::new() }))
    }
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no more can wait.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        state.running >= AT_ONCE && state.waiting.len() >= WAITING
    }

    /// Whether nothing runs: then nothing waits, either.
    pub(super) fn is_idle(&self) -> bool {
        self.state().running == 0
    }

    /// Takes one more in. It is given back where it is its turn; else it waits.
    pub(super) fn enter(&self, one: T) -> Option<T> {
        let mut state = self.state();
        if state.running < AT_ONCE {
            state.running += 1;
            return Some(one);
        }
        state.waiting.push_back(one);
        None
    }

    /// One has ended: whose turn it is now.
    pub(super) fn leave(&self) -> Option<T> {
        let mut state = self.state();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.running = state.running.saturating_sub(1);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_wait_have_their_turn_in_order() {
        let queue = Queue::default();
        let begun: Vec<usize> = (0..AT_ONCE + 3).filter_map(|one| queue.enter(one)).collect();
        assert_eq!(begun, (0..AT_ONCE).collect::<Vec<_>>());
        assert_eq!((queue.leave(), queue.leave()), (Some(AT_ONCE), Some(AT_ONCE + 1)));
        assert!(!queue.is_full());
        assert!((1..WAITING).all(|one| queue.enter(one).is_none()));
        assert!(queue.is_full());
        let ends = std::iter::from_fn(|| queue.leave()).count();
        assert_eq!(ends, WAITING);
        assert!((1..AT_ONCE).all(|_| queue.leave().is_none()) && queue.is_idle());
    }
}
