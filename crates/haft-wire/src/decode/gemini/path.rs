//! Arguments that Vertex streams piece by piece, each with the path of its place.

use std::fmt::Write as _;

use super::wire::PartialArg;
use crate::decode::text::Pieces;
use crate::said::Broken;

/// How deep a path may lead.
const DEPTH: usize = 64;

/// The arguments as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Tree(Node);

#[derive(Debug, Default)]
enum Node {
    #[default]
    Nothing,
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    /// A string, and whether more of it is to come.
    Text(Pieces, bool),
    /// Any other value's text.
    Value(String),
}

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    At(usize),
}

impl Tree {
    /// Puts a piece into its place.
    pub(super) fn add(&mut self, piece: &PartialArg<'_>) -> Result<(), Broken> {
        let steps = steps(piece.path.as_deref().unwrap_or_default());
        let place = self.0.place(&steps.ok_or(Broken::Contradiction)?)?;
        let more = piece.more == Some(true);
        match (&piece.text, piece.number, piece.boolean) {
            (Some(text), _, _) => place.text(&text.0, more),
            (None, Some(number), _) => place.value(number.get().to_owned()),
            (None, None, Some(boolean)) => place.value(boolean.to_string()),
            // The null value is the only one left, and its key's value says nothing.
            (None, None, None) => place.value("null".to_owned()),
        }
    }

    /// The arguments' JSON, and what is wrong with it.
    pub(super) fn into_text(self) -> (String, Option<Broken>) {
        let (mut text, mut open) = (String::new(), false);
        if !matches!(self.0, Node::Nothing) {
            self.0.write(&mut text, &mut open);
        }
        (text, open.then_some(Broken::Cut))
    }
}

impl Node {
    fn place(&mut self, steps: &[Step]) -> Result<&mut Self, Broken> {
        let Some((step, rest)) = steps.split_first() else { return Ok(self) };
        match (step, &mut *self) {
            (Step::Key(_), Self::Nothing) => *self = Self::Object(Vec::new()),
            (Step::At(_), Self::Nothing) => *self = Self::Array(Vec::new()),
            (_, Self::Object(_) | Self::Array(_) | Self::Text(..) | Self::Value(_)) => {}
        }
        match (step, self) {
            (Step::Key(key), Self::Object(fields)) => {
                let at = fields.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                    fields.push((key.clone(), Self::Nothing));
                    fields.len() - 1
                });
                fields.get_mut(at).ok_or(Broken::Contradiction)?.1.place(rest)
            }
            (Step::At(at), Self::Array(items)) => {
                // Elements come in order; a gap would have to be filled with something made up.
                if *at == items.len() {
                    items.push(Self::Nothing);
                }
                items.get_mut(*at).ok_or(Broken::Contradiction)?.place(rest)
            }
            (Step::Key(_) | Step::At(_), _) => Err(Broken::Contradiction),
        }
    }

    fn text(&mut self, piece: &[u8], more: bool) -> Result<(), Broken> {
        match self {
            Self::Nothing => {
                let mut text = Pieces::default();
                text.push(piece);
                *self = Self::Text(text, more);
                Ok(())
            }
            Self::Text(text, open) if *open => {
                text.push(piece);
                *open = more;
                Ok(())
            }
            Self::Text(..) | Self::Object(_) | Self::Array(_) | Self::Value(_) => {
                Err(Broken::Contradiction)
            }
        }
    }

    fn value(&mut self, text: String) -> Result<(), Broken> {
        match self {
            Self::Nothing => {
                *self = Self::Value(text);
                Ok(())
            }
            // The last piece of a string may be nothing but its end.
            Self::Text(_, open) if *open && text == "null" => {
                *open = false;
                Ok(())
            }
            Self::Text(..) | Self::Object(_) | Self::Array(_) | Self::Value(_) => {
                Err(Broken::Contradiction)
            }
        }
    }

    fn write(self, to: &mut String, open: &mut bool) {
        match self {
            Self::Nothing => to.push_str("null"),
            Self::Value(text) => to.push_str(&text),
            Self::Text(text, more) => {
                *open |= more;
                let _ = write!(to, "{}", serde_json::Value::String(text.into_text()));
            }
            Self::Array(items) => {
                to.push('[');
                for (at, item) in items.into_iter().enumerate() {
                    to.push_str(if at > 0 { "," } else { "" });
                    item.write(to, open);
                }
                to.push(']');
            }
            Self::Object(fields) => {
                to.push('{');
                for (at, (key, value)) in fields.into_iter().enumerate() {
                    to.push_str(if at > 0 { "," } else { "" });
                    let _ = write!(to, "{}:", serde_json::Value::String(key));
                    value.write(to, open);
                }
                to.push('}');
            }
        }
    }
}

/// `$.a.b[0]['c d']` → its steps.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = step(rest)?;
        steps.push(step);
        rest = after;
        if steps.len() > DEPTH {
            return None;
        }
    }
    Some(steps)
}

fn step(rest: &str) -> Option<(Step, &str)> {
    if let Some(inside) = rest.strip_prefix('[') {
        for quote in ['\'', '"'] {
            if let Some(quoted) = inside.strip_prefix(quote) {
                let end = quoted.find(quote)?;
                let (key, after) = (quoted.get(..end)?, quoted.get(end + 1..)?);
                return Some((Step::Key(key.to_owned()), after.strip_prefix(']')?));
            }
        }
        let (number, after) = inside.split_once(']')?;
        return Some((Step::At(number.parse().ok()?), after));
    }
    let key = rest.strip_prefix('.').unwrap_or(rest);
    let end = key.find(['.', '[']).unwrap_or(key.len());
    let (key, after) = key.split_at(end);
    (!key.is_empty()).then(|| (Step::Key(key.to_owned()), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &str) {
        let mut tree = Tree::default();
        for piece in pieces {
            if let Err(why) = tree.add(&serde_json::from_str(piece).unwrap()) {
                assert_eq!(format!("{why:?}"), expected);
                return;
            }
        }
        let (text, flaw) = tree.into_text();
        assert_eq!(flaw.map_or(text, |flaw| format!("{flaw:?}")), expected);
    }

    #[test]
    fn pieces_are_put_into_their_places() {
        check(&[], "");
        check(&[r#"{"jsonPath":"$.a","numberValue":1.50}"#], r#"{"a":1.50}"#);
        check(
            &[
                r#"{"jsonPath":"$.a[0].b","stringValue":"x","willContinue":true}"#,
                r#"{"json_path":"$.a[0].b","string_value":"y\""}"#,
                r#"{"jsonPath":"$['a'][1]","boolValue":false}"#,
                r#"{"jsonPath":"$.c","nullValue":"NULL_VALUE"}"#,
            ],
            r#"{"a":[{"b":"xy\""},false],"c":null}"#,
        );
    }

    #[test]
    fn what_is_unfinished_or_contradictory_is_said() {
        check(&[r#"{"jsonPath":"$.a","stringValue":"x","willContinue":true}"#], "Cut");
        check(&[r#"{"jsonPath":"$.a[4000000000]","boolValue":true}"#], "Contradiction");
        check(&[r#"{"jsonPath":"$.a["}"#], "Contradiction");
        let twice = r#"{"jsonPath":"$.a","numberValue":1}"#;
        check(&[twice, twice], "Contradiction");
        check(&[twice, r#"{"jsonPath":"$.a.b","numberValue":1}"#], "Contradiction");
    }
}
