//! Calls that were accepted and are answered later: in memory, for whoever asked, for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use haft_core::Digest;
use tokio::sync::{oneshot, watch};

use crate::who::{Role, Who};

/// How long an answer waits to be fetched.
const KEPT: Duration = Duration::from_secs(15 * 60);
/// How many bytes of answers are kept at most, those of all tenants together.
const BYTES: usize = 64 << 20;

/// The calls.
pub(crate) struct Later {
    most: usize,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    by_id: HashMap<String, Call>,
    bytes: usize,
}

struct Call {
    who: Who,
    agent: String,
    /// When it began, and once it has ended, when that was.
    since: Instant,
    answer: Option<Bytes>,
    fetched: bool,
    /// What was asked, under its key.
    same: Option<Digest>,
    work: Work,
}

/// Work that is being done, as far as it can be called off.
struct Work {
    call_off: Option<oneshot::Sender<()>>,
    /// Closed when it has ended.
    ends: watch::Receiver<()>,
    called_off: bool,
}

/// Whoever does the work: hears that it is called off, and says that it has ended by dropping this.
pub(crate) struct Doing {
    pub(crate) called_off: oneshot::Receiver<()>,
    _ends: watch::Sender<()>,
}

impl Work {
    fn new() -> (Self, Doing) {
        let (call_off, called_off) = oneshot::channel();
        let (_ends, ends) = watch::channel(());
        let work = Self { call_off: Some(call_off), ends, called_off: false };
        (work, Doing { called_off, _ends })
    }
}

impl Call {
    /// Whose it is: a tenant of its name, and which of those that were called so.
    fn tenant(&self) -> (&str, u64) {
        (&self.who.tenant, self.who.era)
    }

    fn is_running(&self) -> bool {
        self.answer.is_none()
    }

    /// Only for whoever made it, for the same person, through the agent that it was made for.
    fn is_of(&self, who: &Who, agent: &str) -> bool {
        self.who.shares_tenant(who)
            && self.who.principal == who.principal
            && self.who.subject == who.subject
            && self.agent == agent
    }

    /// Whoever made it may call it off, and those who watch over their tenant's calls.
    fn may_be_called_off_by(&self, who: &Who, agent: &str) -> bool {
        let operator = self.who.shares_tenant(who) && who.is(Role::Operator);
        self.is_of(who, agent) || (operator && self.agent == agent)
    }
}

/// What became of a request to begin.
pub(crate) enum Begun {
    New(Doing),
    /// It is being worked on, under this id.
    Already(String),
    /// There is no room.
    Full,
}

/// What became of a request to call work off.
pub(crate) enum CalledOff {
    /// It goes no further; this is what can be said of it, to whoever made it or to others.
    Answer { answer: Bytes, own: bool },
    /// It has ended by itself.
    TooLate,
}

/// Where a call stands.
pub(crate) enum Standing {
    Running,
    Ended(Bytes),
}

impl Later {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a call. No tenant takes more than half of it. What is the same as a call that
    /// is running is that call. Answers that are kept make room for work, and never keep it out.
    pub(crate) fn begin(&self, id: &str, who: &Who, agent: &str, same: Option<Digest>) -> Begun {
        let mut calls = self.calls();
        calls.forget_old();
        if same.is_some() {
            let running =
                |call: &Call| call.same == same && call.is_running() && call.is_of(who, agent);
            if let Some((id, _)) = calls.by_id.iter().find(|(_, call)| running(call)) {
                return Begun::Already(id.clone());
            }
        }
        let own = (self.most / 2).max(1);
        if calls.of(who) >= own && !calls.make_room(Some(who))
            || calls.by_id.len() >= self.most && !calls.make_room(None)
        {
            return Begun::Full;
        }
        let (who, agent) = (who.clone(), agent.to_owned());
        let (work, doing) = Work::new();
        let (since, answer, fetched) = (Instant::now(), None, false);
        let call = Call { who, agent, since, answer, fetched, same, work };
        calls.by_id.insert(id.to_owned(), call);
        Begun::New(doing)
    }

    /// Calls work off, and waits until it goes no further. None where nobody asked for it whose work
    /// this caller may call off.
    pub(crate) async fn call_off(&self, id: &str, who: &Who, agent: &str) -> Option<CalledOff> {
        let mut ends = {
            let mut calls = self.calls();
            let call = calls.by_id.get_mut(id)?;
            if !call.may_be_called_off_by(who, agent) {
                return None;
            }
            // Whoever has ended meanwhile does not hear it.
            if let Some(call_off) = call.work.call_off.take().filter(|_| call.answer.is_none()) {
                let _ = call_off.send(());
            }
            call.work.ends.clone()
        };
        // It is closed, and never changes.
        let _ = ends.changed().await;
        let calls = self.calls();
        let call = calls.by_id.get(id)?;
        Some(match (&call.answer, call.work.called_off) {
            (Some(answer), true) => {
                CalledOff::Answer { answer: answer.clone(), own: call.is_of(who, agent) }
            }
            (Some(_) | None, _) => CalledOff::TooLate,
        })
    }

    /// Work that was called off, and what can be said of it.
    pub(crate) fn end_early(&self, id: &str, answer: Bytes) {
        if let Some(call) = self.calls().by_id.get_mut(id) {
            call.work.called_off = true;
        }
        self.end(id, answer);
    }

    pub(crate) fn end(&self, id: &str, answer: Bytes) {
        let mut calls = self.calls();
        let size = answer.len();
        if let Some(call) = calls.by_id.get_mut(id) {
            (call.answer, call.since) = (Some(answer), Instant::now());
            calls.bytes += size;
            calls.forget_largest();
        }
    }

