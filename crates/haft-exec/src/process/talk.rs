//! One call, in lines of JSON.

use haft_adm::strict;
use haft_core::contract::Capability;
use haft_core::port::{Ended, Job};
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
        let (line, whole) = read(&worker.read().await?, settings.line_bytes)?;
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
                return Ok(answered(whole, Speaker::Program));
            }
            (None, _) => return Err("it answered another call than it was asked".to_owned()),
        }
    }
    Err(format!("it used its capabilities more than {} times", settings.asks))
}

/// A line, and all that it holds. One that says something twice may mean either.
fn read(text: &[u8], most: usize) -> Result<(Line, Value), String> {
    let other = |why: String| {
        let why = visible(&shortened(&why, MAX_TEXT));
        format!("it wrote a line that is not the protocol's: {why}")
    };
    let limits = strict::Limits::default().with_bytes(most);
    let value = strict::parse_bytes(text, limits).map_err(|errors| {
        // There may be thousands.
        other(errors.iter().next().map(ToString::to_string).unwrap_or_default())
    })?;
    let line = Line::deserialize(&value).map_err(|why| other(why.to_string()))?;
    Ok((line, value))
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
        None => Err(haft_core::ToolError::new(
            haft_core::ErrorKind::Internal,
            "there is no such capability",
        )),
    };
    match answer {
        Ok(value) => json!({ "id": id, "seq": seq, "ok": true, "value": value }),
        Err(error) => json!({ "id": id, "seq": seq, "ok": false, "error": {
            "kind": error.kind, "message": error.message, "retryable": error.retryable,
        } }),
    }
}
