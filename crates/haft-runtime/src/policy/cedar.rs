//! Cedar policies: validated when they are loaded, cut into what each tool needs, asked in parts.
//!
//! Policies that speak of `context.arguments` stand apart from those that do not: the latter are
//! asked once and remembered.

mod load;
pub(crate) mod mentions;
pub(crate) mod request;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod types;

use std::collections::HashMap;

use cedar_policy::{AuthorizationError, Authorizer, Entities, PolicySet, Request};
use haft_core::call::Principal;
use haft_core::port::Ask;

use mentions::Mentions;
use request::Names;
use types::Record;

pub use load::Text;
pub(crate) use load::load;

/// All policies.
#[derive(Debug)]
pub(crate) struct Cedar {
    names: Names,
    rules: Vec<Rule>,
    by_id: HashMap<String, usize>,
    /// For tools that a policy names.
    slices: HashMap<String, Slice>,
    /// For all others.
    other: Slice,
    /// Whether anything is permitted by a policy; then nothing is permitted without one.
    pub(crate) permits: bool,
    user: Record,
    /// What rules can see of the arguments, for tools that have an action of their own.
    arguments: HashMap<String, Record>,
}

/// What is remembered of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// `cedar:<file>#<id>`.
    pub(crate) id: String,
    /// Why a person must approve, where one must.
    pub(crate) approve: Option<String>,
    /// What its author says about it.
    pub(crate) description: Option<String>,
    /// What would change it, in words for agents.
    pub(crate) enable: Option<String>,
}

/// The policies that can matter for a tool.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// Those that need no arguments.
    free: Sets,
    /// Those that do.
    bound: Sets,
    /// What they speak about.
    pub(crate) mentions: Mentions,
    /// What those speak about that need no arguments.
    pub(crate) free_mentions: Mentions,
}

/// Policies by what they do.
#[derive(Debug, Default)]
struct Sets {
    forbid: PolicySet,
    permit: PolicySet,
    approve: PolicySet,
    /// Whether a permit here demands approval as well.
    permits_ask: bool,
}

/// Which half of the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Free,
    Bound,
}

/// The policies that match, by index, the first of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matched {
    pub(crate) forbid: Option<usize>,
    pub(crate) permit: Option<usize>,
    pub(crate) approve: Option<usize>,
}

/// What is to blame where no rule is.
const REQUEST: &str = "cedar:request";

/// Why the policies could not be asked.
#[derive(Debug)]
pub(crate) struct Unasked {
    /// The rule that could not be evaluated.
    pub(crate) rule: String,
    pub(crate) why: String,
    /// What would change it, in words for agents.
    pub(crate) enable: &'static str,
}

impl Unasked {
    fn rule(rule: String, why: String) -> Self {
        let enable = "an administrator has to mend a rule that could not be evaluated";
        Self { rule, why, enable }
    }

    /// No rule is broken: what the caller sent cannot be held against any.
    fn argument(why: String) -> Self {
        let enable = "call with a value that rules can compare: numbers have at most four decimal places, \
                      whole ones 64 bits";
        Self { rule: REQUEST.to_owned(), why: format!("context.arguments: {why}"), enable }
    }
}

impl Slice {
    pub(crate) fn forbids_by_arguments(&self) -> bool {
        !self.bound.forbid.is_empty()
    }

    pub(crate) fn permits_by_arguments(&self) -> bool {
        !self.bound.permit.is_empty()
    }

    pub(crate) fn asks_by_arguments(&self) -> bool {
        !self.bound.approve.is_empty() || self.bound.permits_ask
    }

    fn half(&self, half: Half) -> (&Sets, &Mentions) {
        match half {
            Half::Free => (&self.free, &self.free_mentions),
            Half::Bound => (&self.bound, &self.mentions),
        }
    }
}

impl Cedar {
    pub(crate) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    pub(crate) fn slice(&self, tool: &str) -> &Slice {
        self.slices.get(tool).unwrap_or(&self.other)
    }

