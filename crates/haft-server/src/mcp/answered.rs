//! When a request of a session has been answered: its id is free from then on.

use std::fmt;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::ids::Taken;

/// An answer that keeps its request's id until it has been given: the stream may end a moment later. The
/// handler keeps it, too, so whoever hangs up does not free it before the request has ended.
pub(super) fn until_answered(answered: Response, mut taken: Option<Taken>) -> Response {
    let (parts, body) = answered.into_parts();
    let pieces = body.into_data_stream().map(move |piece| {
        if taken.is_some() && piece.as_ref().is_ok_and(|piece| is_answer(piece)) {
            drop(taken.take());
        }
        piece
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// Whether an event is an answer, and not something that the client is told or asked on the way.
fn is_answer(event: &[u8]) -> bool {
    let text = std::str::from_utf8(event).unwrap_or_default();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.any(|said| {
        let mut kind = Kind::default();
        // It ends where the kind is known, in the middle of the message.
        let _ = serde_json::Deserializer::from_str(said).deserialize_map(&mut kind);
        kind.is_answer
    })
}

/// What kind a message is, read up to the member that says so: what an answer holds is long.
#[derive(Default)]
struct Kind {
    is_answer: bool,
}

impl<'de> Visitor<'de> for &mut Kind {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message of JSON-RPC")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "method" => return Ok(()),
                "result" | "error" => {
                    self.is_answer = true;
                    return Ok(());
                }
                _ => members.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_beginning() {
        for (event, expected) in [
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", true),
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}\n\n", true),
            ("id: 7\ndata:{\"result\":{\"method\":\"x\"},\"id\":1}\n\n", true),
            // Behind that nothing is read.
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":…", true),
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", false),
            ("data: {\"method\":\"m\",\"params\":{\"result\":1}}\n\n", false),
            ("data: {\"params\":{\"result\":1},\"method\":\"m\"}\n\n", false),
            ("data: \n\n", false),
            (": ping\n\n", false),
            ("data: [1]\n\n", false),
        ] {
            assert_eq!(is_answer(event.as_bytes()), expected, "{event}");
        }
    }
}
