//! Telling those who watch what is known of an effect after the fact.

use haft_core::ledger::{Effect, EffectRecord, State};
use haft_core::port::EffectChanged;
use haft_core::record::{Event, EventKind};
use serde_json::json;

use crate::runtime::Inner;

impl Inner {
    /// Something else is known of an effect: an event, and a line for those who count.
    pub(crate) fn effect_changed(&self, effect: &Effect, state: State, by: Option<&str>) {
        let changed = EffectChanged {
            call: &effect.call,
            tenant: &effect.tenant,
            agent: &effect.agent,
            tool: &effect.tool,
            state,
            by,
        };
        self.observe.iter().for_each(|observer| observer.effect_changed(&changed));
        self.announce_effect(effect, state, by);
    }

    /// Effects of processes that are gone. (Whoever takes them over has a line for all of them.)
    pub(crate) fn effects_left(&self, left: &[EffectRecord]) {
        left.iter().for_each(|one| self.announce_effect(&one.effect, State::Unknown, None));
    }

    fn announce_effect(&self, effect: &Effect, state: State, by: Option<&str>) {
        if !self.publish.is_listening() {
            return;
        }
        self.publish.publish(&Event {
            kind: EventKind::EffectChanged,
            tenant: effect.tenant.clone(),
            agent: effect.agent.clone(),
            session: effect.session.clone(),
            turn: effect.turn,
            call: effect.call.clone(),
            model_call: None,
            tool: effect.tool.clone(),
            at_ms: self.store.now_ms(),
            payload: json!({ "state": state, "by": by }),
            by: None,
        });
    }
}
