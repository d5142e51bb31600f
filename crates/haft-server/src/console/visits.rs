//! Who is signed in with a browser, who is invited to, and how often a wrong key may be tried.
//!
//! Everything here is in memory, bounded, and gone after a restart. What a browser holds is a
//! random text; what is kept of it is a hash.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::Principal;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::who::{Who, hex};

/// However busy, nobody stays signed in for longer.
const WHOLE: Duration = Duration::from_secs(12 * 60 * 60);
/// Nobody stays signed in without doing anything for longer.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How long a link that signs in is good.
const INVITED: Duration = Duration::from_secs(15 * 60);
/// A question is answered on a page that is neither older nor younger than this.
const OLDEST: Duration = Duration::from_secs(5 * 60);
const YOUNGEST: Duration = Duration::from_secs(1);
/// So many wrong keys of one name are looked at in a minute.
const TRIES: u32 = 10;
/// How many of each are kept.
const MOST: usize = 1_000;
/// So many forms are remembered with what came of them: a double click asks at once.
const CAME: usize = 20;
/// How many browsers one holder of a key is signed in with, and all those of one tenant: whoever signs in
/// without end signs nobody else out.
const OF_ONE: usize = 50;
const OF_TENANT: usize = 250;

type Hash = [u8; 32];

/// What somebody came in with.
#[derive(Clone)]
pub(crate) enum Held {
    /// A key, by its name.
    Key(Arc<str>),
    /// A token, which says itself how long it is good: it is read anew for every page.
    Token(Arc<str>),
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(name) => write!(f, "the key {name}"),
            Self::Token(_) => f.write_str("a token"),
        }
    }
}

/// Whose a visit is. Whoever comes with tokens has other ones all the time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    tenant: Arc<str>,
    key: Arc<str>,
    principal: Principal,
}

impl Holder {
    pub(crate) fn of(who: &Who) -> Self {
        let (tenant, key) = (who.tenant.clone(), who.key.clone());
        Self { tenant, key, principal: who.principal.clone() }
    }
}

/// Browsers and invitations.
#[derive(Default)]
pub(crate) struct Visits {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    visits: HashMap<Hash, Visit>,
    invited: HashMap<Hash, (Arc<str>, Instant)>,
    tries: HashMap<String, (Instant, u32)>,
}

struct Visit {
    holder: Holder,
    held: Held,
    csrf: Arc<str>,
    began: Instant,
    proven: Instant,
    used: Instant,
    asked: VecDeque<Asked>,
    /// What came of forms that were good once, by their words.
    came: VecDeque<(String, String)>,
}

/// A question that was put on a page.
struct Asked {
    word: String,
    about: String,
    at: Instant,
}

/// A browser that is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Under which it is kept.
    pub(crate) id: Hash,
    /// What it signed in with.
    pub(crate) held: Held,
    /// What its forms carry.
    pub(crate) csrf: Arc<str>,
    /// How long ago the key was shown.
    pub(crate) proven: Duration,
}

/// How many visits somebody has, and when the one was used that was not for longest: who has more goes first,
/// then who has been idle.
type Weight = (usize, Reverse<Instant>);

/// Why an answer on a page does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// The page was there for too short a time to be read.
    TooEarly,
    /// The page is too old, or its answer was given already.
    Gone,
}

impl Visits {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs somebody in. Returns what the browser holds.
    pub(crate) fn begin(&self, holder: Holder, held: Held) -> Option<String> {
        let (text, csrf) = (random()?, random()?);
        let now = Instant::now();
        let visit = Visit {
            holder,
            held,
            csrf: csrf.into(),
            began: now,
            proven: now,
            used: now,
            asked: VecDeque::new(),
            came: VecDeque::new(),
        };
        let mut all = self.all();
        all.visits.retain(|_, visit| visit.is_on(now));
        all.make_room(&visit.holder);
        all.visits.insert(hash(&text), visit);
        Some(text)
    }

    /// Whoever holds this text.
    pub(crate) fn find(&self, text: &str) -> Option<Seen> {
        let (id, now) = (hash(text), Instant::now());
        let mut all = self.all();
        let visit = all.visits.get_mut(&id).filter(|visit| visit.is_on(now))?;
        visit.used = now;
        let proven = now.duration_since(visit.proven);
        Some(Seen { id, held: visit.held.clone(), csrf: visit.csrf.clone(), proven })
    }

    /// Whether somebody is still signed in. Asking is not doing something.
    pub(crate) fn goes_on(&self, id: &Hash) -> bool {
        self.all().visits.get(id).is_some_and(|visit| visit.is_on(Instant::now()))
    }

    /// Signs out.
    pub(crate) fn end(&self, id: &Hash) {
        self.all().visits.remove(id);
    }

    /// The key was shown once more, or another token of the same person.
    pub(crate) fn prove(&self, id: &Hash, held: Held) {
        if let Some(visit) = self.all().visits.get_mut(id) {
            (visit.proven, visit.held) = (Instant::now(), held);
        }
    }

    /// A text that signs a key's holder in, once, for a while.
    pub(crate) fn invite(&self, key: &str) -> Option<String> {
        let (text, now) = (random()?, Instant::now());
        let mut all = self.all();
        all.invited.retain(|_, (_, at)| now.duration_since(*at) < INVITED);
        if all.invited.len() >= MOST {
            return None;
        }
        all.invited.insert(hash(&text), (key.into(), now));
        Some(text)
    }

