//! How to undo, in a model's arguments, what lowering did to their schema.

pub(crate) mod fits;
pub(crate) mod place;
mod raise;
mod say;

use std::sync::Arc;

use serde_json::{Map, Value};

/// How often a plan may lead to another at the same value: a definition that is nothing but itself
/// never ends.
const HOPS: usize = 8;

/// What was done to the values at one place. [`Plan::Keep`] is nothing at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Plan {
    /// The value is said as it is.
    #[default]
    Keep,
    /// As the definition of this number.
    Definition(usize),
    /// An object, member by member.
    Object(Box<ObjectPlan>),
    /// A list of one kind of element.
    List(Box<Plan>),
    /// A list whose elements differ by place; the last plan is for those beyond.
    Tuple(Vec<Plan>, Box<Plan>),
    /// An object with names of any kind, said as a list of `key` and `value`.
    Entries(Box<Plan>),
    /// Any value, said as JSON text.
    Text,
    /// Values of a list, each said as a word.
    Words(Vec<(String, Value)>),
    /// Any value; an array or an object is said as `{"json": "<JSON text>"}`.
    Anything,
    /// Members by other names wherever they stand: what is said, and what is meant.
    Renamed(Vec<(String, String)>),
    /// As inside, save that a null cannot be said.
    NotNull(Box<Plan>),
    /// One of several. No value that one of them says fits another.
    Either(Vec<Branch>),
}

/// One of several ways.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    /// What a value that is said this way looks like.
    pub(crate) schema: Value,
    pub(crate) plan: Plan,
}

/// What was done to an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectPlan {
    pub(crate) members: Vec<Member>,
    /// The member under which further ones are said as entries.
    pub(crate) more: Option<More>,
    /// Further members that are said in place.
    pub(crate) rest: Plan,
}

/// Further members, said as entries under a member of their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct More {
    pub(crate) wire: String,
    /// What was done to each of them.
    pub(crate) each: Plan,
    /// Whether the member is there even when there is nothing to say.
    pub(crate) always: bool,
}

/// What was done to one member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    /// The same, most often.
    pub(crate) wire: Arc<str>,
    pub(crate) plan: Plan,
    pub(crate) absence: Absence,
}

/// How a member is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// By leaving it out.
    Plain,
    /// By `null`.
    Null,
    /// By `null`; a `null` that is meant cannot be said.
    NullAlone,
    /// By `null`; a `null` that is meant is `{"json": "null"}`.
    NullUnlessMeant,
    /// It cannot be: left out means `null`.
    MeansNull,
}

/// A plan and the definitions that it refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    pub(crate) root: Plan,
    pub(crate) definitions: Vec<Plan>,
    /// The lowered definitions, for telling branches apart.
    pub(crate) schemas: Map<String, Value>,
}

impl Plans {
    /// Whether nothing was changed anywhere.
    pub(crate) fn change_nothing(&self) -> bool {
        std::iter::once(&self.root).chain(&self.definitions).all(Plan::is_idle)
    }
}

impl Plan {
    /// Whether it changes nothing, provided that no definition does.
    fn is_idle(&self) -> bool {
        match self {
            Self::Keep | Self::Definition(_) => true,
            Self::Object(plan) => {
                plan.more.is_none()
                    && plan.rest.is_idle()
                    && plan.members.iter().all(Member::is_idle)
            }
            Self::List(each) | Self::NotNull(each) => each.is_idle(),
            Self::Tuple(places, rest) => rest.is_idle() && places.iter().all(Self::is_idle),
            Self::Either(branches) => branches.iter().all(|branch| branch.plan.is_idle()),
            Self::Entries(_) | Self::Text | Self::Words(_) | Self::Anything | Self::Renamed(_) => {
                false
            }
        }
    }

    /// `Keep` where it says no more than that.
    pub(crate) fn tidy(self) -> Self {
        let is_plain = match &self {
            Self::Object(plan) => {
                plan.more.is_none()
                    && plan.rest == Self::Keep
                    && plan.members.iter().all(Member::is_kept)
            }
            Self::List(each) => **each == Self::Keep,
            Self::Tuple(places, rest) => {
                **rest == Self::Keep && places.iter().all(|place| *place == Self::Keep)
            }
            Self::Either(branches) => branches.iter().all(|branch| branch.plan == Self::Keep),
            Self::Keep
            | Self::Definition(_)
            | Self::Entries(_)
            | Self::Text
            | Self::Words(_)
            | Self::Anything
            | Self::NotNull(_)
            | Self::Renamed(_) => false,
        };
        if is_plain { Self::Keep } else { self }
    }
}

impl Member {
    fn is_idle(&self) -> bool {
        self.name == self.wire && self.absence == Absence::Plain && self.plan.is_idle()
    }

    fn is_kept(&self) -> bool {
        self.is_idle() && self.plan == Plan::Keep
    }
}
