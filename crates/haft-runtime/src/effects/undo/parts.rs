//! Effects that are part of another one: what a handler did through other tools.

use std::collections::HashSet;

use haft_core::Digest;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::StoreError;

use super::UndoneStatus;
use crate::runtime::Runtime;

/// Tools call tools less deep than this.
const DEEPEST: usize = 64;

impl Runtime {
    /// An effect, and what is to be undone with it one by one, newest first: what its handler did through other
    /// tools, unless its own compensation takes that back.
    pub(super) async fn with_its_parts(
        &self,
        whole: EffectRecord,
    ) -> Result<Vec<EffectRecord>, StoreError> {
        if !whole.state.frees_its_key() && self.has_compensation(&whole).await {
            return Ok(vec![whole]);
        }
        let mut seen: HashSet<Digest> = HashSet::from([whole.key.clone()]);
        let (mut looked_into, mut all) = (vec![whole], Vec::new());
        // As they began, each before its own parts; turned round at the end.
        while let Some(one) = looked_into.pop() {
            let mut parts = self.inner.store.parts(&one).await?;
            parts.retain(|part| seen.insert(part.key.clone()));
            looked_into.extend(parts);
            all.push(one);
        }
        all.reverse();
        Ok(all)
    }

    /// What to say of an effect that a handler asked for whose own effect has a compensation: that one takes
    /// back what its handler did, and nothing is undone twice. (What the handler did for nothing, because its
    /// own effect did not come about, is undone by itself.)
    pub(super) async fn part_of(&self, effect: &EffectRecord) -> Option<(UndoneStatus, String)> {
        let mut whole = self.whole_of(effect).await?;
        for _ in 0..DEEPEST {
            if !whole.state.frees_its_key() && self.has_compensation(&whole).await {
                let call = &whole.effect.call;
                return Some(match whole.state == State::Compensated {
                    true => (UndoneStatus::AlreadyUndone, format!("undone with `{call}`")),
                    false => {
                        let message = format!("it is a part of `{call}`: undo that one");
                        (UndoneStatus::CannotBeUndone, message)
                    }
                });
            }
            whole = self.whole_of(&whole).await?;
        }
        None
    }

    /// What an effect is a part of, as it stands now: another attempt may have taken the place of the one that asked.
    async fn whole_of(&self, effect: &EffectRecord) -> Option<EffectRecord> {
        let store = &self.inner.store;
        let whole = match (&effect.effect.part_of, &effect.effect.within) {
            (Some(key), _) => store.by_key(key).await,
            (None, Some(call)) => store.effect(&effect.effect.tenant, call).await,
            (None, None) => return None,
        };
        whole.ok()
    }

    async fn has_compensation(&self, effect: &EffectRecord) -> bool {
        self.after(effect).await.is_some_and(|after| after.compensation.is_some())
    }
}
