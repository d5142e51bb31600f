//! The client: sends calls, some of them twice at once, sends again what was cut off, and remembers
//! everything that it was told.

mod told;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::{Stage, Times, Victim};
use super::life::Killed;
use super::{Until, need_failpoints};
use crate::dice::{self, Dice};
use crate::words::{Act, Ask, Outcome, Request, Said};
pub(super) use told::{Told, Word};

/// A victim that says nothing for so long is stuck, and so is the run.
const SILENCE: Duration = Duration::from_secs(30);
/// What a killed victim has sent has arrived by then, so a probe is not too early.
const SETTLES: Duration = Duration::from_millis(1_000);
/// So often a client tries what has failed, and so often it asks again when it is told nothing.
const TRIES: u8 = 8;
const QUESTIONS: u8 = 200;

/// Something to ask about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Call(usize),
    Probe(usize),
    Undo(usize),
}

impl Work {
    fn key(self) -> usize {
        match self {
            Self::Call(key) | Self::Probe(key) | Self::Undo(key) => key,
        }
    }
}

/// A request that is under way.
struct Sent {
    work: Work,
    /// The client had been told before that it was done.
    after_done: bool,
}

/// What a stopped victim was sent.
pub(super) struct Parked(HashMap<u64, Sent>);

pub(super) struct Client {
    keys: usize,
    window: usize,
    dice: Dice,
    told: Vec<Told>,
    sent: HashMap<u64, Sent>,
    ids: u64,
    queue: VecDeque<Work>,
    later: VecDeque<(Instant, Work)>,
    twins: VecDeque<(Act, u64)>,
    undoes: bool,
    probes: bool,
    duplicates: u64,
    answered: u64,
}

impl Client {
    pub(super) fn new(keys: u64, window: usize, dice: Dice) -> Self {
        Self {
            keys: usize::try_from(keys).unwrap_or(usize::MAX),
            window: window.max(1),
            dice,
            told: Vec::new(),
            sent: HashMap::new(),
            ids: 0,
            queue: VecDeque::new(),
            later: VecDeque::new(),
            twins: VecDeque::new(),
            undoes: false,
            probes: true,
            duplicates: 0,
            answered: 0,
        }
    }

