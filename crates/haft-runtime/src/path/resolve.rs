//! `resolve`: finds the tool in what this caller has, as the session is pinned to it.

use std::sync::Arc;

use haft_core::contract::{Capability, Mode, SideEffectPolicy};
use haft_core::port::Ask;
use haft_core::record::Stage;
use haft_core::registry::Implementation;
use haft_core::session::Session;
use haft_core::{Call, ErrorKind, Tool, ToolError, nearest};

use super::{Refusal, Trip};
use crate::runtime::Inner;
use crate::shelf::Loaded;
use crate::toolbox::{Catalog, EffectiveTool, Found};

/// A tool that exists for this caller.
pub(crate) struct Resolved {
    pub(crate) call: Arc<Call>,
    /// Boxed: most calls have none, and each stage moves what the one before it found.
    pub(crate) session: Option<Box<Session>>,
    pub(crate) mode: Mode,
    pub(crate) tool: Arc<EffectiveTool>,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) now_ms: i64,
    /// The rules and the directory that it was found by.
    pub(crate) rulebook: u64,
    /// Whether the tool may do something else with another connection.
    uses_connection: bool,
    /// The registry whose tools it may call, where it may call some.
    pub(super) calls_of: Option<Arc<str>>,
}

impl Resolved {
    /// The question to policy, without arguments.
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask {
            caller: &self.call.caller,
            tool: &self.tool.tool,
            mode: self.mode,
            arguments: None,
            session: self.call.session.as_deref(),
            connection: self.call.connection.as_deref(),
            now_ms: self.now_ms,
            purpose: self.call.purpose,
        }
    }

    /// The connection that tells the call from others. A tool that uses none does the same with any: to name one makes
    /// no other act of it.
    pub(crate) fn account(&self) -> Option<&str> {
        self.counts(self.call.connection.as_deref())
    }

    /// A connection, where it makes a difference.
    pub(crate) fn counts<'a>(&self, connection: Option<&'a str>) -> Option<&'a str> {
        connection.filter(|_| self.uses_connection)
    }

    pub(crate) fn class(&self) -> SideEffectPolicy {
        self.tool.tool.contract.side_effect_policy
    }
}

pub(crate) async fn tool(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: Arc<Call>,
) -> Result<Resolved, Refusal> {
    short(&call)?;
    if inner.is_over(&call.caller) {
        return Err(Refusal::at(Stage::Resolve, Inner::of_nobody()).by("tenant:removed"));
    }
    let session = match &call.session {
        Some(id) => {
            let loaded = inner.book.load(&call.caller, id).await;
            Some(Box::new(loaded.map_err(|error| Refusal::at(Stage::Resolve, error))?))
        }
        None => None,
    };
    let mode = session.as_ref().map_or(call.mode, |session| session.mode);
    let version = session.as_ref().map(|session| session.registry_version.as_str());
    trip.mode = mode;
    trip.turn = session.as_ref().map_or(0, |session| session.turn.number);
    let shelf = inner.shelf(&call.caller.tenant, version).ok_or_else(|| pinned_is_gone(version))?;
    trip.registry_version = Some(shelf.version.clone());
    // Before the catalog: whatever comes into force from here on is noticed before anything is done.
    let rulebook = inner.policy().number;
    let catalog = inner.catalog_for(&shelf, &call, mode, trip.started_at_ms);
    let tool = available(inner, &catalog, &call).inspect_err(|_| {
        // On record under its own name, whatever it was called by.
        if let Found::Unavailable(one) = catalog.find(&call.tool) {
            trip.tool = one.tool.id.as_str().into();
            trip.tool_version = Some(one.tool.contract.version.to_string().into());
        }
    })?;
    let loaded = shelf.loaded(&tool.tool);
    trip.tool = match &loaded {
        Ok(loaded) => loaded.id.clone(),
        Err(_) => tool.tool.id.as_str().into(),
    };
    if !inner.executors.can_run(&tool.tool) {
        let message = format!("`{}` cannot be used here: nothing here runs it", tool.tool.id);
        let error = ToolError::new(ErrorKind::Unavailable, message);
        return Err(Refusal::at(Stage::Resolve, error).by("unbound"));
    }
    let loaded = loaded.map_err(|why| {
        let error =
            ToolError::new(ErrorKind::Internal, "the tool cannot be used: its contract is broken");
        Refusal::at(Stage::Resolve, error.caused_by(why))
    })?;
    trip.tool_version = Some(loaded.version.clone());
    let call = with_connection(call, &tool);
    let now_ms = trip.started_at_ms;
    let uses_connection = uses_connection(inner, &tool.tool);
    let calls = tool.tool.contract.capabilities.contains(&Capability::CallTool);
    let calls_of = calls.then(|| shelf.version.clone());
    Ok(Resolved { call, session, mode, tool, loaded, now_ms, rulebook, uses_connection, calls_of })
}

