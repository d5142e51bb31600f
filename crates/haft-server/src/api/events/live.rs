//! Events as they happen.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream, StreamExt as _};
use haft_core::names::SEPARATOR;
use haft_core::record::{Event, EventKind};
use serde_json::json;

use super::Filter;
use crate::door::Door;
use crate::guard::Credential;
use crate::hub::{Following, Lost, Mark, Missed, Seen};
use crate::places::Place;
use crate::problem::Problem;
use crate::who::Who;

const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// Which events one watcher wants.
struct Wanted {
    tenant: Arc<str>,
    kinds: Vec<EventKind>,
    agent: Option<String>,
    tool: Option<String>,
    session: Option<String>,
    call: Option<String>,
}

impl Wanted {
    fn of(who: &Who, filter: &Filter) -> Result<Self, Problem> {
        for (is, name) in [
            (filter.since_ms.is_some(), "since_ms"),
            (filter.until_ms.is_some(), "until_ms"),
            (filter.after.is_some(), "after"),
            (filter.limit.is_some(), "limit"),
        ] {
            if is {
                let why = format!("`{name}` is for events on record, and this asks for a stream");
                return Err(Problem::malformed(why).advise(
                    "leave it out, or ask without `Accept: text/event-stream`; a stream goes on \
                     after the `Last-Event-ID`",
                ));
            }
        }
        Ok(Self {
            tenant: who.tenant.clone(),
            kinds: filter.kinds()?,
            agent: filter.agent.clone(),
            tool: filter.tool.clone(),
            session: filter.session.clone(),
            call: filter.call.clone(),
        })
    }

    fn takes(&self, event: &Event) -> bool {
        let says = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|one| one == is);
        *event.tenant == *self.tenant
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && says(&self.agent, &event.agent)
            && (self.session.is_none() || self.session == event.session)
            && says(&self.call, &event.call)
            && self.tool.as_ref().is_none_or(|tool| is_named(&event.tool, tool))
    }

    /// Where to read what is on record of events that were lost.
    fn read(&self, since_ms: i64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("since_ms", &since_ms.to_string());
        for (name, value) in [
            ("agent", &self.agent),
            ("tool", &self.tool),
            ("session", &self.session),
            ("call", &self.call),
        ] {
            query.extend_pairs(value.iter().map(|value| (name, value)));
        }
        format!("/v1/events?{}", query.finish())
    }

    fn lost(&self, lost: Lost) -> Line {
        let told = json!({
            "events": lost.events, "sinceMs": lost.since_ms, "read": self.read(lost.since_ms),
        });
        Line::default().event("lost").json_data(told).unwrap_or_default()
    }
}

/// Whether a tool has a name: its id, or the end of it.
fn is_named(id: &str, name: &str) -> bool {
    match id.strip_suffix(name) {
        Some("") => true,
        Some(before) => before.ends_with(SEPARATOR) && !name.is_empty(),
        None => false,
    }
}

/// Events without end, but that of the credential, of the server, or of what else it hangs on.
pub(super) fn stream(
    door: Arc<Door>,
    who: Who,
    credential: Option<Credential>,
    over: impl Future<Output = ()> + Send + 'static,
    filter: &Filter,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let wanted = Wanted::of(&who, filter)?;
    let after = last(headers)?;
    let place = door.places.take(&who)?;
    let at_ms = door.runtime.store().now_ms();
    let from = door.hub.follow(&who.tenant, after.as_ref());
    let told = Telling { wanted, at_ms, from, _place: place };
    let shut = door.clone().shut(credential, who);
    let lines = lines(told);
    let lines = lines.take_until(Box::pin(door.stopped())).take_until(Box::pin(shut));
    let lines = lines.take_until(Box::pin(over));
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()).into_response())
}

/// The event after which a stream goes on.
fn last(headers: &HeaderMap) -> Result<Option<Mark>, Problem> {
    let Some(said) = headers.get(LAST) else { return Ok(None) };
    let said = said.to_str().unwrap_or_default().trim();
    match (said, said.parse()) {
        ("", _) => Ok(None),
        (_, Ok(mark)) => Ok(Some(mark)),
        (_, Err(())) => {
            let why = "`Last-Event-ID` is not the `id` of an event of this stream";
            Err(Problem::malformed(why).advise("leave it out to begin with what happens now"))
        }
    }
}

/// One watcher, and how far it is.
struct Telling {
    wanted: Wanted,
    from: Following,
    /// When the last event was that it was told or that was passed over.
    at_ms: i64,
    /// The place is taken for as long as somebody listens.
    _place: Place,
}

impl Telling {
    async fn next(&mut self) -> Option<Line> {
        if let Some(lost) = self.from.lost.take() {
            return Some(self.wanted.lost(lost));
        }
        loop {
            match self.from.from.next().await? {
                Ok(seen) => {
                    self.at_ms = seen.at_ms;
                    if self.wanted.takes(&seen) {
                        return Some(placed(&seen));
                    }
                }
                Err(Missed(events)) => {
                    let lost = Lost { events: Some(events), since_ms: self.at_ms };
                    return Some(self.wanted.lost(lost));
                }
            }
        }
    }
}

/// One event, under its own name, with its place.
fn placed(seen: &Seen) -> Line {
    let line = Line::default().event(seen.kind.as_str()).id(seen.mark.to_string());
    line.json_data(&**seen).unwrap_or_default()
}

fn lines(telling: Telling) -> impl Stream<Item = Result<Line, Infallible>> {
    stream::unfold(telling, |mut telling| async move {
        let line = telling.next().await?;
        Some((Ok(line), telling))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_by_its_id_or_by_the_end_of_it() {
        for (name, is) in
            [("shop__echo", true), ("echo", true), ("cho", false), ("", false), ("p__echo", false)]
        {
            assert_eq!(is_named("shop__echo", name), is, "{name}");
        }
        assert!(!is_named("", "echo"));
    }
}
