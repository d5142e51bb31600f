//! The last events, with their places, so that a watcher whose connection broke goes on where it was.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::call::MAX_ID;
use haft_core::record::Event;
use serde_json::{Value, json};

/// So many events are kept, and so many bytes of them.
const EVENTS: usize = 4_096;
const BYTES: usize = 8 << 20;

/// So long whoever followed events is expected back: until then they are put together and kept.
const BACK: Duration = Duration::from_secs(60);

/// What an event takes beside its texts; roughly.
const EVENT: usize = 512;

/// One that takes more is told without what makes it so large: several kinds of text in it are as long
/// as a caller likes, and every watcher has many of them waiting.
const ONE: usize = 64 << 10;

/// An event at its place.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) mark: Mark,
    event: Event,
}

impl Deref for Seen {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

/// Where an event stands: in which run, the how manieth of it, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// A time in which somebody always listened. Between two, events go by that nobody counts.
    run: u64,
    number: u64,
    pub(crate) at_ms: i64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}.{}", self.run, self.number, self.at_ms)
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(());
        let run = u64::from_str_radix(next()?, 16).map_err(drop)?;
        let number = next()?.parse().map_err(drop)?;
        let at_ms = next()?.parse().map_err(drop)?;
        parts.next().is_none().then_some(Self { run, number, at_ms }).ok_or(())
    }
}

/// Events that are no longer there to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// How many, where that is known.
    pub(crate) events: Option<u64>,
    /// None of them is older.
    pub(crate) since_ms: i64,
}

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    run: u64,
    last: u64,
    events: VecDeque<(usize, Arc<Seen>)>,
    bytes: usize,
    awaited: Option<Instant>,
}

impl Kept {
    /// Begins a new run.
    pub(super) fn begin(&mut self) {
        let mut random = [0; 8];
        // Without random numbers, the clock tells two runs apart.
        self.run = match getrandom::fill(&mut random) {
            Ok(()) => u64::from_ne_bytes(random),
            Err(_) => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        };
        self.last = 0;
        self.bytes = 0;
        self.events.clear();
    }

    /// Gives an event its place, and keeps it; the oldest make room.
    pub(super) fn take(&mut self, event: &Event) -> Arc<Seen> {
        self.last += 1;
        let mark = Mark { run: self.run, number: self.last, at_ms: event.at_ms };
        let event = cut(event);
        let size = taken(&event);
        let seen = Arc::new(Seen { mark, event });
        self.events.push_back((size, seen.clone()));
        self.bytes += size;
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let Some((size, _)) = self.events.pop_front() else { break };
            self.bytes -= size;
        }
        seen
    }

    /// Lets go of what nobody will come back for.
    pub(super) fn end(&mut self) {
        self.bytes = 0;
        self.events = VecDeque::new();
    }

    /// What came after an event, and what of it is lost.
    pub(super) fn after(&self, mark: &Mark) -> (Option<Lost>, Vec<Arc<Seen>>) {
        if mark.run != self.run || mark.number > self.last {
            return (Some(Lost { events: None, since_ms: mark.at_ms }), Vec::new());
        }
        let rest = self.events.iter().map(|(_, seen)| seen);
        let rest: Vec<_> = rest.filter(|seen| seen.mark.number > mark.number).cloned().collect();
        let lost = (self.last - mark.number).saturating_sub(rest.len() as u64);
        let lost = (lost > 0).then_some(Lost { events: Some(lost), since_ms: mark.at_ms });
        (lost, rest)
    }

    /// Somebody has gone who may come back.
    pub(super) fn await_back(&mut self) {
        self.awaited = Some(Instant::now() + BACK);
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.is_some_and(|until| Instant::now() < until)
    }
}

/// The event, or what can be told of one that is too large.
fn cut(event: &Event) -> Event {
    let bytes = taken(event);
    if bytes <= ONE {
        return event.clone();
    }
    let short = |text: &String| (text.len() <= MAX_ID).then(|| text.clone());
    Event {
        kind: event.kind,
        tenant: event.tenant.clone(),
        agent: event.agent.clone(),
        session: event.session.as_ref().and_then(short),
        turn: event.turn,
        call: event.call.clone(),
        model_call: event.model_call.as_ref().and_then(short),
        tool: event.tool.clone(),
        at_ms: event.at_ms,
        payload: json!({ "withheld": "too large", "bytes": bytes }),
    }
}

