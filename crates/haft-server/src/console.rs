//! The console: pages for people, made by the server from the same functions as the HTTP API.
//!
//! They work without scripts; one small file of ours adds live events. Signing in takes a key of
//! somebody who may approve or operate; what each page shows and does follows from the key's roles.

mod assets;
mod audit;
mod catalog;
mod clicks;
mod confirmations;
mod connections;
mod consent;
mod cookie;
mod effects;
mod events;
mod form;
mod guard;
mod keys;
mod made_for;
mod markdown;
mod overview;
mod page;
mod plot;
mod policies;
mod posted;
mod sessions;
mod sign_in;
mod suggestions;
mod tool;
mod visible;
mod visits;
mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};

pub(crate) use page::Visitor;
pub(crate) use visits::Visits;

use crate::door::Door;
use crate::problem::Problem;

/// Where the console is.
pub(crate) const HOME: &str = "/console";
/// Where people come in.
pub(crate) const ENTRANCE: &str = "/console/sign-in";
/// What pages are made of.
pub(crate) const ASSETS: &str = "/console/assets";

/// Whoever approves something or makes a key has shown their own not longer ago than this.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// Every page.
pub(crate) fn routes(door: &Arc<Door>) -> Router<Arc<Door>> {
    let inside = Router::new()
        .route("/console", get(overview::show))
        .route("/console/tools", get(catalog::show))
        .route("/console/tools/{agent}/{tool}", get(tool::show).post(tool::call))
        .route("/console/tools/{agent}/{tool}/switch", post(catalog::turn))
        .route("/console/tools/{agent}/{tool}/take", post(catalog::take))
        .route("/console/sessions", get(sessions::list))
        .route("/console/sessions/{session}", get(sessions::show))
        .route("/console/confirmations", get(confirmations::list))
        .route("/console/confirmations/{id}", get(confirmations::show).post(confirmations::answer))
        .route("/console/effects", get(effects::list))
        .route("/console/effects/{call}", get(effects::show).post(effects::act))
        .route("/console/events", get(events::list))
        .route("/console/events/stream", get(crate::api::events::live))
        .route("/console/calls/{call}", get(events::call))
        .route("/console/audit", get(audit::list).post(audit::verify))
        .route("/console/suggestions", get(suggestions::list).post(suggestions::accept))
        .route("/console/policies", get(policies::list))
        .route("/console/new-policy", get(policies::new))
        .route("/console/policies/{id}", get(policies::show).post(policies::change))
        .route("/console/connections", get(connections::list).post(connections::make))
        .route("/console/connections/{id}", get(connections::show).post(connections::act))
        .route("/console/keys", get(keys::list).post(keys::make))
        .route("/console/keys/{id}/revoke", post(keys::revoke))
        .route("/console/prove", post(sign_in::prove))
        .route("/console/sign-out", post(sign_in::leave))
        .route("/console/{*rest}", get(|| async { guard::Failed(Problem::missing("page")) }))
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(door.clone(), guard::inner));
    let open = Router::new()
        .route("/console/sign-in", get(sign_in::ask).post(sign_in::enter))
        .route("/console/sign-in/{text}", get(sign_in::invited))
        // Whoever only looks at a link has not followed it.
        .route(crate::api::consents::CALLBACK, get(consent::back).head(consent::looked))
        .route("/console/assets/{name}", get(assets::file))
        .method_not_allowed_fallback(other_method);
    let home = get(|| async { Redirect::to(HOME).into_response() });
    inside
        .merge(open)
        .layer(from_fn(guard::outer))
        .route("/", home.clone())
        .route("/console/", home)
}

/// What is only looked at takes no form, and the other way round: that is said on a page, too.
async fn other_method() -> guard::Failed {
    guard::Failed(Problem::wrong_method())
}

/// A text as a part of an address.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// An address of the console, where one is given; never one of another host.
fn inside(path: Option<&str>) -> &str {
    let plain = |path: &&str| {
        let rest = path.strip_prefix(HOME);
        let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        path.len() <= 500
            && path.bytes().all(fits)
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && !path.contains("//")
            && !path.contains("..")
            && !path.to_ascii_lowercase().contains("%2e")
    };
    path.filter(plain).unwrap_or(HOME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_never_leaves_the_console() {
        for path in ["/console", "/console/tools?agent=a&mode=text", "/console?span=1h"] {
            assert_eq!(inside(Some(path)), path);
        }
        for path in [
            "https://evil.example/console",
            "//evil.example/console",
            "/console//evil.example",
            "/\\evil.example",
            "/console/../../v1",
            "/console/%2e%2E/v1/tools",
            "/consoles",
            "/v1/openapi.json",
            "javascript:alert(1)",
            "/console/\r\nSet-Cookie: a=b",
            "",
        ] {
            assert_eq!(inside(Some(path)), HOME, "{path}");
        }
    }
}
