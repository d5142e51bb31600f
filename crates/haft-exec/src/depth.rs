//! Places for calls by how deep they are.
//!
//! A tool that calls another one keeps its place until that one has answered. Were both to wait for the
//! same places, as many of them as there are places would all wait for one another. So a call waits
//! only for places that calls as deep as it give back, and the deepest wait for nobody.

use haft_core::port::Job;
use parking_lot::Mutex;

/// Something that calls of one depth share, for each depth that there is. The path says how deep that can be.
pub(crate) struct Depths<T> {
    /// For calls that no tool made.
    outermost: T,
    /// For those that tools made, the least deep first; made when first needed.
    nested: Mutex<Vec<T>>,
}

impl<T: Clone> Depths<T> {
    pub(crate) fn new(outermost: T) -> Self {
        Self { outermost, nested: Mutex::default() }
    }

    pub(crate) fn outermost(&self) -> &T {
        &self.outermost
    }

    /// That of a job.
    pub(crate) fn of(&self, job: &Job, make: impl FnMut() -> T) -> T {
        // The last one is its own tool.
        let above = job.scope.through.len().saturating_sub(1);
        let Some(at) = above.checked_sub(1) else { return self.outermost.clone() };
        let mut nested = self.nested.lock();
        if nested.len() < above {
            nested.resize_with(above, make);
        }
        nested.get(at).unwrap_or(&self.outermost).clone()
    }
}
