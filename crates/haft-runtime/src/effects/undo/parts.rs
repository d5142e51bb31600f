//! Effects that are part of another one: what a handler did through other tools.

use haft_core::ledger::{EffectRecord, State};

use super::UndoneStatus;
use crate::runtime::Runtime;

/// Tools call tools less deep than this.
const DEEPEST: usize = 64;

impl Runtime {
    /// What to say of an effect that a handler asked for whose own effect has a compensation: that one takes
    /// back what its handler did, and nothing is undone twice. (What the handler did for nothing, because its
    /// own effect did not come about, is undone by itself.)
    pub(super) async fn part_of(&self, effect: &EffectRecord) -> Option<(UndoneStatus, String)> {
        let mut within = effect.effect.within.clone();
        for _ in 0..DEEPEST {
            let call = within?;
            let whole = self.inner.store.effect(&effect.effect.tenant, &call).await.ok()?;
            if !whole.state.frees_its_key() && self.has_compensation(&whole).await {
                return Some(match whole.state == State::Compensated {
                    true => (UndoneStatus::AlreadyUndone, format!("undone with `{call}`")),
                    false => {
                        let message = format!("it is a part of `{call}`: undo that one");
                        (UndoneStatus::CannotBeUndone, message)
                    }
                });
            }
            within = whole.effect.within;
        }
        None
    }

    async fn has_compensation(&self, effect: &EffectRecord) -> bool {
        self.after(effect).await.is_some_and(|after| after.compensation.is_some())
    }
}
