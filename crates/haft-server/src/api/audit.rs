//! The audit trail: what is in it, and whether it is intact.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::Uri;
use axum::response::Response;
use haft_core::port::{Checked, TrailFilter};
use haft_core::record::AuditEntry;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::confirmations::unreadable;
use super::need;
use super::paging::Paging;
use super::records::named as named_tool;
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Which entries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// Of these kinds, with commas between them: `call`, `begin`, `settle`, `late`, `unknown`,
    /// `resolve`, `undo`, `confirmation`, `confirmation_mismatch`, `note`, `model_request`, `config`,
    /// `connection`; all where absent.
    pub(crate) kind: Option<String>,
    /// About this agent.
    pub(crate) agent: Option<String>,
    /// About this tool, by id or by a short name that only one of those on record has.
    pub(crate) tool: Option<String>,
    /// About this session.
    pub(crate) session: Option<String>,
    /// About this call.
    pub(crate) call: Option<String>,
    /// Written not before, in milliseconds of the Unix epoch.
    pub(crate) since_ms: Option<i64>,
    /// Written not after.
    pub(crate) until_ms: Option<i64>,
    /// Before this entry, by its `id`; by its `number`, too, for the tenant that runs the server.
    pub(crate) before: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// What a tenant's entries tell of.
const KINDS: [&str; 13] = [
    "call",
    "begin",
    "settle",
    "late",
    "unknown",
    "resolve",
    "undo",
    "confirmation",
    "confirmation_mismatch",
    "note",
    "model_request",
    "config",
    "connection",
];

impl Part {
    async fn of(self, door: &Door, who: &Who) -> Result<TrailFilter, Problem> {
        ordered(self.since_ms, self.until_ms)?;
        let before = match self.before.as_deref() {
            Some(place) => Some(number(door, who, place).await?),
            None => None,
        };
        let named = self.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::trim);
        let kinds: Vec<String> = named.map(str::to_owned).collect();
        if let Some(odd) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            let why = format!("`kind`: there are no entries of the kind `{odd}`");
            let known = format!("name one of {}", KINDS.join(", "));
            return Err(Problem::malformed(why).advise(&known));
        }
        Ok(TrailFilter {
            tenant: who.tenant.to_string(),
            kinds,
            agent: self.agent,
            or_tool: self.tool.clone(),
            tool: named_tool(door, who, self.tool).await?,
            session: self.session,
            call: self.call,
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            before,
            limit: self.limit.unwrap_or(100).clamp(1, 1_001),
        })
    }
}

/// The number of an entry. It counts those of all tenants, which is nobody's business but of who runs the
/// server.
async fn number(door: &Door, who: &Who, place: &str) -> Result<u64, Problem> {
    let wrong = || {
        let fix = "follow the `Link` of the page before, or leave it out to begin at the newest";
        Problem::malformed("`before`: this is no entry's `id`").advise(fix)
    };
    let Some(own) = door.runtime.entry_at(&who.tenant, place) else {
        return place.parse().ok().filter(|_| door.is_home(who)).ok_or_else(wrong);
    };
    // What only looks like an id is some number, and nearly all are beyond the newest entry: the
    // answer would begin there again.
    let newest = TrailFilter { tenant: who.tenant.to_string(), limit: 1, ..TrailFilter::default() };
    let newest = door.runtime.store().trail(newest).await.map_err(unreadable)?;
    Some(own).filter(|own| newest.iter().any(|one| *own <= one.number)).ok_or_else(wrong)
}

