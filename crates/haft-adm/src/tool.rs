//! Tools: functions under one roof.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::rule::{Argument, Declaration};
use crate::structure::{Structure, doors};
use crate::words;
use crate::{FunctionCall, FunctionDeclaration};

const DECLARATIONS: &str = "function_declarations";

/// One or more functions, each under a name of its own.
///
/// ```
/// use haft_adm::{FunctionCall, Tool};
///
/// let tool = Tool::parse(r#"{
///     "function_declarations": [{
///         "name": "set_lamp",
///         "description": "Turns a lamp on or off.",
///         "parameters": {
///             "type": "OBJECT",
///             "properties": {"lamp": {"type": "STRING"}, "on": {"type": "BOOLEAN"}},
///             "required": ["lamp", "on"]
///         }
///     }]
/// }"#)?;
///
/// let call = FunctionCall::parse(r#"{"name": "set_lamp", "args": {"on": "yes"}}"#)?;
/// let errors = tool.check_call(&call).unwrap_err();
/// assert_eq!(
///     errors.to_string(),
///     "function `set_lamp`, at `/args`: `lamp` is required; add it\n\
///      function `set_lamp`, at `/args/on`: expected BOOLEAN, found a string"
/// );
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    function_declarations: Vec<FunctionDeclaration>,
}

doors!(Tool);

impl Tool {
    /// Puts functions together.
    ///
    /// # Errors
    ///
    /// If there are none, or if two share a name.
    pub fn new(functions: impl IntoIterator<Item = FunctionDeclaration>) -> Result<Self, Errors> {
        let mut report = Report::default();
        let path = Path::Root;
        let tool = Tool { function_declarations: functions.into_iter().collect() };
        if tool.function_declarations.is_empty() {
            report.add(&path.key(DECLARATIONS), Declaration::NoFunctions);
        }
        let names =
            tool.function_declarations.iter().map(|function| Some(function.name().as_str()));
        check_unique(names, &path.key(DECLARATIONS), &mut report);
        report.finish(Ok(tool))
    }

    /// The functions, in the order in which they were declared; at least one.
    pub fn functions(&self) -> &[FunctionDeclaration] {
        &self.function_declarations
    }

    /// The function of exactly this name.
    pub fn function(&self, name: &str) -> Option<&FunctionDeclaration> {
        self.function_declarations.iter().find(|function| function.name().as_str() == name)
    }

    /// Checks that a call names one of the functions and fits its parameters.
    ///
    /// Pointers are into the call's document.
    ///
    /// # Errors
    ///
    /// Everything about the call that does not fit.
    pub fn check_call(&self, call: &FunctionCall) -> Result<(), Errors> {
        let mut report = Report::default();
        let name = call.name().as_str();
        report.about(Some(name));
        match self.function(name) {
            Some(function) => {
                function.check_into(call.args(), &Path::Root.key("args"), &mut report);
            }
            None => {
                let names = self.function_declarations.iter().map(|known| known.name().as_str());
                let (name, declared) = (name.to_owned(), words::list(names));
                let rule = Argument::FunctionUnknown { name, declared };
                report.add(&Path::Root.key("name"), rule);
            }
        }
        report.check()
    }
}

impl Structure for Tool {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let mut fields = Fields::open(value, path, "a tool", report)?;
        let list = fields.required(DECLARATIONS, report);
        fields.finish(report);
        let path = path.key(DECLARATIONS);
        let list = fields::array(list?, &path, report)?;
        if list.is_empty() {
            report.add(&path, Declaration::NoFunctions);
        }
        // Before the declarations are read: one that is broken still holds its name.
        check_unique(list.iter().map(name_of), &path, report);
        let functions = fields::all(list.into_iter().enumerate().map(|(index, function)| {
            FunctionDeclaration::read(function, &path.index(index), report)
        }));
        Ok(Tool { function_declarations: functions? })
    }

    fn function_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
        let mut steps = pointer.split('/').skip(1);
        let (list, index) = (steps.next()?, steps.next()?.parse::<usize>().ok()?);
        if list != DECLARATIONS {
            return None;
        }
        name_of(value.get(list)?.get(index)?)
    }
}

fn name_of(declaration: &Value) -> Option<&str> {
    declaration.get("name").and_then(Value::as_str)
}

/// Names that could not be read are `None` and clash with nothing.
fn check_unique<'n>(
    names: impl Iterator<Item = Option<&'n str>>,
    path: &Path<'_>,
    report: &mut Report,
) {
    let mut first_of = HashMap::new();
    for (index, name) in names.enumerate() {
        let Some(name) = name else { continue };
        let first = *first_of.entry(name).or_insert(index);
        if first != index {
            report.about(Some(name));
            let rule = Declaration::NameTaken { name: words::excerpt(name), first };
            report.add(&path.index(index).key("name"), rule);
        }
    }
    report.about(None);
}
