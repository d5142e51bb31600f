//! `haft call`

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use haft_core::call::{Call as Request, Overrule, RawArguments};
use haft_core::contract::{Capability, Mode};
use haft_core::port::{Invoke as _, Journal as _};
use haft_core::session::Session;
use haft_core::{Caller, Digest, Envelope, ErrorKind, Principal};
use haft_runtime::toolbox::Found;
use serde_json::Value;

use crate::assembly::{Desk, block_on, plain, said, text_of};
use crate::cli::{Call, ModeName};
use crate::facts;
use crate::output::{Exit, Given as _, Output, misuse};
use crate::registries::Kept;
use crate::source::Place;

/// An effect that has begun is given this long when the call has returned without it.
const DRAIN: Duration = Duration::from_secs(25);
/// And a renewal of a token this long, when the call was interrupted.
const RENEWAL: Duration = Duration::from_secs(5);

pub(crate) fn run(at: &Place, options: &Call, out: &mut Output) -> anyhow::Result<Exit> {
    let arguments = text_of(&options.args).context("--args")?;
    block_on(async {
        let desk = Desk::open(at, options.registry.as_deref(), out)?;
        desk.tend(out).await?;
        let caller = caller(&desk, options)?;
        let mut request = request(options, caller.clone(), arguments);
        request.session = session(&desk, options, &caller, out).await?;
        if request.key.is_none() && request.session.is_none() {
            // One invocation of the command is one act.
            request.key = Some(fresh_key()?);
        }
        let (key, session) = (request.key.clone(), request.session.clone());
        let Some(envelope) = patiently(&desk, request, key.as_deref(), out).await else {
            return Ok(Exit::Findings);
        };
        desk.runtime.drain(DRAIN).await;
        show(&envelope, options, out)?;
        if session.is_none() && is_unheard(&desk, &caller, &envelope, options) {
            out.note(
                "without a session there is nobody to take messages: `--session new` begins one",
            );
        }
        desk.store.flush().await.context("the call's record could not be written")?;
        Ok(if would_do(&envelope, options) { Exit::Done } else { Exit::Findings })
    })
}

/// Whether a call ended well; or, where it was only asked about, whether it would be run.
fn would_do(envelope: &Envelope, options: &Call) -> bool {
    let runs = |plan: &Value| plan.get("wouldRun") != Some(&Value::Bool(false));
    envelope.result.as_ref().is_ok_and(|plan| !options.dry_run || runs(plan))
}

/// Whether a call that failed may have failed because nobody took its messages.
fn is_unheard(desk: &Desk, caller: &Caller, envelope: &Envelope, options: &Call) -> bool {
    let failed = envelope.result.as_ref().is_err_and(|error| error.kind == ErrorKind::Transient);
    let speaks = || match desk.runtime.catalog(caller, mode(options)).find(&options.tool) {
        Found::Tool(one) => one.tool.contract.capabilities.contains(&Capability::Messaging),
        Found::Unavailable(_) | Found::Narrowed(_) | Found::Ambiguous(_) | Found::Unknown => false,
    };
    failed && speaks()
}

/// Awaits the call's end. Whoever interrupts it learns what that leaves behind: nothing, where no
/// effect has begun; else the first Ctrl-C only says so, and the second leaves the effect to itself.
async fn patiently(
    desk: &Desk,
    request: Request,
    key: Option<&str>,
    out: &Output,
) -> Option<Envelope> {
    let mut call = desk.runtime.invoke(request);
    tokio::select! {
        envelope = &mut call => return Some(envelope),
        () = interrupted() => {}
    }
    if desk.runtime.drain(Duration::ZERO).await == 0 {
        // A token that is being renewed is kept, where that does not take long.
        drop(call);
        desk.runtime.drain(RENEWAL).await;
        out.error("interrupted; no effect had begun");
        return None;
    }
    out.note("an effect has begun and goes on; wait for its end, or press Ctrl-C again to leave");
    tokio::select! {
        envelope = &mut call => return Some(envelope),
        () = interrupted() => {}
    }
    out.error("left; nobody knows now whether the effect happened");
    out.note("  help: `haft effects --state unknown` names it; then `haft effects probe <call>` asks, or");
    out.note(
        "        `haft effects settle <call> --happened yes|no --note …` says what became of it",
    );
    if let Some(key) = key {
        out.note(&format!(
            "  the same call with `--key {key}` is then answered, not repeated, where it happened, and is \
             carried out where it did not"
        ));
    }
    None
}

/// Ctrl-C. Where the system does not tell, nobody interrupts.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

pub(crate) fn mode_of(name: ModeName) -> Mode {
    match name {
        ModeName::Text => Mode::Text,
        ModeName::Voice => Mode::Voice,
    }
}

/// The mode of a call outside of a session, or of the session that is begun.
fn mode(options: &Call) -> Mode {
    options.mode.map_or(Mode::Text, mode_of)
}

fn caller(desk: &Desk, options: &Call) -> anyhow::Result<Caller> {
    let who = &options.who;
    let caller = desk.caller(&who.agent, who.tenant.as_deref(), who.actor.as_deref())?;
    desk.known(&caller)?;
    on_behalf(desk, caller, options.subject.as_deref(), options.user.as_deref())
}

