//! Events, handed to whoever watches, and kept for a while for whoever comes back. Each tenant's are
//! numbered and kept by themselves: what one does, another neither sees nor loses anything by. Who
//! cannot keep up loses events and is told how many.

mod kept;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::port::Publish;
use haft_core::record::Event;
use tokio::sync::watch;

use kept::Kept;
pub(crate) use kept::{Lost, Mark, Seen};

/// So many bytes of all tenants' events are kept. Above that, whoever has the most makes room.
const BYTES: usize = 32 << 20;

/// The place where events meet their watchers.
#[derive(Clone, Debug, Default)]
pub struct Hub {
    tenants: Arc<Mutex<Tenants>>,
    /// Whether somebody may be listening. Every call asks, and most of the time nobody is.
    heard: Arc<AtomicBool>,
}

impl Hub {
    /// Everything of a tenant from now on.
    pub(crate) fn watch(&self, tenant: &Arc<str>) -> Watching {
        self.subscribe(tenant, None).1
    }

    /// Everything of a tenant after an event that was seen before, or from now on.
    pub(crate) fn follow(&self, tenant: &Arc<str>, after: Option<&Mark>) -> Following {
        let (lost, from) = self.subscribe(tenant, after);
        Following { lost, from }
    }

    fn subscribe(&self, tenant: &Arc<str>, after: Option<&Mark>) -> (Option<Lost>, Watching) {
        let mut tenants = self.tenants();
        tenants.forget();
        let one = tenants.each.entry(tenant.clone()).or_default();
        let (lost, at) = match after {
            Some(mark) => one.kept.after(mark),
            None => (None, one.kept.last()),
        };
        let (wake, run) = (one.wake.subscribe(), one.kept.run());
        self.heard.store(true, Ordering::Release);
        (lost, Watching { tenant: tenant.clone(), run, at, wake, hub: self.clone() })
    }

    fn tenants(&self) -> MutexGuard<'_, Tenants> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publish for Hub {
    fn publish(&self, event: &Event) {
        self.tenants().take(event);
    }

    fn is_listening(&self) -> bool {
        if !self.heard.load(Ordering::Acquire) {
            return false;
        }
        let mut tenants = self.tenants();
        let heard = tenants.each.values().any(Tenant::is_heard);
        if !heard {
            *tenants = Tenants::default();
        }
        self.heard.store(heard, Ordering::Release);
        heard
    }

    /// Whoever watches it has nothing more to hear, and whoever comes back to another of its name begins anew.
    fn tenant_removed(&self, tenant: &str) {
        self.tenants().remove(tenant);
    }
}

/// The tenants of whom somebody watches, or is expected back.
#[derive(Debug, Default)]
struct Tenants {
    each: HashMap<Arc<str>, Tenant>,
    /// What they keep together.
    bytes: usize,
}

impl Tenants {
    fn take(&mut self, event: &Event) {
        let Some(one) = self.each.get_mut(event.tenant.as_str()) else { return };
        if !one.is_heard() {
            self.remove(&event.tenant);
            return;
        }
        self.bytes -= one.kept.bytes();
        one.kept.take(kept::cut(event));
        self.bytes += one.kept.bytes();
        // While nobody else publishes, so that watchers see events in the order of their numbers.
        one.wake.send_replace(one.kept.last());
        while self.bytes > BYTES {
            let most = self.each.values_mut().max_by_key(|one| one.kept.bytes());
            match most.map_or(0, |one| one.kept.drop_oldest()) {
                0 => return,
                bytes => self.bytes -= bytes,
            }
        }
    }

    fn remove(&mut self, tenant: &str) {
        if let Some(gone) = self.each.remove(tenant) {
            self.bytes -= gone.kept.bytes();
        }
    }

    /// Lets go of what nobody will come back for.
    fn forget(&mut self) {
        self.each.retain(|_, one| one.is_heard());
        self.bytes = self.each.values().map(|one| one.kept.bytes()).sum();
    }
}

/// One tenant's events.
#[derive(Debug)]
struct Tenant {
    kept: Kept,
    /// The number of the newest.
    wake: watch::Sender<u64>,
}

impl Default for Tenant {
    fn default() -> Self {
        Self { kept: Kept::begin(), wake: watch::Sender::new(0) }
    }
}

impl Tenant {
    fn is_heard(&self) -> bool {
        self.wake.receiver_count() > 0 || self.kept.is_awaited()
    }
}

/// Whoever watches what happens at a tenant. Events are read where they are kept, so a slow watcher
/// has nothing kept for it alone.
#[derive(Debug)]
pub(crate) struct Watching {
    tenant: Arc<str>,
    /// The run that it is in.
    run: u64,
    /// The number of the last event that was read.
    at: u64,
    wake: watch::Receiver<u64>,
    hub: Hub,
}

/// So many events are no longer there to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed(pub(crate) u64);

impl Watching {
    /// The next event, once there is one. None when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Result<Arc<Seen>, Missed>> {
        loop {
            if let Some(next) = self.ready() {
                return Some(next);
            }
            self.wake.changed().await.ok()?;
        }
    }

    /// The next event, where there is one.
    pub(crate) fn ready(&mut self) -> Option<Result<Arc<Seen>, Missed>> {
        // Those that come from here on wake it.
        if *self.wake.borrow_and_update() <= self.at {
            return None;
        }
        // Of another run is what another tenant of this name does.
        let next = {
            let tenants = self.hub.tenants();
            let own = tenants.each.get(&self.tenant).filter(|one| one.kept.run() == self.run);
            own?.kept.next(self.at)?
        };
        self.at += next.as_ref().map_or_else(|missed| *missed, |_| 1);
        Some(next.map_err(Missed))
    }
}

