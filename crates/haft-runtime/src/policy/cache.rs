//! Decisions that were made before. Bounded, and never trusted on a hash alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use haft_core::contract::Mode;
use haft_core::port::Ask;
use haft_core::{Caller, Digest};
use parking_lot::RwLock;
use serde_json::{Map, Value};

/// How many decisions a generation holds; there are two.
const MOST: usize = 16_384;

/// What of a question can change its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    pub(crate) user: bool,
    pub(crate) session: bool,
    /// Then it is not kept at all.
    pub(crate) time: bool,
}

/// A question that was answered.
#[derive(Debug)]
struct Asked {
    caller: Caller,
    tool: Digest,
    mode: Mode,
    connection: Option<String>,
    session: Option<String>,
}

#[derive(Debug)]
struct Kept<V> {
    asked: Asked,
    until_ms: i64,
    answer: V,
}

type Generation<V> = HashMap<u64, Vec<Kept<V>>, BuildHasherDefault<Ready>>;

/// Answers by question. When a generation is full it becomes the old one, and what is asked for
/// again moves to the new one: what is in use stays.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    random: RandomState,
    generations: RwLock<[Generation<V>; 2]>,
}

impl<V: Clone> Cache<V> {
    pub(crate) fn new() -> Self {
        Self {
            random: RandomState::default(),
            generations: RwLock::new([Generation::default(), Generation::default()]),
        }
    }

    /// The answer, or what `make` makes of it: an answer, and until when it holds.
    pub(crate) fn get(&self, ask: &Ask<'_>, reach: Reach, make: impl FnOnce() -> (V, i64)) -> V {
        let hash = self.hash(ask, reach);
        let is = |kept: &&Kept<V>| kept.until_ms > ask.now_ms && kept.asked.is(ask, reach);
        {
            let generations = self.generations.read();
            let [young, old] = &*generations;
            if let Some(kept) = young.get(&hash).and_then(|all| all.iter().find(is)) {
                return kept.answer.clone();
            }
            if let Some(kept) = old.get(&hash).and_then(|all| all.iter().find(is)) {
                let (answer, until_ms) = (kept.answer.clone(), kept.until_ms);
                drop(generations);
                self.keep(hash, Asked::new(ask, reach), answer.clone(), until_ms);
                return answer;
            }
        }
        let (answer, until_ms) = make();
        if until_ms > ask.now_ms {
            self.keep(hash, Asked::new(ask, reach), answer.clone(), until_ms);
        }
        answer
    }

    fn keep(&self, hash: u64, asked: Asked, answer: V, until_ms: i64) {
        let mut generations = self.generations.write();
        let [young, old] = &mut *generations;
        if young.len() >= MOST {
            *old = std::mem::take(young);
        }
        let bucket = young.entry(hash).or_default();
        // Only an answer that has run out, or one that a neighbour has just kept, is in the way.
        bucket.retain(|kept| !kept.asked.same(&asked));
        bucket.truncate(7);
        bucket.push(Kept { asked, until_ms, answer });
    }

    fn hash(&self, ask: &Ask<'_>, reach: Reach) -> u64 {
        let mut state = self.random.build_hasher();
        let caller = ask.caller;
        caller.tenant.hash(&mut state);
        caller.agent.hash(&mut state);
        caller.actor.hash(&mut state);
        caller.subject.hash(&mut state);
        // A part of a digest is as good as all of it, to tell buckets apart.
        ask.tool.digest.hex().get(..16).hash(&mut state);
        ask.mode.hash(&mut state);
        connection(ask).hash(&mut state);
        if reach.session {
            ask.session.hash(&mut state);
        }
        if reach.user {
            caller.user.hash(&mut state);
        }
        state.finish()
    }
}

impl Asked {
    fn new(ask: &Ask<'_>, reach: Reach) -> Self {
        let mut caller = ask.caller.clone();
        if !reach.user {
            caller.user = Arc::new(Map::new());
        }
        Self {
            caller,
            tool: ask.tool.digest.clone(),
            mode: ask.mode,
            connection: connection(ask).map(str::to_owned),
            session: ask.session.filter(|_| reach.session).map(str::to_owned),
        }
    }

