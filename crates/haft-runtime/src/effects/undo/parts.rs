//! Effects that are part of another one: what a handler did through other tools.

use std::collections::HashSet;

use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, StoreError};

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
        const PAGE: usize = 500;
        if !whole.state.frees_its_key() && self.has_compensation(&whole).await {
            return Ok(vec![whole]);
        }
        // What it did began after it, so it is among what is newer.
        let (mut newer, mut after): (Vec<EffectRecord>, _) = (Vec::new(), None);
        loop {
            let tenant = whole.effect.tenant.clone();
            let filter = EffectFilter { tenant, after, limit: PAGE, ..EffectFilter::default() };
            let page = self.inner.store.effects(filter).await?;
            after = page.last().map(|one| one.effect.call.clone());
            let since = |one: &EffectRecord| one.started_at_ms >= whole.started_at_ms;
            let is_last = page.len() < PAGE || !page.last().is_some_and(since);
            newer.extend(page.into_iter().filter(|one| one.effect.within.is_some() && since(one)));
            if is_last {
                break;
            }
        }
        let mut wholes = HashSet::from([whole.effect.call.clone()]);
        let mut all = vec![whole];
        for one in newer.into_iter().rev() {
            if one.effect.within.as_ref().is_some_and(|within| wholes.contains(within)) {
                wholes.insert(one.effect.call.clone());
                all.push(one);
            }
        }
        all.reverse();
        Ok(all)
    }

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
