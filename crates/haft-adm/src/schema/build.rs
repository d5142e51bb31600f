//! Building schemas in Rust.

use super::{Form, Properties, Schema};
use crate::SCHEMA_LEVELS;
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::rule;
use crate::words::excerpt;

impl Schema {
    /// Any text, the empty one included.
    pub fn string() -> Self {
        Schema::flat(Form::String { allowed: None })
    }

    /// Any finite number.
    pub fn number() -> Self {
        Schema::flat(Form::Number)
    }

    /// Any whole number of 64 bits.
    pub fn integer() -> Self {
        Schema::flat(Form::Integer)
    }

    /// `true` or `false`.
    pub fn boolean() -> Self {
        Schema::flat(Form::Boolean)
    }

    /// One of these strings, exactly.
    ///
    /// # Errors
    ///
    /// If there are none, or if one is listed twice.
    pub fn choice<S: Into<String>>(allowed: impl IntoIterator<Item = S>) -> Result<Self, Errors> {
        let mut report = Report::default();
        let allowed: Vec<String> = allowed.into_iter().map(Into::into).collect();
        super::read::check_enum(&allowed, &Path::Root.key("enum"), &mut report);
        report.finish(Ok(Schema::flat(Form::String { allowed: Some(allowed) })))
    }

    /// A list of values that all fit `items`.
    ///
    /// # Errors
    ///
    /// If that makes more than [`SCHEMA_LEVELS`] schemas inside one another.
    pub fn array(items: Schema) -> Result<Self, Errors> {
        let mut report = Report::default();
        let read = Schema::around(Form::Array { items: Box::new(items) }, &mut report);
        report.finish(read)
    }

    /// An object; say what is in it, then [`build`](ObjectBuilder::build).
    pub fn object() -> ObjectBuilder {
        ObjectBuilder::default()
    }

    /// The same schema with a description.
    pub fn describe(self, description: impl Into<String>) -> Self {
        Schema { description: Some(description.into()), ..self }
    }

    fn flat(form: Form) -> Self {
        Schema { description: None, form, levels: 1 }
    }

    /// One schema more around those that the form holds, if that many are allowed.
    pub(super) fn around(form: Form, report: &mut Report) -> Result<Self, Reported> {
        let levels = 1 + match &form {
            Form::String { .. } | Form::Number | Form::Integer | Form::Boolean => 0,
            Form::Array { items } => items.levels,
            Form::Object { properties, .. } => {
                let inner = properties.iter().flat_map(Properties::iter);
                inner.map(|(_, schema)| schema.levels).max().unwrap_or(0)
            }
        };
        match levels <= SCHEMA_LEVELS {
            true => Ok(Schema { description: None, form, levels }),
            false => Err(report.add(&Path::Root, rule::Schema::TooDeep)),
        }
    }
}

/// An OBJECT in the making.
///
/// ```
/// use haft_adm::Schema;
///
/// let anything = Schema::object().build()?;
/// assert!(anything.check(&serde_json::json!({"left": {"open": true}})).is_ok());
///
/// let twice = Schema::object().optional("id", Schema::string()).required("id", Schema::integer());
/// assert_eq!(
///     twice.build().unwrap_err().to_string(),
///     "at `/properties/id`: the property `id` is declared twice; keep one"
/// );
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ObjectBuilder {
    properties: Vec<(String, Schema)>,
    required: Vec<String>,
}

impl ObjectBuilder {
    /// A property that must be there.
    pub fn required(mut self, name: impl Into<String>, schema: Schema) -> Self {
        let name = name.into();
        self.required.push(name.clone());
        self.optional(name, schema)
    }

    /// A property that may be left out.
    pub fn optional(mut self, name: impl Into<String>, schema: Schema) -> Self {
        self.properties.push((name.into(), schema));
        self
    }

    /// The schema.
    ///
    /// # Errors
    ///
    /// If a property was declared twice, or if that makes more than [`SCHEMA_LEVELS`] schemas
    /// inside one another.
    pub fn build(self) -> Result<Schema, Errors> {
        let mut report = Report::default();
        let mut properties = Properties::default();
        for (name, schema) in self.properties {
            if !properties.insert(name.clone(), schema) {
                let rule = rule::Schema::PropertyTwice { name: excerpt(&name) };
                report.add(&Path::Root.key("properties").key(&name), rule);
            }
        }
        let required = (!self.required.is_empty()).then_some(self.required);
        let form = Form::Object { properties: Some(properties), required };
        let read = Schema::around(form, &mut report);
        report.finish(read)
    }
}
