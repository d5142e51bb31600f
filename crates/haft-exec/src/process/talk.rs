//! One call, in lines of JSON.

use haft_core::contract::Capability;
use haft_core::port::{Ended, Job};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::worker::Worker;
use super::{Settings, too_late};
use crate::end::is_past;
use crate::js::{Speaker, returned};

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
        let text = String::from_utf8(worker.read().await?).map_err(|_| "it wrote no text")?;
        let line: Line = serde_json::from_str(&text)
            .map_err(|why| format!("it wrote a line that is not the protocol's: {why}"))?;
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
                return Ok(returned(&text, Speaker::Program));
            }
            (None, _) => return Err("it answered another call than it was asked".to_owned()),
        }
    }
    Err(format!("it used its capabilities more than {} times", settings.asks))
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
