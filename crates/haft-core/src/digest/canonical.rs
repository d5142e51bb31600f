//! Canonical JSON (RFC 8785) into one buffer.
//!
//! Members are written as they come; an object whose names turn out not to be in order is put in
//! order when it closes. That needs no allocation per member, of which a contract has hundreds and
//! the arguments of a call with effects are written several times.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// Appends the one spelling of `value`.
pub(super) fn write(
    text: &mut Vec<u8>,
    value: &(impl Serialize + ?Sized),
) -> serde_json::Result<()> {
    let writer = Canonical { text, objects: Vec::new(), members: Vec::new(), spare: Vec::new() };
    value.serialize(&mut Serializer::with_formatter(io::sink(), writer))
}

/// Everything goes into `text`; the writer that serde_json hands around stays unused, because what
/// was written could not be put in order there.
struct Canonical<'a> {
    text: &'a mut Vec<u8>,
    /// The objects that are open: where their members start, in `text` and in `members`.
    objects: Vec<(usize, usize)>,
    members: Vec<Member>,
    spare: Vec<u8>,
}

/// Places in `text`.
struct Member {
    /// Between the quotes.
    name: Range<usize>,
    whole: Range<usize>,
}

impl Canonical<'_> {
    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(text);
        Ok(())
    }

    fn integer(&mut self, number: impl Into<i128>) -> io::Result<()> {
        use io::Write as _;
        let number: i128 = number.into();
        // Beyond this, numbers are written as a double prints.
        if number.unsigned_abs() < 1 << 53 {
            write!(self.text, "{number}")
        } else {
            self.number(serde_json::Number::from_i128(number))
        }
    }

    fn number(&mut self, number: Option<serde_json::Number>) -> io::Result<()> {
        let number = number.ok_or_else(|| io::Error::other("not a number of JSON"))?;
        // How a double prints is a science of its own.
        self.put(&serde_json_canonicalizer::to_vec(&number).map_err(io::Error::other)?)
    }

    fn close(&mut self) {
        let Some((start, first)) = self.objects.pop() else { return };
        let (text, spare) = (&mut *self.text, &mut self.spare);
        let members = self.members.get_mut(first..).unwrap_or_default();
        if !members.is_sorted_by(|a, b| order(text, a, b).is_lt()) {
            members.sort_by(|a, b| order(text, a, b));
            spare.clear();
            spare.extend_from_slice(text.get(start..).unwrap_or_default());
            text.truncate(start);
            for (index, member) in members.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                let place = member.whole.start - start..member.whole.end - start;
                text.extend_from_slice(spare.get(place).unwrap_or_default());
            }
        }
        self.members.truncate(first);
    }
}

/// By UTF-16, as the standard has it. For plain names that is the order of their bytes.
fn order(text: &[u8], a: &Member, b: &Member) -> Ordering {
    let name = |member: &Member| text.get(member.name.clone()).unwrap_or_default();
    let (a, b) = (name(a), name(b));
    let plain = |name: &[u8]| name.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if plain(a) && plain(b) {
        return a.cmp(b);
    }
    read(a).encode_utf16().cmp(read(b).encode_utf16())
}

/// A name without its escapes.
fn read(name: &[u8]) -> Cow<'_, str> {
    let quoted = [b"\"", name, b"\""].concat();
    match serde_json::from_slice(&quoted) {
        Ok(text) => Cow::Owned(text),
        Err(_) => String::from_utf8_lossy(name),
    }
}

