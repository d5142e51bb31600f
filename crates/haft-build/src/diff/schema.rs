//! Two schemas, keyword by keyword.
//!
//! A schema is a conjunction: a value must satisfy every keyword. So if each keyword of the new
//! schema accepts at least what the old one accepted, the whole does. Each file below answers that
//! for the keywords that hang together; [`Side`] turns the answer into what it means for callers
//! or for readers. `oneOf`, `not` and their like can refuse more when a part accepts more, so
//! there only sameness is good enough.

mod array;
mod bounds;
mod combine;
mod notes;
mod object;
mod opaque;
mod pair;
mod reference;
mod side;
mod types;
mod unevaluated;
mod values;

use serde_json::Value;

use super::change::{Change, Impact};
pub(super) use pair::step;
use pair::{Pair, Spot};
use side::Shift;
pub(super) use side::Side;

/// A schema that accepts everything: what an absent one stands for.
static ANYTHING: Value = Value::Bool(true);

/// Compares the schemas of a tool's results, either of which may be missing.
pub(super) fn compare_results(old: Option<&Value>, new: Option<&Value>, out: &mut Vec<Change>) {
    match (old, new) {
        (None, None) => {}
        (Some(old), Some(new)) => compare(old, new, Side::Results, out),
        (None, Some(_)) => {
            out.push(Change::new(Impact::Compatible, "/output", "result is now described"));
        }
        (Some(_), None) => {
            out.push(Change::new(Impact::Breaking, "/output", "result is no longer described"));
        }
    }
}

/// Compares two schemas.
pub(super) fn compare(old: &Value, new: &Value, side: Side, out: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let mut walk = Walk {
        side,
        old_root: old,
        new_root: new,
        purpose: Purpose::Tell,
        open: Vec::new(),
        depth: 0,
        fuel: FUEL,
        cut_short: false,
        changes: Vec::new(),
    };
    let spot = |schema| Spot { schema, pointer: side.pointer().to_owned() };
    walk.compare(Pair { old: spot(old), new: spot(new), name: String::new() });
    out.append(&mut walk.changes);
}

/// So many pairs of schemas are looked at. References can make a small contract unfold without
/// end; real ones need some hundred.
const FUEL: usize = 20_000;

/// And so deep.
const MAX_DEPTH: usize = 64;

/// Why two schemas are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To tell the differences.
    Tell,
    /// To find out whether there are any.
    Same,
}

struct Walk<'a> {
    side: Side,
    old_root: &'a Value,
    new_root: &'a Value,
    purpose: Purpose,
    /// The pairs around the current one. A pair that comes up inside of itself adds nothing: what
    /// differs about it is being told further up.
    open: Vec<(&'a Value, &'a Value)>,
    depth: usize,
    fuel: usize,
    /// Whether it was told that not everything was looked at.
    cut_short: bool,
    changes: Vec<Change>,
}

impl<'a> Walk<'a> {
    fn compare(&mut self, pair: Pair<'a>) {
        if self.fuel == 0 || self.depth == MAX_DEPTH {
            return self.cut_short(&pair);
        }
        self.fuel -= 1;
        self.depth += 1;
        self.follow(&pair);
        self.depth -= 1;
    }

    /// Once is enough for a reader; a question of sameness needs its answer each time.
    fn cut_short(&mut self, pair: &Pair<'a>) {
        if self.purpose == Purpose::Same || !self.cut_short {
            self.tell(pair, "", Shift::Other, "too large to be compared in full");
        }
        self.cut_short |= self.purpose == Purpose::Tell;
    }

    fn follow(&mut self, written: &Pair<'a>) {
        let pair = self.followed(written);
        let (old, new) = (pair.old.schema, pair.new.schema);
        let met = |(o, n): &(&Value, &Value)| std::ptr::eq(*o, old) && std::ptr::eq(*n, new);
        if self.open.iter().any(met) {
            return self.notes(written, written);
        }
        self.notes(written, &pair);
        self.open.push((old, new));
        self.keywords(&pair);
        self.open.pop();
    }

    fn keywords(&mut self, pair: &Pair<'a>) {
        if self.never(pair) || self.left_over(pair) || self.dangling(pair) {
            return;
        }
        self.types(pair);
        self.values(pair);
        self.bounds(pair);
        self.object(pair);
        self.array(pair);
        self.combined(pair);
        self.opaque(pair);
    }

    /// Whether one side accepts nothing at all, or is no schema; then nothing else matters.
    fn never(&mut self, pair: &Pair<'a>) -> bool {
        let refuses = |schema: &Value| schema == &Value::Bool(false);
        let verb = self.side.verb();
        match (refuses(pair.old.schema), refuses(pair.new.schema)) {
            (true, true) => true,
            (true, false) => {
                self.tell(pair, "", Shift::Wider, &format!("now {verb} values; before, none"));
                true
            }
            (false, true) => {
                self.tell(pair, "", Shift::Narrower, &format!("no longer {verb} any value"));
                true
            }
            (false, false) => {
                let is_schema = |it: &Value| it.is_object() || it.is_boolean();
                let schemas = is_schema(pair.old.schema) && is_schema(pair.new.schema);
                if !schemas {
                    self.tell_opaque(pair, "");
                }
                !schemas
            }
        }
    }

    /// Whether two schemas accept the same values. If so, what differs in wording is told.
    ///
    /// The pairs around do not count: that they *accept no less* is what is being shown there,
    /// and here they would have to be the same.
    fn same(&mut self, pair: &Pair<'a>) -> bool {
        let told = std::mem::take(&mut self.changes);
        let purpose = std::mem::replace(&mut self.purpose, Purpose::Same);
        let open = match purpose {
            Purpose::Tell => Some(std::mem::take(&mut self.open)),
            Purpose::Same => None,
        };
        self.compare(pair.clone());
        let mut found = std::mem::replace(&mut self.changes, told);
        self.purpose = purpose;
        if let Some(open) = open {
            self.open = open;
        }
        let same = found.iter().all(|change| change.impact == Impact::Wording);
        if same {
            self.changes.append(&mut found);
        }
        same
    }

    /// Tells a change of one keyword, or of the schema as a whole where `keyword` is empty.
    fn tell(&mut self, pair: &Pair<'a>, keyword: &str, shift: Shift, what: &str) {
        self.push(pair, keyword, self.side.impact(shift), what);
    }

    fn tell_opaque(&mut self, pair: &Pair<'a>, keyword: &str) {
        let what = match keyword {
            "" => "changed and cannot be compared keyword by keyword".to_owned(),
            keyword => format!("`{keyword}` changed and cannot be compared keyword by keyword"),
        };
        self.tell(pair, keyword, Shift::Other, &what);
    }

    fn push(&mut self, pair: &Pair<'a>, keyword: &str, impact: Impact, what: &str) {
        let what = format!("{}: {what}", self.side.subject(&pair.name));
        let (before, after) = match keyword {
            "" => (Some(pair.old.schema), Some(pair.new.schema)),
            keyword => pair.keyword(keyword),
        };
        let change = Change::new(impact, pair.pointer(keyword), what);
        self.changes.push(change.optional_values(before.cloned(), after.cloned()));
    }
}
