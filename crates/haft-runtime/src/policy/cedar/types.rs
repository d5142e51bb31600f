//! What rules know about arguments: types taken from a contract's JSON Schema, and values of them.
//!
//! What has no single type (several types, open objects) has none here: rules cannot name it, and
//! validation says so. A value that is not of its type is an error, which refuses the call.

use std::collections::BTreeMap;

use cedar_policy::RestrictedExpression as Expr;
use serde_json::{Map, Value, json};

use crate::policy::rules::UserType;

/// A type that Cedar can express.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Bool,
    Long,
    Decimal,
    Text,
    Set(Box<Type>),
    Record(Record),
}

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record(pub(crate) BTreeMap<String, Member>);

/// One member of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) ty: Type,
    /// Present in every call: required, or filled in.
    pub(crate) always: bool,
}

/// Deeper members are not seen by rules; it also ends schemas that contain themselves.
const DEEPEST: usize = 8;

impl Record {
    /// What rules can see of the arguments of a contract.
    pub(crate) fn of_parameters(schema: &Value) -> Self {
        Reader { root: schema }.record(schema, 0)
    }

    /// What holds for calls of either of two versions.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        let mut others = other.0;
        let mut merged = BTreeMap::new();
        for (name, mine) in std::mem::take(&mut self.0) {
            match others.remove(&name) {
                None => drop(merged.insert(name, Member { always: false, ..mine })),
                Some(theirs) if theirs.ty == mine.ty => {
                    let always = mine.always && theirs.always;
                    merged.insert(name, Member { ty: mine.ty, always });
                }
                // Two types are none.
                Some(_) => {}
            }
        }
        let only_theirs =
            others.into_iter().map(|(name, member)| (name, Member { always: false, ..member }));
        merged.extend(only_theirs);
        Self(merged)
    }

    /// The type in Cedar's JSON schema format.
    pub(crate) fn schema(&self) -> Value {
        let members = self.0.iter().map(|(name, member)| {
            let mut ty = member.ty.schema();
            if let Some(fields) = ty.as_object_mut() {
                fields.insert("required".into(), member.always.into());
            }
            (name.clone(), ty)
        });
        json!({ "type": "Record", "attributes": members.collect::<Map<_, _>>() })
    }

    /// A record of the members that rules name; `null` counts as absent.
    pub(crate) fn value(
        &self,
        value: &Value,
        named: &dyn Fn(&str) -> bool,
    ) -> Result<Expr, String> {
        let members = value.as_object().ok_or("arguments that are not an object")?;
        let mut fields = Vec::new();
        for (name, member) in members {
            if member.is_null() || !named(name) {
                continue;
            }
            let value = match self.0.get(name) {
                Some(known) => known.ty.value(member),
                None => loose(member),
            };
            fields.push((name.clone(), value.map_err(|what| format!("`{name}` is {what}"))?));
        }
        Expr::new_record(fields).map_err(|error| error.to_string())
    }
}

impl From<UserType> for Type {
    fn from(ty: UserType) -> Self {
        match ty {
            UserType::Boolean => Self::Bool,
            UserType::Integer => Self::Long,
            UserType::Number => Self::Decimal,
            UserType::String => Self::Text,
            UserType::Strings => Self::Set(Box::new(Self::Text)),
        }
    }
}

impl Type {
    /// Whether a value is of this type.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        self.value(value).is_ok()
    }

    fn schema(&self) -> Value {
        match self {
            Self::Bool => json!({"type": "Boolean"}),
            Self::Long => json!({"type": "Long"}),
            Self::Decimal => json!({"type": "Extension", "name": "decimal"}),
            Self::Text => json!({"type": "String"}),
            Self::Set(element) => json!({"type": "Set", "element": element.schema()}),
            Self::Record(record) => record.schema(),
        }
    }

    fn value(&self, value: &Value) -> Result<Expr, String> {
        match (self, value) {
            (Self::Bool, Value::Bool(it)) => Ok(Expr::new_bool(*it)),
            (Self::Text, Value::String(it)) => Ok(Expr::new_string(it.clone())),
            (Self::Long, Value::Number(it)) => whole(it).map(Expr::new_long),
            (Self::Decimal, Value::Number(it)) => decimal(it),
            (Self::Set(element), Value::Array(all)) => {
                let all: Result<Vec<_>, _> = all.iter().map(|it| element.value(it)).collect();
                Ok(Expr::new_set(all?))
            }
            (Self::Record(record), Value::Object(_)) => record.value(value, &|_| true),
            (
                Self::Bool
                | Self::Text
                | Self::Long
                | Self::Decimal
                | Self::Set(_)
                | Self::Record(_),
                _,
            ) => Err("not of its declared type".into()),
        }
    }
}

/// A JSON number that is a whole one, whatever it is spelt like.
fn whole(number: &serde_json::Number) -> Result<i64, String> {
    // 2^53: beyond it, a floating point number no longer says which whole number is meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = |it: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within 2^53")]
        (it.fract() == 0.0 && it.abs() <= EXACT).then_some(it as i64)
    };
    number
        .as_i64()
        .or_else(|| number.as_f64().filter(|_| !number.is_u64()).and_then(of_float))
        .ok_or_else(|| "not a whole number of 64 bits".into())
}

