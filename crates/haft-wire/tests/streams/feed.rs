//! One stream through one decoder.

use haft_wire::{Close, Decoder, Dialect, Limits, Said, Turn};

/// Everything that was said, and the turn.
pub(crate) fn run<'a>(
    dialect: Dialect,
    limits: Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    how: Close,
) -> (Vec<Said>, Turn) {
    let mut decoder = Decoder::new(dialect, limits);
    let mut said = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut said);
    }
    decoder.close(how, &mut said);
    decoder.feed(b"data: {\"late\":1}\n\n", &mut said);
    decoder.close(Close::Reset, &mut said);
    (said, decoder.into_turn())
}

/// The same without where one piece of text ends and the next begins, which a split may move.
pub(crate) fn joined(said: &[Said]) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for one in said {
        match (all.last_mut(), one) {
            (Some(Said::Text { choice, delta }), Said::Text { choice: of, delta: more })
                if choice == of =>
            {
                delta.push_str(more);
            }
            _ => all.push(one.clone()),
        }
    }
    all
}

/// What holds for every stream, whatever is in it.
#[track_caller]
pub(crate) fn check_promises(said: &[Said], turn: &Turn) {
    let ends = said.iter().filter(|one| matches!(one, Said::End(_))).count();
    assert_eq!(ends, 1, "exactly one end: {said:?}");
    assert!(matches!(said.last(), Some(Said::End(end)) if *end == turn.end), "and it is the last");
    let calls: Vec<_> = said
        .iter()
        .filter_map(|one| if let Said::Call(call) = one { Some(call) } else { None })
        .collect();
    assert!(calls.iter().copied().eq(&turn.calls), "the turn holds the calls that were said");
    for call in calls {
        let text = call.arguments.trim();
        assert!(!call.name.trim().is_empty());
        assert!(text.is_empty() || is_json(text), "a call is whole JSON: {call:?}");
    }
    for message in &turn.replay {
        let text = message.as_str();
        assert!(text.starts_with('{') && is_json(text), "what is repeated is JSON: {message:?}");
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
