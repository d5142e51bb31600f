//! Putting values into a document by JSON pointer.

use serde_json::Value;

/// One step of a pointer, escaped.
pub(super) fn step(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escape(name))
}

/// A name as a step of a pointer.
pub(super) fn escape(name: &str) -> String {
    if name.contains(['~', '/']) {
        name.replace('~', "~0").replace('/', "~1")
    } else {
        name.to_owned()
    }
}

/// A step of a pointer as a name.
pub(super) fn unescape(step: &str) -> String {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~") } else { step.to_owned() }
}

/// The pointer of a reference into the same document: URLs spell some signs with `%`.
pub(super) fn fragment(reference: &str) -> Option<String> {
    let text = reference.strip_prefix('#')?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%');
        let digits = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The document with `value` at `pointer`, or without what was there. A pointer that leads nowhere
/// changes nothing: it belongs to another document.
pub(super) fn put(document: Option<Value>, pointer: &str, value: Option<Value>) -> Option<Value> {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return value };
    let mut document = document?;
    let name = unescape(last);
    match (document.pointer_mut(parent), value) {
        (Some(Value::Object(members)), Some(value)) => {
            members.insert(name, value);
        }
        (Some(Value::Object(members)), None) => {
            members.shift_remove(&name);
        }
        (Some(Value::Array(elements)), Some(value)) => {
            let place = name.parse().ok().and_then(|index: usize| elements.get_mut(index));
            if let Some(place) = place {
                *place = value;
            }
        }
        _ => {}
    }
    Some(document)
}
