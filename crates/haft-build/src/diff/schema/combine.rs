//! `anyOf` and `allOf`: what accepts more in a branch accepts more as a whole.

use serde_json::Value;

use super::pair::Pair;
use super::{Shift, Walk};

impl<'a> Walk<'a> {
    pub(super) fn combined(&mut self, pair: &Pair<'a>) {
        self.branches(pair, "anyOf", Shift::Wider);
        self.branches(pair, "allOf", Shift::Narrower);
    }

    /// `more` is what another branch does to the whole.
    fn branches(&mut self, pair: &Pair<'a>, keyword: &'static str, more: Shift) {
        let branches = |value: Option<&'a Value>| value.and_then(Value::as_array);
        let (old, new) = pair.keyword(keyword);
        let (old, new) = match (branches(old), branches(new)) {
            (None, None) => return,
            (None, Some(_)) => {
                return self.tell(pair, keyword, Shift::Narrower, &format!("`{keyword}` added"));
            }
            (Some(_), None) => {
                return self.tell(pair, keyword, Shift::Wider, &format!("`{keyword}` removed"));
            }
            (Some(old), Some(new)) => (old, new),
        };
        let (old, new) = self.unmatched(pair, keyword, old, new);
        let fewer = match more {
            Shift::Wider => Shift::Narrower,
            Shift::Narrower => Shift::Wider,
            Shift::Other => Shift::Other,
        };
        match (old.len(), new.len()) {
            (0, 0) => {}
            (0, n) => self.tell(pair, keyword, more, &format!("{} added to `{keyword}`", said(n))),
            (n, 0) => {
                self.tell(pair, keyword, fewer, &format!("{} removed from `{keyword}`", said(n)));
            }
            (olds, news) if olds == news => {
                for (old, new) in old.into_iter().zip(new) {
                    self.compare(branch(pair, keyword, old, new));
                }
            }
            _ => self.tell_opaque(pair, keyword),
        }
    }

    /// The branches of each side that have no counterpart, with their positions.
    fn unmatched(
        &mut self,
        pair: &Pair<'a>,
        keyword: &str,
        old: &'a [Value],
        new: &'a [Value],
    ) -> (Vec<Branch<'a>>, Vec<Branch<'a>>) {
        let mut left: Vec<Branch<'a>> = new.iter().enumerate().collect();
        let mut gone = Vec::new();
        for old in old.iter().enumerate() {
            let found = left.iter().position(|new| self.same(&branch(pair, keyword, old, *new)));
            match found {
                Some(at) => {
                    left.remove(at);
                }
                None => gone.push(old),
            }
        }
        (gone, left)
    }
}

type Branch<'a> = (usize, &'a Value);

fn branch<'a>(pair: &Pair<'a>, keyword: &str, old: Branch<'a>, new: Branch<'a>) -> Pair<'a> {
    Pair {
        old: pair.old.below(Some(old.1), &format!("/{keyword}/{}", old.0)),
        new: pair.new.below(Some(new.1), &format!("/{keyword}/{}", new.0)),
        name: format!("{}({keyword} {})", pair.name, new.0 + 1),
    }
}

fn said(branches: usize) -> String {
    if branches == 1 { "a branch".to_owned() } else { format!("{branches} branches") }
}
