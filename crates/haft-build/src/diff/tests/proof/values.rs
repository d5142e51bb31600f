//! A small world of values, so that random schemas and values meet.

use serde_json::{Map, Value, json};

use super::schemas::NAMES;
use super::tape::Tape;

pub(super) fn value(tape: &mut Tape<'_>, depth: usize) -> Value {
    let kinds = if depth > 2 { 7 } else { 13 };
    match tape.below(kinds) {
        0 => Value::Null,
        1 => json!(tape.one_in(2)),
        2 | 3 => json!(i32::try_from(tape.below(6)).unwrap() - 1),
        4 => tape.pick(&[json!(0.5), json!(1.5), json!(2.0), json!(2.5)]).clone(),
        5 | 6 => json!(tape.pick(&["", "a", "b", "ab", "abcd", "2026-01-31", "a@b.example"])),
        7 | 8 => (0..tape.below(4)).map(|_| value(tape, depth + 1)).collect(),
        _ => {
            let mut map = Map::new();
            for name in NAMES {
                if tape.one_in(2) {
                    map.insert(name.into(), value(tape, depth + 1));
                }
            }
            Value::Object(map)
        }
    }
}