impl Formatter for Canonical<'_> {
    fn write_null<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"null")
    }

    fn write_bool<W: ?Sized + io::Write>(&mut self, _: &mut W, value: bool) -> io::Result<()> {
        self.put(if value { b"true" } else { b"false" })
    }

    fn write_i8<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i8) -> io::Result<()> {
        self.integer(value)
    }

    fn write_i16<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i16) -> io::Result<()> {
        self.integer(value)
    }

    fn write_i32<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i32) -> io::Result<()> {
        self.integer(value)
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i64) -> io::Result<()> {
        self.integer(value)
    }

    fn write_u8<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u8) -> io::Result<()> {
        self.integer(value)
    }

    fn write_u16<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u16) -> io::Result<()> {
        self.integer(value)
    }

    fn write_u32<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u32) -> io::Result<()> {
        self.integer(value)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u64) -> io::Result<()> {
        self.integer(value)
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, _: &mut W, value: f32) -> io::Result<()> {
        self.number(serde_json::Number::from_f64(value.into()))
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, _: &mut W, value: f64) -> io::Result<()> {
        self.number(serde_json::Number::from_f64(value))
    }

    fn write_i128<W: ?Sized + io::Write>(&mut self, _: &mut W, value: i128) -> io::Result<()> {
        self.integer(value)
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, _: &mut W, value: u128) -> io::Result<()> {
        match i128::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => self.number(serde_json::Number::from_u128(value)),
        }
    }

    fn write_number_str<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        value: &str,
    ) -> io::Result<()> {
        self.number(serde_json::from_str(value).ok())
    }

    /// What was written before by somebody else has any spelling.
    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let read: serde_json::Value = serde_json::from_str(fragment)?;
        Ok(write(self.text, &read)?)
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    fn end_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"\"")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.put(fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        use io::Write as _;
        self.put(match escape {
            CharEscape::Quote => b"\\\"",
            CharEscape::ReverseSolidus => b"\\\\",
            CharEscape::Solidus => b"/",
            CharEscape::Backspace => b"\\b",
            CharEscape::FormFeed => b"\\f",
            CharEscape::LineFeed => b"\\n",
            CharEscape::CarriageReturn => b"\\r",
            CharEscape::Tab => b"\\t",
            CharEscape::AsciiControl(byte) => return write!(self.text, "\\u{byte:04x}"),
        })
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"[")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.put(if first { b"" } else { b"," })
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b"]")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.text.push(b'{');
        self.objects.push((self.text.len(), self.members.len()));
        Ok(())
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            self.text.push(b',');
        }
        let at = self.text.len();
        self.members.push(Member { name: at + 1..at + 1, whole: at..at });
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.text.len().saturating_sub(1);
        if let Some(member) = self.members.last_mut() {
            member.name.end = end;
        }
        Ok(())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.put(b":")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.text.len();
        if let Some(member) = self.members.last_mut() {
            member.whole.end = end;
        }
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.close();
        self.put(b"}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn check(value: &Value) {
        let mut text = Vec::new();
        super::write(&mut text, value).unwrap();
        assert_eq!(text, serde_json_canonicalizer::to_vec(value).unwrap());
    }

    #[test]
    fn it_is_the_spelling_of_the_standard() {
        for value in [
            json!({}),
            json!([{}, [], null, true, false]),
            json!({"b": {"d": 1, "c": [2, {"f": 3, "e": 4}]}, "a": "x"}),
            json!({"a b": 1, "a": 2, "a\"": 3, "a!": 4, "": 5}),
            json!({"\u{10000}": 1, "\u{e000}": 2, "é": 3, "e": 4, "\n": 5, "\\": 6}),
            json!([0, -0.0, 1.0, 1e21, 1e-7, 0.1, 5e-324, 1.5e300, i64::MAX, i64::MIN, u64::MAX]),
            json!("\u{0}\u{1f}\u{7f}\u{8}\u{c}\r\t/\\\" \u{2028} 😀"),
        ] {
            check(&value);
        }
    }

    #[test]
    fn nothing_that_is_no_value_of_json_is_left_out() {
        let raw = serde_json::value::RawValue::from_string("{\"b\": 1.0, \"a\": 2}".to_owned());
        assert_eq!(crate::digest::canonical(&raw.unwrap()), r#"{"a":2,"b":1}"#);
        assert_eq!(crate::digest::canonical(&("k", 7_u128, -7_i128)), r#"["k",7,-7]"#);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_the_value_is(value in values()) {
            check(&value);
        }
    }
}
