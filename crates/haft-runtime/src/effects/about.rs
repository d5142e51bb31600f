//! The calls that are made about an effect, to probe it and to undo it.
//!
//! They are made by people who look after effects, about something that was let happen. What holds for
//! them is what holds for the tenant: its tools, its policy (asked about whoever the call is made for),
//! connections and their grants, rates, approvals. What keeps an agent or a user in bounds does not,
//! or what they did could neither be looked into nor taken back: the agent's own list of tools and its
//! activations, the mode in which they talked, a block on the user, and budgets, which a turn has.

use haft_core::Call;
use haft_core::call::Purpose;
use haft_core::contract::Mode;
use haft_core::ledger::Effect;

use crate::runtime::Runtime;
use crate::toolbox::Found;

impl Runtime {
    /// Makes a call one about an effect. `toolset` is that of the tool that caused it: a contract means
    /// the tool of this name there, whatever else the tenant has.
    pub(super) fn about(&self, call: &mut Call, purpose: Purpose, toolset: &str, about: &Effect) {
        call.purpose = purpose;
        call.connection.clone_from(&about.connection);
        call.connections = call.connection.iter().cloned().collect();
        call.mode = Mode::Text;
        let Some(shelf) = self.inner.shelf(&call.caller.tenant, None) else { return };
        let catalog = |mode| self.inner.catalog_for(&shelf, call, mode, self.inner.store.now_ms());
        let text = catalog(Mode::Text);
        let own = Some(format!("{toolset}{}", call.tool))
            .filter(|own| !matches!(text.find(own), Found::Unknown));
        let tool = own.as_deref().unwrap_or(&call.tool);
        // Nothing is reduced and nobody hurries, as there would be in voice; but where rules let the
        // tool be used there alone, it is.
        if text.get(tool).is_none() && catalog(about.mode).get(tool).is_some() {
            call.mode = about.mode;
        }
        call.tool = own.unwrap_or_else(|| call.tool.clone());
    }
}
