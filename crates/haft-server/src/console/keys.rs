//! Keys: who holds one, what it opens, and until when. A new one is shown once.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_adm::strict;
use haft_core::Principal;
use haft_runtime::policy::Instant;
use maud::{Markup, html};
use serde_json::Value;

use super::guard::Failed;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::visible;
use super::{FRESH, HOME, encode, sign_in, words};
use crate::api::admin::Thing;
use crate::api::admin::keys::{self, NewKey};
use crate::door::Door;
use crate::problem::Problem;
use crate::who::Role;
use crate::who::facts::Facts;

const PLACE: &str = "/console/keys";
/// What the word of the form stands for. No question has such an id.
const FORM: &str = "a new key";

/// The roles that can be given, and what each is for.
const ROLES: [(Role, &str, &str); 5] = [
    (Role::Agent, "agent", "sees an agent's tools and makes its calls"),
    (Role::Approver, "approver", "answers what agents ask for"),
    (Role::Operator, "operator", "watches, and decides about effects"),
    (Role::Administrator, "administrator", "changes what others may do"),
    (Role::Metrics, "metrics", "reads the metrics"),
];

/// The tenant's keys.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, page::empty(), None).await
}

/// The page, with what came of the form, and what was written in it where no key was made of it.
async fn shown(
    door: &Door,
    visitor: &Visitor,
    said: Markup,
    written: Option<&Posted>,
) -> Result<Response, Failed> {
    let all = keys::all(door, &visitor.who).await?;
    let now_ms = door.runtime.store().now_ms();
    let rows = all.iter().map(|one| row(visitor, one, now_ms));
    let head = ["Key", "Holder", "Roles", "State", "Until (UTC)", "Revoke"];
    let content = html! {
        h1 { "Keys" }
        (said)
        (page::table("Keys", &head, rows))
        h2 { "A new key" }
        @if visitor.proven < FRESH { (form(door, visitor, written)) }
        @else { (sign_in::proving(visitor, PLACE, "to make a key")) }
    };
    Ok(page::page(visitor, "/keys", "Keys", &content))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Where a key stands.
fn state(one: &Thing, now_ms: i64) -> &'static str {
    let at = |name: &str| one.value.get(name).and_then(Value::as_i64);
    match (at("revoked_at_ms"), at("expires_at_ms")) {
        (Some(_), _) => "revoked",
        (None, Some(end)) if end <= now_ms => "expired",
        (None, Some(_) | None) => "active",
    }
}

fn row(visitor: &Visitor, one: &Thing, now_ms: i64) -> Markup {
    let value = &one.value;
    let state = state(one, now_ms);
    let words = |name: &str| {
        let all = value.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    html! {
        tr role="row" {
            th scope="row" role="rowheader" data-label="Key" {
                (page::id(&one.id))
                @if let Some(name) = text(value, "name") { span .about { (visible(name)) } }
            }
            td role="cell" data-label="Holder" {
                (visible(text(value, "principal").unwrap_or_default()))
                @if let Some(subject) = text(value, "subject") { span .about { "for " (visible(subject)) } }
                @if value.get("agents").is_some() { span .about { "agents: " (visible(&words("agents"))) } }
                @if let Some(user) = value.get("user").filter(|user| user.as_object().is_some_and(|all| !all.is_empty())) {
                    span .about { "known of the user: " (visible(&user.to_string())) }
                }
            }
            td role="cell" data-label="Roles" { (words("roles")) }
            td role="cell" data-label="State" {
                (badge(state))
                @if one.source == "declared" { span .about { "declared, not stored: it cannot be revoked here" } }
            }
            td role="cell" data-label="Until (UTC)" {
                @if let Some(at) = value.get("expires_at_ms").and_then(Value::as_i64) { (page::time(at)) }
                @else { "no end" }
            }
            td role="cell" data-label="Revoke" {
                @if one.source == "stored" && state == "active" { (revoking(visitor, &one.id)) }
            }
        }
    }
}

fn revoking(visitor: &Visitor, id: &str) -> Markup {
    html! {
        form method="post" action={ (HOME) "/keys/" (encode(id)) "/revoke" } {
            (page::token(visitor))
            button .quiet type="submit" aria-label={ "Revoke " (id) } { "Revoke" }
        }
    }
}

fn form(door: &Door, visitor: &Visitor, written: Option<&Posted>) -> Markup {
    let text = |name: &str| written.and_then(|form| form.one(name)).unwrap_or_default().to_owned();
    let given = |role: &str| !text(&format!("role.{role}")).is_empty();
    html! {
        form .card.settings method="post" action=(PLACE) autocomplete="off" {
            (page::token(visitor))
            // Whoever loads the page with the new key again sends its form again.
            input type="hidden" name="word" value=(door.visits.ask(&visitor.id, FORM));
            label for="name" { "What it is for" }
            input #name name="name" maxlength="200" value=(text("name"));
            label for="principal" { "Holder" }
            input #principal name="principal" required placeholder="user:mara, agent:helper or service:billing"
                spellcheck="false" value=(text("principal"));
            label for="subject" { "For whom the holder acts, always" }
            input #subject name="subject" placeholder="nobody else" spellcheck="false" value=(text("subject"));
            fieldset {
                legend { "Roles" }
                @for (_, name, about) in ROLES {
                    label .choice { input type="checkbox" name={ "role." (name) } value="yes" checked[given(name)]; " " (name) span .about { (about) } }
                }
            }
            label for="agents" { "Agents whose calls it may make, with commas between" }
            input #agents name="agents" placeholder="as the holder is" spellcheck="false" value=(text("agents"));
            label for="user" { "What rules know of its user, as JSON" }
            input #user name="user" placeholder="{\"plan\": \"pro\"}" spellcheck="false" value=(text("user"));
            label for="expires" { "Last day (UTC)" }
            input #expires type="date" name="expires" value=(text("expires"));
            button .strong type="submit" { "Make the key" }
        }
    }
}

/// Makes a key. Its text is on this one page.
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
) -> Result<Response, Failed> {
    crate::api::need(&visitor.who, Role::Administrator)?;
    if visitor.proven >= FRESH {
        let why = Problem::forbidden("you signed in too long ago to make a key");
        return Err(why.advise("go back, show your key again, then make it").into());
    }
    let word = posted.one("word").unwrap_or_default();
    if !door.visits.once(&visitor.id, word, FORM) {
        let made = door.visits.came_of(&visitor.id, word);
        return shown(&door, &visitor, sent_already(made.as_deref()), None).await;
    }
    let made = match wanted(&posted) {
        Ok(new) => keys::made(&door, &visitor.who, new).await,
        Err(problem) => Err(problem),
    };
    let made = match made {
        Ok(made) => made,
        Err(problem) => return shown(&door, &visitor, wrong(&problem), Some(&posted)).await,
    };
    door.visits.came(&visitor.id, word, &made.entry.id);
    let strangers = strangers(&door, &visitor, &made.entry.value);
    let said = html! {
        div .notice.good role="status" {
            p { "The key of " (page::id(&made.entry.id)) ". Copy it now: it is shown this once." }
            pre tabindex="0" #new-key { (made.key) }
        }
        @for agent in &strangers {
            p .notice.wait { "There is no agent " (page::id(agent)) " in this tenant yet: until there is, the key makes no calls as it." }
        }
    };
    shown(&door, &visitor, said, None).await
}