/// Cedar's decimals have four places. A number with more is refused rather than rounded to the
/// other side of a limit.
fn decimal(number: &serde_json::Number) -> Result<Expr, String> {
    let wrong = || format!("{number}, and rules compare numbers with at most four decimal places");
    let text = match (number.as_i64(), number.as_f64()) {
        (Some(it), _) => format!("{it}.0"),
        (None, Some(it)) if it.abs() < 1e14 => {
            // The shortest text that gives the number back is the number that was written.
            let text = format!("{it}");
            if text.contains('.') { text } else { format!("{text}.0") }
        }
        (None, _) => return Err(wrong()),
    };
    let (before, after) = text.split_once('.').ok_or_else(wrong)?;
    // 922337203685477.5807 is the largest that Cedar holds.
    if after.len() > 4 || before.trim_start_matches('-').len() > 14 {
        return Err(wrong());
    }
    Ok(Expr::new_decimal(text))
}

/// A value of no declared type, as it comes.
pub(crate) fn loose(value: &Value) -> Result<Expr, String> {
    match value {
        Value::Null => Err("null".into()),
        Value::Bool(it) => Ok(Expr::new_bool(*it)),
        Value::String(it) => Ok(Expr::new_string(it.clone())),
        Value::Number(it) => match it.as_i64() {
            Some(it) => Ok(Expr::new_long(it)),
            None => decimal(it),
        },
        Value::Array(all) => {
            let all: Result<Vec<_>, _> = all.iter().map(loose).collect();
            Ok(Expr::new_set(all?))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let fields: Result<Vec<_>, String> =
                members.map(|(name, value)| Ok((name.clone(), loose(value)?))).collect();
            Expr::new_record(fields?).map_err(|error| error.to_string())
        }
    }
}

/// What rules can see of users.
pub(crate) fn of_user(declared: &BTreeMap<String, UserType>) -> Record {
    let member = |ty| Member { ty, always: false };
    let mut members: BTreeMap<_, _> =
        declared.iter().map(|(name, ty)| (name.clone(), member(Type::from(*ty)))).collect();
    members.entry("isAuthenticated".into()).or_insert_with(|| member(Type::Bool));
    Record(members)
}

struct Reader<'a> {
    root: &'a Value,
}

impl<'a> Reader<'a> {
    fn record(&self, schema: &'a Value, depth: usize) -> Record {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Record::default();
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
        };
        let mut members = BTreeMap::new();
        for (name, written) in properties {
            let followed = self.follow(written);
            let Some((ty, nullable)) = self.single(followed, depth + 1) else { continue };
            let filled = [written, followed]
                .iter()
                .any(|schema| schema.get("default").is_some_and(|value| !value.is_null()));
            let always = !nullable && (is_required(name) || filled);
            members.insert(name.clone(), Member { ty, always });
        }
        Record(members)
    }

    /// The one type of a schema, and whether `null` is possible too.
    fn single(&self, schema: &'a Value, depth: usize) -> Option<(Type, bool)> {
        if depth > DEEPEST {
            return None;
        }
        let (name, nullable) = match schema.get("type") {
            Some(Value::String(name)) => (name.as_str(), false),
            Some(Value::Array(names)) => {
                let mut others = names.iter().filter_map(Value::as_str).filter(|n| *n != "null");
                let first = others.next()?;
                if others.next().is_some() {
                    return None;
                }
                (first, names.len() > 1)
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                return None;
            }
            None => return of_values(schema),
        };
        let ty = match name {
            "boolean" => Type::Bool,
            "integer" => Type::Long,
            "number" => Type::Decimal,
            "string" => Type::Text,
            "array" => {
                let items = self.follow(schema.get("items")?);
                // A list with a hole cannot be a set of one type.
                let (element, _) =
                    self.single(items, depth + 1).filter(|(_, nullable)| !nullable)?;
                Type::Set(Box::new(element))
            }
            "object" if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                Type::Record(self.record(schema, depth))
            }
            _ => return None,
        };
        Some((ty, nullable))
    }

    fn follow(&self, schema: &'a Value) -> &'a Value {
        (0..DEEPEST).fold(schema, |schema, _| {
            schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| target.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer))
                .unwrap_or(schema)
        })
    }
}

/// The type that listed values have in common.
fn of_values(schema: &Value) -> Option<(Type, bool)> {
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = listed.or_else(|| schema.get("const").map(std::slice::from_ref))?;
    let nullable = values.iter().any(Value::is_null);
    let mut others = values.iter().filter(|value| !value.is_null()).peekable();
    let is = match others.peek()? {
        Value::Bool(_) => (Type::Bool, Value::is_boolean as fn(&Value) -> bool),
        Value::String(_) => (Type::Text, Value::is_string as fn(&Value) -> bool),
        Value::Number(_) => (Type::Long, Value::is_i64 as fn(&Value) -> bool),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    others.all(is.1).then_some((is.0, nullable))
}
