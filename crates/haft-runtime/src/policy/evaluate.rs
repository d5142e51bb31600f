//! The order in which a question is answered. Whatever denies wins; the order only says which rule
//! is named, and puts what costs nothing first:
//!
//! 1. the deny list; the tools that tell about tools stop here, since they show nothing that the
//!    catalog does not
//! 2. the allowlist
//! 3. the connection that the tool needs, and its grants
//! 4. the delegation, where someone acts for someone else
//! 5. Cedar `forbid`, for the actor and for the subject
//! 6. Cedar `permit`, where there are any, for the actor and for the subject
//! 7. the contract's own `availability.condition`
//! 8. approval: Cedar `@approve`, then the approve list

use std::sync::Arc;

use haft_core::call::Principal;
use haft_core::port::{Ask, Decision};

use super::Policy;
use super::cedar::{Cedar, Half, Matched};
use super::decision::{access, acting, allow, approve, asked, connect, deny, forbidden};
use crate::guide;

/// The answer before the arguments are known.
#[derive(Clone, Debug)]
pub(crate) enum Before {
    /// Whatever they are.
    Settled(Arc<Decision>),
    /// It depends on them.
    Open(Open),
}

/// What is known already.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// The permits that match, for actor and subject.
    permits: [Option<usize>; 2],
    approval: Option<Arc<Decision>>,
    /// The pattern of the allowlist.
    allowed: String,
}

/// So many connections are named to whoever has named none.
const NAMED: usize = 8;

impl Policy {
    /// Everything that does not need the arguments, and until when it holds.
    pub(crate) fn before(&self, ask: &Ask<'_>) -> (Before, i64) {
        match self.without_arguments(ask) {
            Ok(answer) => answer,
            // Who acts for someone is looked up anew: the record of delegations knows of time.
            Err(decision) if ask.caller.subject.is_some() => {
                (Before::Settled(decision), ask.now_ms)
            }
            Err(decision) => (Before::Settled(decision), i64::MAX),
        }
    }

    fn without_arguments(&self, ask: &Ask<'_>) -> Result<(Before, i64), Arc<Decision>> {
        let allowed = self.lists(ask)?;
        if guide::is_ours(ask.tool) {
            let decision = allow(allowed, "it shows nothing that the catalog does not");
            return Ok((Before::Settled(decision), i64::MAX));
        }
        self.connection(ask)?;
        let until = self.delegation(ask)?;
        let mut open = Open { permits: [None; 2], approval: None, allowed };
        let is_open = match &self.cedar {
            Some(cedar) => self.cedar_free(cedar, ask, &mut open)?,
            None => false,
        };
        let is_open = self.availability_free(ask)? || is_open;
        if open.approval.is_none() {
            open.approval = self.approval(ask);
        }
        let answer = if is_open { Before::Open(open) } else { Before::Settled(self.settled(open)) };
        Ok((answer, until))
    }

    /// The rest, with the arguments.
    pub(crate) fn after(&self, ask: &Ask<'_>, open: Open) -> Arc<Decision> {
        self.with_arguments(ask, open).unwrap_or_else(|decision| decision)
    }

    fn with_arguments(
        &self,
        ask: &Ask<'_>,
        mut open: Open,
    ) -> Result<Arc<Decision>, Arc<Decision>> {
        if ask.arguments.is_none() {
            let why = "the rules look at the arguments, and there are none";
            return Err(deny("arguments:missing", why, "send the arguments"));
        }
        if let Some(cedar) = &self.cedar {
            let matched = self.matched(cedar, ask, Half::Bound, &mut open)?;
            permitted(cedar, ask, &matched, &open)?;
        }
        if let Some(condition) = condition(ask)
            && self.reads_arguments(condition)
        {
            self.available(condition, ask)?;
        }
        Ok(self.settled(open))
    }

