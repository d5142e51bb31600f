//! Bounds on numbers, lengths and counts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::pair::Pair;
use super::types::is_whole;
use super::{Shift, Walk};
use crate::diff::number;

/// Which end of a range a keyword bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Low,
    High,
}

const COUNTS: [(&str, End); 6] = [
    ("minLength", End::Low),
    ("maxLength", End::High),
    ("minItems", End::Low),
    ("maxItems", End::High),
    ("minProperties", End::Low),
    ("maxProperties", End::High),
];

/// The end of a range.
#[derive(Clone, Debug)]
struct Edge {
    at: Number,
    /// Whether the end itself is left out.
    exclusive: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn bounds(&mut self, pair: &Pair<'a>) {
        self.range(pair, End::Low, ["minimum", "exclusiveMinimum"]);
        self.range(pair, End::High, ["maximum", "exclusiveMaximum"]);
        for (keyword, end) in COUNTS {
            let edge = |schema: &Value| count(schema, keyword, end);
            self.edge(pair, keyword, end, edge(pair.old.schema), edge(pair.new.schema));
        }
        self.multiple(pair);
        self.unique(pair);
    }

    fn range(&mut self, pair: &Pair<'a>, end: End, keywords: [&'static str; 2]) {
        let [inclusive, exclusive] = keywords;
        let edge = |schema: &Value| strictest(schema, end, inclusive, exclusive);
        let (old, new) = (edge(pair.old.schema), edge(pair.new.schema));
        // The place is the keyword that now sets the bound, or did.
        let is_exclusive = new.as_ref().or(old.as_ref()).is_some_and(|edge| edge.exclusive);
        let keyword = if is_exclusive { exclusive } else { inclusive };
        self.edge(pair, keyword, end, old, new);
    }

    fn edge(
        &mut self,
        pair: &Pair<'a>,
        keyword: &str,
        end: End,
        old: Option<Edge>,
        new: Option<Edge>,
    ) {
        let (shift, what) = match (old, new) {
            (None, None) => return,
            (None, Some(new)) => (Shift::Narrower, format!("{keyword} {} added", new.at)),
            (Some(old), None) => (Shift::Wider, format!("{keyword} {} removed", old.at)),
            (Some(old), Some(new)) => {
                let shift = match strictness(&new, &old, end) {
                    Ordering::Equal => return,
                    Ordering::Greater => Shift::Narrower,
                    Ordering::Less => Shift::Wider,
                };
                let how = match number::order(&new.at, &old.at) {
                    Ordering::Greater => "raised",
                    Ordering::Less => "lowered",
                    Ordering::Equal => "moved",
                };
                let what = format!("{keyword} {how} from {} to {}", old.said(), new.said());
                (shift, what)
            }
        };
        self.tell(pair, keyword, shift, &what);
    }

    fn multiple(&mut self, pair: &Pair<'a>) {
        let (shift, what) = match pair.keyword("multipleOf") {
            (None, None) => return,
            (None, Some(new)) => (Shift::Narrower, format!("multipleOf {new} added")),
            (Some(old), None) => (Shift::Wider, format!("multipleOf {old} removed")),
            (Some(old), Some(new)) if number::same(old, new) => return,
            (Some(old), Some(new)) => {
                let shift = match (divides(new, old), divides(old, new)) {
                    (true, _) => Shift::Wider,
                    (_, true) => Shift::Narrower,
                    (false, false) => Shift::Other,
                };
                (shift, format!("multipleOf changed from {old} to {new}"))
            }
        };
        self.tell(pair, "multipleOf", shift, &what);
    }

    fn unique(&mut self, pair: &Pair<'a>) {
        let is_set = |value: Option<&Value>| value == Some(&Value::Bool(true));
        let (old, new) = pair.keyword("uniqueItems");
        match (is_set(old), is_set(new)) {
            (false, true) => {
                self.tell(pair, "uniqueItems", Shift::Narrower, "items must now be unique");
            }
            (true, false) => {
                self.tell(pair, "uniqueItems", Shift::Wider, "items need no longer be unique");
            }
            (true, true) | (false, false) => {}
        }
    }
}

impl Edge {
    fn said(&self) -> String {
        if self.exclusive { format!("{} (exclusive)", self.at) } else { self.at.to_string() }
    }
}

/// A length or count. Nothing is shorter than 0, so a lower bound of 0 is none.
fn count(schema: &Value, keyword: &str, end: End) -> Option<Edge> {
    let at = schema.get(keyword)?.as_number()?;
    let idle = end == End::Low && number::order(at, &Number::from(0)) == Ordering::Equal;
    (!idle).then(|| Edge { at: at.clone(), exclusive: false })
}

/// Both keywords may stand in one schema; the stricter one counts.
fn strictest(schema: &Value, end: End, inclusive: &str, exclusive: &str) -> Option<Edge> {
    let edge = |keyword, exclusive| {
        let at = schema.get(keyword)?.as_number()?.clone();
        Some(Edge { at, exclusive })
    };
    let strictest = match (edge(inclusive, false), edge(exclusive, true)) {
        (Some(a), Some(b)) if strictness(&a, &b, end) == Ordering::Less => b,
        (Some(a), _) => a,
        (None, Some(b)) => b,
        (None, None) => return None,
    };
    Some(if is_whole(schema) { whole(strictest, end) } else { strictest })
}

/// Among whole numbers, more than 4 is at least 5.
fn whole(edge: Edge, end: End) -> Edge {
    let next = number::whole(&edge.at).filter(|_| edge.exclusive).and_then(|at| {
        Number::from_i128(match end {
            End::Low => at + 1,
            End::High => at - 1,
        })
    });
    next.map_or(edge, |at| Edge { at, exclusive: false })
}

/// Which edge leaves less: `Greater` when `a` is the stricter one.
fn strictness(a: &Edge, b: &Edge, end: End) -> Ordering {
    let order = number::order(&a.at, &b.at);
    let towards = match end {
        End::Low => order,
        End::High => order.reverse(),
    };
    towards.then(a.exclusive.cmp(&b.exclusive))
}

/// Whether every multiple of `value` is one of `divisor`. Fractions are not decided: what a
/// validator makes of them depends on its arithmetic.
fn divides(divisor: &Value, value: &Value) -> bool {
    let whole = |value: &Value| value.as_number().and_then(number::whole);
    match (whole(divisor), whole(value)) {
        (Some(divisor), Some(value)) => divisor != 0 && value % divisor == 0,
        _ => false,
    }
}