/// What an event takes; roughly.
fn taken(event: &Event) -> usize {
    let texts = [&event.tenant, &event.agent, &event.call, &event.tool];
    let texts = texts.into_iter().chain(&event.session).chain(&event.model_call);
    EVENT + texts.map(String::len).sum::<usize>() + size(&event.payload)
}

/// What a value takes; roughly.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(text) => 32 + text.len(),
        Value::Array(all) => 32 + all.iter().map(size).sum::<usize>(),
        Value::Object(all) => {
            32 + all.iter().map(|(name, one)| 64 + name.len() + size(one)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::record::EventKind;

    use super::*;

    fn event(at_ms: i64, payload: Value) -> Event {
        Event {
            kind: EventKind::Message,
            tenant: "t".into(),
            agent: "a".into(),
            session: None,
            turn: 0,
            call: String::new(),
            model_call: None,
            tool: String::new(),
            at_ms,
            payload,
        }
    }

    fn times(seen: &[Arc<Seen>]) -> Vec<i64> {
        seen.iter().map(|one| one.at_ms).collect()
    }

    #[test]
    fn whoever_comes_back_is_told_what_came_meanwhile() {
        let mut kept = Kept::default();
        kept.begin();
        let marks: Vec<Mark> = (1..=4).map(|at| kept.take(&event(at, json!(at))).mark).collect();
        let (lost, rest) = kept.after(&marks[1]);
        assert_eq!((lost, times(&rest)), (None, vec![3, 4]));
        assert_eq!(kept.after(&marks[3]), (None, Vec::new()));
    }

    #[test]
    fn what_is_no_longer_kept_is_counted() {
        let mut kept = Kept::default();
        kept.begin();
        let first = kept.take(&event(1, json!(1))).mark;
        for at in 0..EVENTS as i64 + 2 {
            kept.take(&event(2 + at, json!(at)));
        }
        let (lost, rest) = kept.after(&first);
        assert_eq!((lost, rest.len()), (Some(Lost { events: Some(2), since_ms: 1 }), EVENTS));
        let large = json!("x".repeat(ONE / 2));
        for at in 0..EVENTS as i64 {
            kept.take(&event(at, large.clone()));
        }
        assert!(kept.bytes <= BYTES && kept.events.len() < EVENTS / 8, "{}", kept.events.len());
        kept.end();
        assert_eq!((kept.bytes, kept.events.capacity()), (0, 0));
    }

    #[test]
    fn an_event_is_as_large_as_it_may_be_whatever_a_caller_says() {
        let mut kept = Kept::default();
        kept.begin();
        let long = "x".repeat(ONE);
        let texts = Event { session: Some(long.clone()), ..event(1, json!(1)) };
        let texts = Event { model_call: Some(long.clone()), call: "c".into(), ..texts };
        for event in [texts, event(2, json!({"result": long}))] {
            let seen = kept.take(&event);
            assert_eq!(seen.payload["withheld"], "too large");
            assert_eq!((&seen.session, &seen.model_call), (&None, &None));
            assert_eq!((&seen.call, seen.at_ms), (&event.call, event.at_ms));
        }
        assert!(kept.bytes < 4 * EVENT, "{}", kept.bytes);
        let fits = Event { model_call: Some("call_1".into()), ..event(3, json!({"ok": true})) };
        assert_eq!(**kept.take(&fits), fits);
    }

    #[test]
    fn an_event_of_another_run_says_only_from_where_to_read() {
        let mut kept = Kept::default();
        kept.begin();
        let mark = kept.take(&event(7, json!(1))).mark;
        kept.begin();
        kept.take(&event(8, json!(2)));
        let (lost, rest) = kept.after(&mark);
        assert_eq!((lost, times(&rest)), (Some(Lost { events: None, since_ms: 7 }), vec![]));
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let one = Mark { run: 0xabc, number: 7, at_ms: -1 };
        assert_eq!(one.to_string().parse(), Ok(one));
        for odd in ["", "a", "a.1", "z.1.1", "1.-1.1", "1.1.1.1", "1.1.", "1..1"] {
            assert!(odd.parse::<Mark>().is_err(), "{odd}");
        }
    }
}
