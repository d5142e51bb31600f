//! Connections: accounts elsewhere, who may use them, and whether they work. A secret goes into a form and
//! onto no page.

mod forms;

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_core::connection::AuthKind;
use haft_core::secret::SecretText;
use haft_runtime::connections::{Proof, Wanted};
use maud::{Markup, html};

use self::forms::{asking, granting, removing, revoking, rotating, testing};
use super::clicks::{self, Aimed};
use super::guard::Failed;
use super::made_for::MadeFor;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::visible;
use super::words;
use crate::api::connections::grants::{self, NewGrant};
use crate::api::connections::{self as api, Connection, Tested, test};
use crate::api::consents::{self, Asker, Consent};
use crate::api::only_if::OnlyIf;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::Problem;

const PLACE: &str = "/console/connections";

/// The kinds that can be made on a page, and what each sends.
const KINDS: [(AuthKind, &str); 6] = [
    (AuthKind::Bearer, "a token, as Authorization: Bearer"),
    (AuthKind::Header, "a key in a header"),
    (AuthKind::Query, "a key in the query"),
    (AuthKind::Basic, "a name and a password"),
    (AuthKind::ClientCredentials, "OAuth 2, as the program itself"),
    (AuthKind::AuthorizationCode, "OAuth 2, as a person who agrees in a browser"),
];

/// Where the secret of an OAuth client goes.
const PROOFS: [(Proof, &str, &str); 3] = [
    (Proof::Header, "header", "in a header"),
    (Proof::Body, "body", "among the fields of the request"),
    (Proof::None, "none", "it has none"),
];

/// Fields of one line: name, label, and what to say about it.
const FIELDS: [(&str, &str, &str); 5] = [
    ("name", "Header or parameter", "for a key in a header or in the query, such as X-Api-Key"),
    ("user", "User", "for a name and a password"),
    ("authorize_url", "Address for consent", "for a person who agrees, with https"),
    ("token_url", "Address for tokens", "for OAuth 2, with https"),
    ("client_id", "Client", "for OAuth 2: who the program is to the provider"),
];

/// The tenant's connections.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Failed> {
    listed(&door, &visitor, page::empty(), &Posted::default()).await
}

/// The list and the form, with what came of it and what was written in it.
async fn listed(
    door: &Door,
    visitor: &Visitor,
    said: Markup,
    written: &Posted,
) -> Result<Response, Failed> {
    let all = api::all(door, &visitor.who).await?;
    let head = ["Connection", "Kind", "Hosts", "Who may use it", "Last test"];
    let content = html! {
        h1 { "Connections" }
        p .lead { "Accounts elsewhere that tools are called with. A secret is sealed when it comes in, and shown to nobody." }
        (said)
        @if all.is_empty() { (page::nothing("None yet.")) }
        @else { (page::table("Connections", &head, all.iter().map(row))) }
        h2 { "A new connection" }
        (form(visitor, written))
    };
    Ok(page::page(visitor, "/connections", "Connections", &content))
}

fn row(one: &Connection) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" data-label="Connection" {
                (page::link("/connections", &one.id))
                span .about { (visible(&one.provider)) @if one.source == "declared" { ", declared in haft.toml" } }
            }
            td role="cell" data-label="Kind" { (one.kind) }
            td role="cell" data-label="Hosts" { (hosts(&one.hosts)) }
            td role="cell" data-label="Who may use it" {
                @if one.grants.is_empty() { "nobody yet" }
                @for given in &one.grants {
                    div { (visible(&given.principals.join(", "))) span .about { "with " (visible(&given.tools.join(", "))) } }
                }
            }
            td role="cell" data-label="Last test" { (outcome(one.last_test.as_ref())) }
        }
    }
}

fn hosts(hosts: &[String]) -> Markup {
    match hosts.is_empty() {
        true => html! { "those of each tool" },
        false => html! { (visible(&hosts.join(", "))) },
    }
}

fn outcome(last: Option<&Tested>) -> Markup {
    match last {
        None => html! { "none since the server was started" },
        Some(one) => html! {
            (badge(one.result.as_str())) " " (page::instant(one.tested_at_ms))
            span .about { (visible(&one.detail)) }
        },
    }
}

