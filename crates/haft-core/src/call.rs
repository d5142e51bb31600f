//! A call: who asks, through what, for which tool, with which arguments.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Digest;
use crate::config::Edition;
use crate::contract::{Mode, SideEffectPolicy};
use crate::error::ToolError;
use crate::hop::Chain;
use crate::port::Client;

/// The last of several deliberate repetitions; the first is 1.
pub const MOST_OCCURRENCES: u32 = 1_000_000;

/// Somebody or something that acts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal {
    /// What it is.
    pub kind: PrincipalKind,
    /// Which one. Shared: every call names its caller several times.
    pub id: Arc<str>,
}

/// What a principal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A model that runs on someone's behalf.
    Agent,
    /// A program.
    Service,
}

impl PrincipalKind {
    /// The word before the colon.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Service => "service",
        }
    }
}

/// The longest id of anything that a caller names.
pub const MAX_ID: usize = 255;

impl Principal {
    /// A person.
    #[must_use]
    pub fn user(id: impl Into<Arc<str>>) -> Self {
        Self { kind: PrincipalKind::User, id: id.into() }
    }

    /// An agent.
    #[must_use]
    pub fn agent(id: impl Into<Arc<str>>) -> Self {
        Self { kind: PrincipalKind::Agent, id: id.into() }
    }

    /// Reads `user:mara`, `agent:assistant` or `service:billing`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not a principal; write `user:<id>`, `agent:<id>` or `service:<id>`",
                text.escape_debug()
            )
        };
        let (kind, id) = text.split_once(':').ok_or_else(wrong)?;
        let kind = match kind {
            "user" => PrincipalKind::User,
            "agent" => PrincipalKind::Agent,
            "service" => PrincipalKind::Service,
            _ => return Err(wrong()),
        };
        if id.is_empty() || id.len() > MAX_ID || id.chars().any(char::is_control) {
            return Err(wrong());
        }
        Ok(Self { kind, id: id.into() })
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

impl TryFrom<String> for Principal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.to_string()
    }
}

/// Who asks. Made by the door from its credential, never from what a model says.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// Whose tools, rules and records.
    pub tenant: Arc<str>,
    /// The agent whose catalog applies.
    pub agent: Arc<str>,
    /// Who acts.
    pub actor: Principal,
    /// For whom, where someone acts for someone else.
    pub subject: Option<Principal>,
    /// What is known about the user: `context.user` in conditions.
    pub user: Arc<Map<String, Value>>,
    /// The servers that the request came through. What its calls send goes on from there.
    pub via: Chain,
    /// Which of the tenants that were called so one after the other: what was begun for one that was
    /// removed is done in no other. None where whichever there is now is meant.
    pub era: Option<u64>,
    /// What they came in with, where that can come to an end: then nothing more is begun for them.
    pub credential: Option<Arc<Credential>>,
}

/// What a caller came in with, as far as its end goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A key.
    Key {
        /// Where the store keeps it: any change there ends it.
        kept: Option<Edition>,
        /// When it ends by itself, in milliseconds of the Unix epoch, by the store's clock.
        ends_at_ms: Option<i64>,
    },
    /// An issuer's token.
    Token {
        /// The last second of the Unix epoch in which it holds, by the machine's clock.
        last_s: u64,
    },
}

impl Caller {
    /// An agent that acts for itself.
    #[must_use]
    pub fn agent(tenant: &str, agent: &str) -> Self {
        Self {
            tenant: tenant.into(),
            agent: agent.into(),
            actor: Principal::agent(agent),
            subject: None,
            user: Arc::new(Map::new()),
            via: Chain::default(),
            era: None,
            credential: None,
        }
    }

    /// Whose act it is: the subject where there is one, else the actor.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        self.subject.as_ref().unwrap_or(&self.actor)
    }
}

/// Arguments as they came.
#[derive(Clone, Debug, PartialEq)]
pub enum RawArguments {
    /// Text of a model or of a request's body.
    Text(String),
    /// Already read, by a reader that refuses what [`haft_adm::strict`] refuses.
    Value(Value),
    /// The same, with the text that it was read from, which need not be written again to be kept.
    Read(Value, String),
}

impl RawArguments {
    /// The longest text that is kept for a record that nobody has looked at yet.
    pub const KEPT_BYTES: usize = 4 << 10;

    /// The same with the text that a value was read from. However long it is: a number that becomes a
    /// text is spelt from it, and the key of an act must not depend on how much space is around it.
    #[must_use]
    pub fn from_text(self, text: Option<&str>) -> Self {
        match (self, text) {
            (Self::Value(value), Some(text)) => Self::Read(value, text.to_owned()),
            (same, _) => same,
        }
    }
}

