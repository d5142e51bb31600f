//! Checking values against schemas.
//!
//! The recursion follows the schema, which is never deep, and not the value, which may be.

use serde_json::{Map, Number, Value};

use super::{Form, Schema};
use crate::integer::{self, Integer};
use crate::path::Path;
use crate::report::Report;
use crate::rule::Argument;
use crate::words::{excerpt, kind, list};

/// What an OBJECT does with properties that it does not declare.
#[derive(Clone, Copy)]
enum Undeclared {
    Refused,
    /// Refused if anything is declared; an OBJECT that declares nothing takes anything.
    TakenIfNoneDeclared,
}

/// Checks the arguments of a call: here even an OBJECT without properties refuses what it does
/// not declare, since a function that takes nothing is not one that takes anything.
pub(crate) fn arguments(
    schema: &Schema,
    args: &Map<String, Value>,
    path: &Path<'_>,
    report: &mut Report,
) {
    object(schema, args, Undeclared::Refused, path, report);
}

pub(crate) fn value(schema: &Schema, value: &Value, path: &Path<'_>, report: &mut Report) {
    match (&schema.form, value) {
        (Form::String { allowed }, Value::String(text)) => {
            string(allowed.as_deref(), text, path, report);
        }
        (Form::Number, Value::Number(_)) | (Form::Boolean, Value::Bool(_)) => {}
        (Form::Integer, Value::Number(number)) => integer(number, path, report),
        (Form::Array { items }, Value::Array(values)) => {
            for (index, item) in values.iter().enumerate() {
                self::value(items, item, &path.index(index), report);
            }
        }
        (Form::Object { .. }, Value::Object(map)) => {
            object(schema, map, Undeclared::TakenIfNoneDeclared, path, report);
        }
        (
            Form::String { .. }
            | Form::Number
            | Form::Integer
            | Form::Boolean
            | Form::Array { .. }
            | Form::Object { .. },
            other,
        ) => {
            let (expected, found) = (schema.schema_type(), kind(other));
            report.add(path, Argument::WrongType { expected, found });
        }
    }
}

fn string(allowed: Option<&[String]>, text: &str, path: &Path<'_>, report: &mut Report) {
    let Some(allowed) = allowed else { return };
    if !allowed.iter().any(|word| word == text) {
        let allowed = list(allowed.iter().map(String::as_str));
        report.add(path, Argument::NotInEnum { value: excerpt(text), allowed });
    }
}

fn integer(number: &Number, path: &Path<'_>, report: &mut Report) {
    let written = || excerpt(&number.to_string());
    match integer::of(number) {
        Integer::Exact(_) => {}
        Integer::Fraction => {
            report.add(path, Argument::NotWhole { number: written() });
        }
        Integer::OutOfRange => {
            report.add(path, Argument::OutOfRange { number: written() });
        }
        Integer::Inexact => {
            report.add(path, Argument::Inexact { number: written() });
        }
    }
}

fn object(
    schema: &Schema,
    map: &Map<String, Value>,
    undeclared: Undeclared,
    path: &Path<'_>,
    report: &mut Report,
) {
    let properties = schema.declared();
    let takes_any = match undeclared {
        Undeclared::Refused => false,
        Undeclared::TakenIfNoneDeclared => properties.is_empty(),
    };
    for name in schema.required().iter().filter(|name| !map.contains_key(name.as_str())) {
        report.add(path, Argument::Missing { name: excerpt(name) });
    }
    for (name, item) in map {
        match properties.get(name) {
            Some(schema) => value(schema, item, &path.key(name), report),
            None if takes_any => {}
            None => {
                let declared = list(properties.iter().map(|(name, _)| name));
                let rule = Argument::Undeclared { name: excerpt(name), declared };
                report.add(&path.key(name), rule);
            }
        }
    }
}
