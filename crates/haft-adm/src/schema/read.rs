//! Reading schemas.

use std::collections::HashSet;

use serde_json::Value;

use super::{Form, Properties, Schema, SchemaType};
use crate::SCHEMA_LEVELS;
use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Report, Reported};
use crate::rule;
use crate::structure::Structure;
use crate::words::excerpt;

impl Structure for Schema {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        schema(value, path, SCHEMA_LEVELS, report)
    }

    fn function_at<'v>(_: &'v Value, _: &str) -> Option<&'v str> {
        None
    }
}

/// `left` is how many schemas may still lie inside one another, this one included.
fn schema(
    value: Value,
    path: &Path<'_>,
    left: usize,
    report: &mut Report,
) -> Result<Schema, Reported> {
    let Some(left) = left.checked_sub(1) else {
        return Err(report.add(path, rule::Schema::TooDeep));
    };
    let mut fields = Fields::open(value, path, "a schema", report)?;
    let schema_type =
        fields.required("type", report).and_then(|word| read_type(word, &path.key("type"), report));
    let description = fields.optional("description", report).and_then(|given| {
        given.map(|text| fields::text(text, &path.key("description"), report)).transpose()
    });
    let parts = Parts::read(&mut fields, path, left, report);
    fields.finish(report);
    let schema_type = schema_type?;
    parts.report_misplaced(schema_type, path, report);
    let form = parts.into_form(schema_type, path, report)?;
    Ok(Schema { description: description?, ..Schema::around(form, report)? })
}

fn read_type(word: Value, path: &Path<'_>, report: &mut Report) -> Result<SchemaType, Reported> {
    let word = fields::text(word, path, report)?;
    SchemaType::from_word(&word)
        .ok_or_else(|| report.add(path, rule::Schema::TypeUnknown { found: excerpt(&word) }))
}

type Part<T> = Result<Option<T>, Reported>;

/// The fields that belong to one type each, read before it is known whether they may be there:
/// a schema with a bad type has its other mistakes reported as well.
struct Parts {
    properties: Part<Properties>,
    /// The names under `properties`, whether or not their schemas could be read; `None` if there
    /// is no telling.
    declared: Option<HashSet<String>>,
    required: Part<Vec<String>>,
    items: Part<Box<Schema>>,
    allowed: Part<Vec<String>>,
}

impl Parts {
    fn read(fields: &mut Fields<'_>, path: &Path<'_>, left: usize, report: &mut Report) -> Self {
        let properties = fields.optional("properties", report);
        let declared = match &properties {
            Ok(Some(Value::Object(map))) => Some(map.keys().cloned().collect()),
            Ok(None) => Some(HashSet::new()),
            Ok(Some(_)) | Err(_) => None,
        };
        let required = fields.optional("required", report);
        let items = fields.optional("items", report);
        let allowed = fields.optional("enum", report);
        Parts {
            properties: part(properties, &path.key("properties"), |value, path| {
                read_properties(value, path, left, report)
            }),
            declared,
            required: part(required, &path.key("required"), |value, path| {
                fields::texts(value, path, report)
            }),
            items: part(items, &path.key("items"), |value, path| {
                schema(value, path, left, report).map(Box::new)
            }),
            allowed: part(allowed, &path.key("enum"), |value, path| {
                let allowed = fields::texts(value, path, report)?;
                check_enum(&allowed, path, report);
                Ok(allowed)
            }),
        }
    }

    fn report_misplaced(&self, found: SchemaType, path: &Path<'_>, report: &mut Report) {
        let given = [
            ("properties", SchemaType::Object, is_given(&self.properties)),
            ("required", SchemaType::Object, is_given(&self.required)),
            ("items", SchemaType::Array, is_given(&self.items)),
            ("enum", SchemaType::String, is_given(&self.allowed)),
        ];
        for (field, belongs, given) in given {
            if given && found != belongs {
                let rule = rule::Schema::FieldMisplaced { field, belongs, found };
                report.add(&path.key(field), rule);
            }
        }
    }

    fn into_form(
        self,
        schema_type: SchemaType,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Result<Form, Reported> {
        Ok(match schema_type {
            SchemaType::String => Form::String { allowed: self.allowed? },
            SchemaType::Number => Form::Number,
            SchemaType::Integer => Form::Integer,
            SchemaType::Boolean => Form::Boolean,
            SchemaType::Array => Form::Array {
                items: self.items?.ok_or_else(|| report.add(path, rule::Schema::ItemsMissing))?,
            },
            SchemaType::Object => {
                if let (Ok(Some(required)), Some(declared)) = (&self.required, &self.declared) {
                    check_required(required, declared, &path.key("required"), report);
                }
                Form::Object { properties: self.properties?, required: self.required? }
            }
        })
    }
}

fn part<T>(
    given: Part<Value>,
    path: &Path<'_>,
    read: impl FnOnce(Value, &Path<'_>) -> Result<T, Reported>,
) -> Part<T> {
    given?.map(|value| read(value, path)).transpose()
}

fn is_given<T>(part: &Part<T>) -> bool {
    !matches!(part, Ok(None))
}

fn read_properties(
    value: Value,
    path: &Path<'_>,
    left: usize,
    report: &mut Report,
) -> Result<Properties, Reported> {
    let map = fields::object(value, path, report)?;
    let mut properties = Properties::default();
    let read = fields::all(map.into_iter().map(|(name, value)| {
        let schema = schema(value, &path.key(&name), left, report)?;
        properties.insert(name, schema);
        Ok(())
    }));
    read.map(|_| properties)
}

fn check_required(
    required: &[String],
    declared: &HashSet<String>,
    path: &Path<'_>,
    report: &mut Report,
) {
    let mut seen = HashSet::new();
    for (index, name) in required.iter().enumerate() {
        if !declared.contains(name) {
            let rule = rule::Schema::RequiredUndeclared { name: excerpt(name) };
            report.add(&path.index(index), rule);
        }
        if !seen.insert(name) {
            let rule = rule::Schema::RequiredTwice { name: excerpt(name) };
            report.add(&path.index(index), rule);
        }
    }
}

pub(super) fn check_enum(allowed: &[String], path: &Path<'_>, report: &mut Report) {
    if allowed.is_empty() {
        report.add(path, rule::Schema::EnumEmpty);
    }
    let mut seen = HashSet::new();
    for (index, value) in allowed.iter().enumerate() {
        if !seen.insert(value) {
            report.add(&path.index(index), rule::Schema::EnumTwice { value: excerpt(value) });
        }
    }
}