/// What was written stays, but the secret does not: it is on no page.
fn form(visitor: &Visitor, written: &Posted) -> Markup {
    let text = |name: &str| written.one(name).unwrap_or_default().to_owned();
    html! {
        form .card.settings method="post" action=(PLACE) autocomplete="off" {
            (page::token(visitor))
            label for="id" { "Id" span .about { "that calls name: letters, digits and _.:-" } }
            input #id name="id" required maxlength="64" spellcheck="false" value=(text("id"));
            label for="provider" { "Provider" span .about { "the word that the tools' contracts name" } }
            input #provider name="provider" required spellcheck="false" value=(text("provider"));
            label for="kind" { "How it proves who it is" }
            select #kind name="kind" {
                @for (kind, about) in KINDS {
                    option value=(kind.as_str()) selected[text("kind") == kind.as_str()] { (kind.as_str()) ": " (about) }
                }
            }
            label for="hosts" { "Hosts, one a line" span .about { "the only ones that the secret may go to; those of each tool's contract where none is named" } }
            textarea #hosts name="hosts" rows="2" spellcheck="false" { "\n" (text("hosts")) }
            label for="secret" { "Secret" }
            input #secret name="secret" type="password" autocomplete="new-password";
            @for (name, label, about) in FIELDS {
                label for=(name) { (label) span .about { (about) } }
                input id=(name) name=(name) spellcheck="false" value=(text(name));
            }
            label for="secret_in" { "The client's secret goes" }
            select #secret_in name="secret_in" {
                @for (_, name, about) in PROOFS { option value=(name) selected[text("secret_in") == name] { (about) } }
            }
            label for="scopes" { "Scopes, with spaces between" }
            input #scopes name="scopes" spellcheck="false" value=(text("scopes"));
            label for="audience" { "Audience" }
            input #audience name="audience" spellcheck="false" value=(text("audience"));
            button .strong type="submit" { "Keep it" }
        }
    }
}

/// Makes a connection.
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    crate::api::need(&visitor.who, crate::who::Role::Administrator)?;
    let secret = posted.filled("secret").map(SecretText::new);
    let made = match wanted(&posted) {
        Ok(wanted) if wanted.kind == AuthKind::AuthorizationCode => {
            let authorize_url = posted.filled("authorize_url").map(|url| url.trim().to_owned());
            let asker = asker(&door, &visitor, &headers);
            return match consents::begun(&door, asker, wanted, authorize_url, secret).await {
                Ok(asked) => Ok(agreeing(&visitor, &asked)),
                Err(problem) => listed(&door, &visitor, wrong(&problem), &posted).await,
            };
        }
        Ok(wanted) => api::made(&door, &visitor.who, &wanted, secret).await,
        Err(problem) => Err(problem),
    };
    match made {
        Ok(one) => {
            let said = html! {
                div .notice.good role="status" {
                    p { (page::id(&one.id)) " is kept, sealed. Nobody may use it yet." }
                    (warnings(&one.warnings))
                }
            };
            shown(&door, &visitor, &one.id, said).await
        }
        Err(problem) => listed(&door, &visitor, wrong(&problem), &posted).await,
    }
}

fn asker(door: &Door, visitor: &Visitor, headers: &HeaderMap) -> Asker {
    let credential = visitor.token.clone().map(Credential);
    Asker { who: visitor.who.clone(), credential, base: crate::mcp::base(door, headers) }
}

/// Where a person agrees. It is a link that they follow: no form leads to another host.
fn agreeing(visitor: &Visitor, asked: &Consent) -> Response {
    let url = asked.url.as_deref().unwrap_or_default();
    let content = html! {
        p .path { a href=(PLACE) { "Connections" } }
        h1 { "Agree at the provider" }
        @if asked.renewal {
            p .lead { "The account " (page::id(&asked.connection)) " has new tokens as soon as its owner has agreed, within ten minutes. Until then it keeps those that it has; who may use it does not change." }
        } @else {
            p .lead { "The account " (page::id(&asked.connection)) " is kept as soon as its owner has agreed, within ten minutes." }
        }
        p { a .action href=(url) rel="noreferrer" { "Agree" } }
        dl .facts {
            div { dt { "Leads to" } dd { (visible(url.split('?').next().unwrap_or_default())) } }
            @if let Some(back) = &asked.redirect_uri {
                div { dt { "Comes back to" } dd { (visible(back)) span .about { "the provider must know this address as allowed" } } }
            }
        }
    };
    page::page(visitor, "/connections", "Agree", &content)
}

