//! One call, in lines of JSON.

use haft_adm::{Errors, strict};
use haft_core::contract::Capability;
use haft_core::port::{Ended, Job};
use haft_core::{ErrorKind, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::worker::Worker;
use super::{Settings, too_late};
use crate::end::is_past;
use crate::js::{Speaker, answered};
use crate::said::{MAX_TEXT, shortened, visible};

/// A line of a program: its answer, or something that it asks for first.
#[derive(Deserialize)]
struct Line {
    /// Of which call.
    id: Option<u64>,
    /// `kb.search`
    call: Option<String>,
    seq: Option<u64>,
    #[serde(default)]
    args: Value,
}

/// Asks and waits for the answer. What goes wrong after the first byte was written may have gone
/// wrong after the handler acted.
pub(super) async fn hold(
    worker: &mut Worker,
    job: &Job,
    end: Instant,
    settings: &Settings,
) -> Result<Ended, String> {
    let id = worker.calls + 1;
    let line = asked(job, id, end).to_string();
    // As late as can be: all before this may have taken until now.
    if is_past(end) {
        return Ok(too_late());
    }
    if let Some(why) = job.host.withdrawn() {
        return Ok(Ended::NotBegun(why));
    }
    worker.calls = id;
    worker.begin(&line, end).await?;
    for _ in 0..=settings.asks {
        let Read { line, whole, fault } = read(&worker.read().await?, settings.line_bytes)?;
        match (line.call, line.id) {
            (Some(call), Some(found)) if found == id => {
                let answer = told(job, id, &call, line.seq, line.args).await;
                worker.write(&answer.to_string()).await?;
            }
            // A thread of an earlier call, which may have been another tenant's. An answer would be
            // read by the call that runs.
            (Some(_), Some(found)) if found < id => {}
            (Some(_), _) => {
                return Err(
                    "it used a capability without the `id` of the call that it was asked; \
                            write `{\"id\": …, \"call\": …}`, see docs/process-tools.md"
                        .to_owned(),
                );
            }
            (None, Some(found)) if found == id => {
                return Ok(match fault.filter(|_| whole.get("ok") == Some(&Value::Bool(true))) {
                    Some(why) => unusable(&why),
                    None => answered(whole, Speaker::Program),
                });
            }
            (None, _) => return Err("it answered another call than it was asked".to_owned()),
        }
    }
    Err(format!("it used its capabilities more than {} times", settings.asks))
}

/// A line that was read.
struct Read {
    line: Line,
    /// All that it holds.
    whole: Value,
    /// What is wrong with the data of an answer.
    fault: Option<String>,
}

/// Reads a line. One that says something twice may mean either; what is wrong inside of an answer's data leaves no
/// doubt that it is one.
fn read(text: &[u8], most: usize) -> Result<Read, String> {
    let other = |why: String| {
        let why = visible(&shortened(&why, MAX_TEXT));
        format!("it wrote a line that is not the protocol's: {why}")
    };
    let limits = strict::Limits::default().with_bytes(most);
    let text = std::str::from_utf8(text).map_err(|why| other(why.to_string()))?;
    let (whole, faults) = strict::parse_with_faults(text, limits);
    // There may be thousands.
    let first = |all: &Errors| all.iter().next().map(ToString::to_string).unwrap_or_default();
    let fault = faults.as_ref().map(first);
    let Some(whole) = whole.filter(|_| faults.as_ref().is_none_or(is_in_data)) else {
        return Err(other(fault.unwrap_or_default()));
    };
    let line = Line::deserialize(&whole).map_err(|why| other(why.to_string()))?;
    match (&line.call, fault) {
        (Some(_), Some(why)) => Err(other(why)),
        (_, fault) => Ok(Read { line, whole, fault }),
    }
}

fn is_in_data(faults: &Errors) -> bool {
    let inside = |pointer: &str| pointer == "/data" || pointer.starts_with("/data/");
    faults.omitted() == 0 && faults.iter().all(|fault| inside(&fault.pointer))
}

/// The end of a program that says that it is done, with an answer that can be read in two ways or not be kept.
fn unusable(why: &str) -> Ended {
    let why = visible(&shortened(why, MAX_TEXT));
    let message = "the tool was carried out, and its answer cannot be read";
    Ended::Unusable(ToolError::new(ErrorKind::InvalidOutput, message).caused_by(why))
}

fn asked(job: &Job, id: u64, end: Instant) -> Value {
    let scope = &job.scope;
    let left = end.saturating_duration_since(Instant::now()).as_millis() as u64;
    json!({
        "id": id,
        "tool": job.tool.contract.tool_id,
        "args": &*job.arguments,
        "context": {
            "callId": &*scope.call,
            "mode": scope.mode,
            "session": scope.session,
            "tool": { "id": job.tool.id, "version": job.tool.contract.version },
            "deadlineMs": left,
            "idempotencyKey": job.provider_key,
        },
    })
}

async fn told(job: &Job, id: u64, call: &str, seq: Option<u64>, arguments: Value) -> Value {
    let (name, method) = call.split_once('.').unwrap_or((call, ""));
    let known = Capability::ALL.into_iter().find(|one| one.as_str() == name || one.in_js() == name);
    let answer = match known {
        Some(capability) => job.host.call(capability, method, arguments).await,
        None => Err(ToolError::new(ErrorKind::Internal, "there is no such capability")),
    };
    match answer {
        Ok(value) => json!({ "id": id, "seq": seq, "ok": true, "value": value }),
        Err(error) => json!({ "id": id, "seq": seq, "ok": false, "error": {
            "kind": error.kind, "message": error.message, "retryable": error.retryable,
        } }),
    }
}
