//! `haft decode`

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;

use anyhow::Context as _;
use haft_wire::{Broken, Close, Decoder, Dialect, End, Finish, Limits, Said, Turn, WireCall};

use crate::assembly::plain;
use crate::cli::Decode;
use crate::output::{Exit, Output};

pub(crate) fn run(options: &Decode, out: &mut Output) -> anyhow::Result<Exit> {
    let mut decoder = Decoder::new(options.format, Limits::default());
    match &options.file {
        Some(file) if file.as_os_str() != "-" => {
            let name = file.display();
            let source = File::open(file).with_context(|| format!("`{name}` cannot be read"))?;
            read(source, &mut decoder, options, out)
                .with_context(|| format!("`{name}` cannot be read"))?;
        }
        Some(_) | None => read(std::io::stdin().lock(), &mut decoder, options, out)
            .context("standard input cannot be read")?,
    }
    let turn = decoder.into_turn();
    if options.json {
        out.json(&turn)?;
    } else if !options.events {
        out.result(&show(&turn));
    }
    if let Some(doubt) = doubt(&turn, options.format) {
        out.note(&format!("  help: {doubt}"));
    }
    Ok(if is_whole(&turn) { Exit::Done } else { Exit::Findings })
}

/// What may be wrong with the command, where nothing of the recording could be read.
fn doubt(turn: &Turn, format: Dialect) -> Option<String> {
    let code = turn.end.fault.as_ref().and_then(|fault| fault.code.as_deref())?;
    let silent = turn.text.is_empty() && turn.reasoning.is_empty() && turn.refusal.is_empty();
    if !silent || !turn.calls.is_empty() || !turn.broken.is_empty() || turn.end.word.is_some() {
        return None;
    }
    match code {
        "empty" => Some(
            "the recording is empty; give the bytes of a model's answer, as a file or \
                         on standard input"
                .to_owned(),
        ),
        "cut" | "reset" | "not_a_stream" | "not_a_call" | "bad_json" | "bad_utf8" => Some(format!(
            "nothing in it is said as `{format}` says it; is it another `--format`, or no answer of \
             a model?"
        )),
        _ => None,
    }
}

/// Piece by piece, as from a network: a recording may be longer than what is kept of it.
fn read(
    mut source: impl Read,
    decoder: &mut Decoder,
    options: &Decode,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut piece = vec![0; 1 << 16];
    let mut said = Vec::new();
    loop {
        let length = match source.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        match length {
            0 if options.reset => decoder.close(Close::Reset, &mut said),
            0 => decoder.close(Close::Eof, &mut said),
            _ => decoder.feed(piece.get(..length).unwrap_or_default(), &mut said),
        }
        for one in said.drain(..) {
            tell(&one, options, out)?;
        }
        if length == 0 {
            return Ok(());
        }
    }
}

fn tell(said: &Said, options: &Decode, out: &mut Output) -> anyhow::Result<()> {
    if options.events {
        out.line(&serde_json::to_string(said)?);
    }
    Ok(())
}

fn is_whole(turn: &Turn) -> bool {
    let well = match turn.end.finish {
        Finish::Stop | Finish::Calls | Finish::Paused | Finish::Refused | Finish::Other(_) => true,
        Finish::Length | Finish::Filtered | Finish::Failed | Finish::Cut => false,
    };
    well && turn.broken.is_empty()
}

/// What was assembled, and why.
fn show(turn: &Turn) -> String {
    let mut shown = String::new();
    for (what, text) in
        [("reasoning", &turn.reasoning), ("text", &turn.text), ("refusal", &turn.refusal)]
    {
        if !text.is_empty() {
            entry(&mut shown, what, text);
        }
    }
    for call in &turn.calls {
        entry(&mut shown, "call", &call_in_words(call, "whole"));
    }
    for broken in &turn.broken {
        entry(&mut shown, "no call", &call_in_words(&broken.call, why(broken.why)));
    }
    for id in &turn.cancelled {
        entry(&mut shown, "cancelled", id);
    }
    entry(&mut shown, "end", &end_in_words(&turn.end));
    for message in &turn.replay {
        entry(&mut shown, "repeat", message.as_str());
    }
    shown
}

/// A word, and beside it what may be several lines.
fn entry(shown: &mut String, what: &str, text: &str) {
    for (at, line) in plain(text).lines().enumerate() {
        let what = if at == 0 { what } else { "" };
        let _ = writeln!(shown, "{:<11}{line}", what);
    }
}