/// What was made of it before, perhaps by the first half of a double click.
fn sent_already(made: Option<&str>) -> Markup {
    html! {
        p .notice.wait role="alert" {
            "No key was made: this form was sent already. "
            @if let Some(id) = made { "The key " (page::id(id)) " was made of it, and is not shown again" }
            @else { "The key that was made of it is not shown again" }
            "; where you have no copy of it, revoke it, and make another."
        }
    }
}

/// The agents that a key is for and that there are not.
fn strangers(door: &Door, visitor: &Visitor, key: &Value) -> Vec<String> {
    let named = key.get("agents").and_then(Value::as_array).into_iter().flatten();
    let own = text(key, "principal").and_then(|holder| holder.strip_prefix("agent:"));
    let mut all: Vec<String> =
        named.filter_map(Value::as_str).chain(own).map(str::to_owned).collect();
    all.retain(|agent| !agent.contains('*') && !door.runtime.has_agent(&visitor.who.tenant, agent));
    all.sort();
    all.dedup();
    all
}

fn wrong(problem: &Problem) -> Markup {
    html! { p .notice.bad role="alert" { (visible(&words::in_words(problem))) } }
}

/// What the form asks for.
fn wanted(posted: &Posted) -> Result<NewKey, Problem> {
    let principal = |name: &str| match posted.filled(name).map(str::trim) {
        None => Ok(None),
        Some(text) => Principal::parse(text).map(Some).map_err(Problem::malformed),
    };
    let holder = principal("principal")?.ok_or_else(|| Problem::malformed("a key has a holder"))?;
    let given = |name: &str| posted.one(&format!("role.{name}")).is_some();
    let roles = ROLES.iter().filter(|(_, name, _)| given(name)).map(|(role, ..)| *role).collect();
    let agents = posted.filled("agents").map(|text| {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    let name = posted.filled("name").map(str::to_owned);
    let key = NewKey::new(name, holder, principal("subject")?, roles, agents, last(posted)?);
    Ok(key.knowing(facts(posted)?))
}

/// What is to be known of the user.
fn facts(posted: &Posted) -> Result<Facts, Problem> {
    let Some(text) = posted.filled("user") else { return Ok(Facts::default()) };
    let wrong = |why: &str| {
        Problem::malformed(format!("what rules know of the user is {why}"))
            .advise("write an object: `{\"plan\": \"pro\", \"level\": 3}`, say")
    };
    match strict::parse(text, strict::Limits::default()) {
        Ok(Value::Object(facts)) => Ok(facts),
        Ok(_) => Err(wrong("no JSON object")),
        Err(errors) => Err(wrong(&format!("no JSON: {errors}"))),
    }
}

/// The end of the last day.
fn last(posted: &Posted) -> Result<Option<Instant>, Problem> {
    let Some(day) = posted.filled("expires") else { return Ok(None) };
    let end = format!("{day}T23:59:59Z").parse::<jiff::Timestamp>();
    let end = end.map_err(|_| Problem::malformed("the last day is no date: 2027-01-31, say"))?;
    Ok(Some(Instant(end.as_millisecond())))
}

/// Revokes a key.
pub(crate) async fn revoke(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, Failed> {
    keys::revoked(&door, &visitor.who, &id).await?;
    Ok(Redirect::to(PLACE).into_response())
}