    /// Asks one half of the policies about one principal.
    ///
    /// # Errors
    ///
    /// The rule that could not be evaluated, or what could not be said in Cedar. Cedar itself
    /// passes over policies that fail, which would let a call through that one of them forbids.
    pub(crate) fn ask(
        &self,
        principal: &Principal,
        ask: &Ask<'_>,
        half: Half,
    ) -> Result<Matched, Unasked> {
        let (sets, mentions) = self.slice(&ask.tool.id).half(half);
        if sets.forbid.is_empty() && sets.permit.is_empty() && sets.approve.is_empty() {
            return Ok(Matched::default());
        }
        search::affordable(mentions, ask).map_err(|why| Unasked {
            rule: REQUEST.to_owned(),
            why,
            // Whoever wrote the rules may have meant it so, and whoever calls can do this at once.
            enable: "call with a shorter text, in several calls if need be, or ask an administrator to have \
                     fewer rules search in it with `like`",
        })?;
        let (request, entities) = self.question(principal, ask, half, mentions)?;
        Ok(Matched {
            forbid: self.first(&sets.forbid, &request, &entities)?,
            permit: self.permit(&sets.permit, &request, &entities)?,
            approve: self.first(&sets.approve, &request, &entities)?,
        })
    }

    fn question(
        &self,
        principal: &Principal,
        ask: &Ask<'_>,
        half: Half,
        mentions: &Mentions,
    ) -> Result<(Request, Entities), Unasked> {
        let unasked = |why| Unasked::rule(REQUEST.to_owned(), why);
        let declared = |name: &str| self.user.0.contains_key(name) && mentions.speaks_of_user(name);
        let user = serde_json::Value::Object(ask.caller.user.as_ref().clone());
        let user = self.user.value(&user, &declared);
        let user = user.map_err(|why| unasked(format!("context.user: {why}")))?;
        let known = self.arguments.get(&ask.tool.id);
        let arguments = match (half, ask.arguments) {
            (Half::Free, _) => None,
            (Half::Bound, None) => return Err(unasked("the arguments are not known yet".into())),
            (Half::Bound, Some(arguments)) => {
                let named = |name: &str| mentions.speaks_of_argument(name);
                let made = match known {
                    Some(known) => known.value(arguments, &named),
                    None => Record::of_parameters(&ask.tool.contract.parameters)
                        .value(arguments, &named),
                };
                Some(made.map_err(Unasked::argument)?)
            }
        };
        let action = if known.is_some() { ask.tool.id.as_str() } else { schema::OTHER };
        let context = request::context(ask, user, arguments).map_err(unasked)?;
        self.names.request(principal, action, ask, context).map_err(unasked)
    }

    /// The first policy of a set that matches.
    fn first(
        &self,
        set: &PolicySet,
        request: &Request,
        entities: &Entities,
    ) -> Result<Option<usize>, Unasked> {
        Ok(self.matching(set, request, entities)?.into_iter().min())
    }

    /// The permit that decides: one that demands approval before one that does not, since
    /// whoever wrote it meant the calls that both match.
    fn permit(
        &self,
        set: &PolicySet,
        request: &Request,
        entities: &Entities,
    ) -> Result<Option<usize>, Unasked> {
        let matching = self.matching(set, request, entities)?;
        let asks = |index: &usize| self.rule(*index).is_some_and(|rule| rule.approve.is_some());
        Ok(matching.into_iter().min_by_key(|index| (!asks(index), *index)))
    }

    fn matching(
        &self,
        set: &PolicySet,
        request: &Request,
        entities: &Entities,
    ) -> Result<Vec<usize>, Unasked> {
        if set.is_empty() {
            return Ok(Vec::new());
        }
        let response = Authorizer::new().is_authorized(request, set, entities);
        let index = |id: &cedar_policy::PolicyId| self.by_id.get::<str>(id.as_ref()).copied();
        if let Some(AuthorizationError::PolicyEvaluationError(error)) =
            response.diagnostics().errors().next()
        {
            let rule = index(error.policy_id()).and_then(|index| self.rule(index));
            let id = rule.map_or(REQUEST, |rule| rule.id.as_str());
            return Err(Unasked::rule(id.to_owned(), error.inner().to_string()));
        }
        Ok(response.diagnostics().reason().filter_map(index).collect())
    }
}
