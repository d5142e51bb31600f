//! `haft call`

use std::sync::Arc;

use anyhow::Context as _;
use haft_core::call::{Call as Request, Overrule, RawArguments};
use haft_core::contract::{Capability, Mode};
use haft_core::outcome::Meta;
use haft_core::port::{Invoke as _, Journal as _};
use haft_core::session::Session;
use haft_core::{Caller, Digest, Envelope, ErrorKind};
use haft_runtime::toolbox::Found;
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, plain, said, text_of};
use crate::cli::{Call, ModeName};
use crate::facts;
use crate::named;
use crate::output::{Exit, Output, misuse};
use crate::patience::{Patience, Words};
use crate::registries::Kept;
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Call, out: &mut Output) -> anyhow::Result<Exit> {
    let arguments = text_of(&options.args).context("--args")?;
    block_on(async {
        let desk = Desk::open(at, options.registry.as_deref(), out)?;
        desk.tend(out).await?;
        let caller = caller(&desk, options)?;
        let mut request = request(options, caller.clone(), arguments);
        request.session = session(&desk, options, &caller, out).await?;
        // One invocation of the command is one act.
        let fresh = request.key.is_none() && request.session.is_none();
        let made = Made {
            key: if fresh { Some(fresh_key()?) } else { None },
            session: request.session.clone(),
        };
        request.key = request.key.or_else(|| made.key.clone());
        let words = left(request.key.as_deref());
        let work = desk.runtime.invoke(request);
        let mut patience = Patience::begin();
        let Some(envelope) = patience.wait(&desk, work, &words, out).await else {
            return Ok(Exit::Findings);
        };
        show(&envelope, options, &made, out)?;
        if made.session.is_none() && is_unheard(&desk, &caller, &envelope, options) {
            out.note(
                "without a session there is nobody to take messages: `--session new` begins one",
            );
        }
        let is_over = patience.rest(&desk, &words, out).await;
        // A dry run is not on record.
        if !options.dry_run {
            desk.store.flush().await.context("the call's record could not be written")?;
        }
        Ok(if is_over && would_do(&envelope, options) { Exit::Done } else { Exit::Findings })
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

/// What the command has made beside the call, or was given for it.
struct Made {
    /// The key, where it is the command's own. Nobody else knows it.
    key: Option<String>,
    session: Option<String>,
}

/// What is said to whoever interrupts a call.
fn left(key: Option<&str>) -> Words {
    let mut next = vec![
        "  help: `haft effects --state unknown` names it; then `haft effects probe <call>` asks, where its \
         tool declares a probe, or"
            .to_owned(),
        "        `haft effects settle <call> --happened yes|no --note TEXT` says what became of it"
            .to_owned(),
    ];
    next.extend(key.map(again));
    Words {
        nothing: "no effect had begun".to_owned(),
        begun: "an effect has begun and goes on".to_owned(),
        left: "nobody knows now whether the effect happened".to_owned(),
        next,
    }
}

/// What becomes of the same call under the same key, when it is known whether it happened.
fn again(key: &str) -> String {
    format!(
        "  the same call with `--key {key}` is then answered, not repeated, where it happened, and is \
         carried out where it did not"
    )
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
        let subject = named::principal(subject, "--for")?;
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

/// The envelope, with what the command has made beside it.
fn json_of(envelope: &Envelope, options: &Call, made: &Made) -> anyhow::Result<String> {
    let mut shown = serde_json::to_value(envelope)?;
    if let Some(members) = shown.as_object_mut() {
        // A dry run takes no key.
        let key = made.key.as_ref().filter(|_| !options.dry_run);
        let more = [("session", made.session.as_ref()), ("key", key)];
        let more = more.into_iter().filter_map(|(name, id)| Some((name.to_owned(), json!(id?))));
        members.extend(more);
    }
    Ok(plain(&serde_json::to_string_pretty(&shown)?))
}

/// A key of the command's own is on no command line: whoever repeats a call of which nobody knows needs it.
fn repeat(envelope: &Envelope, made: &Made, out: &Output) {
    let (Err(error), Some(key)) = (&envelope.result, &made.key) else { return };
    match (error.kind, error.retryable) {
        (ErrorKind::UnknownOutcome, true) => out.note(&format!(
            "  next: the same command with `--key {key}` sends it again under the same key; without it, \
             under another"
        )),
        (ErrorKind::UnknownOutcome, false) => out.note(&again(key)),
        _ => {}
    }
}

/// What is said where the answer cannot be written: the call was made all the same.
fn made_anyway(envelope: &Envelope) -> String {
    let call = &envelope.meta.record_id;
    let end = match &envelope.result {
        Ok(_) => "was made, and is done".to_owned(),
        Err(error) => format!("ended in `{}`", error.kind),
    };
    format!("the call `{call}` {end}: `haft calls --call {call}` shows its record")
}

fn show(envelope: &Envelope, options: &Call, made: &Made, out: &mut Output) -> anyhow::Result<()> {
    if !options.dry_run {
        out.done_anyway(made_anyway(envelope));
    }
    if options.json {
        out.line(&json_of(envelope, options, made)?);
        repeat(envelope, made, out);
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
            repeat(envelope, made, out);
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
        answered_from(meta),
        // A dry run is not on record.
        if options.dry_run { String::new() } else { format!(", call {}", meta.record_id) },
    ));
    Ok(())
}

/// Where the answer was found, if nothing was done for it now.
fn answered_from(meta: &Meta) -> String {
    match &meta.replay_of {
        _ if !meta.cached => String::new(),
        Some(call) => format!(", answered from the ledger: {call} did it"),
        None => ", answered from the ledger".to_owned(),
    }
}
