//! How many chunks of a recorded OpenAI stream are assembled in a second; `bench/run streams` runs it
//! beside the official SDKs:
//!
//! ```text
//! cargo run --release -p haft-wire --example stream_speed -- RECORDING.sse [SECONDS]
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement prints what it found and stops at the first surprise"
)]

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use haft_wire::{Close, Decoder, Dialect, Limits};
use serde::Deserialize;
use serde_json::{Value, json};

/// As much as a read from a socket gives at once.
const PIECE: usize = 16 << 10;

/// The whole way that the SDKs are timed on: bytes in, every call assembled, its arguments read.
fn assemble(body: &[u8]) -> usize {
    let mut decoder = Decoder::new(Dialect::OpenAiChat, Limits::default());
    let mut said = Vec::new();
    for piece in body.chunks(PIECE) {
        decoder.feed(piece, &mut said);
        said.clear();
    }
    decoder.close(Close::Eof, &mut said);
    let calls = decoder.into_turn().calls;
    calls.iter().map(|call| length(&call.arguments)).sum()
}

/// The time that this thread, which is the only one, had on a processor; Linux says it.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// The least that one could write for this provider on a good day: whole lines, known fields, no
/// limits, no ends, no checks.
fn typed(body: &[u8]) -> usize {
    #[derive(Deserialize)]
    struct Chunk<'a> {
        #[serde(borrow)]
        choices: Vec<Choice<'a>>,
    }
    #[derive(Deserialize)]
    struct Choice<'a> {
        #[serde(borrow)]
        delta: Delta<'a>,
    }
    #[derive(Deserialize)]
    struct Delta<'a> {
        #[serde(borrow)]
        tool_calls: Option<Vec<Call<'a>>>,
    }
    #[derive(Deserialize)]
    struct Call<'a> {
        index: usize,
        #[serde(borrow)]
        function: Function<'a>,
    }
    #[derive(Deserialize)]
    struct Function<'a> {
        #[serde(borrow)]
        arguments: Cow<'a, str>,
    }
    let text = std::str::from_utf8(body).unwrap();
    let mut calls: Vec<String> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        if line == "[DONE]" {
            break;
        }
        let chunk: Chunk<'_> = serde_json::from_str(line).unwrap();
        let deltas = chunk.choices.into_iter().filter_map(|choice| choice.delta.tool_calls);
        for call in deltas.flatten() {
            if calls.len() <= call.index {
                calls.resize(call.index + 1, String::new());
            }
            calls.get_mut(call.index).unwrap().push_str(&call.function.arguments);
        }
    }
    calls.iter().map(|arguments| length(arguments)).sum()
}

fn length(arguments: &str) -> usize {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    arguments.get("text").and_then(Value::as_str).unwrap().chars().count()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let body = std::fs::read(arguments.next().unwrap()).unwrap();
    let seconds: f64 = arguments.next().map_or(1.0, |seconds| seconds.parse().unwrap());
    measure("haft-wire", assemble, &body, seconds);
    measure("Rust, a bare typed loop", typed, &body, seconds);
}

fn measure(name: &str, way: fn(&[u8]) -> usize, body: &[u8], seconds: f64) {
    let chunks = body.windows(6).filter(|window| window == b"data: ").count() - 1;
    let characters = way(body);
    let (mut rounds, begun, worked) = (0_u32, Instant::now(), processor());
    while rounds < 3 || begun.elapsed() < Duration::from_secs_f64(seconds) {
        assert_eq!(black_box(way(black_box(body))), characters);
        rounds += 1;
    }
    let clock = begun.elapsed();
    let worked = processor().zip(worked).map_or(clock, |(after, before)| after - before);
    let chunks_in_all = chunks as f64 * f64::from(rounds);
    let line = json!({
        "name": name,
        "chunks_per_s": chunks_in_all / clock.as_secs_f64(),
        "chunks_per_cpu_s": chunks_in_all / worked.as_secs_f64(),
        "chunks": chunks,
        "characters": characters,
    });
    println!("{line}");
}
