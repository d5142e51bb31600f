//! Policies that were compiled for a change, so that it is compiled once: to be judged before it is its
//! turn, to be judged then, and to be put in force.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_core::{Digest, Registry};
use serde_json::json;
use tokio::sync::OwnedMutexGuard;

use crate::policy::{Policy, Problem, Source};

type Loaded = Result<Arc<Policy>, Vec<Problem>>;

/// By what they were made from.
#[derive(Default)]
pub(super) struct Drafts {
    loaded: HashMap<Digest, Loaded>,
    /// How many were compiled.
    #[cfg(test)]
    pub(super) compiled: usize,
}

impl Drafts {
    /// A policy, or what is wrong with it.
    pub(super) fn load(
        &mut self,
        source: &Source,
        registries: &[&Registry],
        others: &[String],
    ) -> Loaded {
        let made_from = made_from(registries, others, source);
        if let Some(loaded) = self.loaded.get(&made_from) {
            return loaded.clone();
        }
        #[cfg(test)]
        {
            self.compiled += 1;
        }
        let loaded = Policy::load_among(source, registries, others).map(Arc::new);
        self.loaded.insert(made_from, loaded.clone());
        loaded
    }
}

/// A tenant's turn, until this is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

/// Changes of one tenant are made one after the other from the start: what is compiled for one would be
/// in vain if another came between, and a tenant keeps one processor busy with its rules and no more.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits for a tenant's turn.
    pub(super) async fn of(&self, tenant: &str) -> Turn {
        self.own(tenant).lock_owned().await
    }

    fn own(&self, tenant: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, one| one.strong_count() > 0);
        if let Some(own) = all.get(tenant).and_then(Weak::upgrade) {
            return own;
        }
        let own = Arc::default();
        all.insert(tenant.to_owned(), Arc::downgrade(&own));
        own
    }
}

/// What a policy is made from. The version of a registry is its content.
pub(super) fn made_from(registries: &[&Registry], others: &[String], source: &Source) -> Digest {
    let versions: Vec<&str> = registries.iter().map(|one| one.version.as_str()).collect();
    Digest::of_json(&json!([versions, others, source]))
}

#[cfg(test)]
mod tests {
    use haft_core::Principal;
    use haft_core::config::{Change, Kind};
    use haft_exec::Executors;
    use haft_store::Memory;

    use super::*;
    use crate::Runtime;
    use crate::toolbox::Records;

    fn runtime() -> Runtime {
        let registry = crate::guide::registry().unwrap().clone();
        Runtime::builder(registry, Arc::new(Memory::new()), Arc::new(Executors::new()))
            .records(Records::of_one("ours", "helper"))
            .source(Source::default())
            .build()
            .unwrap()
    }

    fn change(id: &str, cedar: &str) -> Change {
        let (tenant, id, by) = ("ours".to_owned(), id.to_owned(), Principal::user("boss"));
        Change { kind: Kind::Policy, tenant, id, from: 0, to: Some(json!({"cedar": cedar})), by }
    }

    async fn rehearsed(runtime: &Runtime, change: &Change) -> Drafts {
        let turn = Arc::new(runtime.inner.office.turns.of(&change.tenant).await);
        runtime.rehearse(change, &turn).await.unwrap()
    }

    #[tokio::test]
    async fn a_tenant_has_one_turn_and_keeps_nobody_elses() {
        let turns = Turns::default();
        let ours = turns.of("ours").await;
        let theirs = turns.of("theirs").await;
        assert!(turns.own("ours").try_lock().is_err());
        drop((ours, theirs));
        assert!(turns.own("ours").try_lock().is_ok());
        assert_eq!(turns.0.lock().unwrap().len(), 1, "who has no turn is forgotten");
    }

    const FINE: &str = "forbid (principal, action, resource) when { context.mode == \"voice\" };";

    /// Somebody else has their turn meanwhile, and would keep it for as long as they like.
    #[tokio::test]
    async fn rules_are_read_before_it_is_their_turn_and_not_again() {
        let runtime = runtime();
        runtime.change(change("first", FINE)).await.unwrap();
        for (id, cedar, fits) in [("fine", FINE, true), ("wrong", "forbid (everybody);", false)] {
            let mut desk = runtime.inner.office.desk.lock().await;
            let drafts = rehearsed(&runtime, &change(id, cedar)).await;
            let before = drafts.compiled;
            assert!(before > 0, "{cedar}");
            desk.drafts = drafts;
            let changed = runtime.change_at(&mut desk, change(id, cedar)).await;
            assert_eq!((changed.is_ok(), desk.drafts.compiled), (fits, before), "{cedar}");
        }
    }

    /// What was judged before its turn is judged on what is there when it comes.
    #[tokio::test]
    async fn what_has_changed_meanwhile_counts() {
        let runtime = runtime();
        let drafts = rehearsed(&runtime, &change("one", FINE)).await;
        let before = drafts.compiled;
        runtime.change(change("one", "permit (principal, action, resource);")).await.unwrap();
        let mut desk = runtime.inner.office.desk.lock().await;
        desk.drafts = drafts;
        let stale = runtime.change_at(&mut desk, change("one", FINE)).await;
        assert!(matches!(stale, Err(crate::config::ChangeError::Stale)), "{stale:?}");
        let other = runtime.change_at(&mut desk, change("two", FINE)).await;
        assert!(other.is_ok() && desk.drafts.compiled > before, "on the rules that there are now");
    }
}