    pub(super) fn used(&self) -> usize {
        self.told.len()
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    pub(super) fn told(&self) -> &[Told] {
        &self.told
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    /// Whether unknown effects are looked into.
    pub(super) fn probes(&mut self, probes: bool) {
        self.probes = probes;
    }

    /// Talks to a victim until it dies. Returns how many were killed.
    pub(super) async fn live(&mut self, stage: &Stage, life: Killed) -> anyhow::Result<u64> {
        if life.fail.is_some() && life.only.is_some() {
            need_failpoints()?;
        }
        self.undoes = life.undoes;
        let mut victim = Victim::start(stage, life.fail.as_deref(), Times::default())?;
        let survived = self.serve(&mut victim, Until::Outcomes(life.after), life.only).await?;
        self.undoes = false;
        if survived {
            // Not always just after an outcome.
            tokio::time::sleep(Duration::from_micros(self.dice.roll(3_000))).await;
            victim.signal(Signal::SIGKILL);
        }
        // What it still said before it died was said.
        while let Some(outcome) = victim.outcome().await {
            self.take(outcome);
        }
        let status = victim.wait().await?;
        anyhow::ensure!(
            std::os::unix::process::ExitStatusExt::signal(&status) == Some(9),
            "the victim ended by itself: {status}"
        );
        self.give_up();
        Ok(1)
    }

    /// One more victim, which lives until everything is answered and ends by itself.
    pub(super) async fn finish(&mut self, stage: &Stage) -> anyhow::Result<()> {
        let mut victim = Victim::start(stage, None, Times::default())?;
        let alive = self.serve(&mut victim, Until::Outcomes(u64::MAX), None).await?;
        anyhow::ensure!(alive, "the last victim ended by itself");
        victim.let_go();
        let status = victim.wait().await?;
        anyhow::ensure!(status.success(), "the last victim ended with {status}");
        Ok(())
    }

    /// Talks to a victim. Returns whether it is alive at the end.
    pub(super) async fn serve(
        &mut self,
        victim: &mut Victim,
        until: Until,
        only: Option<Act>,
    ) -> anyhow::Result<bool> {
        let mut outcomes = 0;
        loop {
            if let Until::Outcomes(most) = until
                && outcomes >= most
            {
                return Ok(true);
            }
            let requests = self.fill(until, only);
            victim.send(&requests).await;
            let next = self.later.front().map(|(at, _)| *at);
            if self.sent.is_empty() && next.is_none() {
                return Ok(true);
            }
            let silent = Instant::now() + SILENCE;
            let wake = next.map_or(silent, |at| at.min(silent).max(Instant::now()));
            let woken = match self.sent.len() >= self.window {
                true => silent,
                false => wake,
            };
            match tokio::time::timeout_at(woken.into(), victim.outcome()).await {
                Ok(Some(outcome)) => {
                    outcomes += 1;
                    self.take(outcome);
                }
                Ok(None) => return Ok(false),
                Err(_) if woken == silent => anyhow::bail!("the victim says nothing"),
                Err(_) => {}
            }
        }
    }

    /// Takes an outcome where one comes in time. Returns whether one did.
    pub(super) async fn hear(&mut self, victim: &mut Victim, wait: Duration) -> bool {
        match tokio::time::timeout(wait, victim.outcome()).await {
            Ok(Some(outcome)) => {
                self.take(outcome);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Sends some new calls, and returns their keys.
    pub(super) async fn begin(&mut self, victim: &mut Victim, act: Act, some: usize) -> Vec<usize> {
        let keys: Vec<usize> = (0..some).map(|_| self.new_key(Some(act))).collect();
        let requests: Vec<Request> =
            keys.iter().map(|key| self.request(Work::Call(*key), false)).collect();
        victim.send(&requests).await;
        keys
    }

    /// Sets aside what a stopped victim owes answers to, and puts it into the queue a second time.
    pub(super) fn park(&mut self, keys: &[usize]) -> Parked {
        let owed = |key: &&usize| self.told.get(**key).is_some_and(|told| told.word == Word::None);
        let again: Vec<_> = keys.iter().filter(owed).map(|key| Work::Call(*key)).collect();
        self.queue.extend(again);
        Parked(std::mem::take(&mut self.sent))
    }

    /// The stopped victim goes on.
    pub(super) fn unpark(&mut self, parked: Parked) {
        self.sent.extend(parked.0);
    }

    /// What was under way is sent again to the next victim.
    pub(super) fn give_up(&mut self) {
        let mut cut: Vec<_> = self.sent.drain().collect();
        cut.sort_by_key(|(id, _)| *id);
        for (_, sent) in cut {
            if !self.queue.contains(&sent.work) {
                self.queue.push_back(sent.work);
            }
        }
    }

    /// Requests to fill the window with: what waits, then new keys.
    fn fill(&mut self, until: Until, only: Option<Act>) -> Vec<Request> {
        let now = Instant::now();
        while self.later.front().is_some_and(|(at, _)| *at <= now) {
            self.queue.extend(self.later.pop_front().map(|(_, work)| work));
        }
        let mut requests = Vec::new();
        while self.sent.len() < self.window {
            if let Some(work) = self.waiting(only) {
                requests.push(self.request(work, false));
            } else if until != Until::Idle && self.told.len() < self.keys {
                self.new_call(only, &mut requests);
            } else {
                break;
            }
        }
        requests
    }

    fn waiting(&mut self, only: Option<Act>) -> Option<Work> {
        let Some(act) = only else { return self.queue.pop_front() };
        let told = &self.told;
        let fits = |work: &Work| told.get(work.key()).is_some_and(|told| told.act == act);
        let at = self.queue.iter().position(fits)?;
        self.queue.remove(at)
    }

    /// A new key; one in eight is sent twice at once, and some callers leave.
    fn new_call(&mut self, only: Option<Act>, requests: &mut Vec<Request>) {
        let key = self.new_key(only);
        let leaves = self.dice.roll(100) == 0;
        requests.push(self.request(Work::Call(key), leaves));
        if self.dice.roll(8) == 0 {
            self.duplicates += 1;
            requests.push(self.request(Work::Call(key), false));
        }
    }

    fn new_key(&mut self, only: Option<Act>) -> usize {
        let key = self.told.len();
        let told = match self.twins.pop_front() {
            // The same act, meant a second time.
            Some((act, item)) if only.is_none_or(|only| only == act) => Told::new(act, item, 2),
            _ => Told::new(only.unwrap_or_else(|| self.any_act()), key as u64, 1),
        };
        if told.twin() && told.occurrence == 1 && only.is_none() {
            self.twins.push_back((told.act, told.item));
        }
        self.told.push(told);
        key
    }

    fn any_act(&mut self) -> Act {
        match self.dice.roll(100) {
            0..10 => Act::Look,
            10..35 => Act::Put,
            35..60 => Act::Book,
            60..98 => Act::Order,
            _ => Act::Gift,
        }
    }

    fn request(&mut self, work: Work, leaves: bool) -> Request {
        self.ids += 1;
        let ask = match (work, self.told.get(work.key())) {
            (Work::Probe(_), Some(told)) => {
                Ask::Probe { call: told.call.clone().unwrap_or_default() }
            }
            (Work::Undo(_), Some(told)) => {
                Ask::Undo { call: told.call.clone().unwrap_or_default() }
            }
            (Work::Call(_), Some(told)) => {
                Ask::Call { act: told.act, item: told.item, occurrence: told.occurrence, leaves }
            }
            (_, None) => Ask::Call { act: Act::Look, item: 0, occurrence: 1, leaves },
        };
        let after_done = self.told.get(work.key()).is_some_and(|told| told.word == Word::Done);
        self.sent.insert(self.ids, Sent { work, after_done });
        Request { id: self.ids, ask }
    }

    fn after(&mut self, wait: Duration, work: Work) {
        let at = Instant::now() + wait;
        let place = self.later.partition_point(|(other, _)| *other <= at);
        self.later.insert(place, (at, work));
    }

    fn take(&mut self, outcome: Outcome) {
        let Some(sent) = self.sent.remove(&outcome.id) else { return };
        let key = sent.work.key();
        match sent.work {
            Work::Call(_) => self.take_call(key, sent.after_done, outcome.said),
            Work::Probe(_) => self.take_probe(key, &outcome.said),
            Work::Undo(_) => self.take_undo(key, &outcome.said),
        }
    }

    fn take_call(&mut self, key: usize, after_done: bool, said: Said) {
        self.answered += 1;
        let (undoes, probes) = (self.undoes, self.probes);
        let Some(told) = self.told.get_mut(key) else { return };
        let first = told.word != Word::Done;
        let pick = dice::permille(&["then", &key.to_string()]);
        let work = Work::Call(key);
        match said {
            Said::Done { receipt, call } => {
                told.done(Some(receipt));
                let own = call.is_some() && told.act == Act::Book && !told.twin();
                if own && (pick < 60 || undoes) {
                    told.call = call;
                    self.after(Duration::ZERO, Work::Undo(key));
                } else if first && pick < 90 {
                    self.after(Duration::from_millis(50), work);
                }
            }
            Said::DoneWithoutAnswer => told.done(None),
            Said::Failed { kind, call } => {
                told.failed(&kind, call, after_done);
                if told.asks(TRIES) {
                    self.after(Duration::from_millis(5), work);
                }
            }
            Said::Unknown { call } => {
                let new = told.unknown(call, after_done);
                if new && probes && !told.twin() && pick < 600 {
                    let undo = told.act == Act::Book && pick < 200;
                    self.after(SETTLES, if undo { Work::Undo(key) } else { Work::Probe(key) });
                }
            }
            Said::Later | Said::Settled { .. } | Said::Undone { .. } => {
                if told.asks(QUESTIONS) {
                    self.after(Duration::from_millis(20), work);
                }
            }
        }
    }

    fn take_probe(&mut self, key: usize, said: &Said) {
        let Some(told) = self.told.get_mut(key) else { return };
        if matches!(said, Said::Settled { .. }) {
            // Now it is known: called again, it is begun anew or answered.
            told.tries = 0;
            self.after(Duration::ZERO, Work::Call(key));
        } else if told.asks(TRIES) {
            self.after(SETTLES, Work::Probe(key));
        }
    }

    fn take_undo(&mut self, key: usize, said: &Said) {
        let Some(told) = self.told.get_mut(key) else { return };
        let status = if let Said::Undone { status } = said { status.as_str() } else { "later" };
        match status {
            "undone" | "already_undone" => told.undone = true,
            // It did not happen, so it may be begun.
            "nothing_to_undo" => self.after(Duration::ZERO, Work::Call(key)),
            _ if told.asks(TRIES) => self.after(Duration::from_millis(50), Work::Undo(key)),
            _ => {}
        }
    }
}
