//! `requestState`: what a client keeps for us between two rounds of one request. It is sealed, for
//! one caller and one request, good for a while and for one use.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{Digest, Principal};
use rmcp::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Seat;
use crate::door::Door;

/// What the seal is for.
const PURPOSE: &str = "mcp request state 1";
/// The longest that is read.
const MOST_BYTES: usize = 64 << 10;
/// How long it is good.
const GOOD_MS: i64 = 15 * 60 * 1000;
/// How often one request may be answered with questions.
const ROUNDS: u32 = 8;
/// How many used ones are remembered. More at once than this, and the oldest could be used again;
/// what they led to is still done once, by the ledger and by the approvals.
const REMEMBERED: usize = 100_000;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// What the client has answered so far.
    #[serde(default)]
    pub(super) answers: BTreeMap<String, Value>,
    /// The approval that is waited for.
    #[serde(default)]
    pub(super) confirmation: Option<String>,
    /// Whether a run that ended with questions has used an approval up.
    #[serde(default)]
    pub(super) approved: bool,
    /// How often the client was asked.
    #[serde(default)]
    pub(super) round: u32,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    state: State,
    request: Digest,
    until_ms: i64,
    once: String,
}

/// States that were used, until they are void anyway.
#[derive(Default)]
pub(crate) struct Used(Mutex<Ring>);

/// In the order of their use, the oldest first, and when each is void.
#[derive(Default)]
struct Ring {
    order: VecDeque<(Arc<str>, i64)>,
    known: HashSet<Arc<str>>,
}

impl Used {
    /// Whether this is its first use.
    fn first(&self, once: &str, until_ms: i64, now_ms: i64) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while used.order.front().is_some_and(|(_, until)| *until <= now_ms) {
            used.forget();
        }
        if used.known.contains(once) {
            return false;
        }
        if used.order.len() >= REMEMBERED {
            used.forget();
        }
        let once: Arc<str> = once.into();
        used.known.insert(once.clone());
        used.order.push_back((once, until_ms));
        true
    }
}

impl Ring {
    /// Forgets the oldest.
    fn forget(&mut self) {
        if let Some((oldest, _)) = self.order.pop_front() {
            self.known.remove(&oldest);
        }
    }
}

/// What is asked for, and with which arguments.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a Value,
    /// What is said of it beside them: a dry run is not the call, nor is one more occurrence the same act.
    pub(super) words: &'a Value,
}

impl Request<'_> {
    /// What it is, and whose. A state is good for no other.
    fn digest(self, seat: &Seat) -> Digest {
        let caller = &seat.caller;
        let who: [&Principal; 2] = [&caller.actor, caller.principal()];
        let Self { method, name, arguments, words } = self;
        let whose = [&*caller.tenant, &*caller.agent];
        Digest::of_json(&json!([whose, who, method, name, arguments, words]))
    }
}

impl State {
    /// Reads what came back. Absent is as new.
    pub(super) fn open(
        door: &Door,
        seat: &Seat,
        request: Request<'_>,
        text: Option<&str>,
    ) -> Result<Self, ErrorData> {
        let Some(text) = text else { return Ok(Self::default()) };
        let wrong = |why: &str| {
            let fix = "make the request anew, without `requestState` and `inputResponses`";
            Err(ErrorData::invalid_params(format!("{why}; {fix}"), None))
        };
        let opened =
            (text.len() <= MOST_BYTES).then(|| door.runtime.unseal(PURPOSE, text)).flatten();
        let Some(sealed) = opened.and_then(|text| serde_json::from_str::<Sealed>(&text).ok())
        else {
            return wrong("`requestState` is not what this server gave");
        };
        if sealed.request != request.digest(seat) {
            return wrong("`requestState` was given for another request");
        }
        let now_ms = door.runtime.store().now_ms();
        if sealed.until_ms <= now_ms {
            return wrong("`requestState` has expired");
        }
        if !door.used.first(&sealed.once, sealed.until_ms, now_ms) {
            return wrong("`requestState` was used already");
        }
        Ok(sealed.state)
    }

    /// The state of the next round, sealed.
    pub(super) fn seal(
        mut self,
        door: &Door,
        seat: &Seat,
        request: Request<'_>,
    ) -> Result<String, ErrorData> {
        self.round += 1;
        if self.round > ROUNDS {
            let why = format!("the request was answered with questions {ROUNDS} times");
            return Err(ErrorData::invalid_request(why, None));
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| ErrorData::internal_error("there are no random numbers", None))?;
        let sealed = Sealed {
            state: self,
            request: request.digest(seat),
            until_ms: door.runtime.store().now_ms().saturating_add(GOOD_MS),
            once: Digest::of_bytes(&random).hex().to_owned(),
        };
        let sealed = door.runtime.seal(PURPOSE, &json!(sealed).to_string());
        match sealed.len() <= MOST_BYTES {
            true => Ok(sealed),
            false => Err(ErrorData::invalid_params("the answers are too long to be kept", None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_oldest_are_forgotten_when_there_are_too_many() {
        let used = Used::default();
        let more = 10;
        for at in 0..REMEMBERED + more {
            assert!(used.first(&at.to_string(), 1_000, 0), "{at} is new");
        }
        for at in [more, more + 1, REMEMBERED, REMEMBERED + more - 1] {
            assert!(!used.first(&at.to_string(), 1_000, 0), "{at} was used");
        }
        assert!(used.first("0", 1_000, 0), "the oldest is forgotten");
    }

    #[test]
    fn what_is_void_is_not_kept() {
        let used = Used::default();
        for at in 0..100_i64 {
            assert!(used.first(&at.to_string(), at + 10, at));
        }
        let kept = used.0.lock().unwrap();
        assert_eq!((kept.order.len(), kept.known.len()), (10, 10));
    }
}
