//! The walk that mends what a schema refuses, and touches nothing else.

use haft_core::contract::{Arguments, Leniency};
use haft_core::outcome::Warning;
use serde_json::{Number, Value};

use super::invalid::Problem;
use super::path::Path;
use super::plan::{Id, Node, Plan, Target, Types};
use super::repair::{self, shown};
use super::{MAX_DEPTH, MAX_TOLD, parse, spelling, time};

/// How many bytes are read in all to find out how numbers were written: each search starts at the
/// front, and a long list of them must not take quadratic time.
const MOST_SEARCHED: usize = 8 << 20;

/// Mends the arguments as far as the contract's rules go; strict tools only have whole floats
/// respelled, which are the same numbers. Returns what can be neither mended nor kept.
pub(super) fn mend(
    plan: &Plan,
    rules: Arguments,
    value: &mut Value,
    text: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Vec<Problem> {
    let mut mender =
        Mender { plan, rules, warnings, omitted: 0, problems: Vec::new(), left: MOST_SEARCHED };
    let source = text.map(|text| Source { text, depth: 0 });
    mender.mend(0, value, Place { path: &Path::Root, source, single: Single::Refuse });
    mender.finish()
}

/// A text, and how deep in the arguments its root stands.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    depth: usize,
}

/// Whether one value may become a list of one. Not inside of a list that came as one: of `[1, 2]`
/// for a list of lists nobody knows whether `[[1, 2]]` or `[[1], [2]]` is meant.
#[derive(Clone, Copy, PartialEq)]
enum Single {
    Wrap,
    Refuse,
}

#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a Path<'a>,
    source: Option<Source<'a>>,
    single: Single,
}

struct Mender<'a> {
    plan: &'a Plan,
    rules: Arguments,
    warnings: &'a mut Vec<Warning>,
    omitted: usize,
    problems: Vec<Problem>,
    left: usize,
}

