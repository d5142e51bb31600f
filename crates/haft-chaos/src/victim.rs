//! haft on a database, with tools that act through the sink. Reads a request per line, and writes an
//! outcome per line as soon as it has it, until its input ends or it is killed.

mod provider;
mod registry;
mod tools;

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use haft_core::call::Principal;
use haft_core::port::{Invoke as _, Store};
use haft_core::record::ConfirmationStatus;
use haft_core::{Call, Caller, Envelope, ErrorKind};
use haft_runtime::effects::UndoTarget;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::{Runtime, Settings};
use haft_store::Sqlite;
use nix::sys::{prctl, signal::Signal};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::fail::fail_point;
use crate::words::{Act, Ask, Outcome, Request, Said};
pub(crate) use tools::Sabotage;

/// The tenant and the agent of every call.
pub(crate) const WHO: &str = "default";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The database.
    #[arg(long)]
    db: PathBuf,
    /// The sink's port on loopback.
    #[arg(long)]
    sink: u16,
    /// A port on loopback where nobody listens.
    #[arg(long)]
    closed: u16,
    /// How long a tool may run, in milliseconds.
    #[arg(long, default_value_t = 1_000)]
    deadline_ms: u64,
    /// How much longer a call is waited for, in milliseconds.
    #[arg(long, default_value_t = 1_000)]
    grace_ms: u64,
    /// What is broken on purpose.
    #[arg(long)]
    sabotage: Option<Sabotage>,
}

pub(crate) fn serve(options: &Options) -> anyhow::Result<()> {
    // Not even a stopped victim outlives its driver.
    prctl::set_pdeathsig(Signal::SIGKILL).context("no signal at the driver's end")?;
    if options.sabotage == Some(Sabotage::Forget) {
        forget(&options.db);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let haft = Arc::new(assemble(options)?);
        haft.store().recover().await?;
        let mut requests = requests()?;
        let outcomes = outcomes()?;
        while let Some(request) = requests.recv().await {
            let (haft, outcomes) = (haft.clone(), outcomes.clone());
            tokio::spawn(async move {
                let said = answer(&haft, request.ask).await;
                fail_point("before_reply").await;
                let _ = outcomes.send(Outcome { id: request.id, said });
            });
        }
        haft.drain(Duration::from_secs(10)).await;
        Ok(())
    })
}

/// A store that loses its memory with its process, and whatever would tell that it has lost something.
fn forget(db: &std::path::Path) {
    for end in ["", "-wal", "-shm", ".checkpoints", ".checked", ".head"] {
        let mut name = db.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

fn assemble(options: &Options) -> anyhow::Result<Runtime> {
    let registry = registry::registry(options.deadline_ms)?;
    let store: Arc<dyn Store> =
        Arc::new(Sqlite::open(&options.db, haft_store::Options::default())?);
    let provider = provider::Provider::new(options.sink, options.closed);
    let native = tools::native(&Arc::new(provider), options.sabotage);
    let wrong = native.check(&registry);
    if !wrong.is_empty() {
        return Err(anyhow!("the tools do not fit together: {}", wrong.join("; ")));
    }
    let rules = Rules { allow: vec!["chaos__*".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&registry]).map_err(|problems| anyhow!("{problems:?}"))?;
    let settings = Settings {
        lease_grace: Duration::from_millis(options.grace_ms),
        attach_for: Duration::from_secs(2),
        backoff: Duration::from_millis(5),
        max_pending_confirmations: 100_000,
        ..Settings::default()
    };
    let builder = Runtime::builder(registry, store, Arc::new(native));
    let builder = builder.policy(Arc::new(policy)).rules(rules).settings(settings);
    Ok(builder.secret([7; 32]).build()?)
}

/// The lines of standard input, read by a thread of their own.
fn requests() -> anyhow::Result<mpsc::UnboundedReceiver<Request>> {
    let (queue, requests) = mpsc::unbounded_channel();
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Some(request) = line.ok().and_then(|line| Request::parse(&line)) else { return };
            if queue.send(request).is_err() {
                return;
            }
        }
    })?;
    Ok(requests)
}

