//! The tenant's own rules: read, changed, and every version of them.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_core::config::{Entry, Kind};
use haft_runtime::config::{ChangeError, Changed};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::guard::Failed;
use super::page::{self, Visitor};
use super::posted::Posted;
use super::visible::visible;
use super::{HOME, encode, words};
use crate::api::admin::{self, policies};
use crate::door::Door;
use crate::problem::Problem;
use crate::who::Role;

const PLACE: &str = "/console/policies";

/// So many versions are on a page.
const SHOWN: usize = 100;

/// Lists of words in a policy, as they are called there and here.
const LISTS: [(&str, &str, &str); 3] = [
    ("allow", "Allow", "tools that may be used, one a line"),
    ("deny", "Deny", "tools that may not be used, whatever else is said"),
    ("approve", "Ask a person", "effects, tools or patterns that a person must approve"),
];

/// The tenant's policies.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Failed> {
    let all = policies::all(&door, &visitor.who).await?;
    let rows = all.iter().map(|one| {
        let said = one.value.get("description").and_then(Value::as_str).unwrap_or_default();
        html! {
            tr role="row" {
                th scope="row" role="rowheader" data-label="Policy" {
                    @if one.source == "declared" { (page::id(&one.id)) span .about { "declared in haft.toml, and changed there" } }
                    @else { (page::link("/policies", &one.id)) }
                    @if !said.is_empty() { span .about { (visible(said)) } }
                }
                td .number role="cell" data-label="Version" { @if let Some(version) = one.version { (version) } }
                td role="cell" data-label="Changed (UTC)" { @if let Some(at) = one.changed_at_ms { (page::time(at)) } }
                td role="cell" data-label="By" { (visible(one.changed_by.as_deref().unwrap_or_default())) }
            }
        }
    });
    let head = ["Policy", "Version#", "Changed (UTC)", "By"];
    let content = html! {
        h1 { "Policies" }
        p .lead { "Rules of this tenant, beside those of " code { "haft.toml" } ". They are checked before they are saved, and in force at once." }
        @if all.is_empty() { (page::nothing("None.")) }
        @else { (page::table("Policies", &head, rows)) }
        h2 { "A new policy" }
        form .row method="get" action={ (HOME) "/new-policy" } {
            label for="id" { "Name" }
            input #id name="id" required pattern="(?!\\.{1,2}$)[A-Za-z0-9_.\\-]{1,64}" spellcheck="false"
                title="letters, digits and _.-, up to 64, and not dots alone";
            button type="submit" { "Write it" }
        }
    };
    Ok(page::page(&visitor, "/policies", "Policies", &content))
}

#[derive(Debug, serde::Deserialize)]
pub(crate) struct Named {
    id: String,
}

/// The form of a policy that there is not yet.
pub(crate) async fn new(
    Extension(visitor): Extension<Visitor>,
    super::guard::Params(named): super::guard::Params<Named>,
) -> Result<Response, Failed> {
    crate::api::need(&visitor.who, Role::Administrator)?;
    // Addresses with such a part lead elsewhere.
    if [".", ".."].contains(&named.id.as_str()) {
        let why = Problem::malformed("a policy whose name is dots alone has no page");
        return Err(why.advise("give it a name with a letter or a digit in it").into());
    }
    let content = html! {
        p .path { a href=(PLACE) { "Policies" } }
        h1 { "New policy " (page::id(&named.id)) }
        (form(&visitor, &named.id, 0, &json!({}), None))
    };
    Ok(page::page(&visitor, "/policies", "New policy", &content))
}

/// One policy.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    super::guard::Params(part): super::guard::Params<policies::Part>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &id, &part, page::empty(), None).await
}

/// The page, with what came of a form and what was written in it.
async fn shown(
    door: &Door,
    visitor: &Visitor,
    id: &str,
    part: &policies::Part,
    said: Markup,
    written: Option<&Written>,
) -> Result<Response, Failed> {
    crate::api::need(&visitor.who, Role::Administrator)?;
    let now = admin::stored(door, &visitor.who, Kind::Policy, id).await?;
    let mut versions = policies::earlier(door, &visitor.who, id, part.before, SHOWN + 1).await?;
    let more = versions.len() > SHOWN;
    versions.truncate(SHOWN);
    let last = versions.last().map(|entry| entry.version).filter(|_| more);
    if now.is_none() && versions.is_empty() && written.is_none() {
        return Err(Problem::missing("policy").into());
    }
    let current = now.as_ref().map_or(0, |entry| entry.version);
    // What was written was written on the version that was read, whatever there is by now: with the
    // current one beside it, a second click would save it over what nobody has looked at.
    let version = written.map_or(current, |written| written.on);
    let over = written.filter(|written| written.on != current).map(|_| current);
    let now_said = now.as_ref().map(|entry| &entry.body);
    let body = written.map(|written| &written.body).or(now_said).cloned().unwrap_or_default();
    let content = html! {
        p .path { a href=(PLACE) { "Policies" } }
        h1 { "Policy " (page::id(id)) }
        (said)
        @if now.is_none() && written.is_none() { p .notice.wait { "It was removed. Saving it brings it back." } }
        @if over.is_some() { (theirs(now.as_ref())) }
        (form(visitor, id, version, &body, over))
        @if now.is_some() && written.is_none() { (removing(visitor, id, current)) }
        @if !versions.is_empty() { h2 { "Versions" } (history(&versions)) }
        @if let Some(last) = last {
            p { a href={ (PLACE) "/" (encode(id)) "?before=" (last) } { "Older versions" } }
        }
    };
    Ok(page::page(visitor, "/policies", "Policy", &content))
}