/// What the form asks for.
fn wanted(posted: &Posted) -> Result<Wanted, Problem> {
    let text = |name: &str| posted.filled(name).map(|text| text.trim().to_owned());
    let words = |name: &str| {
        let all = posted.one(name).unwrap_or_default().split_whitespace();
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let kind = posted.one("kind").unwrap_or_default();
    let kind = KINDS.iter().find(|(one, _)| one.as_str() == kind).map(|(kind, _)| *kind);
    let proof = posted.one("secret_in").unwrap_or_default();
    let proof = PROOFS.iter().find(|(_, name, _)| *name == proof).map(|(proof, ..)| *proof);
    Ok(Wanted {
        id: text("id").unwrap_or_default(),
        provider: text("provider").unwrap_or_default(),
        kind: kind.ok_or_else(|| Problem::malformed("the form names no kind"))?,
        hosts: words("hosts"),
        name: text("name"),
        user: text("user"),
        token_url: text("token_url"),
        client_id: text("client_id"),
        proof: proof.unwrap_or_default(),
        scopes: words("scopes"),
        audience: text("audience"),
    })
}

/// One connection.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &id, page::empty()).await
}

async fn shown(door: &Door, visitor: &Visitor, id: &str, said: Markup) -> Result<Response, Failed> {
    let one = api::one(door, &visitor.who, id).await?;
    let stored = one.source == "stored";
    let content = html! {
        p .path { a href=(PLACE) { "Connections" } }
        h1 { "Connection " (page::id(id)) }
        (said)
        @if !stored { p .notice.wait { "Declared in " code { "haft.toml" } ", and changed there alone." } }
        (about(&one))
        h2 { "Who may use it" }
        @if one.grants.is_empty() { (page::nothing("Nobody yet.")) }
        @else { (given(visitor, &Aimed::at(door, visitor, &grants_of(id)), &one)) }
        @if stored { (granting(visitor, &one)) }
        h2 { "Test" }
        (testing(visitor, &one))
        @if stored {
            @if one.kind == AuthKind::AuthorizationCode.as_str() {
                h2 { "Consent" }
                p { "Asks the account's owner once more, for new tokens. The old ones stay until then." }
                (asking(visitor, &one))
            }
            h2 { "Another secret" }
            (rotating(visitor, &one))
            h2 { "Remove" }
            (removing(visitor, &one))
        }
    };
    Ok(page::page(visitor, "/connections", "Connection", &content))
}

fn about(one: &Connection) -> Markup {
    html! {
        dl .facts {
            div { dt { "Provider" } dd { (visible(&one.provider)) } }
            div { dt { "Kind" } dd { (one.kind) } }
            div { dt { "Hosts" } dd { (hosts(&one.hosts)) } }
            @if let Some(tokens) = &one.oauth {
                div { dt { "Tokens from" } dd { (visible(&tokens.token_url)) } }
                div { dt { "Client" } dd { (visible(&tokens.client_id)) } }
                @if !tokens.scopes.is_empty() { div { dt { "Scopes" } dd { (visible(&tokens.scopes.join(" "))) } } }
            }
            div { dt { "Version" } dd { (one.version) } }
            @if let Some(at) = one.changed_at_ms { div { dt { "Changed (UTC)" } dd { (page::time(at)) } } }
            div { dt { "Last test" } dd { (outcome(one.last_test.as_ref())) } }
        }
    }
}

/// What a click on a button that takes a grant back is aimed at.
fn grants_of(id: &str) -> String {
    format!("the grants of {id}")
}

fn given(visitor: &Visitor, aimed: &Aimed, one: &Connection) -> Markup {
    let rows = one.grants.iter().map(|given| {
        html! {
            tr role="row" {
                th scope="row" role="rowheader" data-label="Who" { (visible(&given.principals.join(", "))) }
                td role="cell" data-label="Tools" { (visible(&given.tools.join(", "))) }
                td role="cell" data-label="Take back" {
                    @if given.source == "declared" { "declared in haft.toml" }
                    @else { @for who in &given.principals { (revoking(visitor, aimed, one, who)) } }
                }
            }
        }
    });
    page::table("Who may use it", &["Who", "Tools", "Take back"], rows)
}

