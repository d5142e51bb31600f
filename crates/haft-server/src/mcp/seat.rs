//! Who sits at the other end: the caller of an agent's tools, and the person beside the model.

use haft_core::call::{Caller, Principal, PrincipalKind};
use haft_runtime::toolbox::McpAccess;

use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

/// One client's place.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Who calls.
    pub caller: Caller,
    /// Who answers when the client asks its user. Never the caller: a model cannot approve. None
    /// where nobody is known to sit there: whoever holds the key alone would approve for themselves.
    pub person: Option<Principal>,
    /// The agents of the tenant whose tools may be looked up; all where absent.
    pub agents: Option<Vec<String>>,
    /// Whose key or token it is taken with; of nobody on their own machine.
    holder: Option<Who>,
}

impl Seat {
    /// The seat of a program that was started by its user, on their own machine.
    #[must_use]
    pub fn local(caller: Caller) -> Self {
        let person = beside(&caller).unwrap_or_else(|| Principal::user("client-of-local"));
        Self { caller, person: Some(person), agents: None, holder: None }
    }

    /// The seat of whoever holds a key. The agent is the key's own; a key for several names one.
    pub(crate) fn of(door: &Door, who: &Who, named: Option<&str>) -> Result<Self, Problem> {
        if door.runtime.mcp_access(&who.tenant) == McpAccess::Off {
            return Err(Problem::forbidden("this tenant does not use MCP"));
        }
        let agents = door.runtime.agents(&who.tenant);
        let mut own = agents.iter().filter(|agent| who.may_call(agent));
        let agent = match (named, own.next(), own.next()) {
            (Some(named), ..) => named,
            (None, Some(only), None) => only,
            (None, None, _) => return Err(Problem::forbidden("this key is for no agent")),
            (None, Some(first), Some(_)) => {
                let why = format!("this key is for several agents; use `/mcp/{first}`, say");
                return Err(Problem::malformed(why));
            }
        };
        let caller = crate::api::caller(door, who, agent)?;
        let person = beside(&caller);
        let looks = who.is(Role::Operator);
        let agents =
            (!looks).then(|| agents.iter().filter(|agent| who.may_call(agent)).cloned().collect());
        Ok(Self { caller, person, agents, holder: Some(who.clone()) })
    }

    /// Whether whoever sits here decides about effects, too: an operator, or the user of a program on
    /// their own machine. Nobody else looks up the tools of every agent.
    pub(crate) fn operates(&self) -> bool {
        self.agents.is_none()
    }

    /// Whether an agent's tools may be looked up from here.
    pub(crate) fn may_look_up(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.iter().any(|one| one == agent))
    }

    /// Whether it is the same place: whoever holds another key has no part in it, though it be the same
    /// person's, and neither has a token that says something else by now. Which servers a request came
    /// through makes no difference, nor how long a token holds.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (via, credential) = (self.caller.via.clone(), self.caller.credential.clone());
        let caller = Caller { via, credential, ..other.caller.clone() };
        let holder = match (&self.holder, &other.holder) {
            (Some(own), Some(theirs)) => own.has_the_rights_of(theirs),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        holder && self.caller == caller && self.person == other.person
    }
}

/// The user for whom the client acts. No program is one.
pub(crate) fn beside(caller: &Caller) -> Option<Principal> {
    let person = |one: &Principal| one.kind == PrincipalKind::User && *one != caller.actor;
    caller.subject.clone().filter(person)
}