/// What a form said, and on which version.
struct Written {
    on: u64,
    body: Value,
}

/// What there is by now, beside what somebody has written meanwhile.
fn theirs(now: Option<&Entry>) -> Markup {
    html! {
        section aria-labelledby="theirs" {
            @match now {
                Some(entry) => {
                    h2 #theirs { "What " (visible(&entry.changed_by.to_string())) " has saved as version " (entry.version) }
                    (page::json(&entry.body))
                    p { a href={ (PLACE) "/" (encode(&entry.id)) } { "Go on with that, without what I have written" } }
                }
                None => h2 #theirs { "It has been removed" },
            }
        }
        h2 { "What you have written" }
    }
}

fn history(versions: &[Entry]) -> Markup {
    let rows = versions.iter().map(|entry| {
        html! {
            tr role="row" {
                th .number scope="row" role="rowheader" data-label="Version" { (entry.version) }
                td role="cell" data-label="Changed (UTC)" { (page::time(entry.changed_at_ms)) }
                td role="cell" data-label="By" { (visible(&entry.changed_by.to_string())) }
                td .value role="cell" data-label="Content" { details { summary { "Show" } (page::json(&entry.body)) } }
            }
        }
    });
    page::table("Versions", &["Version#", "Changed (UTC)", "By", "Content"], rows)
}

/// The form. `over` is the version that somebody else has saved since: replacing that is said
/// expressly.
fn form(visitor: &Visitor, id: &str, version: u64, body: &Value, over: Option<u64>) -> Markup {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let lines = |name: &str| {
        let all = body.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    };
    html! {
        form .card.settings method="post" action={ (PLACE) "/" (encode(id)) } {
            (page::token(visitor))
            input type="hidden" name="version" value=(version);
            label for="description" { "What it is for" }
            input #description name="description" value=(text("description"));
            @for (name, label, about) in LISTS {
                label for=(name) { (label) span .about { (about) } }
                textarea id=(name) name=(name) rows="3" spellcheck="false" { "\n" (lines(name)) }
            }
            label for="cedar" { "Cedar rules" }
            // Browsers take away a line end that comes first: each save would.
            textarea #cedar name="cedar" rows="10" spellcheck="false" { "\n" (text("cedar")) }
            @if let Some(over) = over {
                label .choice {
                    input type="checkbox" name="over" value=(over) required; " "
                    @if over == 0 { "Bring it back with what I have written" }
                    @else { "Replace version " (over) " with what I have written" }
                }
            }
            button .strong type="submit" name="do" value="save" { "Save" }
        }
    }
}

fn removing(visitor: &Visitor, id: &str, version: u64) -> Markup {
    html! {
        form method="post" action={ (PLACE) "/" (encode(id)) } {
            (page::token(visitor))
            input type="hidden" name="version" value=(version);
            button .quiet type="submit" name="do" value="remove" { "Remove this policy" }
        }
    }
}

/// Saves a policy, or removes it.
pub(crate) async fn change(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
    Path(id): Path<String>,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    crate::api::need(who, Role::Administrator)?;
    let version = posted.one("version").and_then(|text| text.parse().ok());
    let version = version.ok_or_else(|| Problem::malformed("the form names no version"))?;
    let body = match posted.one("do") {
        Some("save") => Some(written(&posted)),
        Some("remove") => None,
        Some(_) | None => return Err(Problem::malformed("the form says nothing to do").into()),
    };
    // Who has seen that there is another version says so.
    let on = posted.one("over").and_then(|text| text.parse().ok()).unwrap_or(version);
    let newest = policies::Part::default();
    let change = admin::change(who, Kind::Policy, &id, on, body.clone());
    let error = match door.runtime.change(change).await {
        Ok(_) if body.is_none() => return Ok(Redirect::to(PLACE).into_response()),
        Ok(changed) => return shown(&door, &visitor, &id, &newest, saved(&changed), None).await,
        Err(error) => error,
    };
    let why = match (&error, &body) {
        (ChangeError::Stale | ChangeError::Missing, Some(_)) => {
            "Somebody else has changed this policy since you opened it. Nothing of yours was saved. Look \
             at theirs, put into yours what you want to keep of it, and save."
                .to_owned()
        }
        (ChangeError::Stale, None) => "Somebody else has changed this policy since you opened it, and it \
                                       was not removed. This is what it says now."
            .to_owned(),
        (_, _) => words::in_words(&Problem::from(error)),
    };
    let said = html! { p .notice.bad role="alert" { (visible(&why)) } };
    let written = body.map(|body| Written { on, body });
    shown(&door, &visitor, &id, &newest, said, written.as_ref()).await
}

fn saved(changed: &Changed) -> Markup {
    let warnings: Vec<_> = changed.warnings.iter().map(ToString::to_string).collect();
    html! {
        p .notice.good role="status" { "Saved as version " (changed.entry.version) "." }
        @if !warnings.is_empty() {
            div .notice.wait { ul { @for why in &warnings { li { (visible(why)) } } } }
        }
    }
}

/// What the form says; what is left empty is not said.
fn written(posted: &Posted) -> Value {
    let mut body = Map::new();
    for name in ["description", "cedar"] {
        if let Some(text) = posted.filled(name).filter(|text| !text.trim().is_empty()) {
            body.insert(name.to_owned(), json!(text));
        }
    }
    for (name, ..) in LISTS {
        let lines = posted.one(name).unwrap_or_default().lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        if !lines.is_empty() {
            body.insert(name.to_owned(), json!(lines));
        }
    }
    Value::Object(body)
}
