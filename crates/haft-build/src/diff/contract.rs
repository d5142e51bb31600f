//! The fields of two contracts.

mod limits;
mod modes;
mod promises;
mod reach;
mod recovery;
mod texts;

use haft_core::Contract;
use haft_core::contract::SideEffects;

use super::change::Change;
use super::schema::{self, Side};

/// Tells every difference. The old contract is taken apart without a rest, so that a field that is
/// new to contracts is not forgotten here.
pub(super) fn compare(old: &Contract, new: &Contract, out: &mut Vec<Change>) {
    let Contract {
        tool_id: _,
        // Said by the bump.
        version: _,
        // With the gateway and the origin, which say whose text it is.
        description: _,
        category,
        side_effects,
        effect,
        side_effect_policy,
        idempotent,
        requires_confirmation,
        confirmation,
        allowed_modes,
        // With the modes, which say whether it is a deadline.
        latency_budget_ms: _,
        modes,
        parameters,
        output,
        redaction,
        arguments,
        capabilities,
        connection,
        hosts,
        gateway,
        // Compared with what the registry says about the handler.
        handler: _,
        idempotency_key_fields,
        compensation,
        probe,
        limits,
        availability,
        documentation,
        tags,
        deprecated,
        portability,
        lint,
        origin,
    } = old;

    let writes = [*side_effects, new.side_effects].contains(&SideEffects::Writes);
    schema::compare(parameters, &new.parameters, Side::Arguments { writes }, out);
    schema::compare_results(output.as_ref(), new.output.as_ref(), out);

    promises::side_effects(*side_effects, new.side_effects, out);
    promises::effect(*effect, new.effect, out);
    promises::policy(*side_effect_policy, new.side_effect_policy, out);
    promises::idempotent(*idempotent, new.idempotent, out);
    promises::confirmation(requires_confirmation, &new.requires_confirmation, out);
    promises::availability(availability.as_ref(), new.availability.as_ref(), out);
    promises::arguments(*arguments, new.arguments, out);
    promises::documentation(*documentation, new.documentation, out);
    promises::category(*category, new.category, out);
    promises::deprecated(deprecated.as_ref(), new.deprecated.as_ref(), out);

    modes::allowed(allowed_modes, &new.allowed_modes, out);
    modes::latency(old, new, out);
    modes::clamps(modes, &new.modes, out);
    limits::compare(limits, &new.limits, out);

    reach::capabilities(capabilities, &new.capabilities, out);
    reach::connection(connection.as_ref(), new.connection.as_ref(), out);
    reach::hosts(hosts, &new.hosts, out);
    reach::gateway(gateway.as_ref(), new.gateway.as_ref(), out);
    reach::redaction(redaction, &new.redaction, out);

    recovery::key_fields(
        idempotency_key_fields.as_deref(),
        new.idempotency_key_fields.as_deref(),
        out,
    );
    recovery::compensation(compensation.as_ref(), new.compensation.as_ref(), out);
    recovery::probe(probe.as_ref(), new.probe.as_ref(), out);

    texts::description(old, new, out);
    texts::prompt(confirmation.as_ref(), new.confirmation.as_ref(), out);
    texts::internal("tags", tags, &new.tags, out);
    texts::internal("portability", portability, &new.portability, out);
    texts::internal("lint", lint, &new.lint, out);
    texts::internal("origin", origin, &new.origin, out);
}

/// What only the second list has.
fn gained<'a, T: PartialEq>(old: &[T], new: &'a [T]) -> Vec<&'a T> {
    new.iter().filter(|item| !old.contains(item)).collect()
}
