//! JSON that is kept as the text that it will be shown as.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::Deserializer;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// JSON as text. A view is made once and from then on only stored and shown, so it is written where
/// it is made: one allocation instead of a tree.
///
/// ```
/// use haft_core::record::Written;
/// use serde_json::json;
///
/// let view = Written::of(&json!({"top_k": 3})).unwrap();
/// assert_eq!(view.text(), r#"{"top_k":3}"#);
/// assert_eq!(view.value(), json!({"top_k": 3}));
/// ```
#[derive(Clone)]
pub struct Written(Text);

#[derive(Clone)]
enum Text {
    Now(Arc<str>),
    Later(Arc<dyn Later>),
}

/// Written when somebody looks first, and what it is written from is then forgotten.
trait Later: Send + Sync {
    fn text(&self) -> &str;
}

impl<F: FnOnce() -> Box<str> + Send> Later for LazyLock<Box<str>, F> {
    fn text(&self) -> &str {
        self
    }
}

/// A longer text than this gives its place back.
const KEPT: usize = 64 << 10;

thread_local! {
    /// Where texts are written until their length is known: every call has two, and growing each from
    /// nothing would cost more than writing it.
    static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Written {
    /// Writes a value.
    ///
    /// # Errors
    ///
    /// It cannot be written as JSON.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        let drafted = DRAFT.try_with(|draft| {
            // Whoever writes while writing takes a place of its own.
            let mut draft = draft.try_borrow_mut().ok()?;
            Some(Self::drafted(&mut draft, value))
        });
        match drafted {
            Ok(Some(written)) => written,
            Ok(None) | Err(_) => Self::drafted(&mut Vec::new(), value),
        }
    }

    fn drafted(
        draft: &mut Vec<u8>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Self, serde_json::Error> {
        draft.clear();
        serde_json::to_writer(&mut *draft, value)?;
        let written = std::str::from_utf8(draft).map_err(serde_json::Error::custom)?.into();
        if draft.capacity() > KEPT {
            *draft = Vec::new();
        }
        Ok(Self(Text::Now(written)))
    }

    /// Writes a value once somebody looks: of most calls nobody ever sees a view. Whatever `make`
    /// keeps is out of everybody's reach, and goes when the text is there. Where nothing can be
    /// written it is `null`.
    pub fn later(make: impl FnOnce() -> Option<Self> + Send + 'static) -> Self {
        let make = move || match make() {
            Some(made) => made.text().into(),
            None => "null".into(),
        };
        Self(Text::Later(Arc::new(LazyLock::new(make))))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.0 {
            Text::Now(text) => text,
            Text::Later(later) => later.text(),
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Written {}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.text()).map_err(S::Error::custom)?;
        raw.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(|raw| Self(Text::Now(raw.get().into())))
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        Self(Text::Now(value.to_string().into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes something else while it is written itself.
    struct Nested;

    impl Serialize for Nested {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            Written::of(&json!(["inside"])).map_err(S::Error::custom)?.serialize(to)
        }
    }

    #[test]
    fn one_text_does_not_run_into_another() {
        let long = "x".repeat(2 * KEPT);
        assert_eq!(Written::of(&long).unwrap().value(), json!(long));
        assert_eq!(Written::of(&json!({ "a": null })).unwrap().text(), r#"{"a":null}"#);
        assert_eq!(Written::of(&[Nested, Nested]).unwrap().text(), r#"[["inside"],["inside"]]"#);
        assert_eq!(Written::of("").unwrap().text(), r#""""#);
    }

    #[test]
    fn what_is_written_later_is_written_once_and_its_source_forgotten() {
        let source = Arc::new(());
        let kept = source.clone();
        let later = Written::later(move || {
            assert_eq!(Arc::strong_count(&kept), 2);
            Some(json!(["seen"]).into())
        });
        let copy = later.clone();
        assert_eq!(Arc::strong_count(&source), 2, "nobody has looked");
        assert_eq!((later.text(), copy.text()), (r#"["seen"]"#, r#"["seen"]"#));
        assert_eq!(Arc::strong_count(&source), 1);
        assert_eq!(later, Written::from(json!(["seen"])));
        assert_eq!(Written::later(|| None).text(), "null");
    }

    #[test]
    fn it_is_json_wherever_it_stands() {
        let written = Written::from(json!({ "b": [1, "é\n"] }));
        let around = serde_json::to_string(&json!({ "view": written })).unwrap();
        assert_eq!(around, r#"{"view":{"b":[1,"é\n"]}}"#);
        let back: Written = serde_json::from_str(r#"{"b": [1, "é\n"]}"#).unwrap();
        assert_eq!(back.value(), written.value());
    }
}
