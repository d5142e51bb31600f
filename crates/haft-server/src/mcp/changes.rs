//! Telling clients that what they were shown has changed.

use haft_core::Digest;
use haft_core::contract::Mode;
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionContext};
use serde_json::json;
use tokio::sync::watch;

use super::Seat;
use super::handler::Subscriptions;
use crate::door::Door;
use std::sync::Arc;

/// What a seat is shown, as far as a client must know that it has changed.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    tools: Digest,
    prompts: Digest,
}

impl Shown {
    fn now(door: &Door, seat: &Seat) -> Self {
        let catalog = door.runtime.catalog(&seat.caller, Mode::Text);
        let tools: Vec<_> =
            catalog.list().map(|one| json!([one.tool.id, one.tool.digest])).collect();
        let tools = Digest::of_json(&json!([catalog.version(), tools]));
        let own = door.mcp.prompts.iter().flat_map(|one| one.list(&seat.caller));
        let own: Vec<_> = own.map(|prompt| json!([prompt.name, prompt.description])).collect();
        let prompts = Digest::of_json(&json!([door.runtime.current().prompts, own]));
        Self { tools, prompts }
    }
}

/// What has changed.
struct Changed {
    tools: bool,
    prompts: bool,
}

/// Waits for changes of what a seat is shown.
struct Watch {
    door: Arc<Door>,
    seat: Arc<Seat>,
    changes: watch::Receiver<u64>,
    shown: Shown,
}

impl Watch {
    fn new(door: &Arc<Door>, seat: &Arc<Seat>) -> Self {
        let changes = door.runtime.changes();
        let shown = Shown::now(door, seat);
        Self { door: door.clone(), seat: seat.clone(), changes, shown }
    }

    /// The next change; none when there can be no more.
    async fn next(&mut self) -> Option<Changed> {
        loop {
            self.changes.changed().await.ok()?;
            let now = Shown::now(&self.door, &self.seat);
            let changed = Changed {
                tools: now.tools != self.shown.tools,
                prompts: now.prompts != self.shown.prompts,
            };
            self.shown = now;
            if changed.tools || changed.prompts {
                return Some(changed);
            }
        }
    }
}

/// Tells a session of the older era, for as long as it lasts.
pub(super) fn tell_session(
    door: &Arc<Door>,
    seat: &Arc<Seat>,
    peer: Peer<RoleServer>,
    subscribed: Subscriptions,
    mut ends: watch::Receiver<()>,
) {
    let mut watch = Watch::new(door, seat);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                // The sender goes with the session.
                _ = ends.changed() => return,
                changed = watch.next() => {
                    let Some(changed) = changed else { return };
                    if tell(&peer, &changed, &subscribed).await.is_none() {
                        return;
                    }
                }
            }
        }
    });
}

async fn tell(
    peer: &Peer<RoleServer>,
    changed: &Changed,
    subscribed: &Subscriptions,
) -> Option<()> {
    if changed.tools {
        peer.notify_tool_list_changed().await.ok()?;
        for uri in subscribed.all() {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            peer.notify_resource_updated(updated).await.ok()?;
        }
    }
    if changed.prompts {
        peer.notify_prompt_list_changed().await.ok()?;
    }
    Some(())
}

/// Tells a subscription of the newer era, until it is cancelled.
pub(super) async fn tell_subscription(
    door: &Arc<Door>,
    seat: &Arc<Seat>,
    subscription: &SubscriptionContext,
) {
    let mut watch = Watch::new(door, seat);
    let sink = subscription.sink();
    loop {
        let changed = tokio::select! {
            () = subscription.cancelled() => return,
            changed = watch.next() => changed,
        };
        let Some(changed) = changed else { return };
        // What was not subscribed is refused by the sink, and that is as it should be.
        if changed.tools {
            let _ = sink.notify_tool_list_changed().await;
            for uri in subscription.accepted().resource_subscriptions.iter().flatten() {
                let _ = sink.notify_resource_updated(uri.clone()).await;
            }
        }
        if changed.prompts {
            let _ = sink.notify_prompt_list_changed().await;
        }
    }
}
