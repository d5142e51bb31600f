//! Tier 3: what one agent may use in one mode, and why the rest of its tenant's tools is not there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::call::Purpose;
use haft_core::contract::{Confirmation, Mode};
use haft_core::port::{Ask, Decide, Decision, Standing, Verdict};
use haft_core::registry::Implementation;
use haft_core::{Caller, Digest};
use serde_json::json;

use super::directory::{Directory, Equipped};
use super::effective::{EffectiveTool, modes};
use super::overrides::Overrides;
use super::stock::{Stock, Stocked};
use super::why::{Unavailable, Why};
use crate::guide;
use crate::policy::Globs;
use crate::policy::decision::connect;

/// Whom a catalog is for.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// How model and user talk.
    pub mode: Mode,
    /// The session.
    pub session: Option<&'a str>,
    /// The connections that the request was given; all that are granted when it is not known yet.
    pub connections: Option<&'a [String]>,
    /// Whether tools that need approval are left out.
    pub hide_approval: bool,
    /// What for. For what is asked about effects and done to undo them the tenant's list alone counts: an
    /// agent that may book and not cancel is one whose bookings others cancel.
    pub purpose: Purpose,
    /// Now, in milliseconds of the Unix epoch.
    pub now_ms: i64,
}

impl<'a> Seen<'a> {
    /// With nothing out of the ordinary.
    #[must_use]
    pub fn new(caller: &'a Caller, mode: Mode, now_ms: i64) -> Self {
        let (connections, purpose) = (None, Purpose::Asked);
        Self { caller, mode, session: None, connections, hide_approval: false, purpose, now_ms }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A tool that may be used.
    Tool(&'a Arc<EffectiveTool>),
    /// A tool of the tenant that may not.
    Unavailable(&'a Unavailable),
    /// A tool that this run is narrowed away from.
    Narrowed(&'a Arc<EffectiveTool>),
    /// A short name of several tools: their ids.
    Ambiguous(&'a [String]),
    /// Nothing that there is for this tenant.
    Unknown,
}

/// The tools of one agent in one mode. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {
    all: Arc<All>,
    only: Option<Arc<HashSet<usize>>>,
}

#[derive(Debug)]
struct All {
    tools: Vec<Arc<EffectiveTool>>,
    unavailable: Vec<Unavailable>,
    names: Names,
    version: Digest,
    /// Whether another session may have other tools.
    by_session: bool,
}

/// Looked into by every call.
type Names = foldhash::HashMap<String, Place>;

#[derive(Debug)]
enum Place {
    Tool(usize),
    Unavailable(usize),
    Several(Vec<String>),
}

impl Catalog {
    /// Puts a catalog together. An agent that is not on record has nothing, and its tenant's tools
    /// do not exist for it.
    #[must_use]
    pub fn build(
        stock: &Stock,
        directory: &Directory,
        policy: &dyn Decide,
        seen: &Seen<'_>,
    ) -> Self {
        let mut all = All {
            tools: Vec::new(),
            unavailable: Vec::new(),
            names: Names::default(),
            version: version(stock, directory, policy, &seen.caller.tenant),
            by_session: false,
        };
        let tenant = &seen.caller.tenant;
        let plain = Equipped::plain();
        let agent = directory.agent(tenant, &seen.caller.agent).or(
            match seen.purpose.is_after_the_fact() {
                false => None,
                // One that is gone has left its effects behind.
                true => directory.has(tenant).then_some(&plain),
            },
        );
        if let Some(agent) = agent {
            let builder = Builder { directory, policy, seen, agent };
            let taken = stock
                .tools()
                .iter()
                .filter(|one| one.is_known_to(tenant) && directory.taken(tenant, one).is_ok());
            for stocked in taken {
                all.by_session =
                    all.by_session || policy.differs_by_session(&builder.ask(&stocked.tool, None));
                match builder.tool(stocked) {
                    Ok(tool) => all.tools.push(Arc::new(tool)),
                    Err(unavailable) => all.unavailable.push(*unavailable),
                }
            }
        }
        all.names = names(&all.tools, &all.unavailable);
        Self { all: Arc::new(all), only: None }
    }

    /// A tool, by canonical id or by a short name where that is unambiguous.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<EffectiveTool>> {
        match self.find(name) {
            Found::Tool(tool) => Some(tool),
            Found::Unavailable(_) | Found::Narrowed(_) | Found::Ambiguous(_) | Found::Unknown => {
                None
            }
        }
    }

    /// What a name stands for.
    #[must_use]
    pub fn find(&self, name: &str) -> Found<'_> {
        match self.all.names.get(name) {
            None => Found::Unknown,
            Some(Place::Tool(at)) => match self.all.tools.get(*at) {
                Some(tool) if self.shows(*at) => Found::Tool(tool),
                Some(tool) => Found::Narrowed(tool),
                None => Found::Unknown,
            },
            Some(Place::Unavailable(at)) => {
                self.all.unavailable.get(*at).map_or(Found::Unknown, Found::Unavailable)
            }
            Some(Place::Several(ids)) => Found::Ambiguous(ids),
        }
    }

    /// The tools, in stable order.
    pub fn list(&self) -> impl Iterator<Item = &Arc<EffectiveTool>> {
        let tools = self.all.tools.iter().enumerate();
        tools.filter(|(at, _)| self.shows(*at)).map(|(_, tool)| tool)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.only.as_ref().map_or(self.all.tools.len(), |only| only.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every tool of the tenant that the agent cannot use, in stable order.
    #[must_use]
    pub fn unavailable(&self) -> Vec<Unavailable> {
        let narrowed = self.all.tools.iter().enumerate().filter(|(at, _)| !self.shows(*at));
        let narrowed = narrowed.map(|(_, one)| {
            Unavailable::new(&one.tool, Why::Narrowed, "start a run that is not narrowed to others")
        });
        let mut all: Vec<_> = self.all.unavailable.iter().cloned().chain(narrowed).collect();
        all.sort_by(|one, other| one.tool.id.cmp(&other.tool.id));
        all
    }

    /// The catalog with only the named tools, and the names that it has no tool for. It never
    /// gains any.
    #[must_use]
    pub fn narrow(&self, only: &[String]) -> (Self, Vec<String>) {
        let mut kept = HashSet::new();
        let mut unknown = Vec::new();
        for name in only {
            match self.all.names.get(name) {
                Some(Place::Tool(at)) if self.shows(*at) => drop(kept.insert(*at)),
                Some(Place::Tool(_) | Place::Unavailable(_) | Place::Several(_)) | None => {
                    unknown.push(name.clone());
                }
            }
        }
        (Self { all: Arc::clone(&self.all), only: Some(Arc::new(kept)) }, unknown)
    }

    /// Of stock, directory and policy: while it stays, so does the catalog.
    #[must_use]
    pub fn version(&self) -> &Digest {
        &self.all.version
    }

    /// Whether another session may have other tools.
    pub(super) fn differs_by_session(&self) -> bool {
        self.all.by_session
    }

    fn shows(&self, at: usize) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&at))
    }
}

/// Of everything that a catalog is made from, but for time and user.
pub(crate) fn version(
    stock: &Stock,
    directory: &Directory,
    policy: &dyn Decide,
    tenant: &str,
) -> Digest {
    let recorded = directory.version_for(tenant);
    Digest::of_json(&json!([stock.version(), recorded, policy.version_for(tenant)]))
}

/// Ids, and short names that are those of one tool. What may be used comes before what may not.
fn names(tools: &[Arc<EffectiveTool>], unavailable: &[Unavailable]) -> Names {
    let mut names = Names::default();
    names.reserve(2 * (tools.len() + unavailable.len()));
    let mut shorts: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, one) in tools.iter().enumerate() {
        names.insert(one.tool.id.clone(), Place::Tool(at));
        shorts.entry(&one.tool.contract.tool_id).or_default().0.push(at);
    }
    for (at, one) in unavailable.iter().enumerate() {
        names.insert(one.tool.id.clone(), Place::Unavailable(at));
        shorts.entry(&one.tool.contract.tool_id).or_default().1.push(at);
    }
    let tool_id = |at: &usize| tools.get(*at).map(|one| one.tool.id.clone());
    let other_id = |at: &usize| unavailable.get(*at).map(|one| one.tool.id.clone());
    for (short, (usable, others)) in shorts {
        let place = match (usable.as_slice(), others.as_slice()) {
            ([at], _) => Place::Tool(*at),
            ([], [at]) => Place::Unavailable(*at),
            ([], several) => Place::Several(several.iter().filter_map(other_id).collect()),
            (several, _) => Place::Several(several.iter().filter_map(tool_id).collect()),
        };
        names.entry(short.to_owned()).or_insert(place);
    }
    names
}

