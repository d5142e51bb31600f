//! The forms of a connection's page, each for one thing to do with it.

use maud::{Markup, html};

use super::{PLACE, made_for};
use crate::api::connections::Connection;
use crate::console::clicks::{Aimed, WAIT};
use crate::console::encode;
use crate::console::page::{self, Visitor};
use crate::console::visible::visible;

/// A form of one thing to do with a connection.
fn doing(visitor: &Visitor, one: &Connection, what: &str, inside: &Markup) -> Markup {
    html! {
        form .row method="post" action={ (PLACE) "/" (encode(&one.id)) } autocomplete="off" {
            (page::token(visitor))
            (made_for(one).field())
            input type="hidden" name="do" value=(what);
            (inside)
        }
    }
}

/// In a list whose rows move up when one is gone.
pub(super) fn revoking(visitor: &Visitor, aimed: &Aimed, one: &Connection, who: &str) -> Markup {
    html! {
        form .row method="post" action={ (PLACE) "/" (encode(&one.id)) } data-wait=(WAIT) {
            (aimed.fields(visitor))
            (made_for(one).field())
            input type="hidden" name="do" value="revoke";
            input type="hidden" name="principal" value=(who);
            button .quiet type="submit" aria-label={ "Take " (one.id) " back from " (who) } { "Take back" }
            @if who.len() < 40 { span .about { (visible(who)) } }
        }
    }
}

pub(super) fn granting(visitor: &Visitor, one: &Connection) -> Markup {
    doing(
        visitor,
        one,
        "grant",
        &html! {
            label for="principals" { "Who" }
            input #principals name="principals" required placeholder="agent:helper, agent:* or user:mara" spellcheck="false";
            label for="tools" { "Tools" }
            input #tools name="tools" required placeholder="core__issues_*" spellcheck="false";
            button type="submit" { "Grant" }
        },
    )
}

pub(super) fn testing(visitor: &Visitor, one: &Connection) -> Markup {
    doing(
        visitor,
        one,
        "test",
        &html! {
            @if !one.hosts.is_empty() {
                label for="url" { "Address to ask" }
                input #url name="url" type="url" placeholder={ "https://" (one.hosts.first().map_or("", String::as_str)) "/" } spellcheck="false";
            }
            button type="submit" { "Test" }
        },
    )
}

pub(super) fn asking(visitor: &Visitor, one: &Connection) -> Markup {
    let known = one.oauth.as_ref().and_then(|tokens| tokens.authorize_url.as_deref());
    doing(
        visitor,
        one,
        "consent",
        &html! {
            label for="authorize_url" { "Address for consent" }
            input #authorize_url name="authorize_url" type="url" required value=[known] spellcheck="false";
            button type="submit" { "Ask again" }
        },
    )
}

pub(super) fn rotating(visitor: &Visitor, one: &Connection) -> Markup {
    doing(
        visitor,
        one,
        "secret",
        &html! {
            label for="secret" { "New secret" }
            input #secret name="secret" type="password" autocomplete="new-password" required;
            button type="submit" { "Replace" }
        },
    )
}

/// Who removes it has said so twice.
pub(super) fn removing(visitor: &Visitor, one: &Connection) -> Markup {
    doing(
        visitor,
        one,
        "remove",
        &html! {
            label .choice { input type="checkbox" name="sure" value="yes" required; " Forget it, its secret and its grants" }
            button .quiet type="submit" { "Remove" }
        },
    )
}
