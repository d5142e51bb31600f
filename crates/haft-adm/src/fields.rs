//! Taking an object apart field by field, so that what is left over is unknown.

use serde_json::{Map, Value};

use crate::path::Path;
use crate::report::{Report, Reported};
use crate::rule::Shape;
use crate::words::{excerpt, kind};

/// The fields of a structure that are yet to be read.
pub(crate) struct Fields<'p> {
    left: Map<String, Value>,
    path: &'p Path<'p>,
    structure: &'static str,
}

impl<'p> Fields<'p> {
    pub(crate) fn open(
        value: Value,
        path: &'p Path<'p>,
        structure: &'static str,
        report: &mut Report,
    ) -> Result<Self, Reported> {
        let left = object(value, path, report)?;
        Ok(Fields { left, path, structure })
    }

    /// A field's text without taking it, to know what the errors are about.
    pub(crate) fn peek_text(&self, field: &str) -> Option<&str> {
        self.left.get(field).and_then(Value::as_str)
    }

    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.left.remove(field)
    }

    pub(crate) fn required(
        &mut self,
        field: &'static str,
        report: &mut Report,
    ) -> Result<Value, Reported> {
        self.take(field).ok_or_else(|| {
            report.add(self.path, Shape::FieldMissing { field, structure: self.structure })
        })
    }

    /// Absent and `null` are not the same: the model leaves out what it does not have.
    pub(crate) fn optional(
        &mut self,
        field: &'static str,
        report: &mut Report,
    ) -> Result<Option<Value>, Reported> {
        match self.take(field) {
            Some(Value::Null) => Err(report.add(&self.path.key(field), Shape::FieldNull { field })),
            given => Ok(given),
        }
    }

    /// Reports every field that was not taken.
    pub(crate) fn finish(self, report: &mut Report) {
        for field in self.left.keys() {
            let rule = Shape::FieldUnknown { field: excerpt(field), structure: self.structure };
            report.add(&self.path.key(field), rule);
        }
    }
}

pub(crate) fn object(
    value: Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Map<String, Value>, Reported> {
    if let Value::Object(map) = value {
        return Ok(map);
    }
    Err(wrong_kind("an object", &value, path, report))
}

pub(crate) fn array(
    value: Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Vec<Value>, Reported> {
    if let Value::Array(list) = value {
        return Ok(list);
    }
    Err(wrong_kind("an array", &value, path, report))
}

pub(crate) fn text(value: Value, path: &Path<'_>, report: &mut Report) -> Result<String, Reported> {
    if let Value::String(text) = value {
        return Ok(text);
    }
    Err(wrong_kind("a string", &value, path, report))
}

/// An array of strings; every element that is not one is reported.
pub(crate) fn texts(
    value: Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<Vec<String>, Reported> {
    let list = array(value, path, report)?;
    all(list.into_iter().enumerate().map(|(index, item)| text(item, &path.index(index), report)))
}

/// All of them, or proof that one failed; unlike `collect`, goes on after a failure.
pub(crate) fn all<T>(read: impl Iterator<Item = Result<T, Reported>>) -> Result<Vec<T>, Reported> {
    let mut list = Vec::new();
    let mut failed = Ok(());
    for item in read {
        match item {
            Ok(item) => list.push(item),
            Err(reported) => failed = Err(reported),
        }
    }
    failed.map(|()| list)
}

fn wrong_kind(
    expected: &'static str,
    found: &Value,
    path: &Path<'_>,
    report: &mut Report,
) -> Reported {
    report.add(path, Shape::WrongKind { expected, found: kind(found) })
}
