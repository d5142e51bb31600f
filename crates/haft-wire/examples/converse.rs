//! Reads models' answers, as files `DIALECT+NAME`, and writes the conversations that the next requests
//! hold: a question, the answer as it is repeated, and an answer to each of its calls.
//! `converse ANSWERS_FOLDER OUTPUT_FOLDER`.
//!
//! `scripts/wire-check` gives what it writes to the providers' own SDKs.

use std::path::Path;

use haft_core::outcome::{Envelope, Meta};
use haft_wire::results::{Answer, malformed, message, reply};
use haft_wire::{BrokenCall, Dialect, Limits, Turn, WireCall, decode};
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: converse ANSWERS_FOLDER OUTPUT_FOLDER".into());
    };
    std::fs::create_dir_all(&to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        let (dialect, _) = name.split_once('+').ok_or("a file is named DIALECT+NAME")?;
        let dialect: Dialect = dialect.parse()?;
        let turn = decode::message(dialect, Limits::default(), &std::fs::read(file.path())?);
        let all = format!("[{}]", conversation(dialect, &turn).join(","));
        std::fs::write(Path::new(&to).join(format!("{name}.json")), all)?;
    }
    Ok(())
}

/// Each message's text: what is repeated may hold what no `Value` can, half a character say.
fn conversation(dialect: Dialect, turn: &Turn) -> Vec<String> {
    let mut all: Vec<String> = message(dialect, "please").iter().map(Value::to_string).collect();
    all.extend(turn.replay.iter().map(|said| said.as_str().to_owned()));
    let made = turn.calls_to_run().map(|call| (call, done(call)));
    let broken = turn.broken_to_answer().map(|broken| (&broken.call, refused(broken)));
    let mut calls: Vec<(&WireCall, Envelope)> = made.chain(broken).collect();
    calls.sort_by_key(|(call, _)| call.position);
    let answers: Vec<Answer<'_>> = calls
        .iter()
        .map(|(call, envelope)| Answer { id: call.id.as_deref(), name: &call.name, envelope })
        .collect();
    all.extend(reply(dialect, &answers, &["and then?"]).iter().map(Value::to_string));
    all
}

fn done(call: &WireCall) -> Envelope {
    let meta = Meta { call_id: call.answer_id().into(), ..Meta::default() };
    Envelope { result: Ok(json!({ "done": call.name })), intents: Vec::new(), meta }
}

fn refused(broken: &BrokenCall) -> Envelope {
    malformed(broken, &broken.call.answer_id())
}
