//! How much a provider takes in all.

use serde_json::{Map, Value};

use super::{Step, Walk, stop};

impl Walk<'_> {
    pub(super) fn within_limits(&self, schema: &Map<String, Value>) -> Step<()> {
        let Some(limits) = self.profile.limits else { return Ok(()) };
        let mut size = Size::default();
        size.count_members(schema);
        let too_much = if size.properties > limits.properties {
            format!("it has {} properties, and {} may be said", size.properties, limits.properties)
        } else if size.characters > limits.characters {
            format!(
                "its names and values have {} characters, and {} may be said",
                size.characters, limits.characters
            )
        } else {
            return Ok(());
        };
        Err(stop(self.at, &too_much))
    }
}

/// What providers count.
#[derive(Default)]
struct Size {
    properties: usize,
    characters: usize,
}

impl Size {
    fn count(&mut self, schema: &Value) {
        match schema {
            Value::Object(map) => self.count_members(map),
            Value::Array(list) => list.iter().for_each(|schema| self.count(schema)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn count_members(&mut self, map: &Map<String, Value>) {
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("properties" | "$defs", Value::Object(named)) => {
                    if keyword == "properties" {
                        self.properties += named.len();
                    }
                    self.characters += named.keys().map(|name| name.chars().count()).sum::<usize>();
                    named.values().for_each(|schema| self.count(schema));
                }
                ("enum" | "const", values) => {
                    self.characters += values.to_string().chars().count();
                }
                ("items" | "anyOf", inner) => self.count(inner),
                _ => {}
            }
        }
    }
}