/// Whoever follows what happens, and may come back.
pub(crate) struct Following {
    /// What was lost before the first event.
    pub(crate) lost: Option<Lost>,
    pub(crate) from: Watching,
}

impl Drop for Following {
    fn drop(&mut self) {
        let (run, mut tenants) = (self.from.run, self.from.hub.tenants());
        let one = tenants.each.get_mut(&self.from.tenant).filter(|one| one.kept.run() == run);
        if let Some(one) = one {
            one.kept.await_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::record::EventKind;
    use serde_json::{Value, json};

    use super::*;

    fn tell(hub: &Hub, tenant: &str, payload: Value) {
        hub.publish(&Event {
            kind: EventKind::Message,
            tenant: tenant.into(),
            agent: String::new(),
            session: None,
            turn: 0,
            call: String::new(),
            model_call: None,
            tool: String::new(),
            at_ms: 1,
            payload,
            by: None,
        });
    }

    /// What a watcher is told by now.
    fn told(watching: &mut Watching) -> Vec<Result<Value, Missed>> {
        let next = || watching.ready().map(|next| next.map(|seen| seen.payload.clone()));
        std::iter::from_fn(next).collect()
    }

    fn mark(watching: &mut Watching) -> Mark {
        watching.ready().unwrap().unwrap().mark
    }

    fn number(mark: &Mark) -> String {
        mark.to_string().split('.').nth(1).unwrap().to_owned()
    }

    #[test]
    fn nobody_sees_in_its_numbers_or_loses_by_what_another_tenant_does() {
        let (hub, ours, theirs) = (Hub::default(), Arc::from("ours"), Arc::from("theirs"));
        let (mut our, mut their) = (hub.follow(&ours, None), hub.follow(&theirs, None));
        tell(&hub, "ours", json!(1));
        let first = mark(&mut our.from);
        for at in 0..10_000 {
            tell(&hub, "theirs", json!(at));
        }
        tell(&hub, "ours", json!(2));
        let second = mark(&mut our.from);
        assert_eq!((number(&first), number(&second)), ("1".into(), "2".into()));
        drop(our);
        for at in 0..10_000 {
            tell(&hub, "theirs", json!(at));
        }
        tell(&hub, "ours", json!(3));
        let mut back = hub.follow(&ours, Some(&first));
        assert_eq!((back.lost, told(&mut back.from)), (None, vec![Ok(json!(2)), Ok(json!(3))]));
        let lost = told(&mut their.from);
        assert_eq!((lost.len(), &lost[0]), (4_097, &Err(Missed(20_000 - 4_096))));
        // A place of one tenant is none of another's.
        let other = hub.follow(&theirs, Some(&first));
        assert_eq!(other.lost, Some(Lost { events: None, since_ms: 1 }));
    }

    #[test]
    fn all_tenants_together_keep_no_more_than_fits_and_the_largest_makes_room() {
        let hub = Hub::default();
        let small: Arc<str> = "small".into();
        let mut little = hub.watch(&small);
        tell(&hub, "small", json!("kept"));
        let names: Vec<Arc<str>> = (0..8).map(|at| Arc::from(format!("t{at}"))).collect();
        let watchers: Vec<_> = names.iter().map(|name| hub.watch(name)).collect();
        let large = "x".repeat(32 << 10);
        for _ in 0..300 {
            for name in &names {
                tell(&hub, name, json!(large));
            }
        }
        let tenants = hub.tenants();
        let sum: usize = tenants.each.values().map(|one| one.kept.bytes()).sum();
        assert!(tenants.bytes == sum && sum <= BYTES && sum > BYTES / 2, "{sum}");
        drop(tenants);
        assert_eq!(told(&mut little), [Ok(json!("kept"))]);
        drop((little, watchers));
        assert!(!hub.is_listening());
        let tenants = hub.tenants();
        assert_eq!((tenants.bytes, tenants.each.len()), (0, 0));
    }

    #[tokio::test]
    async fn what_a_removed_tenant_did_is_told_to_no_other_of_its_name() {
        let (hub, tenant) = (Hub::default(), Arc::from("ours"));
        let mut old = hub.follow(&tenant, None);
        tell(&hub, "ours", json!("first"));
        let mark = mark(&mut old.from);
        tell(&hub, "ours", json!("not read yet"));
        hub.tenant_removed("ours");
        assert_eq!(hub.tenants().bytes, 0);
        let mut new = hub.follow(&tenant, Some(&mark));
        assert_eq!(new.lost, Some(Lost { events: None, since_ms: 1 }));
        tell(&hub, "ours", json!("next"));
        assert_eq!(told(&mut new.from), [Ok(json!("next"))]);
        assert_eq!(old.from.next().await, None, "there is nothing more to hear");
        drop(old);
        assert!(!hub.tenants().each.values().any(|one| one.kept.is_awaited()), "of another run");
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_by_events_of_its_own_tenant() {
        let (hub, tenant) = (Hub::default(), Arc::from("ours"));
        assert!(!hub.is_listening());
        let mut watching = hub.watch(&tenant);
        assert!(hub.is_listening());
        let woken = tokio::spawn(async move { watching.next().await.unwrap().unwrap() });
        tell(&hub, "theirs", json!("theirs"));
        tell(&hub, "ours", json!("ours"));
        assert_eq!(woken.await.unwrap().payload, "ours");
        assert!(!hub.is_listening());
        drop(hub.follow(&tenant, None));
        assert!(hub.is_listening(), "somebody may come back");
    }
}
