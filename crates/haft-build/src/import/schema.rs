//! From whatever a definition calls a schema to JSON Schema 2020-12, with every change written
//! down.
//!
//! The order matters: references are made local first, since the rest looks through them; words
//! and keywords are put right before samples (`enum`, `default`, `examples`) are tried against
//! what they make; and what would be too large is refused before anything is tried at all.

mod keywords;
mod legacy;
mod limits;
mod references;
mod root;
mod samples;
mod secrets;
mod table;
mod types;

use serde_json::{Map, Value, json};

use super::log::Log;
use super::pointer::{escape, step};
use super::report::{Part, Severity};

pub(super) use secrets::{has_secret, has_tenant, portability};

/// Why a definition cannot be imported, in a sentence.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) pointer: String,
    pub(super) what: String,
}

pub(super) fn refuse(pointer: &str, what: impl Into<String>) -> Refused {
    Refused { pointer: pointer.to_owned(), what: what.into() }
}

/// The schema of a tool's arguments. References are looked up in `document`, or in the schema
/// itself when there is none.
pub(super) fn parameters(
    raw: Option<&Value>,
    document: Option<&Value>,
    log: &mut Log,
) -> Result<Value, Refused> {
    let mut schema = root::begin(raw, log)?;
    references::make_local(&mut schema, document, log)?;
    root::follow(&mut schema, log)?;
    walk(&mut schema, "", Place::Whole, log)?;
    root::close(&mut schema, log)?;
    finish(schema, log)
}

/// The schema of a tool's result; nothing when it cannot be carried over, which is reported.
pub(super) fn output(raw: &Value, document: Option<&Value>) -> (Option<Value>, Log) {
    let mut log = Log::new(Part::Output);
    match try_output(raw, document, &mut log) {
        Ok(schema) => (Some(schema), log),
        Err(refused) => {
            let mut log = Log::new(Part::Output);
            let what = format!("the result's schema is left out: {}", refused.what);
            log.record(Severity::Dropped, "", what, (Some(raw.clone()), None));
            (None, log)
        }
    }
}

fn try_output(raw: &Value, document: Option<&Value>, log: &mut Log) -> Result<Value, Refused> {
    if !raw.is_object() {
        return Err(refuse("", "it is not an object"));
    }
    let mut schema = raw.clone();
    references::make_local(&mut schema, document, log)?;
    walk(&mut schema, "", Place::Whole, log)?;
    finish(schema, log)
}

fn finish(mut schema: Value, log: &mut Log) -> Result<Value, Refused> {
    limits::check(&schema)?;
    samples::fix(&mut schema, log);
    // What the steps above did not think of must not become a contract.
    if jsonschema::draft202012::meta::is_valid(&schema) {
        Ok(schema)
    } else {
        Err(refuse("", "it is not valid JSON Schema 2020-12; correct the definition"))
    }
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It describes a value by itself.
    Whole,
    /// It is a branch of `anyOf`, `then` and the like, and may speak of the members of another.
    Branch,
}

/// Puts a schema and everything below it right.
fn walk(schema: &mut Value, at: &str, place: Place, log: &mut Log) -> Result<(), Refused> {
    match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(_) => {}
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            log.replace(schema, at, json!({}), "not a schema, so anything is allowed here");
            return Ok(());
        }
    }
    let Value::Object(members) = schema else { return Ok(()) };
    types::fix(members, at, log);
    legacy::fix(members, at, log);
    keywords::fix(members, at, log);
    keywords::fix_required(members, at, place, log);
    for_each_child(members, at, &mut |child, at, place| walk(child, at, place, log))
}

/// Calls `visit` with every direct subschema.
fn for_each_child<E>(
    members: &mut Map<String, Value>,
    at: &str,
    visit: &mut impl FnMut(&mut Value, &str, Place) -> Result<(), E>,
) -> Result<(), E> {
    for (keyword, value) in members {
        let here = || format!("{at}/{}", escape(keyword));
        let place = table::place(keyword);
        match (table::holds(keyword), value) {
            (table::Holds::One, value) => visit(value, &here(), place)?,
            (table::Holds::List, Value::Array(list)) => {
                for (index, child) in list.iter_mut().enumerate() {
                    visit(child, &format!("{}/{index}", here()), place)?;
                }
            }
            (table::Holds::Map, Value::Object(map)) => {
                for (name, child) in map {
                    visit(child, &step(&here(), name), place)?;
                }
            }
            (table::Holds::List | table::Holds::Map | table::Holds::Nothing, _) => {}
        }
    }
    Ok(())
}

/// Every direct subschema, to read.
fn children(schema: &Value) -> Vec<&Value> {
    let members = schema.as_object().into_iter().flatten();
    members
        .flat_map(|(keyword, value)| match (table::holds(keyword), value) {
            (table::Holds::One, value) => vec![value],
            (table::Holds::List, Value::Array(list)) => list.iter().collect(),
            (table::Holds::Map, Value::Object(map)) => map.values().collect(),
            (table::Holds::List | table::Holds::Map | table::Holds::Nothing, _) => Vec::new(),
        })
        .collect()
}