impl Default for RawArguments {
    /// None.
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<Value> for RawArguments {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for RawArguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// One call, as a door hands it over.
#[derive(Clone, Debug)]
pub struct Call {
    /// The model's id for it; one is made where there is none.
    pub id: Option<String>,
    /// The tool, by canonical id or by a short name.
    pub tool: String,
    /// What it is asked.
    pub arguments: RawArguments,
    /// Why nothing can be made of what the model wrote. Such a call is on record like any other, and refused with this
    /// once it is known that its tool is there.
    pub unreadable: Option<Box<ToolError>>,
    /// Who asks.
    pub caller: Caller,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// How model and user talk, where no session says.
    pub mode: Mode,
    /// The caller's own idempotency key.
    pub key: Option<String>,
    /// What the key was given to.
    pub keyed: Keyed,
    /// Which of several deliberate repetitions this is; the first is 1.
    pub occurrence: u32,
    /// What the request has asked for so far, where it makes several calls.
    pub asked: Option<Arc<Asked>>,
    /// Those that it was decided on with, where one answer of a model asks for several.
    pub together: Option<Arc<Together>>,
    /// The connection that it may use, chosen outside of the arguments.
    pub connection: Option<String>,
    /// The connections that this request was given.
    pub connections: Vec<String>,
    /// An approval's token.
    pub confirmation: Option<String>,
    /// Whether the person who was asked about it has said no: it is not begun, whoever else has
    /// approved it.
    pub declined: bool,
    /// Only these tools, where a run is narrowed to some.
    pub only: Option<Vec<String>>,
    /// Decide everything and do nothing.
    pub dry_run: bool,
    /// Whether whoever asks may learn which rules decide and why: operators may, models may not.
    pub sees_rules: bool,
    /// When the request was made, in milliseconds of the Unix epoch.
    pub issued_at_ms: Option<i64>,
    /// What the provider sent. For observers alone: it is never shown, logged or acted on.
    pub raw: Option<Value>,
    /// The tools that called this one, outermost first.
    pub through: Vec<Arc<str>>,
    /// The call whose handler makes this one.
    pub within: Option<Within>,
    /// The effect that this call undoes.
    pub compensates: Option<String>,
    /// What it is made for. Doors leave that as it is.
    pub purpose: Purpose,
    /// What a person with the right to do so has overruled.
    pub overrule: Overrule,
    /// With neither key nor session: the same act within this time is this call, sent again.
    pub same_within: Option<Duration>,
    /// Whoever made it, where they can be spoken to while it runs.
    pub client: Option<Arc<dyn Client>>,
}

/// The call whose handler makes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// Its id.
    pub call: Arc<str>,
    /// The key that the ledger has it under, whichever attempt it is; none where it has no effects.
    pub key: Option<Digest>,
    /// The turn that it is part of. What its handler does is part of that turn, too, however long it takes.
    pub turn: u64,
}

/// The longest idempotency key that a caller may send.
pub const LONGEST_KEY: usize = 255;

/// Whether a text can be an idempotency key: visible ASCII characters, at least one and not too many.
#[must_use]
pub fn is_key(text: &str) -> bool {
    (1..=LONGEST_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What an idempotency key was given to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keyed {
    /// This very call. Under the same key it may come again among others.
    #[default]
    Call,
    /// A request that makes this call alone: the same, but for a request that makes it twice.
    Request,
    /// A request that makes several: what each asks for tells them apart, wherever it stands.
    Batch,
    /// A call that haft makes itself, to undo an effect or because a handler asks for it. Whatever
    /// callers send, it is another key.
    Own,
}

/// What a call is made for. No caller says so: haft does, when it asks by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody wants what it gives.
    #[default]
    Asked,
    /// The handler of an effect needs it.
    Effect,
    /// To find out whether an effect happened.
    Probe,
    /// To undo an effect.
    Undo,
}

impl Purpose {
    /// What the calls are made for that a handler makes: for what its own was, and those of an effect
    /// for that effect.
    #[must_use]
    pub fn within(self, class: SideEffectPolicy) -> Self {
        match self {
            Self::Asked if class != SideEffectPolicy::Pure => Self::Effect,
            same @ (Self::Asked | Self::Effect | Self::Probe | Self::Undo) => same,
        }
    }

    /// Whether it is about an effect that was let happen, on the word of somebody who looks after
    /// effects: no turn of a user, and no wish of an agent.
    #[must_use]
    pub fn is_after_the_fact(self) -> bool {
        matches!(self, Self::Probe | Self::Undo)
    }

    /// Whether an answer will do that was given a while ago. What is done to the world, or said to
    /// have been done, goes by what is so now.
    #[must_use]
    pub fn takes_an_old_answer(self) -> bool {
        self == Self::Asked
    }
}

/// What the calls of one request have asked for: a call that says the same as one before it is a
/// deliberate repetition.
#[derive(Debug, Default)]
pub struct Asked(Mutex<HashSet<(Digest, u32)>>);

impl Asked {
    /// Which repetition a call is that asks for this: the one that it says, or the next one that no
    /// call of the request has taken.
    #[must_use]
    pub fn nth(&self, what: &Digest, said: u32) -> u32 {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (said..=u32::MAX).find(|nth| taken.insert((what.clone(), *nth))).unwrap_or(said)
    }
}

/// Calls that were decided on together, before any of them was answered. Where one gives way to newer
/// messages, the others were decided on without them as well.
#[derive(Debug, Default)]
pub struct Together(AtomicBool);

impl Together {
    /// One of them has given way. Says whether it is the first.
    pub fn give_way(&self) -> bool {
        !self.0.swap(true, Ordering::SeqCst)
    }

    /// The first has not given way after all.
    pub fn go_on(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether one of them has.
    #[must_use]
    pub fn gave_way(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What a person overruled knowingly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrule {
    /// Run although the same act under another key has an unknown outcome.
    pub similar_unknown: bool,
}

impl Call {
    /// A call with nothing out of the ordinary.
    #[must_use]
    pub fn new(
        caller: Caller,
        tool: impl Into<String>,
        arguments: impl Into<RawArguments>,
    ) -> Self {
        Self {
            id: None,
            tool: tool.into(),
            arguments: arguments.into(),
            unreadable: None,
            caller,
            session: None,
            mode: Mode::Text,
            key: None,
            keyed: Keyed::Call,
            occurrence: 1,
            asked: None,
            together: None,
            connection: None,
            connections: Vec::new(),
            confirmation: None,
            declined: false,
            only: None,
            dry_run: false,
            sees_rules: false,
            issued_at_ms: None,
            raw: None,
            through: Vec::new(),
            within: None,
            compensates: None,
            purpose: Purpose::Asked,
            overrule: Overrule::default(),
            same_within: None,
            client: None,
        }
    }
}
