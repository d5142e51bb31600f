//! Paths as contracts write them: `filters.tags`, `results[].id`. The linter reads the same
//! grammar: names joined by dots, and `[]` after a name for every element of its list.

use std::borrow::Cow;

use serde_json::Value;

/// One step of such a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member of this name.
    Name(String),
    /// Every element.
    Each,
}

/// Reads a path.
pub(crate) fn parse(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let name = part.trim_end_matches("[]");
        steps.push(Step::Name(name.to_owned()));
        steps.extend((0..(part.len() - name.len()) / 2).map(|_| Step::Each));
    }
    steps
}

/// What a path leads to: one value, or the list of what it leads to in every element. Nothing where it
/// leads nowhere. A member whose own name has dots comes first.
pub(crate) fn find<'v>(path: &str, within: &'v Value) -> Option<Cow<'v, Value>> {
    match within.get(path) {
        Some(own) => Some(Cow::Borrowed(own)),
        None => follow(&parse(path), within),
    }
}

fn follow<'v>(steps: &[Step], value: &'v Value) -> Option<Cow<'v, Value>> {
    match steps {
        [] => Some(Cow::Borrowed(value)),
        [Step::Name(name), rest @ ..] => follow(rest, value.get(name)?),
        [Step::Each, rest @ ..] => {
            let inside = |one| follow(rest, one).unwrap_or_default().into_owned();
            Some(Cow::Owned(value.as_array()?.iter().map(inside).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_names_and_elements() {
        let name = |name: &str| Step::Name(name.to_owned());
        assert_eq!(parse("a.b"), [name("a"), name("b")]);
        assert_eq!(parse("a[][].b"), [name("a"), Step::Each, Step::Each, name("b")]);
    }

    #[test]
    fn a_path_leads_to_a_value_or_to_one_in_every_element() {
        let all = json!({
            "order": { "number": 7, "lines": [{ "sku": "a", "n": 1 }, { "sku": "b" }, 3] },
            "a.b": "own", "a": { "b": "inside" }, "rows": [[1, 2], [], 3],
        });
        #[track_caller]
        fn check(within: &Value, path: &str, expected: Option<Value>) {
            assert_eq!(find(path, within).map(Cow::into_owned), expected, "{path}");
        }
        check(&all, "order.number", Some(json!(7)));
        check(&all, "order.lines[].sku", Some(json!(["a", "b", null])));
        check(&all, "order.lines[].n", Some(json!([1, null, null])));
        check(&all, "rows[][]", Some(json!([[1, 2], [], null])));
        check(&all, "a.b", Some(json!("own")));
        check(&all, "order.sum", None);
        check(&all, "order[].sum", None);
        check(&all, "none.at.all", None);
    }
}
