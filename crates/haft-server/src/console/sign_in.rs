//! Signing in, with a key or with a link that is good once, and signing out.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::guard::Params;
use super::guard::{Failed, posted, same_origin};
use super::page::{self, Visitor};
use super::posted::Posted;
use super::visits::{Held, Holder};
use super::{HOME, cookie, inside};
use crate::door::{Door, Limits};
use crate::problem::Problem;
use crate::seat::Seat;
use crate::who::{Role, Who};

/// The largest form that signs in: room for the longest token. Strangers send it, and what of it is awaited
/// counts together.
const FORM: usize = 20 << 10;

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct After {
    next: Option<String>,
}

/// The page that asks for a key.
pub(crate) async fn ask(Params(after): Params<After>) -> Response {
    asking(inside(after.next.as_deref()), None)
}

fn asking(next: &str, wrong: Option<&str>) -> Response {
    let content = html! {
        div .card.sign-in {
            h1 { "haft" }
            p { "Sign in with a key, or a token of your identity provider, that may approve or operate." }
            @if let Some(wrong) = wrong { p .notice.bad role="alert" #wrong { (wrong) } }
            form method="post" action={ (HOME) "/sign-in" } {
                input type="hidden" name="next" value=(next);
                label for="key" { "Key or token" }
                input #key type="password" name="key" required autocomplete="current-password"
                    spellcheck="false" autofocus aria-describedby=[wrong.map(|_| "wrong")];
                button type="submit" { "Sign in" }
            }
            p .note {
                "The administrator's key is in " code { ".haft/admin.key" } " beside "
                code { "haft.toml" } "; " code { "haft keys new" } " makes others."
            }
        }
    };
    page::open("Sign in", &content)
}

/// The page behind a link. Only its button uses the link up: whoever looks ahead does not.
pub(crate) async fn invited(Path(text): Path<String>) -> Response {
    let content = html! {
        div .card.sign-in {
            h1 { "haft" }
            p { "This link signs you in to the console, if it was not used before and is not older than 15 minutes." }
            form method="post" action={ (HOME) "/sign-in" } {
                input type="hidden" name="link" value=(text);
                button type="submit" autofocus { "Sign in" }
            }
        }
    };
    page::open("Sign in", &content)
}

/// Whoever shows a key or a link comes in.
pub(crate) async fn enter(
    State(door): State<Arc<Door>>,
    Extension(seat): Extension<Seat>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failed> {
    same_origin(&headers)?;
    not_in_the_clear(&headers)?;
    let limits = Limits { body_bytes: FORM.min(door.limits.body_bytes), ..door.limits.clone() };
    let form = posted(&headers, body, &limits).await?;
    let next = inside(form.one("next"));
    let (who, held) = match (form.filled("link"), form.filled("key")) {
        (Some(link), _) => by_key_of(by_link(&door, link)?),
        // Whoever forges tokens of an issuer that is slow keeps nobody out meanwhile.
        (None, Some(key)) => match seat.without(shown(&door, key)).await?? {
            Some(found) => found,
            None => {
                let wrong =
                    "No such key, and no token that is good here. Nothing else is wrong with it.";
                let mut again = asking(next, Some(wrong));
                *again.status_mut() = StatusCode::UNAUTHORIZED;
                return Ok(again);
            }
        },
        (None, None) => return Ok(asking(next, Some("Fill in a key."))),
    };
    if !who.is(Role::Approver) && !who.is(Role::Operator) {
        let why = match who.is(Role::Agent) {
            true => "this key is an agent's; the console is for people who approve or operate",
            false => "this key neither approves nor operates, which the console is for",
        };
        let fix = "sign in with a key that has the role `approver` or `operator`";
        return Err(Problem::forbidden(why).advise(fix).into());
    }
    // Whatever the browser held before is good no more.
    for old in cookie::read(&headers).filter_map(|text| door.visits.find(text)) {
        door.visits.end(&old.id);
    }
    let text = door.visits.begin(Holder::of(&who), held).ok_or_else(Problem::overloaded)?;
    let set = [(header::SET_COOKIE, cookie::set(&text, &headers))];
    Ok((set, Redirect::to(next)).into_response())
}

fn by_link(door: &Door, link: &str) -> Result<Who, Problem> {
    // A right link is let in whatever strangers have tried.
    if let Some(who) = door.visits.accept(link).and_then(|key| door.holder(&key)) {
        return Ok(who);
    }
    match door.visits.may_try("a link") {
        true => Err(Problem::signed_out(
            "the link was used already, or is too old; restart the server for another",
        )),
        false => Err(Problem::too_often()),
    }
}

fn by_key_of(who: Who) -> (Who, Held) {
    let held = Held::Key(who.key.clone());
    (who, held)
}

/// Whoever shows a key or a token.
async fn shown(door: &Door, text: &str) -> Result<Option<(Who, Held)>, Problem> {
    let text = text.trim();
    let name = text.rsplit_once('_').map(|(name, _)| name).filter(|name| name.len() <= 80);
    let name = name.unwrap_or_default();
    // A right key is let in whatever strangers have tried under its name.
    if let Some(who) = door.of_key(text) {
        door.visits.forgive(name);
        return Ok(Some(by_key_of(who)));
    }
    if let Some(who) = door.identify(text).await {
        return Ok(Some((who, Held::Token(text.into()))));
    }
    match door.visits.may_try(name) {
        true => Ok(None),
        false => Err(Problem::too_often()),
    }
}

/// A visit is as good as a key: it does not travel where others can read it.
fn not_in_the_clear(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_here = ["localhost", "127.0.0.1", "[::1]"].contains(&name) || name.starts_with("127.");
    match cookie::is_over_tls(headers) || is_here {
        true => Ok(()),
        false => {
            let why =
                Problem::forbidden("the console is not served in the clear to other machines");
            Err(why.advise(
                "put TLS in front of it, or reach it through a tunnel to the loopback address",
            ))
        }
    }
}

/// Shows the key once more: what is approved takes somebody who is there.
pub(crate) async fn prove(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
) -> Result<Response, Failed> {
    let found = shown(&door, form.one("key").unwrap_or_default()).await?;
    let same = |(who, _): &(Who, Held)| {
        who.key == visitor.who.key && who.principal == visitor.who.principal
    };
    let Some((_, held)) = found.filter(same) else {
        let why = "this is neither the key that you signed in with nor a token of yours";
        let fix = "go back, and show the key that you signed in with";
        return Err(Problem::forbidden(why).advise(fix).into());
    };
    door.visits.prove(&visitor.id, held);
    Ok(Redirect::to(inside(form.one("next"))).into_response())
}

/// The form for that.
pub(crate) fn proving(visitor: &Visitor, next: &str, what_for: &str) -> Markup {
    html! {
        form .notice.wait method="post" action={ (HOME) "/prove" } {
            (page::token(visitor))
            input type="hidden" name="next" value=(next);
            p { "You signed in a while ago. Show your key again " (what_for) "." }
            div .row {
                label for="prove" { "Key" }
                input #prove type="password" name="key" required autocomplete="current-password"
                    spellcheck="false";
                button type="submit" { "Show key" }
            }
            @if visitor.token.is_none() {
                p .note {
                    "It is the key " (page::id(&visitor.who.key)) ". The administrator's own is in "
                    code { ".haft/admin.key" } " beside " code { "haft.toml" } ", also for whoever came by a link."
                }
            }
        }
    }
}

/// Signs out.
pub(crate) async fn leave(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Response {
    door.visits.end(&visitor.id);
    let clear = [(header::SET_COOKIE, cookie::clear(&headers))];
    (clear, Redirect::to("/console/sign-in")).into_response()
}
