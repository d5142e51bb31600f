//! Properties in the order in which they were written, yet found by name at once.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Schema;

#[derive(Debug, Clone, Default)]
pub(crate) struct Properties {
    list: Vec<(String, Schema)>,
    /// A list alone would make checking a large object against a large schema quadratic.
    index: BTreeMap<String, usize>,
}

impl Properties {
    pub(crate) const NONE: Properties = Properties { list: Vec::new(), index: BTreeMap::new() };

    pub(crate) fn get(&self, name: &str) -> Option<&Schema> {
        let (_, schema) = self.list.get(*self.index.get(name)?)?;
        Some(schema)
    }

    /// Adds a property unless its name is taken; says whether it did.
    pub(crate) fn insert(&mut self, name: String, schema: Schema) -> bool {
        if self.index.contains_key(&name) {
            return false;
        }
        self.index.insert(name.clone(), self.list.len());
        self.list.push((name, schema));
        true
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Schema)> {
        self.list.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl PartialEq for Properties {
    fn eq(&self, other: &Self) -> bool {
        self.list.len() == other.list.len()
            && self.iter().all(|(name, schema)| other.get(name) == Some(schema))
    }
}

impl Eq for Properties {}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}