    /// The key that an invitation stands for. It is good no more.
    pub(crate) fn accept(&self, text: &str) -> Option<Arc<str>> {
        let (key, at) = self.all().invited.remove(&hash(text))?;
        (at.elapsed() < INVITED).then_some(key)
    }

    /// Counts an attempt. False where there were too many wrong ones under this name.
    pub(crate) fn may_try(&self, name: &str) -> bool {
        let (mut all, now) = (self.all(), Instant::now());
        let minute = Duration::from_secs(60);
        if all.tries.len() >= MOST {
            all.tries.retain(|_, (at, _)| now.duration_since(*at) < minute);
        }
        let name = if all.tries.len() >= MOST { "" } else { name };
        let (at, tries) = all.tries.entry(name.to_owned()).or_insert((now, 0));
        if now.duration_since(*at) >= minute {
            (*at, *tries) = (now, 0);
        }
        *tries = tries.saturating_add(1);
        *tries <= TRIES
    }

    /// A right key makes up for the wrong ones.
    pub(crate) fn forgive(&self, name: &str) {
        self.all().tries.remove(name);
    }

    /// A word for an answer to one question on one page.
    pub(crate) fn ask(&self, id: &Hash, about: &str) -> String {
        let Some(word) = random() else { return String::new() };
        if let Some(visit) = self.all().visits.get_mut(id) {
            visit.asked.truncate(MOST);
            let asked = Asked { word: word.clone(), about: about.to_owned(), at: Instant::now() };
            visit.asked.push_front(asked);
        }
        word
    }

    /// Takes back the word of a form that is good for one use, at any time. False where there is none.
    pub(crate) fn once(&self, id: &Hash, word: &str, about: &str) -> bool {
        let mut all = self.all();
        let Some(visit) = all.visits.get_mut(id) else { return false };
        let is_it = |asked: &Asked| asked.about == about && same(&asked.word, word);
        let at = visit.asked.iter().position(is_it);
        at.and_then(|at| visit.asked.remove(at)).is_some()
    }

    /// Remembers what came of a form that was good once.
    pub(crate) fn came(&self, id: &Hash, word: &str, of_it: &str) {
        if let Some(visit) = self.all().visits.get_mut(id) {
            visit.came.truncate(CAME - 1);
            visit.came.push_front((word.to_owned(), of_it.to_owned()));
        }
    }

    /// What came of a form that is sent again.
    pub(crate) fn came_of(&self, id: &Hash, word: &str) -> Option<String> {
        let all = self.all();
        let mut came = all.visits.get(id)?.came.iter();
        came.find(|(own, _)| same(own, word)).map(|(_, of_it)| of_it.clone())
    }

    /// Takes the answer, once.
    pub(crate) fn answer(&self, id: &Hash, word: &str, about: &str) -> Result<(), Unasked> {
        let mut all = self.all();
        let visit = all.visits.get_mut(id).ok_or(Unasked::Gone)?;
        let is_it = |asked: &Asked| asked.about == about && same(&asked.word, word);
        let at = visit.asked.iter().position(is_it).ok_or(Unasked::Gone)?;
        let age = visit.asked.get(at).map_or(OLDEST, |asked| asked.at.elapsed());
        if age < YOUNGEST {
            return Err(Unasked::TooEarly);
        }
        visit.asked.remove(at);
        if age >= OLDEST { Err(Unasked::Gone) } else { Ok(()) }
    }
}

impl All {
    /// Signs out whoever has the most visits where another is too many: the holder's own first, then
    /// their tenant's, then those of the tenant that has the most. Of a holder's, and of those who have as
    /// many, the one that was not used for longest goes.
    fn make_room(&mut self, holder: &Holder) {
        let mut tenants: HashMap<Arc<str>, Weight> = HashMap::new();
        let mut holders: HashMap<Holder, Weight> = HashMap::new();
        for visit in self.visits.values() {
            let used = Reverse(visit.used);
            for weight in [
                tenants.entry(visit.holder.tenant.clone()).or_insert((0, used)),
                holders.entry(visit.holder.clone()).or_insert((0, used)),
            ] {
                *weight = (weight.0 + 1, weight.1.max(used));
            }
        }
        let has = |weight: Option<&Weight>, most| weight.is_some_and(|(many, _)| *many >= most);
        let busiest = |tenant: &str| {
            let own = holders.iter().filter(|(one, _)| *one.tenant == *tenant);
            own.max_by_key(|(_, weight)| **weight).map(|(one, _)| one)
        };
        let goes = if has(holders.get(holder), OF_ONE) {
            Some(holder)
        } else if has(tenants.get(&holder.tenant), OF_TENANT) {
            busiest(&holder.tenant)
        } else if self.visits.len() >= MOST {
            let most = tenants.iter().max_by_key(|(_, weight)| **weight);
            most.and_then(|(tenant, _)| busiest(tenant))
        } else {
            None
        };
        let own = |visit: &Visit| goes.is_some_and(|goes| visit.holder == *goes);
        let idle = self.visits.iter().filter(|(_, visit)| own(visit));
        let idle = idle.min_by_key(|(_, visit)| visit.used).map(|(id, _)| *id);
        idle.and_then(|id| self.visits.remove(&id));
    }
}

impl Visit {
    fn is_on(&self, now: Instant) -> bool {
        now.duration_since(self.began) < WHOLE && now.duration_since(self.used) < IDLE
    }
}

/// Compares in the same time, whatever differs.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// 256 random bits.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

#[cfg(test)]
mod tests;
