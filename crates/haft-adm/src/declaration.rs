//! Functions as a tool declares them.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::rule::Declaration;
use crate::schema::{Schema, check};
use crate::structure::{Structure, doors};
use crate::{DESCRIPTION_CHARACTERS, FunctionName, SchemaType};

/// A function: its name, what it does, and what it takes.
///
/// The parameters are always an OBJECT, since arguments always come as one. A function that
/// takes nothing has an OBJECT without properties.
///
/// ```
/// use haft_adm::{FunctionDeclaration, Schema};
///
/// let city = Schema::string().describe("City and country.");
/// let function = FunctionDeclaration::new(
///     "get_weather",
///     "Says what the weather is like right now.",
///     Schema::object().required("city", city).build()?,
/// )?;
/// assert!(function.check_args(serde_json::json!({"city": "Oslo, Norway"}).as_object().unwrap()).is_ok());
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionDeclaration {
    name: FunctionName,
    description: String,
    parameters: Schema,
}

doors!(FunctionDeclaration);

impl FunctionDeclaration {
    /// Declares a function.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the name, the description and the root of the parameters.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Schema,
    ) -> Result<Self, Errors> {
        let mut report = Report::default();
        let (path, name) = (Path::Root, Value::String(name.into()));
        report.about(name.as_str());
        let name = FunctionName::read(name, &path.key("name"), &mut report);
        let description =
            check_description(description.into(), &path.key("description"), &mut report);
        let parameters = check_root(parameters, &path.key("parameters"), &mut report);
        report.finish(assemble(name, description, parameters))
    }

    /// The name by which the function is called.
    pub fn name(&self) -> &FunctionName {
        &self.name
    }

    /// What the function does; between 1 and 1,000 characters.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What the function takes; of type OBJECT.
    pub fn parameters(&self) -> &Schema {
        &self.parameters
    }

    /// Checks arguments against the parameters; what is not declared is refused.
    ///
    /// Pointers are into the arguments.
    ///
    /// # Errors
    ///
    /// Everything about the arguments that does not fit.
    pub fn check_args(&self, args: &Map<String, Value>) -> Result<(), Errors> {
        let mut report = Report::default();
        report.about(Some(self.name.as_str()));
        self.check_into(args, &Path::Root, &mut report);
        report.check()
    }

    pub(crate) fn check_into(
        &self,
        args: &Map<String, Value>,
        path: &Path<'_>,
        report: &mut Report,
    ) {
        check::arguments(&self.parameters, args, path, report);
    }
}

impl Structure for FunctionDeclaration {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let mut fields = Fields::open(value, path, "a function declaration", report)?;
        report.about(fields.peek_text("name"));
        let name = fields
            .required("name", report)
            .and_then(|name| FunctionName::read(name, &path.key("name"), report));
        let here = path.key("description");
        let description = fields
            .required("description", report)
            .and_then(|text| fields::text(text, &here, report))
            .and_then(|text| check_description(text, &here, report));
        let here = path.key("parameters");
        let parameters = fields
            .required("parameters", report)
            .and_then(|schema| Schema::read(schema, &here, report))
            .and_then(|schema| check_root(schema, &here, report));
        fields.finish(report);
        report.about(None);
        assemble(name, description, parameters)
    }

    fn function_at<'v>(value: &'v Value, _: &str) -> Option<&'v str> {
        value.get("name").and_then(Value::as_str)
    }
}

fn assemble(
    name: Result<FunctionName, Reported>,
    description: Result<String, Reported>,
    parameters: Result<Schema, Reported>,
) -> Result<FunctionDeclaration, Reported> {
    Ok(FunctionDeclaration { name: name?, description: description?, parameters: parameters? })
}

fn check_description(
    text: String,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<String, Reported> {
    match text.chars().count() {
        0 => Err(report.add(path, Declaration::DescriptionEmpty)),
        1..=DESCRIPTION_CHARACTERS => Ok(text),
        characters => Err(report.add(path, Declaration::DescriptionLong { characters })),
    }
}

fn check_root(schema: Schema, path: &Path<'_>, report: &mut Report) -> Result<Schema, Reported> {
    match schema.schema_type() {
        SchemaType::Object => Ok(schema),
        found @ (SchemaType::String
        | SchemaType::Number
        | SchemaType::Integer
        | SchemaType::Boolean
        | SchemaType::Array) => {
            Err(report.add(&path.key("type"), Declaration::ParametersNotObject { found }))
        }
    }
}
