//! The form that calls a tool.

use haft_core::contract::Mode;
use haft_core::{Caller, Tool};
use maud::{Markup, html};

use super::tried::Tried;
use crate::console::catalog::Sought;
use crate::console::made_for::MadeFor;
use crate::console::page::{self, Visitor};
use crate::console::posted::Posted;
use crate::console::{HOME, encode, form, visits};
use crate::door::Door;

/// A connection that a tool can be called with.
pub(super) struct Usable {
    pub(super) id: String,
    /// The account that it is now.
    pub(super) made_for: MadeFor,
}

/// The connections that somebody was granted for a tool.
pub(super) async fn usable(door: &Door, caller: &Caller, tool: &Tool) -> Vec<Usable> {
    let granted = door.runtime.connections(caller, tool);
    let Some(kept) = door.runtime.accounts().filter(|_| !granted.is_empty()) else {
        return Vec::new();
    };
    let accounts = kept.accounts(&caller.tenant).await.unwrap_or_default();
    let accounts = accounts.iter().filter(|one| granted.contains(&one.id));
    let usable = accounts.map(|one| Usable {
        id: one.id.clone(),
        made_for: MadeFor::account(Some(one.made_ms), &one.provider, one.kind.as_str(), &one.hosts),
    });
    usable.collect()
}

pub(super) fn calling(
    visitor: &Visitor,
    (agent, tool): (&str, &Tool),
    connections: &[Usable],
    sought: Sought<'_>,
    tried: Option<&Tried<'_>>,
) -> Markup {
    // The same key for the same form, another for another act.
    let key = visits::random().unwrap_or_default();
    let place = format!("{HOME}/tools/{}/{}", encode(agent), encode(&tool.id));
    let made_for = MadeFor::tool(tool);
    let raw = tried.and_then(|tried| tried.form.filled(form::RAW));
    // Of another tool's form nothing stands in the place that it was filled in for.
    let tried = tried.filter(|tried| made_for.is_in(tried.form));
    let filled = tried.map(|tried| tried.form);
    let wrong = tried.map(Tried::wrong).unwrap_or_default();
    // What is wrong is wrong with the one of them that counted.
    let (by_field, in_raw) = match raw {
        Some(_) => (&[][..], !wrong.is_empty()),
        None => (&*wrong, false),
    };
    html! {
        form .call method="post" action=(place) {
            (page::token(visitor))
            (made_for.field())
            input type="hidden" name="key" value={ "console-" (key) };
            (form::fields(&tool.parameters, &tool.contract.parameters, filled, by_field))
            @if tool.contract.connection.is_some() { (connection(connections, filled)) }
            details open[raw.is_some()] {
                summary { "Arguments as JSON instead" }
                label for="raw" { "Arguments" }
                textarea #raw name=(form::RAW) rows="4" spellcheck="false" aria-invalid=[in_raw.then_some("true")]
                    aria-describedby=[in_raw.then_some("why")] { "\n" (raw.unwrap_or_default()) }
            }
            div .row {
                label for="mode" { "Mode" }
                select #mode name="mode" {
                    @for one in [Mode::Text, Mode::Voice] {
                        option value=(one.as_str()) selected[one == sought.mode] { (one.as_str()) }
                    }
                }
                @if !sought.words.is_empty() { input type="hidden" name="q" value=(sought.words); }
                button type="submit" name="do" value="dry" .quiet { "Dry run" }
                button type="submit" name="do" value="call" { "Call" }
            }
        }
    }
}

/// Which account it is made with. The only one that is granted needs no choice.
fn connection(granted: &[Usable], filled: Option<&Posted>) -> Markup {
    let chosen = filled.and_then(|filled| filled.filled("connection"));
    let is_chosen = |one: &Usable| {
        let is_it = |filled: &Posted| one.made_for.is_chosen_in(filled, &one.id);
        chosen == Some(&*one.id) && filled.is_some_and(is_it)
    };
    html! {
        div .field {
            label for="connection" { "Connection" }
            select #connection name="connection" {
                @if granted.len() != 1 { option value="" { "none" } }
                @for one in granted { option value=(one.id) selected[is_chosen(one)] { (one.id) } }
            }
            @for one in granted { (one.made_for.field_of(&one.id)) }
        }
    }
}