    fn is(&self, ask: &Ask<'_>, reach: Reach) -> bool {
        self.mode == ask.mode
            && self.tool == ask.tool.digest
            && same_people(&self.caller, ask.caller)
            && self.connection.as_deref() == connection(ask)
            && (!reach.session || self.session.as_deref() == ask.session)
            && (!reach.user || same_user(&self.caller.user, &ask.caller.user))
    }

    fn same(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.tool == other.tool
            && same_people(&self.caller, &other.caller)
            && self.connection == other.connection
            && self.session == other.session
            && same_user(&self.caller.user, &other.caller.user)
    }
}

fn same_people(one: &Caller, other: &Caller) -> bool {
    one.tenant == other.tenant
        && one.agent == other.agent
        && one.actor == other.actor
        && one.subject == other.subject
}

/// `1` and `1.0` are different to Cedar and to this comparison.
fn same_user(one: &Arc<Map<String, Value>>, other: &Arc<Map<String, Value>>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// A connection that the tool does not take changes nothing.
fn connection<'a>(ask: &Ask<'a>) -> Option<&'a str> {
    ask.connection.filter(|_| ask.tool.contract.connection.is_some())
}

/// The keys are hashes already.
#[derive(Debug, Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::call::Purpose;
    use haft_core::registry::Tool;
    use serde_json::json;

    fn tool() -> Tool {
        let digest = format!("sha256:{}", "0".repeat(64));
        serde_json::from_value(json!({
            "id": "core__x", "digest": digest, "parameters": [], "summary": "", "doc": "",
            "handler": {"kind": "native"},
            "contract": {
                "toolId": "x", "version": "1.0.0", "description": "", "category": "utility",
                "sideEffects": "none", "effect": "read_only", "sideEffectPolicy": "pure",
                "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text"],
                "latencyBudgetMs": 1, "parameters": {}, "redaction": {"allow": []},
                "arguments": {"mode": "lenient", "fraction": "refuse"},
            },
        }))
        .unwrap()
    }

    fn ask<'a>(caller: &'a Caller, tool: &'a Tool, now_ms: i64) -> Ask<'a> {
        Ask {
            caller,
            tool,
            mode: Mode::Text,
            arguments: None,
            session: None,
            connection: None,
            now_ms,
            purpose: Purpose::Asked,
        }
    }

    #[test]
    fn it_never_holds_more_than_two_generations() {
        let (cache, tool) = (Cache::new(), tool());
        for n in 0..3 * MOST {
            let caller = Caller::agent("t", &format!("a{n}"));
            assert_eq!(cache.get(&ask(&caller, &tool, 0), Reach::default(), || (n, 1)), n);
        }
        let kept: usize =
            cache.generations.read().iter().flat_map(HashMap::values).map(Vec::len).sum();
        assert!((MOST..=2 * MOST).contains(&kept), "{kept}");
    }

    #[test]
    fn an_answer_is_kept_until_its_end() {
        let (cache, tool) = (Cache::new(), tool());
        let caller = Caller::agent("t", "a");
        let at = |now_ms, answer| {
            cache.get(&ask(&caller, &tool, now_ms), Reach::default(), || (answer, 10))
        };
        assert_eq!([at(0, 1), at(9, 2), at(10, 3), at(11, 4)], [1, 1, 3, 4]);
    }

    #[test]
    fn users_are_told_apart_only_where_a_rule_looks_at_them() {
        let tool = tool();
        for (user, expected) in [(true, 2), (false, 1)] {
            let cache = Cache::new();
            let mut caller = Caller::agent("t", "a");
            let reach = Reach { user, ..Reach::default() };
            cache.get(&ask(&caller, &tool, 0), reach, || (1, 10));
            caller.user = Arc::new(Map::from_iter([("level".to_owned(), json!(1))]));
            assert_eq!(cache.get(&ask(&caller, &tool, 0), reach, || (2, 10)), expected);
        }
    }
}