/// The longest id of a call. Some providers put what they want back into it, so it is no short one; but
/// a session keeps a hundred of them.
const MAX_CALL_ID: usize = 16 << 10;

fn short(call: &Call) -> Result<(), Refusal> {
    if call.id.as_ref().is_none_or(|id| id.len() <= MAX_CALL_ID) {
        return Ok(());
    }
    let message = format!("the id of the call has more than {MAX_CALL_ID} bytes");
    let error =
        ToolError::new(ErrorKind::InvalidArguments, message).suggest("give it a shorter id");
    Err(Refusal::at(Stage::Resolve, error))
}

/// A call that names no connection uses the agent's own, where it has one and the door has not given
/// the request others. Whether it is granted, policy decides as for any other.
fn with_connection(mut call: Arc<Call>, tool: &EffectiveTool) -> Arc<Call> {
    let Some(own) = &tool.connection else { return call };
    let fits = call.connections.is_empty() || call.connections.contains(own);
    if call.connection.is_none() && fits {
        let call = Arc::make_mut(&mut call);
        call.connection = Some(own.clone());
        call.connections = vec![own.clone()];
    }
    call
}

/// Whether it may matter to a tool which connection it is called with: to itself, to tools that it calls, or to code of
/// an embedding program, which is told the connection's name whatever the contract asks for.
fn uses_connection(inner: &Inner, tool: &Tool) -> bool {
    let contract = &tool.contract;
    let by = |one: &Capability| {
        *one == Capability::CallTool
            || inner.capabilities.get(one).is_some_and(|provider| provider.reads_connection())
    };
    let is_native = matches!(tool.handler, Implementation::Native);
    contract.connection.is_some() || is_native || contract.capabilities.iter().any(by)
}

fn pinned_is_gone(version: Option<&str>) -> Refusal {
    let message = match version {
        Some(version) => {
            format!("registry {version}, which the session is pinned to, is not loaded")
        }
        None => "no registry is loaded".to_owned(),
    };
    let error = ToolError::new(ErrorKind::Unavailable, message).suggest("start a new session");
    Refusal::at(Stage::Resolve, error)
}

/// A tool that the tenant does not have is told apart from one that does not exist by nobody. For
/// one that it has, the agent learns why it may not use it and what would change that.
pub(crate) fn available(
    inner: &Inner,
    catalog: &Catalog,
    call: &Call,
) -> Result<Arc<EffectiveTool>, Refusal> {
    if let Found::Tool(tool) = catalog.find(&call.tool)
        && names(call, &tool.tool)
    {
        return Ok(tool.clone());
    }
    let asked = super::trip::shown(&call.tool);
    let refuse = |message: String, help: String| {
        let error = ToolError::new(ErrorKind::Unavailable, message).suggest(help);
        Refusal::at(Stage::Resolve, error)
    };
    match catalog.find(&call.tool) {
        Found::Tool(_) | Found::Narrowed(_) => Err(refuse(
            format!("`{asked}` is not part of this run"),
            "use one of the tools that this run was given".to_owned(),
        )
        .by("narrowed")),
        Found::Unavailable(tool) => {
            inner.suggestions.note(&call.caller.tenant, &call.caller.agent, &tool.tool.id);
            let message = format!("`{asked}` cannot be used here: {}", tool.why.in_words());
            let refusal = refuse(message, tool.enable.clone());
            Err(refusal.by(tool.rule.as_str()))
        }
        Found::Ambiguous(ids) => Err(refuse(
            format!("`{asked}` is the short name of several tools"),
            format!("use the full name: {}", ids.join(", ")),
        )),
        Found::Unknown => {
            // A tool that the tenant could take, or a name that a model made up: both tell something.
            // One that holds a secret is neither.
            let tenant = &call.caller.tenant;
            if inner.sieve(tenant, None).text(&call.tool).is_some_and(|name| name == call.tool) {
                inner.suggestions.note(tenant, &call.caller.agent, &call.tool);
            }
            let names = catalog.list().map(|tool| tool.tool.contract.tool_id.as_str());
            let help = match nearest::find(&asked, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => ErrorKind::Unavailable.suggestion().to_owned(),
            };
            Err(refuse(format!("there is no tool `{asked}` here"), help))
        }
    }
}

/// Whether a run that is narrowed to some tools has this one.
fn names(call: &Call, tool: &Tool) -> bool {
    let one = |name: &String| *name == tool.id || *name == tool.contract.tool_id;
    call.only.as_ref().is_none_or(|only| only.iter().any(one))
}