    fn lists(&self, ask: &Ask<'_>) -> Result<String, Arc<Decision>> {
        let id = &ask.tool.id;
        if let Some(glob) = self.deny.find(id) {
            return Err(deny(
                format!("deny:{}", glob.as_str()),
                format!("`{id}` is on the deny list"),
                format!("an administrator has to take `{id}` off the deny list"),
            ));
        }
        match self.allow.find(id) {
            Some(glob) => Ok(format!("allow:{}", glob.as_str())),
            None if guide::is_ours(ask.tool) => Ok("builtin:guide".into()),
            None => Err(deny(
                "allow:none",
                format!("`{id}` is not on the allowlist"),
                format!("an administrator has to allow `{id}`"),
            )),
        }
    }

    fn connection(&self, ask: &Ask<'_>) -> Result<(), Arc<Decision>> {
        let Some(needed) = &ask.tool.contract.connection else { return Ok(()) };
        let provider = &needed.provider;
        let Some(id) = ask.connection else {
            return match needed.required {
                true => Err(self.unnamed(ask, provider)),
                false => Ok(()),
            };
        };
        let principal = ask.caller.principal();
        let said = self.grants.access(&ask.caller.tenant, principal, id, provider, &ask.tool.id);
        access(said, ask.caller, ask.tool, provider).map_or(Ok(()), Err)
    }

    /// A call that names no connection: it may name one that it may use, or there is none.
    fn unnamed(&self, ask: &Ask<'_>, provider: &str) -> Arc<Decision> {
        let (caller, tool) = (ask.caller, &ask.tool.id);
        let usable = self.grants.usable(&caller.tenant, caller.principal(), provider, tool);
        if usable.is_empty() {
            let why = format!("`{tool}` needs a connection to {provider}");
            return deny("connection:missing", why, connect(caller, provider, tool));
        }
        let named: Vec<String> = usable.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
        let more = if usable.len() > NAMED { ", …" } else { "" };
        let why = format!("`{tool}` needs a connection to {provider}, and the call names none");
        let named = named.join(", ");
        let enable = format!(
            "name one that may be used: {named}{more}; as the call's `connection`, or for all calls as the \
             agent's own (`connections` of the agent, `haft mcp --connection {provider}=<id>`)"
        );
        deny("connection:unnamed", why, enable)
    }

    fn delegation(&self, ask: &Ask<'_>) -> Result<i64, Arc<Decision>> {
        let Some(subject) = &ask.caller.subject else { return Ok(i64::MAX) };
        // What was done for somebody can be taken back when their delegation has ended.
        if *subject == ask.caller.actor || ask.purpose.is_after_the_fact() {
            return Ok(i64::MAX);
        }
        let connection = ask.connection.filter(|_| ask.tool.contract.connection.is_some());
        let said = self.delegations.acting(ask.caller, subject, ask.tool, connection, ask.now_ms);
        acting(&said, ask.tool)
    }

    /// Whether the answer still depends on the arguments.
    fn cedar_free(
        &self,
        cedar: &Cedar,
        ask: &Ask<'_>,
        open: &mut Open,
    ) -> Result<bool, Arc<Decision>> {
        let matched = self.matched(cedar, ask, Half::Free, open)?;
        let slice = cedar.slice(&ask.tool.id);
        let lacks_permit = cedar.permits && unpermitted(ask, &matched, open);
        if lacks_permit && !slice.permits_by_arguments() {
            permitted(cedar, ask, &matched, open)?;
        }
        Ok(lacks_permit || slice.forbids_by_arguments() || slice.asks_by_arguments())
    }

    /// Asks one half of the policies, notes permits and approvals, and stops at what forbids.
    fn matched(
        &self,
        cedar: &Cedar,
        ask: &Ask<'_>,
        half: Half,
        open: &mut Open,
    ) -> Result<[Matched; 2], Arc<Decision>> {
        let mut all = [Matched::default(); 2];
        for ((principal, found), permit) in
            principals(ask).into_iter().zip(&mut all).zip(&mut open.permits)
        {
            let Some(principal) = principal else { continue };
            *found = cedar
                .ask(principal, ask, half)
                .map_err(|one| deny(format!("error:{}", one.rule), one.why, one.enable))?;
            if let Some(rule) = found.forbid.and_then(|index| cedar.rule(index)) {
                return Err(forbidden(rule, ask.tool));
            }
            let asks = [found.approve, found.permit].into_iter().flatten();
            let asks = asks.filter_map(|index| cedar.rule(index));
            if let Some(rule) = asks.into_iter().find(|rule| rule.approve.is_some())
                && open.approval.is_none()
            {
                open.approval = Some(asked(rule));
            }
            *permit = permit.or(found.permit);
        }
        Ok(all)
    }

