//! The same place in two contracts.

use serde_json::Value;

use super::ANYTHING;

/// A schema and where it stands in its contract.
#[derive(Clone, Debug)]
pub(super) struct Spot<'a> {
    pub(super) schema: &'a Value,
    pub(super) pointer: String,
}

impl<'a> Spot<'a> {
    /// A schema below this one. What is absent accepts everything, and stands where it would.
    pub(super) fn below(&self, schema: Option<&'a Value>, path: &str) -> Self {
        let pointer = format!("{}{path}", self.pointer);
        Self { schema: schema.unwrap_or(&ANYTHING), pointer }
    }
}

/// Two schemas for the same value.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    pub(super) old: Spot<'a>,
    pub(super) new: Spot<'a>,
    /// What a user calls the value: `filter.tags[]`; empty for the whole.
    pub(super) name: String,
}

impl<'a> Pair<'a> {
    pub(super) fn keyword(&self, keyword: &str) -> (Option<&'a Value>, Option<&'a Value>) {
        (self.old.schema.get(keyword), self.new.schema.get(keyword))
    }

    pub(super) fn has_either(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| {
            let (old, new) = self.keyword(keyword);
            old.is_some() || new.is_some()
        })
    }

    /// Every keyword of either side, once: the new one's first.
    pub(super) fn keywords(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (old, new) = (self.old.schema.as_object(), self.new.schema.as_object());
        let gone = old.into_iter().flatten().map(|(keyword, _)| keyword.as_str());
        let gone = gone.filter(move |keyword| !new.is_some_and(|new| new.contains_key(*keyword)));
        new.into_iter().flatten().map(|(keyword, _)| keyword.as_str()).chain(gone)
    }

    /// Where a keyword stands: in the new contract, or in the old one if it is gone.
    pub(super) fn pointer(&self, keyword: &str) -> String {
        match (keyword, self.keyword(keyword)) {
            ("", _) => self.new.pointer.clone(),
            (keyword, (Some(_), None)) => format!("{}/{}", self.old.pointer, step(keyword)),
            (keyword, (_, Some(_))) => format!("{}/{}", self.new.pointer, step(keyword)),
            (_, (None, None)) => self.new.pointer.clone(),
        }
    }

    /// The schema of a keyword on both sides.
    pub(super) fn below(&self, keyword: &str, name: String) -> Self {
        let (old, new) = self.keyword(keyword);
        let path = format!("/{keyword}");
        Self { old: self.old.below(old, &path), new: self.new.below(new, &path), name }
    }

    /// The name of a member.
    pub(super) fn member(&self, name: &str) -> String {
        match self.name.as_str() {
            "" => name.to_owned(),
            around => format!("{around}.{name}"),
        }
    }
}

/// A name as one step of a JSON pointer.
pub(in crate::diff) fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
