//! Schemas: what a value may look like.

mod build;
pub(crate) mod check;
mod properties;
mod read;
mod types;
mod write;

use serde_json::Value;

pub use build::ObjectBuilder;
pub(crate) use properties::Properties;
pub use types::SchemaType;

use crate::path::Path;
use crate::report::{Errors, Report};
use crate::structure::doors;

/// The shape of a value, made of six types that nest.
///
/// Only schemas that make sense can be built or read: an ARRAY says what it holds, what is
/// required is declared, an enum lists something and lists it once. Two schemas are equal if
/// they say the same; the order of properties is kept but does not count.
///
/// ```
/// use haft_adm::{Schema, SchemaType};
///
/// let schema = Schema::object()
///     .required("to", Schema::array(Schema::string())?.describe("Addresses."))
///     .optional("priority", Schema::choice(["low", "high"])?)
///     .build()?;
/// assert_eq!(schema.schema_type(), SchemaType::Object);
/// assert_eq!(Schema::parse(&serde_json::to_string(&schema).unwrap())?, schema);
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    description: Option<String>,
    form: Form,
    /// Schemas from here to the innermost one; kept so that no schema ever grows too deep for
    /// the stack.
    levels: usize,
}

/// What each type has that the others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    String { allowed: Option<Vec<String>> },
    Number,
    Integer,
    Boolean,
    Array { items: Box<Schema> },
    Object { properties: Option<Properties>, required: Option<Vec<String>> },
}

doors!(Schema);

impl Schema {
    /// Which of the six types.
    pub fn schema_type(&self) -> SchemaType {
        match &self.form {
            Form::String { .. } => SchemaType::String,
            Form::Number => SchemaType::Number,
            Form::Integer => SchemaType::Integer,
            Form::Boolean => SchemaType::Boolean,
            Form::Array { .. } => SchemaType::Array,
            Form::Object { .. } => SchemaType::Object,
        }
    }

    /// What the value is for.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The strings that a STRING is restricted to, if it is.
    pub fn allowed(&self) -> Option<&[String]> {
        let Form::String { allowed } = &self.form else { return None };
        allowed.as_deref()
    }

    /// What an ARRAY holds.
    pub fn items(&self) -> Option<&Schema> {
        let Form::Array { items } = &self.form else { return None };
        Some(items)
    }

    /// The declared properties of an OBJECT, in the order in which they were written.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &Schema)> {
        self.declared().iter()
    }

    /// The declared property of this name.
    pub fn property(&self, name: &str) -> Option<&Schema> {
        self.declared().get(name)
    }

    /// The properties that an OBJECT must have.
    pub fn required(&self) -> &[String] {
        let Form::Object { required: Some(required), .. } = &self.form else { return &[] };
        required
    }

    /// Checks a value.
    ///
    /// An OBJECT that declares properties takes no others; one that declares none takes any.
    ///
    /// ```
    /// use haft_adm::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::array(Schema::integer())?;
    /// assert!(schema.check(&json!([1, -2, 3.0])).is_ok());
    /// let errors = schema.check(&json!([1, 2.5, "3"])).unwrap_err();
    /// let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
    /// assert_eq!(pointers, ["/1", "/2"]);
    /// # Ok::<(), haft_adm::Errors>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Everything about the value that does not fit.
    pub fn check(&self, value: &Value) -> Result<(), Errors> {
        let mut report = Report::default();
        check::value(self, value, &Path::Root, &mut report);
        report.check()
    }

    fn declared(&self) -> &Properties {
        static NONE: Properties = Properties::NONE;
        let Form::Object { properties: Some(properties), .. } = &self.form else { return &NONE };
        properties
    }
}
