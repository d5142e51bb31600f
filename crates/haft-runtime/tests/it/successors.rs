//! A tenant that was removed, and another of its name: what was begun or kept for the one is nothing to
//! the other, whichever process removed it, and whether anybody looked in between.

use std::sync::Arc;

use haft_core::config::{Change, Kind};
use haft_core::port::{CallFilter, Configs as _, Invoke as _, Journal as _, Owner};
use haft_core::record::EventKind;
use haft_core::secret::SecretText;
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_runtime::batch::{Planned, Step};
use haft_runtime::policy::{Recall, Rules, Source};
use haft_runtime::toolbox::Records;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::path::world::{Does, World, kind};

const TENANT: &str = "acme";

/// Who changes what is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// This process.
    Us,
    /// Another one, which is quicker than we look.
    Another,
}

const BOTH: [By; 2] = [By::Us, By::Another];

/// One tenant that is declared, and one that comes and goes.
struct Place {
    world: World,
    by: By,
}

impl Place {
    async fn new(by: By) -> Self {
        let recall = vec![Recall { tools: vec!["find".into()], seconds: 3_600 }];
        let rules = Rules { allow: vec!["shop__*".into()], recall, ..Rules::default() };
        let source = Source { rules: rules.clone(), ..Source::default() };
        let world = World::with(rules, |builder| {
            builder.records(Records::of_one("home", "helper")).source(source)
        });
        let place = Self { world, by };
        place.found().await;
        place.look().await;
        place
    }

    /// What another process wrote is read at last.
    async fn look(&self) {
        if self.by == By::Another {
            assert!(self.world.runtime.refresh().await.unwrap());
        }
    }

    async fn change(&self, kind: Kind, id: &str, to: Option<Value>) {
        let store = &self.world.store;
        let from = store.entry(kind, TENANT, id).await.map_or(0, |entry| entry.version);
        let (tenant, id, by) = (TENANT.to_owned(), id.to_owned(), Principal::user("boss"));
        let change = Change { kind, tenant, id, from, to, by };
        match self.by {
            By::Us => drop(self.world.runtime.change(change).await.unwrap()),
            By::Another => drop(store.change(change).await.unwrap()),
        }
    }

    async fn found(&self) {
        self.change(Kind::Tenant, TENANT, Some(json!({}))).await;
        self.change(Kind::Agent, "main", Some(json!({}))).await;
    }

    /// Another tenant takes the place of the one that there was.
    async fn replace(&self) {
        self.change(Kind::Agent, "main", None).await;
        self.change(Kind::Tenant, TENANT, None).await;
        self.found().await;
        self.look().await;
    }

    /// Whoever is let in now.
    fn caller(&self) -> Caller {
        let era = Some(self.world.runtime.era(TENANT));
        Caller { era, ..Caller::agent(TENANT, "main") }
    }

    async fn recorded(&self) -> usize {
        let store = &self.world.store;
        store.flush().await.unwrap();
        let calls = CallFilter { tenant: TENANT.into(), limit: 10, ..CallFilter::default() };
        store.calls(calls).await.unwrap().len()
    }
}

fn ask(caller: &Caller, tool: &str) -> Call {
    Call::new(caller.clone(), tool, json!({ "item": "lamp" }))
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_kept_is_for_the_tenant_that_got_it() {
    for by in BOTH {
        let place = Place::new(by).await;
        let world = &place.world;
        let old = place.caller();
        assert!(!world.call(ask(&old, "find")).await.meta.cached, "{by:?}");
        // Other things that are said of it make no other tenant.
        for words in ["one", "two", "three"] {
            place.change(Kind::Tenant, TENANT, Some(json!({ "description": words }))).await;
        }
        place.look().await;
        assert_eq!(place.caller(), old, "{by:?}");
        assert!(world.call(ask(&old, "find")).await.meta.cached, "{by:?}");
        place.replace().await;
        assert_ne!(place.caller(), old, "{by:?}");
        let again = world.call(ask(&place.caller(), "find")).await;
        assert!(again.is_ok() && !again.meta.cached, "{by:?}: {again:?}");
        assert_eq!(world.acts("find"), 2, "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_begun_for_a_removed_tenant_goes_on_in_no_other() {
    for by in BOTH {
        let place = Place::new(by).await;
        let world = &place.world;
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        world.next("get", Does::Waits(begun.clone(), go.clone()));
        let old = place.caller();
        let first = Planned { call: ask(&old, "get"), critical: false };
        let mut second = ask(&old, "order");
        second.key = Some("k".into());
        let (runtime, batch) = (world.runtime.clone(), vec![first, second.into()]);
        let running = tokio::spawn(async move { runtime.batch(batch).await.unwrap() });
        begun.notified().await;
        place.replace().await;
        world.heard.0.lock().clear();
        go.notify_one();
        let steps = running.await.unwrap();
        let Some(Step::Ended(last)) = steps.last() else { panic!("{steps:?}") };
        assert_eq!(kind(last), ErrorKind::Unavailable, "{by:?}");
        assert_eq!(world.acts("order"), 0, "{by:?}: nothing is done in another's name");
        assert_eq!(place.recorded().await, 0, "{by:?}: nothing is on the next one's record");
        let heard = std::mem::take(&mut *world.heard.0.lock());
        let told =
            |kind: EventKind| heard.iter().any(|one| one.tenant == TENANT && one.kind == kind);
        assert!(!told(EventKind::ToolCallResult), "{by:?}: {heard:?}");
        // Whoever is let in now may do the same.
        let mut own = ask(&place.caller(), "order");
        own.key = Some("k".into());
        assert!(world.call(own).await.is_ok(), "{by:?}");
        assert_eq!((world.acts("order"), place.recorded().await), (1, 1), "{by:?}");
    }
}

/// (A tenant with an effect under way is not removed.)
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_place_is_not_begun_for_another_tenant() {
    for by in BOTH {
        let place = Place::new(by).await;
        let world = &place.world;
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        world.next("get", Does::WaitsForAPlace(begun.clone(), go.clone()));
        let (runtime, waits) = (world.runtime.clone(), ask(&place.caller(), "get"));
        let running = tokio::spawn(async move { runtime.invoke(waits).await });
        begun.notified().await;
        place.replace().await;
        go.notify_one();
        let ended = running.await.unwrap();
        assert_eq!((kind(&ended), world.acts("get")), (ErrorKind::Unavailable, 0), "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_secrets_of_a_removed_tenant_are_looked_for_in_no_text_of_another() {
    const SECRET: &str = "tok-19f2c47ab8-long";
    for by in BOTH {
        let place = Place::new(by).await;
        let world = &place.world;
        let owner = Owner::Connection { tenant: TENANT.into(), id: "crm".into() };
        drop(world.runtime.hide(&owner, "crm", &SecretText::new(SECRET)).unwrap());
        let said = async || {
            let call = Call::new(place.caller(), "get", json!({ "item": SECRET }));
            world.call(call).await.result.unwrap().to_string()
        };
        assert!(!said().await.contains(SECRET), "{by:?}");
        place.replace().await;
        assert!(said().await.contains(SECRET), "{by:?}");
    }
}
