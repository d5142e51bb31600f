//! What every page has: head, navigation, and the small parts that all of them are made of.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::visible::visible;
use super::{HOME, encode, words};
use crate::problem::{PAGES, Problem};
use crate::who::{Role, Who};

/// Whoever looks at a page.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) id: [u8; 32],
    pub(crate) csrf: Arc<str>,
    /// How long ago they showed their key.
    pub(crate) proven: Duration,
    pub(crate) who: Who,
    /// The token that they signed in with, where it was one.
    pub(crate) token: Option<Arc<str>>,
    /// How many questions wait for them; one more than are counted, where there are more.
    pub(crate) waiting: usize,
    /// What is not taken now, where that is so.
    pub(crate) unready: Option<Unready>,
}

/// What is not taken now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unready {
    /// Nothing is, and why.
    Work(&'static str),
    /// What writes is not: the tenant's trail was touched.
    Effects,
}

/// So many questions are counted on every page.
pub(crate) const MOST_COUNTED: usize = 20;

/// The pages, and who may see each.
const PLACES: [(&str, &str, Role); 11] = [
    ("", "Overview", Role::Operator),
    ("/tools", "Tools", Role::Operator),
    ("/sessions", "Sessions", Role::Operator),
    ("/confirmations", "Approvals", Role::Approver),
    ("/effects", "Effects", Role::Operator),
    ("/events", "Events", Role::Operator),
    ("/audit", "Audit", Role::Operator),
    ("/suggestions", "Suggestions", Role::Administrator),
    ("/policies", "Policies", Role::Administrator),
    ("/connections", "Connections", Role::Administrator),
    ("/keys", "Keys", Role::Administrator),
];

/// A page for whoever is signed in. `place` is the entry of the navigation that it belongs to.
pub(crate) fn page(visitor: &Visitor, place: &str, title: &str, content: &Markup) -> Response {
    shell(title, Some((visitor, place)), content)
}

/// A page for anybody.
pub(crate) fn open(title: &str, content: &Markup) -> Response {
    shell(title, None, content)
}

fn shell(title: &str, inside: Option<(&Visitor, &str)>, content: &Markup) -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · haft" }
                link rel="stylesheet" href={ (HOME) "/assets/console.css" };
                link rel="icon" type="image/svg+xml" href={ (HOME) "/assets/icon.svg" };
                script src={ (HOME) "/assets/console.js" } defer {}
            }
            body {
                a .skip href="#content" { "Skip to content" }
                @if let Some((visitor, place)) = inside { (navigation(visitor, place)) }
                main #content tabindex="-1" {
                    @match inside.and_then(|(visitor, _)| visitor.unready) {
                        None => {}
                        Some(Unready::Work(why)) => p .notice.bad role="alert" {
                            strong { "Not ready. " } "No work is taken now: " (why) "."
                        },
                        Some(Unready::Effects) => p .notice.bad role="alert" {
                            strong { "Effects are stopped. " }
                            "Entries of this tenant in the audit trail were changed from outside. Tools that \
                             write are refused " (until_acknowledged()) "; tools that only read go on."
                        },
                    }
                    (content)
                }
            }
        }
    };
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.into_string()).into_response()
}

/// What lifts a stop of effects.
pub(crate) fn until_acknowledged() -> Markup {
    html! {
        "until whoever runs the server has looked into it (" code { "haft audit verify" }
        ") and gone on (" code { "haft audit acknowledge" } ")"
    }
}

fn navigation(visitor: &Visitor, current: &str) -> Markup {
    let open = PLACES.iter().filter(|(_, _, role)| visitor.who.is(*role));
    html! {
        header .top {
            a .brand href=(HOME) { "haft" }
            nav aria-label="Console" {
                ul {
                    @for (path, name, _) in open {
                        li {
                            a href={ (HOME) (path) } aria-current=[(*path == current).then_some("page")] {
                                (name)
                                @if *path == "/confirmations" && visitor.waiting > 0 {
                                    " " span .count { (counted(visitor.waiting)) span .unseen { " waiting" } }
                                }
                            }
                        }
                    }
                }
            }
            form .who method="post" action={ (HOME) "/sign-out" } {
                (token(visitor))
                span title={ (if visitor.token.is_some() { "token of " } else { "key " }) (visitor.who.key) } {
                    (visitor.who.principal.to_string()) " · " (visitor.who.tenant)
                }
                button .quiet type="submit" { "Sign out" }
            }
        }
    }
}

/// How many questions wait, as people read it.
pub(crate) fn counted(waiting: usize) -> String {
    match waiting > MOST_COUNTED {
        true => format!("{MOST_COUNTED}+"),
        false => waiting.to_string(),
    }
}

/// What a form must carry.
pub(crate) fn token(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name="csrf" value=(visitor.csrf); }
}