    /// A call that will never be answered.
    pub(crate) fn drop_out(&self, id: &str) {
        self.calls().remove(id);
    }

    /// Where a call of somebody's own stands.
    pub(crate) fn standing(&self, id: &str, who: &Who, agent: &str) -> Option<Standing> {
        let mut calls = self.calls();
        let call = calls.by_id.get_mut(id).filter(|call| call.is_of(who, agent))?;
        call.fetched = call.answer.is_some();
        Some(match &call.answer {
            Some(answer) => Standing::Ended(answer.clone()),
            None => Standing::Running,
        })
    }
}

impl Calls {
    fn remove(&mut self, id: &str) {
        let gone = self.by_id.remove(id).and_then(|call| call.answer);
        self.bytes -= gone.map_or(0, |answer| answer.len()).min(self.bytes);
    }

    fn forget_old(&mut self) {
        let old = self
            .by_id
            .iter()
            .filter(|(_, call)| call.answer.is_some() && call.since.elapsed() > KEPT);
        let old: Vec<String> = old.map(|(id, _)| id.clone()).collect();
        old.iter().for_each(|id| self.remove(id));
    }

    fn of(&self, who: &Who) -> usize {
        self.by_id.values().filter(|call| call.who.shares_tenant(who)).count()
    }

    /// Drops one answer of somebody's tenant, or of whichever keeps the most: the oldest that was fetched, or
    /// else the oldest. Says whether there was one.
    fn make_room(&mut self, of: Option<&Who>) -> bool {
        let ended = || self.by_id.iter().filter(|(_, call)| !call.is_running());
        let mut kept: HashMap<(&str, u64), usize> = HashMap::new();
        for (_, call) in ended() {
            *kept.entry(call.tenant()).or_default() += 1;
        }
        let most = kept.into_iter().max_by_key(|(_, count)| *count).map(|(tenant, _)| tenant);
        let of = of.map(|who| (&*who.tenant, who.era));
        let Some(tenant) = of.or(most) else { return false };
        let theirs = ended().filter(|(_, call)| call.tenant() == tenant);
        let oldest = theirs.min_by_key(|(_, call)| (!call.fetched, call.since));
        let oldest = oldest.map(|(id, _)| id.clone());
        oldest.iter().for_each(|id| self.remove(id));
        oldest.is_some()
    }

    /// Whoever keeps the most is the first to lose it.
    fn forget_largest(&mut self) {
        while self.bytes > BYTES {
            let size = |call: &Call| call.answer.as_ref().map_or(0, Bytes::len);
            let largest = self.by_id.iter().max_by_key(|(_, call)| size(call));
            let Some(id) = largest.map(|(id, _)| id.clone()) else { return };
            self.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::Principal;

    use super::*;
    use crate::who::Role;

    fn who(tenant: &str, actor: &str, subject: Option<&str>) -> Who {
        let (actor, subject) = (Principal::user(actor), subject.map(Principal::user));
        let said = crate::who::facts::Facts::default();
        Who::by_token("issuer", tenant, actor, subject, vec![Role::Agent], &said)
    }

    #[test]
    fn answers_make_room_for_work_and_what_runs_does_not() {
        let later = Later::new(6);
        let (ours, theirs) = (who("ours", "desk", None), who("theirs", "desk", None));
        let begin = |id: &str, who: &Who| match later.begin(id, who, "helper", None) {
            Begun::New(_) => true,
            Begun::Already(_) | Begun::Full => false,
        };
        let end = |id: &str| later.end(id, Bytes::from_static(b"{}"));
        let kept = |who: &Who, ids: &[&str]| -> Vec<bool> {
            let calls = later.calls();
            let is = |id: &&str| calls.by_id.get(*id).is_some_and(|one| one.who == *who);
            ids.iter().map(is).collect()
        };
        for id in ["a", "b", "c"] {
            assert!(begin(id, &ours));
        }
        assert!(!begin("d", &ours), "as much as a tenant may have runs");
        ["a", "b", "c"].into_iter().for_each(end);
        assert!(later.standing("b", &ours, "helper").is_some());
        assert!(begin("d", &ours), "nothing runs");
        assert_eq!(kept(&ours, &["a", "b", "c", "d"]), [true, false, true, true], "it was fetched");
        assert!(begin("e", &ours));
        assert_eq!(kept(&ours, &["a", "c", "d", "e"]), [false, true, true, true], "the oldest");
        for id in ["f", "g", "h"] {
            assert!(begin(id, &theirs));
        }
        // All is taken, and one answer is kept: it makes room for whoever has none.
        assert!(begin("i", &who("others", "desk", None)));
        assert_eq!(kept(&ours, &["c", "d", "e"]), [false, true, true]);
        assert!(!begin("j", &who("others", "desk", None)));
    }

    #[test]
    fn an_answer_is_for_whoever_asked_and_for_whom() {
        let later = Later::new(8);
        let ann = who("ours", "desk", Some("ann"));
        assert!(matches!(later.begin("a", &ann, "helper", None), Begun::New(_)));
        later.end("a", Bytes::from_static(b"{}"));
        for (other, agent, theirs) in [
            (&ann, "helper", true),
            (&who("ours", "desk", Some("bob")), "helper", false),
            (&who("ours", "desk", None), "helper", false),
            (&who("ours", "counter", Some("ann")), "helper", false),
            (&who("theirs", "desk", Some("ann")), "helper", false),
            (&ann.clone().at(1), "helper", false),
            (&ann, "other", false),
        ] {
            let found = later.standing("a", other, agent);
            assert_eq!(matches!(found, Some(Standing::Ended(_))), theirs, "{other:?} {agent}");
        }
    }
}
