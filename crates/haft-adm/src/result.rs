//! What came of a call.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::structure::{self, Structure, doors};
use crate::words::excerpt;
use crate::{ErrorObject, FunctionCall, FunctionName, rule};

/// The answer to a call: content or an error, never both and never neither.
///
/// ```
/// use haft_adm::{ErrorObject, ErrorType, FunctionName, Outcome, ToolResult};
/// use serde_json::json;
///
/// let name = FunctionName::new("get_weather")?;
/// let result = ToolResult::success(name.clone(), json!({"celsius": 18.5}))?;
/// assert_eq!(
///     serde_json::to_value(&result).unwrap(),
///     json!({"name": "get_weather", "status": "SUCCESS", "content": {"celsius": 18.5}})
/// );
///
/// let error = ErrorObject::new("there is no such city")?.with_type(ErrorType::ResourceNotFound);
/// match ToolResult::error(name, error).outcome() {
///     Outcome::Success(content) => println!("{content}"),
///     Outcome::Error(error) => assert_eq!(error.message(), "there is no such city"),
/// }
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    name: FunctionName,
    outcome: Outcome,
}

/// The two ways in which a call can end.
///
/// ```
/// use haft_adm::{Outcome, ToolResult};
///
/// let text = r#"{"name": "delete_note", "status": "SUCCESS", "content": null}"#;
/// let result = ToolResult::parse(text)?;
/// assert_eq!(result.outcome(), &Outcome::Success(serde_json::Value::Null));
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It worked, and this is what it returned: JSON of any kind, `null` included.
    Success(Value),
    /// It failed, and this is why.
    Error(ErrorObject),
}

doors!(ToolResult);

impl ToolResult {
    /// The function worked.
    ///
    /// # Errors
    ///
    /// If the content is nested so deeply that no reader would take the result.
    pub fn success(name: FunctionName, content: Value) -> Result<Self, Errors> {
        let mut result = Map::new();
        result.insert("name".to_owned(), name.0.into());
        result.insert("status".to_owned(), "SUCCESS".into());
        result.insert("content".to_owned(), content);
        structure::from_value(result.into())
    }

    /// The function failed.
    pub fn error(name: FunctionName, error: ErrorObject) -> Self {
        ToolResult { name, outcome: Outcome::Error(error) }
    }

    /// The function that was called.
    pub fn name(&self) -> &FunctionName {
        &self.name
    }

    /// How the call ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// How the call ended, to go on with it.
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }

    /// Checks that this result names the function that was called.
    ///
    /// # Errors
    ///
    /// If it names another one.
    pub fn check_answers(&self, call: &FunctionCall) -> Result<(), Errors> {
        let mut report = Report::default();
        report.about(Some(call.name().as_str()));
        if self.name != *call.name() {
            let (called, answered) = (call.name().to_string(), self.name.to_string());
            report.add(&Path::Root.key("name"), rule::Outcome::OtherFunction { called, answered });
        }
        report.check()
    }
}

impl Structure for ToolResult {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let mut fields = Fields::open(value, path, "a tool result", report)?;
        report.about(fields.peek_text("name"));
        let name = fields
            .required("name", report)
            .and_then(|name| FunctionName::read(name, &path.key("name"), report));
        let status = fields
            .required("status", report)
            .and_then(|status| fields::text(status, &path.key("status"), report));
        let (content, error) = (fields.take("content"), fields.take("error"));
        fields.finish(report);
        let outcome = match status?.as_str() {
            "SUCCESS" => success(content, error, path, report),
            "ERROR" => failure(content, error, path, report),
            found => {
                let found = excerpt(found);
                Err(report.add(&path.key("status"), rule::Outcome::StatusUnknown { found }))
            }
        };
        Ok(ToolResult { name: name?, outcome: outcome? })
    }

    fn function_at<'v>(value: &'v Value, _: &str) -> Option<&'v str> {
        value.get("name").and_then(Value::as_str)
    }
}

fn success(
    content: Option<Value>,
    error: Option<Value>,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Outcome, Reported> {
    if error.is_some() {
        report.add(&path.key("error"), rule::Outcome::ErrorOnSuccess);
    }
    let content = content.ok_or_else(|| report.add(path, rule::Outcome::ContentMissing))?;
    Ok(Outcome::Success(content))
}

fn failure(
    content: Option<Value>,
    error: Option<Value>,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Outcome, Reported> {
    if content.is_some() {
        report.add(&path.key("content"), rule::Outcome::ContentOnError);
    }
    let error = error.ok_or_else(|| report.add(path, rule::Outcome::ErrorMissing))?;
    ErrorObject::read(error, &path.key("error"), report).map(Outcome::Error)
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("ToolResult", 3)?;
        fields.serialize_field("name", &self.name)?;
        match &self.outcome {
            Outcome::Success(content) => {
                fields.serialize_field("status", "SUCCESS")?;
                fields.serialize_field("content", content)?;
            }
            Outcome::Error(error) => {
                fields.serialize_field("status", "ERROR")?;
                fields.serialize_field("error", error)?;
            }
        }
        fields.end()
    }
}
