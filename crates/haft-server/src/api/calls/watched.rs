//! Calls whose events, progress and ends are told as they come.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use haft_core::Caller;
use haft_core::record::Event;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::work::{Done, Work};
use super::{Notes, fresh};
use crate::door::Door;
use crate::hub::{Missed, Watching};
use crate::problem::Problem;
use crate::who::Who;

/// So many lines wait for a slow client, and so many bytes: a handler cannot say more in one call than
/// fits, and nobody can have us keep more. What does not fit is counted.
const LINES: usize = 1_024;
const BYTES: usize = 4 << 20;

/// The size of the line behind which nothing comes.
const LAST: usize = usize::MAX;

/// Makes the calls, and tells their events and progress as they happen, each end, and last what the
/// answer would have been. Whoever stops watching, or cannot keep up, does not stop them.
pub(super) fn stream(door: Arc<Door>, who: &Who, mut work: Work) -> Result<Response, Problem> {
    let room = door.work(&who.tenant)?;
    let (wanted, _) = Wanted::of(&mut work)?;
    let ids = work.ids();
    let mut wake = door.hub.watch(&who.tenant);
    let (teller, lines) = Teller::new(wanted, door.hub.watch(&who.tenant));
    for (id, call) in work.known() {
        let teller = teller.clone();
        call.client = Some(Arc::new(Notes::new(&id, move |name, said| teller.note(name, &said))));
    }
    let trace = haft_runtime::trace::current();
    tokio::spawn(haft_runtime::trace::within(trace, async move {
        let done = {
            let each = |place: usize, end: Value| teller.note("result", &tagged(place, &ids, end));
            let mut running = std::pin::pin!(work.run(&door.runtime, &each));
            loop {
                tokio::select! {
                    biased;
                    // Nothing comes any more once the tenant is gone.
                    Some(_) = wake.next() => teller.catch_up(),
                    done = running.as_mut() => break done,
                }
            }
        };
        drop(room);
        if let Ok(done) = done {
            teller.end(&done).await;
        }
    }));
    let lines = futures_util::stream::unfold(lines, |mut lines| async move {
        let line = lines.next().await?;
        Some((Ok::<_, Infallible>(line), lines))
    });
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()).into_response())
}

/// The end of one of several calls, with its id and its place.
fn tagged(place: usize, ids: &[String], end: Value) -> Value {
    let mut said = json!({ "id": ids.get(place), "index": place });
    if let (Value::Object(said), Value::Object(end)) = (&mut said, end) {
        said.extend(end);
    }
    said
}

/// Which events are those of the calls. An id is the client's own word: others may use the same.
#[derive(Default)]
pub(super) struct Wanted {
    caller: Option<Caller>,
    sessions: HashSet<Option<String>>,
    ids: Vec<String>,
}

impl Wanted {
    /// Those of all calls of some work, each of which has an id from here on; and whose they are.
    pub(super) fn of(work: &mut Work) -> Result<(Self, Arc<str>), Problem> {
        let (mut wanted, mut tenant) = (Self::default(), Arc::from(""));
        for call in work.calls() {
            let id = match &call.id {
                Some(id) => id.clone(),
                None => fresh("call")?,
            };
            call.id = Some(id.clone());
            tenant = call.caller.tenant.clone();
            wanted.add(&call.caller, call.session.clone(), id);
        }
        Ok((wanted, tenant))
    }

    fn add(&mut self, caller: &Caller, session: Option<String>, id: String) {
        self.caller = Some(caller.clone());
        self.sessions.insert(session);
        self.ids.push(id);
    }

    pub(super) fn takes(&self, event: &Event) -> bool {
        let own = |caller: &Caller| {
            let by = event.by.as_ref().map(|(actor, subject)| (actor, subject.as_ref()));
            *event.tenant == *caller.tenant
                && *event.agent == *caller.agent
                && by == Some((&caller.actor, caller.subject.as_ref()))
        };
        self.caller.as_ref().is_some_and(own)
            && self.sessions.contains(&event.session)
            && event.model_call.as_ref().is_some_and(|id| self.ids.contains(id))
    }
}

