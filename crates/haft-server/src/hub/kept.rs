//! The last events of one tenant, with their places: a watcher reads on from where it is, and one whose
//! connection broke goes on where it was.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::call::MAX_ID;
use haft_core::record::Event;
use serde_json::{Value, json};

/// So many events of one tenant are kept, and so many bytes of them.
const EVENTS: usize = 4_096;
const BYTES: usize = 8 << 20;

/// So long whoever followed events is expected back: until then they are put together and kept.
const BACK: Duration = Duration::from_secs(60);

/// What an event takes beside its texts; roughly.
const EVENT: usize = 512;

/// One that takes more is told without what makes it so large: several kinds of text in it are as long
/// as a caller likes, and every watcher has many of them waiting.
const ONE: usize = 64 << 10;

/// An event at its place, which is one among those of its tenant: nobody sees by it what others do.
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

/// What is kept of one tenant.
#[derive(Debug)]
pub(super) struct Kept {
    run: u64,
    last: u64,
    events: VecDeque<(usize, Arc<Seen>)>,
    bytes: usize,
    awaited: Option<Instant>,
}

impl Kept {
    /// Begins a run.
    pub(super) fn begin() -> Self {
        let mut random = [0; 8];
        // Without random numbers, the clock tells two runs apart.
        let run = match getrandom::fill(&mut random) {
            Ok(()) => u64::from_ne_bytes(random),
            Err(_) => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        };
        Self { run, last: 0, events: VecDeque::new(), bytes: 0, awaited: None }
    }

    /// Gives an event its place, and keeps it; the oldest make room.
    pub(super) fn take(&mut self, event: Event) -> Arc<Seen> {
        self.last += 1;
        let mark = Mark { run: self.run, number: self.last, at_ms: event.at_ms };
        let size = taken(&event);
        let seen = Arc::new(Seen { mark, event });
        self.events.push_back((size, seen.clone()));
        self.bytes += size;
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            self.drop_oldest();
        }
        seen
    }

    /// Lets go of the oldest, and says how many bytes that were.
    pub(super) fn drop_oldest(&mut self) -> usize {
        let size = self.events.pop_front().map_or(0, |(size, _)| size);
        self.bytes -= size;
        size
    }

    /// Which run it is.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// How many bytes are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the newest.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The number from which a watcher reads on after an event that it has seen, and what it can no
    /// longer be told where that is of another run.
    pub(super) fn after(&self, mark: &Mark) -> (Option<Lost>, u64) {
        match mark.run == self.run && mark.number <= self.last {
            true => (None, mark.number),
            false => (Some(Lost { events: None, since_ms: mark.at_ms }), self.last),
        }
    }

    /// The next event after a number: itself, or how many before it are lost. None when there is none.
    pub(super) fn next(&self, after: u64) -> Option<Result<Arc<Seen>, u64>> {
        if after >= self.last {
            return None;
        }
        // The last so many numbers are kept, one behind the other.
        let gone = self.last - self.events.len() as u64;
        match after.checked_sub(gone).and_then(|place| usize::try_from(place).ok()) {
            Some(place) => self.events.get(place).map(|(_, seen)| Ok(seen.clone())),
            None => Some(Err(gone - after)),
        }
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
pub(super) fn cut(event: &Event) -> Event {
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
        by: event.by.clone(),
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
            by: None,
        }
    }

    fn take(kept: &mut Kept, at_ms: i64, payload: Value) -> Mark {
        kept.take(cut(&event(at_ms, payload))).mark
    }

    /// What a watcher is told that goes on after an event: the times of events, and what is lost.
    fn told(kept: &Kept, after: &Mark) -> (Option<Lost>, Vec<Result<i64, u64>>) {
        let (lost, mut at) = kept.after(after);
        let mut told = Vec::new();
        while let Some(next) = kept.next(at) {
            at += next.as_ref().map_or_else(|lost| *lost, |_| 1);
            told.push(next.map(|seen| seen.at_ms));
        }
        (lost, told)
    }

    #[test]
    fn whoever_comes_back_is_told_what_came_meanwhile() {
        let mut kept = Kept::begin();
        let marks: Vec<Mark> = (1..=4).map(|at| take(&mut kept, at, json!(at))).collect();
        assert_eq!(told(&kept, &marks[1]), (None, vec![Ok(3), Ok(4)]));
        assert_eq!(told(&kept, &marks[3]), (None, Vec::new()));
    }

    #[test]
    fn what_is_no_longer_kept_is_counted() {
        let mut kept = Kept::begin();
        let first = take(&mut kept, 1, json!(1));
        for at in 0..EVENTS as i64 + 2 {
            take(&mut kept, 2 + at, json!(at));
        }
        let (lost, rest) = told(&kept, &first);
        assert_eq!((lost, rest.len(), &rest[..2]), (None, EVENTS + 1, &[Err(2), Ok(4)][..]));
        let large = json!("x".repeat(ONE / 2));
        for at in 0..EVENTS as i64 {
            take(&mut kept, at, large.clone());
        }
        assert!(kept.bytes <= BYTES && kept.events.len() < EVENTS / 8, "{}", kept.events.len());
        while kept.drop_oldest() > 0 {}
        assert_eq!((kept.bytes, kept.events.len()), (0, 0));
        assert_eq!(told(&kept, &first).1, [Err(kept.last - 1)]);
    }

    #[test]
    fn an_event_is_as_large_as_it_may_be_whatever_a_caller_says() {
        let mut kept = Kept::begin();
        let long = "x".repeat(ONE);
        let texts = Event { session: Some(long.clone()), ..event(1, json!(1)) };
        let texts = Event { model_call: Some(long.clone()), call: "c".into(), ..texts };
        for event in [texts, event(2, json!({"result": long}))] {
            let seen = kept.take(cut(&event));
            assert_eq!(seen.payload["withheld"], "too large");
            assert_eq!((&seen.session, &seen.model_call), (&None, &None));
            assert_eq!((&seen.call, seen.at_ms), (&event.call, event.at_ms));
        }
        assert!(kept.bytes < 4 * EVENT, "{}", kept.bytes);
        let fits = Event { model_call: Some("call_1".into()), ..event(3, json!({"ok": true})) };
        assert_eq!(**kept.take(cut(&fits)), fits);
    }

    #[test]
    fn an_event_of_another_run_says_only_from_where_to_read() {
        let mark = take(&mut Kept::begin(), 7, json!(1));
        let mut kept = Kept::begin();
        take(&mut kept, 8, json!(2));
        let lost = Some(Lost { events: None, since_ms: 7 });
        assert_eq!(told(&kept, &mark), (lost, Vec::new()));
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