impl Mender<'_> {
    fn mend(&mut self, id: Id, value: &mut Value, place: Place<'_>) {
        let plan = self.plan;
        let Some(node) = plan.node(id) else { return };
        if is_fine(node, value) {
            self.respell(node, value, place);
            return self.descend(node, value, place);
        }
        if self.rules.mode == Leniency::Strict {
            return self.descend(node, value, place);
        }
        match node.target {
            Some(Target::Object | Target::List)
                if value.is_string() && self.unfold(node, value, place) => {}
            Some(Target::List) if self.wrap(node, value, place) => {}
            Some(_) if self.scalar(node, value, place) => {}
            Some(_) | None => self.descend(node, value, place),
        }
    }

    /// Goes into members and elements.
    fn descend(&mut self, node: &Node, value: &mut Value, place: Place<'_>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map.iter_mut() {
                    if let Some(id) = node.member(name) {
                        let path = &Path::Name(place.path, name);
                        self.mend(id, value, Place { path, single: Single::Wrap, ..place });
                    }
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter_mut().enumerate() {
                    if let Some(id) = node.element(index) {
                        let path = &Path::Index(place.path, index);
                        self.mend(id, value, Place { path, single: Single::Refuse, ..place });
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// `42.0` is an integer by the schema and none to a typed handler: it is written as `42`.
    fn respell(&mut self, node: &Node, value: &mut Value, place: Place<'_>) {
        let Value::Number(number) = &*value else { return };
        let integer = node.types.holds(Types::INTEGER) && !node.types.holds(Types::NUMBER);
        if !integer || !number.is_f64() {
            return;
        }
        match repair::whole(number) {
            Some(whole) => self.replace(value, whole.into(), "integer_spelling", place),
            None if self.problems.len() < MAX_TOLD => {
                let path = place.path.pointer();
                let message = "must be an integer below 2^53; larger ones would be rounded";
                self.problems.push(Problem::new(path, "integer_rounded", message));
            }
            None => {}
        }
    }

    fn scalar(&mut self, node: &Node, value: &mut Value, place: Place<'_>) -> bool {
        let fraction = self.rules.fraction;
        let left = &mut self.left;
        let written = |number: &Number| written(number, place, left);
        let Some(repaired) = repair::scalar(node, value, fraction, written) else { return false };
        self.replace(value, repaired.after, repaired.code, place);
        true
    }

    /// A string that holds the object or the list.
    fn unfold(&mut self, node: &Node, value: &mut Value, place: Place<'_>) -> bool {
        let Value::String(text) = &*value else { return false };
        let code = match text.trim_ascii_start().as_bytes().first() {
            Some(b'{') => "string_to_object",
            Some(b'[') => "string_to_array",
            Some(_) | None => return false,
        };
        let depth = place.path.steps().len();
        let Ok(held) = parse::strictly(text, MAX_DEPTH.saturating_sub(depth)) else { return false };
        if !node.types.holds(Types::of(&held)) {
            return false;
        }
        let text = text.clone();
        self.replace(value, held, code, place);
        let source = Some(Source { text: &text, depth });
        self.descend(node, value, Place { source, ..place });
        true
    }

    /// One value where a list is due.
    fn wrap(&mut self, node: &Node, value: &mut Value, place: Place<'_>) -> bool {
        let Some(id) = node.element(0).filter(|_| place.single == Single::Wrap) else {
            return false;
        };
        let plan = self.plan;
        let fits = plan.node(id).is_some_and(|item| self.is_one(item, value, place));
        if fits {
            let before = value.clone();
            // Mended where it stands, so that paths lead to what came.
            self.mend(id, value, Place { single: Single::Refuse, ..place });
            let list = Value::Array(vec![value.take()]);
            *value = before;
            self.replace(value, list, "value_to_list", place);
        }
        fits
    }

    /// Whether a value can only be meant as one element. A text with a comma may be several, and
    /// one that looks like JSON and is none may be anything.
    fn is_one(&mut self, item: &Node, value: &Value, place: Place<'_>) -> bool {
        let plain = match value {
            Value::Null | Value::Array(_) => false,
            Value::String(text) => {
                let start = text.trim_start().as_bytes().first().copied();
                !matches!(start, None | Some(b'[' | b'{' | b'"'))
                    && !text.contains([',', ';', '\n'])
            }
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
        };
        if !plain || item.types.is_all() {
            return false;
        }
        let fraction = self.rules.fraction;
        let left = &mut self.left;
        is_fine(item, value)
            || repair::scalar(item, value, fraction, |n| written(n, place, left)).is_some()
    }

    fn replace(&mut self, value: &mut Value, after: Value, code: &'static str, place: Place<'_>) {
        let before = std::mem::replace(value, after);
        if self.warnings.len() >= MAX_TOLD {
            self.omitted += 1;
            return;
        }
        self.warnings.push(Warning {
            path: place.path.pointer(),
            code: code.to_owned(),
            message: repair::told(code).to_owned(),
            before: Some(shown(&before)),
            after: Some(shown(value)),
        });
    }

    fn finish(self) -> Vec<Problem> {
        if self.omitted > 0 {
            self.warnings.push(Warning {
                path: String::new(),
                code: "more_repairs".to_owned(),
                message: format!("{} further values were repaired", self.omitted),
                before: None,
                after: None,
            });
        }
        self.problems
    }
}

/// Whether nothing that is known here speaks against a value.
fn is_fine(node: &Node, value: &Value) -> bool {
    let formatted = match (node.target, value) {
        (Some(Target::Timestamp), Value::String(_)) => time::is_valid(value),
        (Some(Target::Uri), Value::String(text)) => text.trim() == text,
        _ => true,
    };
    formatted && node.accepts(value)
}

/// The text of a number as it came. Integers have one spelling; of a float, only the source tells.
fn written(number: &Number, place: Place<'_>, left: &mut usize) -> Option<String> {
    let Some(source) = place.source.filter(|_| number.is_f64()) else {
        return Some(number.to_string());
    };
    *left = left.checked_sub(source.text.len())?;
    let steps = place.path.steps();
    spelling::find(source.text, steps.get(source.depth..)?).map(str::to_owned)
}