/// A problem as a page.
pub(crate) fn problem(problem: &Problem, visitor: Option<&Visitor>) -> Response {
    let content = html! {
        h1 { (problem.title()) }
        p .notice.bad role="alert" { (visible(problem.detail())) }
        p { "What to do: " (visible(words::advice(problem))) "." }
        p { a href=(HOME) { "Back to the console" } }
    };
    let mut response = match visitor {
        Some(visitor) => page(visitor, "-", problem.title(), &content),
        None => open(problem.title(), &content),
    };
    *response.status_mut() = problem.status();
    problem.wait().and_then(|wait| response.headers_mut().insert(header::RETRY_AFTER, wait));
    response
}

/// An instant.
pub(crate) fn time(at_ms: i64) -> Markup {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    let seen = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    html! { time datetime=(at.to_string()) title="UTC" { (seen) } }
}

/// An instant where no head of a column says whose time it is.
pub(crate) fn instant(at_ms: i64) -> Markup {
    html! { (time(at_ms)) " " span .note { "UTC" } }
}

/// A time span, as people say it.
pub(crate) fn span(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..120_000_000 => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
        _ => format!("{} min", us / 60_000_000),
    }
}

/// A word with a colour, that says as much without it.
pub(crate) fn badge(word: &str) -> Markup {
    let tone = match word {
        "ok" | "would_run" | "succeeded" | "happened" | "approved" | "enabled" | "active"
        | "accepted" | "found" => "good",
        "unknown" | "stuck" | "failed" | "revoked" | "rejected" | "internal"
        | "redaction_failed" => "bad",
        "pending"
        | "started"
        | "compensating"
        | "confirmation_required"
        | "ending"
        | "would_not_run" => "wait",
        "denied" | "not_happened" | "expired" | "disabled" | "unavailable" | "ended" | "spent" => {
            "dull"
        }
        "compensated" => "note",
        _ => "warn",
    };
    html! { span .badge.(tone) { (word.replace('_', " ")) } }
}

/// A call's end.
pub(crate) fn ended(error: Option<haft_core::ErrorKind>) -> Markup {
    badge(error.map_or("ok", haft_core::ErrorKind::as_str))
}

/// Leads to what a kind of error means and what to do about it.
pub(crate) fn meaning(error: haft_core::ErrorKind) -> Markup {
    html! { a href={ (PAGES) (error.as_str()) } { "What this means" span .unseen { ": " (error.as_str()) } } }
}

/// Leads to what a call has done, and what can be done about that.
pub(crate) fn to_effect(call: &str) -> Markup {
    html! { a href={ (HOME) "/effects/" (encode(call)) } { "Its effect" span .unseen { ", of " (call) } } }
}

/// A long id, that can be read whole and wraps.
pub(crate) fn id(text: &str) -> Markup {
    html! { code .id { (visible(text)) } }
}

/// A link to the page of a thing.
pub(crate) fn link(place: &str, id: &str) -> Markup {
    html! { a href={ (HOME) (place) "/" (encode(id)) } { code .id { (visible(id)) } } }
}

/// What there is to say where there is nothing to show.
pub(crate) fn nothing(words: &str) -> Markup {
    html! { p .nothing { (words) } }
}

/// A table. Where it does not fit, its rows become cards, each cell under the name of its column;
/// the roles keep it a table for whoever listens. A name that ends in `#` is that of numbers.
pub(crate) fn table(label: &str, head: &[&str], rows: impl IntoIterator<Item = Markup>) -> Markup {
    html! {
        div .table tabindex="0" role="region" aria-label=(label) {
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for name in head {
                            @let plain = name.trim_end_matches('#');
                            th .number[plain != *name] scope="col" role="columnheader" { (plain) }
                        }
                    }
                }
                tbody role="rowgroup" { @for row in rows { (row) } }
            }
        }
    }
}

/// A link to what comes after the last one that is shown, where there is more.
pub(crate) fn older(place: &str, own: &[(&str, &str)], last: Option<&str>) -> Markup {
    let Some(last) = last else { return empty() };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(own.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.append_pair("after", last).finish();
    html! { p { a href={ (HOME) (place) "?" (query) } { "Older" } } }
}

/// Cuts a list that was asked for with one more than are shown. Returns the last that is shown, where
/// there is more.
pub(crate) fn cut<T>(list: &mut Vec<T>, most: usize) -> Option<&T> {
    let more = list.len() > most;
    list.truncate(most);
    list.last().filter(|_| more)
}

/// JSON for people: with its characters to be seen, and with an end.
pub(crate) fn json(value: &serde_json::Value) -> Markup {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    block(&text)
}

/// How many bytes of one value are shown.
const SHOWN: usize = 64 << 10;

/// A text as it is, cut where it is too long to be looked at.
pub(crate) fn block(text: &str) -> Markup {
    let end = text.floor_char_boundary(SHOWN.min(text.len()));
    let (seen, rest) = text.split_at(end);
    html! {
        pre tabindex="0" { (visible(seen)) }
        @if !rest.is_empty() {
            p .note { (rest.len()) " more bytes are not shown." }
        }
    }
}

/// Nothing.
pub(crate) fn empty() -> Markup {
    PreEscaped(String::new())
}