/// What tells a client.
struct Teller {
    wanted: Wanted,
    events: Mutex<Watching>,
    to: mpsc::Sender<(usize, Line)>,
    /// How many bytes wait.
    waiting: Arc<AtomicUsize>,
    /// How much did not fit.
    lost: AtomicU64,
}

impl Teller {
    fn new(wanted: Wanted, events: Watching) -> (Arc<Self>, Lines) {
        let (to, from) = mpsc::channel(LINES);
        let (waiting, lost) = (Arc::<AtomicUsize>::default(), AtomicU64::new(0));
        let lines = Lines { from, waiting: waiting.clone() };
        (Arc::new(Self { wanted, events: Mutex::new(events), to, waiting, lost }), lines)
    }

    /// Tells the events that have come.
    fn catch_up(&self) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = events.ready() {
            match next {
                Ok(event) if self.wanted.takes(&event) => {
                    self.tell(event.kind.as_str(), &json!(**event));
                }
                Ok(_) => {}
                Err(Missed(lost)) => {
                    self.lost.fetch_add(lost, Ordering::Relaxed);
                }
            }
        }
    }

    /// Tells something, after the events that were before it.
    fn note(&self, name: &str, said: &Value) {
        self.catch_up();
        self.tell(name, said);
    }

    fn tell(&self, name: &str, said: &Value) {
        let text = said.to_string();
        let size = text.len();
        let before = self.waiting.fetch_add(size, Ordering::AcqRel);
        let line = Line::default().event(name).data(text);
        if before + size > BYTES || self.to.try_send((size, line)).is_err() {
            self.waiting.fetch_sub(size, Ordering::AcqRel);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells what the answer would have been. It waits for its place: nothing comes after it.
    async fn end(&self, done: &Done) {
        self.catch_up();
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            let told = Line::default().event("lost").data(json!({ "events": lost }).to_string());
            let _ = self.to.send((0, told)).await;
        }
        let line = Line::default().event(done.event()).json_data(done);
        let _ = self.to.send((LAST, line.unwrap_or_default())).await;
    }
}

/// What a client is told, in order.
struct Lines {
    from: mpsc::Receiver<(usize, Line)>,
    waiting: Arc<AtomicUsize>,
}

impl Lines {
    async fn next(&mut self) -> Option<Line> {
        let (size, line) = self.from.recv().await?;
        match size {
            // A handler that goes on by itself holds the other end, and has nothing more to say.
            LAST => self.from.close(),
            size => {
                self.waiting.fetch_sub(size, Ordering::AcqRel);
            }
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use haft_core::Principal;
    use haft_core::record::EventKind;

    use super::*;

    #[track_caller]
    fn check(by: Option<(Principal, Option<Principal>)>, id: &str, expected: bool) {
        let mut wanted = Wanted::default();
        let caller = Caller::agent("shop", "helper");
        wanted.add(&caller, None, "c1".to_owned());
        let event = Event {
            kind: EventKind::ToolCallStart,
            tenant: "shop".to_owned(),
            agent: "helper".to_owned(),
            session: None,
            turn: 0,
            call: "call_1".to_owned(),
            model_call: Some(id.to_owned()),
            tool: "shop__echo".to_owned(),
            at_ms: 1,
            payload: Value::Null,
            by: by.clone(),
        };
        assert_eq!(wanted.takes(&event), expected, "{by:?} {id}");
    }

    #[test]
    fn an_id_that_others_use_too_shows_nothing_of_theirs() {
        let helper = || Principal::agent("helper");
        check(Some((helper(), None)), "c1", true);
        check(Some((helper(), None)), "c2", false);
        check(Some((Principal::user("mara"), None)), "c1", false);
        check(Some((helper(), Some(Principal::user("mara")))), "c1", false);
        check(None, "c1", false);
    }
}