/// What whoever asks for a tool is told that policy keeps out of catalogs for that.
const APPROVAL_HIDDEN: &str = "tools that need approval are not offered here";

struct Builder<'a> {
    directory: &'a Directory,
    policy: &'a dyn Decide,
    seen: &'a Seen<'a>,
    agent: &'a Equipped,
}

impl Builder<'_> {
    fn tool(&self, stocked: &Stocked) -> Result<EffectiveTool, Box<Unavailable>> {
        let tool = &stocked.tool;
        let no = |why, enable: String| Err(Box::new(Unavailable::new(tool, why, enable)));
        let id = &tool.id;
        if !self.directory.takes_version(&self.seen.caller.tenant, stocked) {
            let enable = format!(
                "the administrator has to take version {} of `{id}`",
                tool.contract.version
            );
            return no(Why::Version, enable);
        }
        if tool.handler == Implementation::Unbound {
            return no(Why::Unbound, format!("`{id}` needs a handler before it can be called"));
        }
        let activation = self.agent.activations.get(id);
        let overrides = activation.map(|(_, overrides)| overrides);
        if !self.seen.purpose.is_after_the_fact() {
            let enabled = activation.is_none_or(|(enabled, _)| *enabled);
            self.given(tool, enabled, overrides)?;
        }
        let standing = self.standing(stocked)?;
        let effective = EffectiveTool::new(stocked, overrides, standing);
        // One that asks only when a condition holds may be used without.
        if self.hides_approval() && effective.requires_confirmation == Confirmation::Always(true) {
            return no(Why::ApprovalHidden, APPROVAL_HIDDEN.to_owned());
        }
        Ok(effective.connected(&self.agent.connections))
    }

    /// Whether what needs approval is kept from whoever asks: an agent is not to ask for it, and whoever
    /// undoes what one did has approved.
    fn hides_approval(&self) -> bool {
        self.seen.hide_approval && !self.seen.purpose.is_after_the_fact()
    }

    /// Whether the agent was given a tool of its tenant's, in this mode.
    fn given(
        &self,
        tool: &Arc<haft_core::Tool>,
        enabled: bool,
        overrides: Option<&Overrides>,
    ) -> Result<(), Box<Unavailable>> {
        let id = &tool.id;
        let no = |why, enable: String| Err(Box::new(Unavailable::new(tool, why, enable)));
        // Lists of tools need not name the ones that tell about the others.
        let is_listed = |tools: &Globs| tools.matches(id) || guide::is_ours(tool);
        if !is_listed(&self.agent.tools) {
            let enable = format!("the administrator has to add `{id}` to this agent's tools");
            return no(Why::NotInAgentTools, enable);
        }
        if !enabled {
            let enable = format!("the administrator has to enable `{id}` for this agent");
            return no(Why::DisabledForAgent, enable);
        }
        match self.mode(tool, overrides) {
            Ok(()) => Ok(()),
            Err(enable) => no(Why::Mode, enable),
        }
    }

    fn mode(&self, tool: &haft_core::Tool, overrides: Option<&Overrides>) -> Result<(), String> {
        let mode = self.seen.mode;
        let plain = Overrides::default();
        let allowed = modes(tool, overrides.unwrap_or(&plain));
        if !allowed.contains(&mode) {
            let words: Vec<&str> = allowed.iter().map(|mode| mode.as_str()).collect();
            return Err(format!(
                "`{}` can be used in these modes only: [{}]",
                tool.id,
                words.join(", ")
            ));
        }
        match self.agent.modes.get(&mode) {
            Some(tools) if !tools.matches(&tool.id) && !guide::is_ours(tool) => Err(format!(
                "the administrator has to add `{}` to this agent's {} tools",
                tool.id,
                mode.as_str()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// What policy says; the same question that the gate asks.
    fn standing(&self, stocked: &Stocked) -> Result<Standing, Box<Unavailable>> {
        let tool = &stocked.tool;
        let needs = tool.contract.connection.as_ref().filter(|needed| needed.required);
        let connections = match needs {
            None => vec![None],
            Some(needed) => {
                let usable = self.connections(&needed.provider, &tool.id);
                if usable.is_empty() {
                    let enable = connect(self.seen.caller, &needed.provider, &tool.id);
                    return Err(Box::new(Unavailable::new(tool, Why::ConnectionMissing, enable)));
                }
                usable.into_iter().map(Some).collect()
            }
        };
        let mut refused = None;
        for connection in connections {
            match self.policy.standing(&self.ask(tool, connection)) {
                Standing::Settled(decision) if decision.verdict == Verdict::Deny => {
                    refused = Some(decision);
                }
                Standing::Settled(decision)
                    if decision.verdict == Verdict::RequireApproval && self.hides_approval() =>
                {
                    let hidden = Unavailable::new(tool, Why::ApprovalHidden, APPROVAL_HIDDEN);
                    return Err(Box::new(hidden.by(&decision.rule)));
                }
                standing @ (Standing::Settled(_) | Standing::Open) => return Ok(standing),
            }
        }
        Err(Box::new(refusal(stocked, refused)))
    }

    fn connections(&self, provider: &str, tool: &str) -> Vec<&str> {
        let caller = self.seen.caller;
        let granted =
            self.directory.grants.usable(&caller.tenant, caller.principal(), provider, tool);
        let given =
            |id: &&str| self.seen.connections.is_none_or(|given| given.iter().any(|one| one == id));
        granted.into_iter().filter(given).collect()
    }

    fn ask<'b>(&'b self, tool: &'b haft_core::Tool, connection: Option<&'b str>) -> Ask<'b> {
        Ask {
            caller: self.seen.caller,
            tool,
            mode: self.seen.mode,
            arguments: None,
            session: self.seen.session,
            connection,
            now_ms: self.seen.now_ms,
            purpose: self.seen.purpose,
        }
    }
}

fn refusal(stocked: &Stocked, decision: Option<Arc<Decision>>) -> Unavailable {
    let Some(decision) = decision else {
        return Unavailable::new(&stocked.tool, Why::Policy, "an administrator has to allow it");
    };
    let why = match decision.rule.split_once(':').map(|(kind, _)| kind) {
        Some("availability") => Why::Availability,
        Some("connection") => Why::ConnectionMissing,
        Some(_) | None => Why::Policy,
    };
    let enable = decision.enable.as_deref().unwrap_or("an administrator has to allow it");
    Unavailable::new(&stocked.tool, why, enable).by(&decision.rule)
}