fn call_in_words(call: &WireCall, state: &str) -> String {
    let id = call.id.as_deref().unwrap_or("none");
    let name = match &call.namespace {
        Some(namespace) => format!("{namespace} / {}", call.name),
        None => call.name.clone(),
    };
    let choice = match call.choice {
        0 => String::new(),
        choice => format!(", alternative {choice}"),
    };
    format!("{name} (id {id}{choice}): {state}\n{}", call.arguments)
}

fn why(broken: Broken) -> &'static str {
    match broken {
        Broken::Cut => "it, or the message around it, ended before it was whole",
        Broken::NotJson => "its arguments are not JSON",
        Broken::NotObject => "its arguments are JSON, but not an object",
        Broken::Withheld => "the provider filtered or refused the message",
        Broken::FreeText => "it is for a tool that takes free text, and haft offers none",
        Broken::Unnamed => "nothing says which tool it is for",
        Broken::TooLarge => "the output is larger than the decoder may hold",
        Broken::Contradiction => "its pieces contradict one another",
        Broken::TooMany => "the message holds more calls than the decoder may keep",
        Broken::SameId => "an earlier call of the message has its id and asks for something else",
    }
}

fn end_in_words(end: &End) -> String {
    let mut words = match &end.finish {
        Finish::Stop => "done",
        Finish::Calls => "waits for the results of its calls",
        Finish::Length => "out of room: no call of it is run",
        Finish::Filtered => "filtered by the provider",
        Finish::Refused => "refused",
        Finish::Paused => "paused: send it back to go on",
        Finish::Failed => "failed",
        Finish::Cut => "cut: the provider did not say that it was done",
        Finish::Other(_) => "ended",
    }
    .to_owned();
    if let Some(word) = &end.word {
        let _ = write!(words, " (`{word}`)");
    }
    if let Some(usage) = end.usage {
        let _ = write!(words, "; {} tokens read, {} written", usage.input, usage.output);
    }
    if let Some(fault) = &end.fault {
        let code = fault.code.as_deref().unwrap_or("error");
        let _ = write!(words, "\n{code}: {}", fault.message);
    }
    words
}

#[cfg(test)]
mod tests {
    use haft_wire::{Dialect, Limits, decode};

    use super::*;

    #[track_caller]
    fn check(recorded: &str, expected: &str, whole: bool) {
        let turn = decode::message(Dialect::OpenAiChat, Limits::default(), recorded.as_bytes());
        assert_eq!(show(&turn), expected);
        assert_eq!(is_whole(&turn), whole);
    }

    #[test]
    fn a_whole_answer_is_shown_with_what_is_repeated() {
        check(
            r#"{"choices":[{"message":{"content":"Hi\u001b[2J","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
            "text       Hi\\u001b[2J\n\
             call       f (id c1): whole\n           {}\n\
             end        waits for the results of its calls (`tool_calls`); 3 tokens read, 4 written\n\
             repeat     {\"role\":\"assistant\",\"content\":\"Hi\\u001b[2J\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n",
            true,
        );
    }

    #[test]
    fn a_recording_of_which_nothing_was_read_raises_a_doubt() {
        let doubt = |recorded: &[u8], format| {
            doubt(&decode::message(format, Limits::default(), recorded), format)
        };
        let other = Some("nothing in it is said as");
        for (recorded, format, expected) in [
            (&b""[..], Dialect::Gemini, Some("the recording is empty")),
            (b"\x7fELF\x00\xff", Dialect::OpenAiChat, other),
            (b"hello", Dialect::Anthropic, other),
            (b"{\"a\":1}", Dialect::OpenAiChat, other),
            (b"data: {\"type\":\"message_start\"}\n\n", Dialect::OpenAiResponses, other),
            (b"{\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}", Dialect::OpenAiChat, None),
            (b"{\"error\":{\"message\":\"no\"}}", Dialect::OpenAiChat, None),
        ] {
            let said = doubt(recorded, format);
            let fits = match (&said, expected) {
                (Some(said), Some(expected)) => said.contains(expected),
                (None, None) => true,
                (Some(_) | None, _) => false,
            };
            assert!(fits, "{said:?}, not {expected:?}");
        }
    }

    #[test]
    fn what_is_no_call_says_why() {
        check(
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n",
            "no call    f (id none): it, or the message around it, ended before it was whole\n           {\n\
             end        cut: the provider did not say that it was done\n           cut: the stream ended before the provider said that it was done\n",
            false,
        );
    }
}