    /// Whether the contract's own condition waits for the arguments; an error where it fails.
    fn availability_free(&self, ask: &Ask<'_>) -> Result<bool, Arc<Decision>> {
        let Some(condition) = condition(ask) else { return Ok(false) };
        if self.reads_arguments(condition) {
            return Ok(true);
        }
        self.available(condition, ask).map(|()| false)
    }

    pub(crate) fn reads_arguments(&self, condition: &str) -> bool {
        self.conditions.read(condition).is_ok_and(|condition| condition.mentions.arguments)
    }

    fn available(&self, condition: &str, ask: &Ask<'_>) -> Result<(), Arc<Decision>> {
        let id = &ask.tool.id;
        let enable = || format!("`{id}` is available only when {condition}");
        match self.conditions.holds(condition, ask) {
            Ok(true) => Ok(()),
            Ok(false) => Err(deny(
                "availability:condition",
                format!("the contract's condition does not hold: {condition}"),
                enable(),
            )),
            Err(why) => Err(deny(
                "availability:error",
                format!("the contract's condition cannot be evaluated: {why}"),
                enable(),
            )),
        }
    }

    fn approval(&self, ask: &Ask<'_>) -> Option<Arc<Decision>> {
        let effect = ask.tool.contract.effect;
        if self.approve_effects.contains(&effect) {
            let why = format!("calls with effect `{}` need approval", effect.as_str());
            return Some(approve(format!("approve:{}", effect.as_str()), why));
        }
        let glob = self.approve.find(&ask.tool.id)?;
        let why = format!("calls of `{}` need approval", glob.as_str());
        Some(approve(format!("approve:{}", glob.as_str()), why))
    }

    /// Nothing denies it.
    fn settled(&self, open: Open) -> Arc<Decision> {
        if let Some(approval) = open.approval {
            return approval;
        }
        let permit = open.permits.into_iter().flatten().next();
        match permit.and_then(|index| self.cedar.as_ref()?.rule(index)) {
            Some(rule) => {
                let why = rule.description.clone();
                allow(rule.id.clone(), why.unwrap_or_else(|| "a rule permits it".into()))
            }
            None => allow(open.allowed, "the tool is on the allowlist"),
        }
    }
}

/// The contract's own condition, where it counts.
fn condition<'a>(ask: &Ask<'a>) -> Option<&'a str> {
    let available = ask.tool.contract.availability.as_ref()?;
    (!ask.purpose.is_after_the_fact()).then_some(&available.condition)
}

/// Actor, and subject where that is somebody else.
fn principals<'a>(ask: &Ask<'a>) -> [Option<&'a Principal>; 2] {
    let caller = ask.caller;
    [Some(&caller.actor), caller.subject.as_ref().filter(|subject| **subject != caller.actor)]
}

/// Whether someone who takes part has no permit so far.
fn unpermitted(ask: &Ask<'_>, matched: &[Matched; 2], open: &Open) -> bool {
    let mut all = principals(ask).into_iter().zip(matched).zip(open.permits);
    all.any(|((who, found), earlier)| who.is_some() && found.permit.or(earlier).is_none())
}

/// Where policies permit anything, everyone who takes part needs a permit.
fn permitted(
    cedar: &Cedar,
    ask: &Ask<'_>,
    matched: &[Matched; 2],
    open: &Open,
) -> Result<(), Arc<Decision>> {
    if !cedar.permits || !unpermitted(ask, matched, open) {
        return Ok(());
    }
    let id = &ask.tool.id;
    Err(deny(
        "cedar:no-permit",
        "there are `permit` rules, and none of them covers everyone who takes part",
        format!("an administrator has to permit `{id}` for this user and agent"),
    ))
}
