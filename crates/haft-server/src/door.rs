//! What every request meets: the runtime behind the door, who may come in, and how many at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::Envelope;
use haft_runtime::Runtime;
use tokio::sync::Semaphore;

use crate::hub::Hub;
use crate::who::{Keys, Who};

/// The numbers of the door.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body.
    pub body_bytes: usize,
    /// How long a request's head may take.
    pub head: Duration,
    /// How long its body may take.
    pub body: Duration,
    /// How many requests are worked on at once; more are turned away.
    pub at_once: usize,
    /// How many connections are open at once; more wait outside.
    pub connections: usize,
    /// How many calls that answer later are kept.
    pub later: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            head: Duration::from_secs(5),
            body: Duration::from_secs(30),
            at_once: 1024,
            connections: 8192,
            later: 10_000,
        }
    }
}

/// What a server is made of.
pub struct Door {
    /// The one path.
    pub runtime: Runtime,
    /// Events, for streams. The runtime must publish to it.
    pub hub: Hub,
    /// Who may come in.
    pub keys: Keys,
    /// The names under which it is reached, without ports.
    pub hosts: Vec<String>,
    /// The numbers.
    pub limits: Limits,
    pub(crate) room: Arc<Semaphore>,
    pub(crate) later: Later,
}

impl Door {
    /// A door to a runtime.
    #[must_use]
    pub fn new(runtime: Runtime, hub: Hub, keys: Keys, hosts: Vec<String>, limits: Limits) -> Self {
        let room = Arc::new(Semaphore::new(limits.at_once));
        let later = Later::new(limits.later);
        Self { runtime, hub, keys, hosts, limits, room, later }
    }
}

/// Calls that were accepted and are answered later.
pub(crate) struct Later {
    most: usize,
    calls: Mutex<HashMap<String, Pending>>,
}

struct Pending {
    who: Who,
    answer: Option<Arc<Envelope>>,
    /// Counts up: the lowest is the oldest.
    number: u64,
}

/// Where a call that is answered later stands.
pub(crate) enum Standing {
    Running,
    Ended(Arc<Envelope>),
}

impl Later {
    fn new(most: usize) -> Self {
        Self { most, calls: Mutex::new(HashMap::new()) }
    }

    /// Makes room for a call; false where all the room is taken by calls that are running.
    pub(crate) fn begin(&self, id: &str, who: &Who) -> bool {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.values().map(|call| call.number).max().unwrap_or(0) + 1;
        if calls.len() >= self.most {
            let ended = calls.iter().filter(|(_, call)| call.answer.is_some());
            let oldest = ended.min_by_key(|(_, call)| call.number).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { return false };
            calls.remove(&oldest);
        }
        calls.insert(id.to_owned(), Pending { who: who.clone(), answer: None, number });
        true
    }

    pub(crate) fn end(&self, id: &str, envelope: Envelope) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get_mut(id) {
            call.answer = Some(Arc::new(envelope));
        }
    }

    /// Only for whoever made it.
    pub(crate) fn standing(&self, id: &str, who: &Who) -> Option<Standing> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = calls.get(id)?;
        let own = call.who.tenant == who.tenant && call.who.principal == who.principal;
        own.then(|| match &call.answer {
            Some(envelope) => Standing::Ended(envelope.clone()),
            None => Standing::Running,
        })
    }
}
