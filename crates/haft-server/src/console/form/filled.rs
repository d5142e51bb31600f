//! What was filled in, as arguments, and what is wrong with it.

use haft_adm::strict;
use haft_core::Envelope;
use haft_core::call::RawArguments;
use haft_core::parameters::{Kind, Parameter};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::typed::{Field, Typed};
use crate::console::posted::Posted;

/// How the names of fields begin, which end in their places.
pub(super) const FIELDS: &str = "a";
/// The field for all arguments as JSON.
pub(crate) const RAW: &str = "raw";

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Wrong {
    /// A JSON pointer into the arguments; empty for the whole.
    pub(super) path: String,
    /// A stable word.
    pub(super) code: String,
    /// In words.
    pub(crate) message: String,
}

impl Wrong {
    /// What the path found, argument by argument.
    pub(crate) fn of(envelope: &Envelope) -> Vec<Self> {
        let problems = || envelope.result.as_ref().err()?.details.as_ref()?.get("problems");
        let all = problems().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(|one| Self::deserialize(one).ok()).collect()
    }

    /// Whether it is in what stands there.
    pub(super) fn is_in(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Where an argument stands: a step of a JSON pointer further.
pub(super) fn step(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The arguments of a form: by its fields, or as JSON. Both only where they say the same, for nobody
/// could know which was meant.
pub(crate) fn said(
    parameters: &[Parameter],
    schema: &Value,
    posted: &Posted,
) -> Result<RawArguments, Wrong> {
    let by_fields = || arguments(parameters, schema, posted);
    let Some(text) = posted.filled(RAW) else { return by_fields().map(RawArguments::Value) };
    let in_json = || strict::parse(text, strict::Limits::default()).ok();
    let is_same = || in_json().zip(by_fields().ok()).is_some_and(|(one, other)| one == other);
    if posted.has_below(FIELDS) && !is_same() {
        let message = "the fields and the arguments as JSON say different things; empty the ones that \
                       you do not mean";
        let (path, code) = (String::new(), "said_twice".to_owned());
        return Err(Wrong { path, code, message: message.to_owned() });
    }
    Ok(RawArguments::Text(text.to_owned()))
}

/// What was filled in. What was left empty is left out.
pub(super) fn arguments(
    parameters: &[Parameter],
    schema: &Value,
    posted: &Posted,
) -> Result<Value, Wrong> {
    let form = Read { typed: Typed(schema), posted };
    Ok(Value::Object(form.all(parameters, schema, (FIELDS, ""), 0)?))
}

struct Read<'a> {
    typed: Typed<'a>,
    posted: &'a Posted,
}

impl<'a> Read<'a> {
    fn all(
        &self,
        parameters: &[Parameter],
        schema: &'a Value,
        (at, path): (&str, &str),
        depth: usize,
    ) -> Result<Map<String, Value>, Wrong> {
        let mut found = Map::new();
        for (place, parameter) in parameters.iter().enumerate() {
            let at = (&*format!("{at}.{place}"), &*step(path, &parameter.name));
            let schema = self.typed.member(schema, &parameter.name);
            if let Some(value) = self.one(parameter, schema, at, depth)? {
                found.insert(parameter.name.clone(), value);
            }
        }
        Ok(found)
    }

    fn one(
        &self,
        parameter: &Parameter,
        schema: &'a Value,
        (name, path): (&str, &str),
        depth: usize,
    ) -> Result<Option<Value>, Wrong> {
        let field = self.typed.field(parameter, schema, depth);
        if field == Field::Group {
            let members = self.all(&parameter.fields, schema, (name, path), depth + 1)?;
            let is_there = parameter.required || !members.is_empty();
            return Ok(is_there.then_some(Value::Object(members)));
        }
        let Some(text) = self.posted.filled(name) else { return Ok(None) };
        Ok(Some(match field {
            Field::Lines => {
                lines(parameter, text).map(|line| single(parameter.kind, line)).collect()
            }
            Field::Json | Field::Choice | Field::YesNo => {
                strict::parse(text, strict::Limits::default()).map_err(|error| Wrong {
                    path: path.to_owned(),
                    code: "not_json".to_owned(),
                    message: format!("`{}` is not JSON: {error}", parameter.name),
                })?
            }
            Field::Number => single(parameter.kind, text.trim()),
            Field::Text | Field::Group => Value::String(text.to_owned()),
        }))
    }
}

/// The values of a list. Spaces around a number mean nothing, nor does an empty line among them; in a
/// text, both are what somebody has written.
fn lines<'a>(parameter: &Parameter, text: &'a str) -> impl Iterator<Item = &'a str> {
    let is_text = is_text(parameter);
    text.lines()
        .map(move |line| if is_text { line } else { line.trim() })
        .filter(move |line| is_text || !line.is_empty())
}

/// Whether a value is any text.
pub(super) fn is_text(parameter: &Parameter) -> bool {
    match parameter.kind {
        Kind::String | Kind::Timestamp | Kind::Uri | Kind::AttachmentReference => {
            parameter.allowed.is_empty()
        }
        Kind::Boolean
        | Kind::Integer
        | Kind::Number
        | Kind::JsonObject
        | Kind::JsonArray
        | Kind::EnumToken => false,
    }
}

/// One value. What is not one of its kind stays text, and the path says what is wrong with it.
fn single(kind: Kind, text: &str) -> Value {
    let as_json = || strict::parse(text, strict::Limits::default()).ok();
    let read = match kind {
        Kind::Integer | Kind::Number => as_json().filter(Value::is_number),
        Kind::Boolean => as_json().filter(Value::is_boolean),
        Kind::JsonObject | Kind::JsonArray => as_json(),
        Kind::String
        | Kind::Timestamp
        | Kind::Uri
        | Kind::EnumToken
        | Kind::AttachmentReference => None,
    };
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}
