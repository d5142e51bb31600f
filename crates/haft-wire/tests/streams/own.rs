//! Small streams of our own, each in every split in two and byte by byte.

mod anthropic;
mod frames;
mod gemini;
mod openai_chat;
mod openai_responses;
mod requests;

use std::fmt::Write as _;

use haft_wire::{Close, Dialect, Limits, Said, Turn};

use crate::feed::{check_promises, joined, run};

/// Decodes a body that its sender closed.
#[track_caller]
fn check(dialect: Dialect, body: &str, expected: &[&str]) -> Turn {
    check_bytes(dialect, body.as_bytes(), Close::Eof, expected)
}

#[track_caller]
fn check_bytes(dialect: Dialect, body: &[u8], how: Close, expected: &[&str]) -> Turn {
    let (said, turn) = run(dialect, Limits::default(), [body], how);
    check_promises(&said, &turn);
    assert_eq!(lines(&said), expected);
    let said = joined(&said);
    for at in 0..=body.len() {
        let (one, two) = body.split_at(at);
        let (other, same) = run(dialect, Limits::default(), [one, two], how);
        assert_eq!(joined(&other), said, "split at byte {at}");
        assert_eq!(same, turn, "split at byte {at}");
    }
    let (other, same) = run(dialect, Limits::default(), body.chunks(1), how);
    assert_eq!((joined(&other), &same), (said, &turn), "byte by byte");
    turn
}

/// The data of events, one per line of the source.
fn events(lines: &str) -> String {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).fold(
        String::new(),
        |mut body, line| {
            let _ = write!(body, "data: {line}\n\n");
            body
        },
    )
}

/// What was said, a line each.
pub(crate) fn lines(said: &[Said]) -> Vec<String> {
    joined(said).iter().map(line).collect()
}

fn line(said: &Said) -> String {
    match said {
        Said::Text { choice: 0, delta } => format!("text {delta}"),
        Said::Text { choice, delta } => format!("text {choice}: {delta}"),
        Said::Reasoning { delta } => format!("reasoning {delta}"),
        Said::Refusal { delta } => format!("refusal {delta}"),
        Said::Call(call) => {
            let id = call.id.as_deref().unwrap_or("-");
            let of = if call.choice == 0 { String::new() } else { format!(" of {}", call.choice) };
            format!("call {}{of} {id} {} {}", call.position, call.name, call.arguments)
        }
        Said::Broken(broken) => {
            let why = serde_json::to_value(broken.why).unwrap();
            let waits = if broken.replayed { "answered" } else { "dropped" };
            let call = &broken.call;
            format!("no call {} {} ({waits})", call.name, why.as_str().unwrap())
        }
        Said::Cancelled { ids } => format!("cancelled {}", ids.join(" ")),
        Said::End(end) => {
            let finish = serde_json::to_value(&end.finish).unwrap();
            let finish = finish.as_str().map_or_else(|| finish.to_string(), str::to_owned);
            let mut line = format!("end {finish}");
            if let Some(word) = &end.word {
                let _ = write!(line, " `{word}`");
            }
            if let Some(usage) = end.usage {
                let _ = write!(line, " {}/{}", usage.input, usage.output);
            }
            if let Some(fault) = &end.fault {
                let _ = write!(line, " [{}]", fault.code.as_deref().unwrap_or(&fault.message));
            }
            line
        }
    }
}