/// Writes outcomes as they come, those that wait together in one go.
fn outcomes() -> anyhow::Result<mpsc::UnboundedSender<Outcome>> {
    let (queue, mut outcomes) = mpsc::unbounded_channel::<Outcome>();
    std::thread::Builder::new().name("outcomes".to_owned()).spawn(move || {
        let mut group = Vec::new();
        let mut out = std::io::stdout();
        while outcomes.blocking_recv_many(&mut group, 256) > 0 {
            let text: String = group.drain(..).map(|outcome| format!("{outcome}\n")).collect();
            if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok(queue)
}

async fn answer(haft: &Runtime, ask: Ask) -> Said {
    match ask {
        Ask::Call { act, item, occurrence, leaves } => {
            let call = call(act, item, occurrence);
            // Some callers go away: what has begun goes on, and the next request attaches to it.
            let patience = Duration::from_micros(if leaves { 300 } else { u64::MAX });
            match tokio::time::timeout(patience, invoke(haft, act, call)).await {
                Ok(envelope) => said(envelope),
                Err(_) => Said::Later,
            }
        }
        Ask::Probe { call } => match haft.probe(&operator(), &call).await {
            Ok(probed) => Said::Settled {
                happened: probed.effect.resolution.is_some_and(|resolution| resolution.happened),
            },
            Err(_) => Said::Later,
        },
        Ask::Undo { call } => match haft.undo(&operator(), &UndoTarget::Call(call)).await {
            Ok(undone) => {
                let status = undone.first().and_then(|one| serde_json::to_value(one.status).ok());
                let word = status.as_ref().and_then(Value::as_str).unwrap_or("none");
                Said::Undone { status: word.to_owned() }
            }
            Err(_) => Said::Later,
        },
    }
}

fn call(act: Act, item: u64, occurrence: u32) -> Call {
    let arguments = json!({ "item": item.to_string() });
    let mut call = Call::new(Caller::agent(WHO, WHO), act.as_str(), arguments);
    call.key = Some(key(item));
    call.occurrence = occurrence;
    call
}

/// The idempotency key of an item.
pub(crate) fn key(item: u64) -> String {
    format!("key-{item}")
}

/// Whoever probes, undoes and approves is not the one who acts.
fn operator() -> Caller {
    Caller { actor: Principal::user("operator"), ..Caller::agent(WHO, WHO) }
}

/// Calls; where a person is asked, that person approves, and the call is made with the token.
async fn invoke(haft: &Runtime, act: Act, mut call: Call) -> Envelope {
    let envelope = haft.invoke(call.clone()).await;
    if act != Act::Gift {
        return envelope;
    }
    let asked = envelope.result.as_ref().err().and_then(|error| error.details.as_ref());
    let Some(id) = asked.and_then(|it| it.pointer("/confirmation/id")?.as_str()) else {
        return envelope;
    };
    match haft.confirm(WHO, id, true, &operator().actor).await {
        Ok(decided) if decided.confirmation.status == ConfirmationStatus::Approved => {
            call.confirmation = decided.token;
            haft.invoke(call).await
        }
        // A duplicate was faster; made again, the call finds the approval.
        Ok(_) | Err(_) => haft.invoke(call).await,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is neither unknown nor a reason to ask later says that nothing was done"
)]
fn said(envelope: Envelope) -> Said {
    let own = envelope.meta.record_id.to_string();
    match envelope.result {
        Ok(data) => Said::Done {
            receipt: data.get("receipt").and_then(Value::as_u64).unwrap_or_default(),
            call: Some(own).filter(|_| !envelope.meta.cached),
        },
        Err(error) => match error.kind {
            ErrorKind::UnknownOutcome => {
                let named = error.details.as_ref().and_then(|it| it.get("call")?.as_str());
                Said::Unknown { call: named.unwrap_or(&own).to_owned() }
            }
            ErrorKind::InFlight
            | ErrorKind::StoreUnavailable
            | ErrorKind::RateLimited
            | ErrorKind::ConfirmationRequired
            | ErrorKind::ConfirmationRefused => Said::Later,
            ErrorKind::ResultExpired => Said::DoneWithoutAnswer,
            kind => Said::Failed { kind: kind.as_str().to_owned(), call: own },
        },
    }
}
