//! The one place where JSON Schemas are compiled, and where their verdicts are put into words.
//!
//! Nothing is fetched, formats count, and patterns run on an engine whose time is linear in the
//! text.
//!
//! ```
//! use haft_core::validator;
//! use serde_json::json;
//!
//! let parameters = validator::compile(&json!({
//!     "type": "object",
//!     "properties": {"top_k": {"type": "integer", "maximum": 10}},
//! }))
//! .unwrap();
//! let errors = validator::errors(&parameters, &json!({"top_k": 12}));
//! assert_eq!(errors, [("/top_k".to_owned(), "`top_k` must be at most 10".to_owned())]);
//! ```

#[cfg(test)]
mod tests;
mod words;
mod work;

use std::ops::Deref;

use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;

use work::Cost;
pub use work::expanded;

/// The formats that are known; any other is refused.
pub const FORMATS: &[&str] = &[
    "attachment",
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// What one compiled pattern may take: `\p{L}{1,200}` fits, `(a{1000}){1000}` does not.
const PATTERN_BYTES: usize = 4 << 20;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    /// What the names in it are, for suggestions.
    schema: Value,
    /// Of each value that is checked.
    cost: Cost,
}

impl Validator {
    /// Why a value is not checked at all: it has so many parts, and so many schemas may be tried on
    /// each, that checking could take too long. Costs nothing where the schema has few branches.
    #[must_use]
    pub fn too_much(&self, value: &Value) -> Option<String> {
        // No more values come in one call.
        const MOST_VALUES: u64 = 100_000;
        if self.cost.steps <= work::MOST_STEPS / MOST_VALUES {
            return None;
        }
        let (values, steps) = (work::values(value), self.cost.steps);
        (values.saturating_mul(steps) > work::MOST_STEPS).then(|| {
            let most = work::MOST_STEPS / steps;
            format!(
                "there are {values} values, and the schema has so many branches that at most {most} \
                 are checked; send fewer"
            )
        })
    }

    /// What is wrong with a value; only the first of it where there could be very much.
    fn faults<'v>(
        &'v self,
        value: &'v Value,
    ) -> Box<dyn Iterator<Item = ValidationError<'v>> + 'v> {
        match work::values(value).saturating_mul(self.cost.faults) > work::MOST_FAULTS {
            true => Box::new(self.compiled.validate(value).err().into_iter()),
            false => Box::new(self.compiled.iter_errors(value)),
        }
    }
}

impl Deref for Validator {
    type Target = jsonschema::Validator;

    fn deref(&self) -> &Self::Target {
        &self.compiled
    }
}

/// Compiles a schema of draft 2020-12.
///
/// # Errors
///
/// What is wrong with the schema.
pub fn compile(schema: &Value) -> Result<Validator, String> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    let compiled = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .with_format("attachment", |text: &str| !text.is_empty())
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| words::about_schema(&error))?;
    Ok(Validator { compiled, schema: schema.clone(), cost: Cost::of(schema) })
}

/// Everything that keeps `value` from being valid: a JSON pointer into it, and why. Of a long value
/// of which very much could be wrong, the first thing alone.
#[must_use]
pub fn errors(validator: &Validator, value: &Value) -> Vec<(String, String)> {
    validator
        .faults(value)
        .flat_map(|error| words::about_value(&error, &validator.schema))
        .collect()
}

/// One thing that keeps a value from being valid, for people and for programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// A JSON pointer into the value.
    pub path: String,
    /// The keyword of JSON Schema that complains.
    pub keyword: String,
    /// In words.
    pub message: String,
    /// What that keyword says, or the names that are known where one is not.
    pub expected: Option<Value>,
}

impl Problem {
    /// The keyword as a stable word: `max_length`, `unknown_parameter`.
    #[must_use]
    pub fn code(&self) -> String {
        if matches!(self.keyword.as_str(), "additionalProperties" | "unevaluatedProperties") {
            return "unknown_parameter".to_owned();
        }
        let mut code = String::with_capacity(self.keyword.len() + 2);
        for letter in self.keyword.chars() {
            if letter.is_ascii_uppercase() {
                code.push('_');
            }
            code.push(letter.to_ascii_lowercase());
        }
        code
    }
}

/// As [`errors`], with what was expected, and no more than `most` of them: a long list can be wrong
/// in every element.
#[must_use]
pub fn problems(validator: &Validator, value: &Value, most: usize) -> Vec<Problem> {
    let each = validator.faults(value).flat_map(|error| {
        let keyword = error.kind().keyword().to_owned();
        let expected = words::expectation(&error, &validator.schema);
        words::about_value(&error, &validator.schema).into_iter().map(move |(path, message)| {
            Problem { path, keyword: keyword.clone(), message, expected: expected.clone() }
        })
    });
    each.take(most).collect()
}