/// Nothing is both after and before a time: whoever asks for that has mixed them up.
pub(crate) fn ordered(since_ms: Option<i64>, until_ms: Option<i64>) -> Result<(), Problem> {
    match (since_ms, until_ms) {
        (Some(since), Some(until)) if since > until => {
            Err(Problem::malformed("`since_ms` is later than `until_ms`"))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// The tenant's entries, newest first. Their hashes chain those of all tenants. What a late or
/// probed outcome gave is left out of what they say: redaction has not seen it.
#[utoipa::path(get, path = "/v1/audit", tag = "records",
    operation_id = "list_audit_entries", params(Part),
    responses(
        (status = 200, description = "The entries.", body = Vec<shapes::AuditEntry>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(part): Params<Part>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(part.limit)?;
    let wanted = Part { limit: Some(page.wanted()), ..part };
    let entries = entries(&door, &who, wanted).await?;
    let place = |one: &AuditEntry| door.runtime.place_of(&who.tenant, one.number);
    let seen = |one: &AuditEntry| seen(one, place(one), door.is_home(&who));
    Ok(page.respond(&uri, "before", entries, place, seen))
}

/// What is seen of an entry. The number counts the entries of all tenants, and the hash of the one before
/// tells whether that was another tenant's.
fn seen(entry: &AuditEntry, place: String, at_home: bool) -> Value {
    let mut seen = json!({
        "id": place,
        "atMs": entry.at_ms,
        "kind": entry.kind,
        "body": said(entry),
        "hash": entry.hash,
    });
    if let Some(seen) = seen.as_object_mut().filter(|_| at_home) {
        seen.insert("number".to_owned(), json!(entry.number));
        seen.insert("previous".to_owned(), json!(entry.previous));
    }
    seen
}

/// What an entry says, without results that nobody has made safe. Those of calls are.
pub(crate) fn said(entry: &AuditEntry) -> Value {
    let mut body = serde_json::from_str(&entry.body).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut body
        && entry.kind != "call"
    {
        members.remove("result");
        members.remove("late");
    }
    body
}

/// The entries of a tenant.
pub(crate) async fn entries(
    door: &Door,
    who: &Who,
    part: Part,
) -> Result<Vec<AuditEntry>, Problem> {
    need(who, Role::Operator)?;
    let wanted = part.of(door, who).await?;
    door.runtime.store().trail(wanted).await.map_err(unreadable)
}

/// Checks every entry's hash, the chain between them and the signed checkpoints. One check at a
/// time: it reads the whole trail. How long that is, only the tenant that runs the server is told.
#[utoipa::path(post, path = "/v1/audit/verify", tag = "records",
    operation_id = "verify_audit",
    responses(
        (status = 200, description = "What was found; `broken` where it is not intact.",
            body = shapes::Checked),
        NoKey,
        NoRole,
        (status = 503, description = "Another check is going on.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn verify(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Value>, Problem> {
    let checked = verified(&door, &who).await?;
    Ok(Json(told(&checked, door.is_home(&who))))
}

/// What was found: all of it, or without how long the trail is.
fn told(checked: &Checked, at_home: bool) -> Value {
    if at_home {
        return json!(checked);
    }
    let broken = checked.broken.as_ref().map(|one| ("broken", json!([null, without_number(one)])));
    let warning = checked.warning.as_ref().map(|one| ("warning", json!(one)));
    [broken, warning].into_iter().flatten().map(|(name, said)| (name.to_owned(), said)).collect()
}

/// What is wrong with the trail, for those who are not to know how long it is.
pub(crate) fn without_number((number, why): &(u64, String)) -> String {
    let one = why.replace(&format!("entry {number} "), "an entry ");
    one.replace(&format!("entries from {number} on "), "some entries ")
}

/// Checks the trail.
pub(crate) async fn verified(door: &Door, who: &Who) -> Result<Checked, Problem> {
    need(who, Role::Operator)?;
    let _alone = door.verifying.try_acquire().map_err(|_| Problem::overloaded())?;
    let found = door.runtime.store().verify().await.map_err(unreadable)?;
    crate::tending::touched(door, &found).await;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use haft_core::port::Checked;
    use serde_json::{Value, json};

    use super::{told, without_number};

    #[test]
    fn how_long_the_trail_is_only_the_tenant_that_runs_the_server_is_told() {
        let check = |broken: Option<(u64, String)>, warning: Option<&str>, others: Value| {
            let warning = warning.map(str::to_owned);
            let found = Checked {
                entries: 9,
                forgotten: 1,
                checkpoints: 2,
                head: None,
                broken,
                unseen: None,
                warning,
            };
            assert_eq!(told(&found, true), json!(found));
            assert_eq!(told(&found, false), others);
        };
        check(None, None, json!({}));
        check(None, Some("late"), json!({"warning": "late"}));
        let broken = Some((7, "entry 7 is missing".to_owned()));
        let others = json!({"broken": [null, "an entry is missing"], "warning": "late"});
        check(broken, Some("late"), others);
    }

    #[test]
    fn what_is_wrong_is_said_without_its_place() {
        for (why, expected) in [
            (
                "entry 7 was changed: its hash does not fit",
                "an entry was changed: its hash does not fit",
            ),
            ("the trail was cut: entry 7 was signed", "the trail was cut: an entry was signed"),
            ("entries from 7 on are said to be forgotten", "some entries are said to be forgotten"),
            (
                "the ledger does not say what entry 7 says",
                "the ledger does not say what an entry says",
            ),
            ("an effect that no entry knows", "an effect that no entry knows"),
        ] {
            assert_eq!(without_number(&(7, why.to_owned())), expected);
        }
    }
}