/// Does what a form of the page says.
pub(crate) async fn act(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    crate::api::need(who, crate::who::Role::Administrator)?;
    if !made_for(&api::one(&door, who, &id).await?).is_in(&posted) {
        let mut page = shown(&door, &visitor, &id, other_account()).await?;
        *page.status_mut() = StatusCode::CONFLICT;
        return Ok(page);
    }
    let done = match posted.one("do") {
        Some("grant") => granted(&door, &visitor, &id, &posted).await,
        Some("revoke") => {
            if let Err(why) = clicks::counts(&door, &visitor, &posted, &grants_of(&id)) {
                return shown(&door, &visitor, &id, clicks::missed(why)).await;
            }
            let from = posted.one("principal").unwrap_or_default();
            let done = grants::revoked(&door, who, &id, Some(from)).await;
            done.map(|_| good(html! { "Taken back from " (visible(from)) "." }))
        }
        Some("test") => {
            let url = posted.filled("url").map(str::trim);
            let done = test::tested(&door, who, &id, url).await;
            done.map(|one| html! { p .notice role="status" { (outcome(Some(&one))) } })
        }
        Some("consent") => {
            let url = posted.filled("authorize_url").map(|url| url.trim().to_owned());
            let asker = asker(&door, &visitor, &headers);
            match consents::begun_again(&door, asker, &id, url).await {
                Ok(asked) => return Ok(agreeing(&visitor, &asked)),
                Err(problem) => Err(problem),
            }
        }
        Some("secret") => replaced(&door, &visitor, &id, &posted).await,
        Some("remove") if posted.one("sure") == Some("yes") => {
            api::removed(&door, who, &id).await?;
            return Ok(Redirect::to(PLACE).into_response());
        }
        Some("remove") => Err(Problem::malformed("removing it was not confirmed")
            .advise("tick the box that says so, then remove it")),
        Some(_) | None => return Err(Problem::malformed("the form says nothing to do").into()),
    };
    let said = done.unwrap_or_else(|problem| wrong(&problem));
    shown(&door, &visitor, &id, said).await
}

/// Another secret or a renewed token does not make it another account: who replaces a secret means the
/// newest, whichever that is.
fn made_for(one: &Connection) -> MadeFor {
    MadeFor::account(one.made_at_ms, &one.provider, one.kind, &one.hosts)
}

fn other_account() -> Markup {
    html! {
        p .notice.wait role="alert" {
            "The account that this page showed was removed, and another has its id by now. Nothing was done with \
             either: this is the one that there is."
        }
    }
}

async fn granted(
    door: &Door,
    visitor: &Visitor,
    id: &str,
    posted: &Posted,
) -> Result<Markup, Problem> {
    let words = |name: &str| {
        let text = posted.one(name).unwrap_or_default();
        let all = text.split([',', ' ', '\n']).map(str::trim).filter(|word| !word.is_empty());
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let new = NewGrant { principals: words("principals"), tools: words("tools") };
    let given = grants::granted(door, &visitor.who, id, new).await?;
    Ok(html! {
        div .notice.good role="status" {
            p { (visible(&given.principals.join(", "))) " may use it with " (visible(&given.tools.join(", "))) "." }
            (warnings(&given.warnings))
        }
    })
}

async fn replaced(
    door: &Door,
    visitor: &Visitor,
    id: &str,
    posted: &Posted,
) -> Result<Markup, Problem> {
    let secret = posted.filled("secret").map(SecretText::new);
    let secret = secret.ok_or_else(|| Problem::malformed("the new secret is empty"))?;
    let one = api::changed(door, &visitor.who, id, &secret, &OnlyIf::default()).await?;
    Ok(html! {
        div .notice.good role="status" {
            p { "It has a new secret; the next call uses it." }
            (warnings(&one.warnings))
        }
    })
}

fn good(words: Markup) -> Markup {
    html! { p .notice.good role="status" { (words) } }
}

fn warnings(all: &[String]) -> Markup {
    html! { @if !all.is_empty() { ul { @for why in all { li { (visible(why)) } } } } }
}

fn wrong(problem: &Problem) -> Markup {
    html! { p .notice.bad role="alert" { (visible(&words::in_words(problem))) } }
}
