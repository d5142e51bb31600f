#![no_main]
use haft_wire::{Close, Decoder, Dialect, Limits, Said, Turn};
use libfuzzer_sys::fuzz_target;

// The first byte chooses the dialect, the second the split and the limits; the rest is the stream.
fuzz_target!(|bytes: &[u8]| {
    let [dialect, choice, body @ ..] = bytes else { return };
    let dialect = Dialect::ALL[usize::from(*dialect) % Dialect::ALL.len()];
    let limits = match choice % 4 {
        0 => Limits { event: 256, stream: 256, calls: 2, parts: 4 },
        _ => Limits::default(),
    };
    let how = if choice & 4 == 0 { Close::Eof } else { Close::Reset };
    let (said, turn) = run(dialect, limits, [body], how);
    let ends = said.iter().filter(|one| matches!(one, Said::End(_))).count();
    assert_eq!(ends, 1);
    assert!(matches!(said.last(), Some(Said::End(_))));
    for call in &turn.calls {
        assert!(!call.name.is_empty());
        let text = call.arguments.trim();
        assert!(text.is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    }
    for message in &turn.replay {
        assert!(message.as_str().starts_with('{'));
    }
    let (_, same) = run(dialect, limits, body.chunks(usize::from(choice >> 3) + 1), how);
    assert_eq!(same, turn);
});

fn run<'a>(
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
    (said, decoder.into_turn())
}
