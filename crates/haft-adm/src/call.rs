//! Calls to functions.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::FunctionName;
use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::structure::{self, Structure, doors};

/// A request to run a function with these arguments.
///
/// Whether the function exists and takes them is for [`Tool::check_call`](crate::Tool::check_call)
/// to say.
///
/// ```
/// use haft_adm::FunctionCall;
///
/// let call = FunctionCall::parse(r#"{"name": "get_weather", "args": {"days": 3}}"#)?;
/// assert_eq!(call.name().as_str(), "get_weather");
/// assert_eq!(call.args()["days"], 3);
///
/// assert!(FunctionCall::parse(r#"{"name": "get_weather"}"#).is_err());
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionCall {
    name: FunctionName,
    args: Map<String, Value>,
}

doors!(FunctionCall);

impl FunctionCall {
    /// Calls a function.
    ///
    /// # Errors
    ///
    /// If the arguments are nested so deeply that no reader would take the call.
    pub fn new(name: FunctionName, args: Map<String, Value>) -> Result<Self, Errors> {
        let mut call = Map::new();
        call.insert("name".to_owned(), name.0.into());
        call.insert("args".to_owned(), args.into());
        structure::from_value(call.into())
    }

    /// The function that is called.
    pub fn name(&self) -> &FunctionName {
        &self.name
    }

    /// What it is called with.
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// The name and the arguments, to go on with them.
    pub fn into_parts(self) -> (FunctionName, Map<String, Value>) {
        (self.name, self.args)
    }
}

impl Structure for FunctionCall {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let mut fields = Fields::open(value, path, "a function call", report)?;
        report.about(fields.peek_text("name"));
        let name = fields
            .required("name", report)
            .and_then(|name| FunctionName::read(name, &path.key("name"), report));
        let args = fields
            .required("args", report)
            .and_then(|args| fields::object(args, &path.key("args"), report));
        fields.finish(report);
        Ok(FunctionCall { name: name?, args: args? })
    }

    fn function_at<'v>(value: &'v Value, _: &str) -> Option<&'v str> {
        value.get("name").and_then(Value::as_str)
    }
}