/// A caller that acts for somebody, of whom something may be known.
pub(crate) fn on_behalf(
    desk: &Desk,
    mut caller: Caller,
    subject: Option<&str>,
    user: Option<&str>,
) -> anyhow::Result<Caller> {
    if let Some(subject) = subject {
        let subject = Principal::parse(subject).given("--for")?;
        caller.subject = Some(subject);
    }
    if user.is_some() {
        caller.user = Arc::new(facts::known(desk, &caller, user)?);
    }
    Ok(caller)
}

fn request(options: &Call, caller: Caller, arguments: String) -> Request {
    let mut request = Request::new(caller, options.tool.clone(), RawArguments::Text(arguments));
    request.mode = mode(options);
    request.id.clone_from(&options.id);
    request.key.clone_from(&options.key);
    request.occurrence = options.occurrence;
    request.connection.clone_from(&options.connection);
    request.connections = options.connection.iter().cloned().collect();
    request.confirmation.clone_from(&options.confirm);
    (request.dry_run, request.sees_rules) = (options.dry_run, true);
    request.overrule = Overrule { similar_unknown: options.despite_unknown };
    request
}

async fn session(
    desk: &Desk,
    options: &Call,
    caller: &Caller,
    out: &Output,
) -> anyhow::Result<Option<String>> {
    let id = match options.session.as_deref() {
        None => return Ok(None),
        // A dry run changes nothing: it is as if the session were there.
        Some("new") if options.dry_run => {
            out.note("a dry run opens no session");
            return Ok(None);
        }
        Some("new") => {
            desk.keep_registry(&Kept::of(&desk.config), out);
            let session = desk.runtime.open(caller, mode(options)).await.map_err(said)?;
            out.note(&format!("session {} (registry {})", session.id, session.registry_version));
            return Ok(Some(session.id));
        }
        Some(id) => id,
    };
    // Of one that is not there the call itself says so.
    if let Ok(pinned) = desk.runtime.session(caller, id).await {
        fits(&pinned, options)?;
        desk.reopen_session(&pinned, out);
    }
    if options.turn && options.dry_run {
        out.note(
            "a dry run begins no turn; budgets and waiting messages are those of the turn that is",
        );
    } else if options.turn {
        let over = haft_runtime::session::Signal::TurnComplete;
        let over = desk.runtime.signal(caller, id, over).await.map_err(said)?;
        // Messages that waited have begun the next turn already.
        if over.messages.is_empty() {
            desk.runtime.message(caller, id, Value::Null).await.map_err(said)?;
        }
    }
    Ok(Some(id.to_owned()))
}

/// A session has a mode of its own, which no call changes.
fn fits(session: &Session, options: &Call) -> anyhow::Result<()> {
    match options.mode.map(mode_of) {
        Some(meant) if meant != session.mode => Err(misuse(format!(
            "--mode: the session is in {} mode; leave `--mode` out, or begin a session with `--session new`",
            session.mode.as_str()
        ))),
        Some(_) | None => Ok(()),
    }
}

fn fresh_key() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| anyhow::anyhow!("no random numbers: {why}"))?;
    Ok(format!("cli-{}", Digest::of_bytes(&bytes).hex()))
}

fn show(envelope: &Envelope, options: &Call, out: &mut Output) -> anyhow::Result<()> {
    if options.json {
        out.line(&plain(&serde_json::to_string_pretty(envelope)?));
        return Ok(());
    }
    let meta = &envelope.meta;
    match &envelope.result {
        Ok(data) => out.line(&plain(&serde_json::to_string_pretty(data)?)),
        Err(error) => {
            out.error(&format!("[{}] {}", error.kind, plain(&error.message)));
            // What others say in the body of a request is an option here.
            let help = error.suggestion.replace("`despite_unknown`", "`--despite-unknown`");
            out.note(&format!("  help: {}", plain(&help)));
            if let Some(source) = &error.source {
                out.note(&format!("  cause: {}", plain(source)));
            }
            if let Some(details) = &error.details {
                out.note(&format!("  details: {}", plain(&serde_json::to_string_pretty(details)?)));
            }
            let asked = error.details.as_ref().and_then(|all| all.pointer("/confirmation/id"));
            if let Some(id) = asked.and_then(Value::as_str) {
                out.note(&format!(
                    "  next: a person approves it with `haft confirmations approve {}`; then the same command again",
                    plain(id)
                ));
            }
            out.note(&format!("  see: haft explain {}", error.kind));
        }
    }
    for warning in &meta.warnings {
        let place =
            if warning.path.is_empty() { String::new() } else { format!("{}: ", warning.path) };
        out.note(&format!("warning[{}]: {place}{}", warning.code, plain(&warning.message)));
    }
    for clamp in &meta.clamps {
        let text = |value: &Option<Value>| {
            value.as_ref().map_or("nothing".to_owned(), ToString::to_string)
        };
        out.note(&format!(
            "clamped: {} from {} to {}",
            clamp.path,
            text(&clamp.before),
            text(&clamp.after)
        ));
    }
    for applied in &envelope.intents {
        out.note(&format!("intent: {}", serde_json::to_string(applied)?));
    }
    out.note(&format!(
        "{} {} in {:.1} ms{}{}",
        meta.tool,
        meta.tool_version.as_deref().unwrap_or("-"),
        meta.duration_ms,
        if meta.cached { ", answered from the ledger" } else { "" },
        // A dry run is not on record.
        if options.dry_run { String::new() } else { format!(", call {}", meta.record_id) },
    ));
    Ok(())
}
