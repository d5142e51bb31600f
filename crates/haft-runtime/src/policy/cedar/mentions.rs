//! What of `context` a rule speaks about, found once, when it is loaded.

use std::collections::BTreeSet;

use cedar_policy::{Expression, Policy};
use serde_json::Value;

use super::search::Searches;

/// What is spoken about. More than there is does no harm: decisions are then only kept for less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    pub(crate) arguments: bool,
    /// The arguments as a whole, not only members of them.
    all_arguments: bool,
    pub(crate) now: bool,
    pub(crate) session: bool,
    pub(crate) user: bool,
    /// The user as a whole.
    all_user: bool,
    /// Every name after a dot or `has`.
    names: BTreeSet<String>,
    /// What is searched for with `like`.
    pub(crate) searches: Searches,
}

impl Mentions {
    /// In the JSON form of a policy.
    pub(crate) fn of_policy(policy: &Value) -> Self {
        let mut found = Self::default();
        if let Some(conditions) = policy.get("conditions") {
            found.walk(conditions, false);
        }
        found
    }

    /// In a condition. It is read as the condition of a policy that is thrown away: only policies
    /// have a form that can be looked through.
    pub(crate) fn of_condition(condition: &Expression) -> Self {
        let text = format!("permit(principal, action, resource) when {{ {condition} }};");
        let read = Policy::parse(None, text).ok().and_then(|policy| policy.to_json().ok());
        match read {
            Some(policy) => Self::of_policy(&policy),
            None => {
                let mut unsure = Self::default();
                unsure.everything();
                unsure
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.arguments |= other.arguments;
        self.all_arguments |= other.all_arguments;
        self.all_user |= other.all_user;
        self.now |= other.now;
        self.session |= other.session;
        self.user |= other.user;
        self.names.extend(other.names.iter().cloned());
        self.searches.add(other.searches);
    }

    pub(crate) fn speaks_of_argument(&self, name: &str) -> bool {
        self.all_arguments || self.names.contains(name)
    }

    pub(crate) fn speaks_of_user(&self, name: &str) -> bool {
        self.all_user || self.names.contains(name)
    }

    fn everything(&mut self) {
        self.arguments = true;
        self.all_arguments = true;
        self.all_user = true;
        self.now = true;
        self.session = true;
        self.user = true;
    }

    /// `member`: what stands here is only looked into by a name that is noted already.
    fn walk(&mut self, node: &Value, member: bool) {
        if is_context(node) {
            // Compared or kept as a whole.
            return self.everything();
        }
        match node {
            Value::Array(all) => all.iter().for_each(|one| self.walk(one, false)),
            Value::Object(fields) => {
                for (operator, operands) in fields {
                    if operator == "like" {
                        self.searches.add(Searches::of_pattern(operands.get("pattern")));
                    }
                    match access(operator, operands) {
                        Some((left, names)) => self.access(left, &names, member),
                        None => self.walk(operands, false),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn access(&mut self, left: &Value, names: &[&str], member: bool) {
        self.names.extend(names.iter().map(|name| (*name).to_owned()));
        if !is_context(left) {
            return self.walk(left, true);
        }
        let is_whole = !member && names.len() == 1;
        match names.first().copied() {
            Some("arguments") => {
                self.arguments = true;
                self.all_arguments |= is_whole;
            }
            Some("now") => self.now = true,
            Some("session") => self.session = true,
            Some("user") => {
                self.user = true;
                self.all_user |= is_whole;
            }
            Some(_) => {}
            None => self.everything(),
        }
    }
}

fn is_context(node: &Value) -> bool {
    node.get("Var").and_then(Value::as_str) == Some("context")
}

/// `left.name` or `left has name`.
fn access<'a>(operator: &str, operands: &'a Value) -> Option<(&'a Value, Vec<&'a str>)> {
    if !matches!(operator, "." | "has") {
        return None;
    }
    let names = match operands.get("attr")? {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    Some((operands.get("left")?, names))
}
