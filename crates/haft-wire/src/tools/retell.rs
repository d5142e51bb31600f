//! What the path says about arguments, in the words that the model was shown.
//!
//! The path speaks of the contract. A model that was shown a list of `key` and `value` in place of a
//! map, words in place of numbers or other names would look for a mistake that it never made. So
//! places are followed back to what was sent, and where the form itself was another one, what was
//! sent is judged again by the schema that was shown.

use std::cell::OnceCell;

use haft_adm::strict::{self, Limits};
use haft_core::error::Fault;
use haft_core::pointer::{escape, spoken, unescape};
use haft_core::{Envelope, ErrorKind, validator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Rendering;
use super::plan::Plans;
use super::plan::place::Place;

/// The most problems that are told of what was sent.
const MOST: usize = 64;

impl Rendering {
    /// The end of a call as the model that made it should hear of it; `sent` are its arguments as they
    /// came. Everyone else is told in the contract's words.
    #[must_use]
    pub fn retold(&self, wire_name: &str, sent: &str, mut envelope: Envelope) -> Envelope {
        let Some(offered) = self.shown_as(wire_name) else { return envelope };
        if let Err(error) = &mut envelope.result
            && offered.id != offered.wire
        {
            let name = |text: &str| {
                text.replace(&format!("`{}`", offered.id), &format!("`{}`", offered.wire))
            };
            (error.message, error.suggestion) = (name(&error.message), name(&error.suggestion));
        }
        let Some(sent) = offered.changed.then(|| read(sent)).flatten() else { return envelope };
        let shown = self.schema_of(wire_name);
        let teller = Teller { shown, plans: &offered.plans, sent, own: OnceCell::new() };
        for warning in &mut envelope.meta.warnings {
            warning.path = teller.path(&warning.path);
        }
        for clamp in &mut envelope.meta.clamps {
            clamp.path = teller.path(&clamp.path);
        }
        if let Err(error) = &mut envelope.result
            && error.kind == ErrorKind::InvalidArguments
        {
            teller.error(error);
        }
        envelope
    }
}

/// What was sent, also where it came as JSON in a text.
fn read(text: &str) -> Option<Value> {
    let value = strict::parse(text, Limits::default()).ok()?;
    match value.as_str() {
        Some(inner) => strict::parse(inner, Limits::default()).ok(),
        None => Some(value),
    }
}

/// One thing that is wrong, as the path writes it into an error's details.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Problem {
    path: String,
    code: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<Value>,
}

impl Problem {
    /// As it stands in the error's message.
    fn sentence(&self) -> String {
        match (self.path.as_str(), self.message.contains('`')) {
            ("", _) | (_, true) => self.message.clone(),
            (path, false) => format!("at `{path}`: {}", self.message),
        }
    }
}

struct Teller<'a> {
    /// The schema that was shown.
    shown: Option<&'a Value>,
    plans: &'a Plans,
    sent: Value,
    /// What the schema that was shown says of what was sent.
    own: OnceCell<Vec<Problem>>,
}

impl Teller<'_> {
    fn path(&self, path: &str) -> String {
        let place = self.plans.place(path, &self.sent);
        place.inside.map_or(place.pointer.clone(), |inside| place.pointer + &inside)
    }

    fn error(&self, error: &mut Fault) {
        let Some(details) = error.details.as_mut().and_then(Value::as_object_mut) else { return };
        let known = details.get("problems").cloned().unwrap_or_default();
        let Ok(problems) = serde_json::from_value::<Vec<Problem>>(known) else { return };
        let mut told: Vec<Problem> = Vec::new();
        for problem in &problems {
            for retold in self.problem(problem) {
                if !told.iter().any(|known| known.message == retold.message) {
                    told.push(retold);
                }
            }
        }
        let sentences =
            |all: &[Problem]| all.iter().map(Problem::sentence).collect::<Vec<_>>().join("; ");
        let before = sentences(&problems);
        if !before.is_empty() {
            error.message = error.message.replacen(&before, &sentences(&told), 1);
        }
        details.insert("problems".to_owned(), json!(told));
        for warning in
            details.get_mut("warnings").and_then(Value::as_array_mut).into_iter().flatten()
        {
            if let Some(Value::String(path)) = warning.get_mut("path") {
                *path = self.path(path);
            }
        }
    }

    fn problem(&self, problem: &Problem) -> Vec<Problem> {
        let place = self.plans.place(&problem.path, &self.sent);
        let unfit = problem.path.is_empty() && self.plans.is_unfit(&self.sent);
        let repeated = problem.code == "duplicate_key";
        if (unfit || place.reshaped) && place.inside.is_none() && !repeated {
            let own = self.own(&place.pointer);
            if !own.is_empty() {
                return own;
            }
        }
        let message = self.message(problem, &place);
        let expected = problem.expected.clone().map(|names| match problem.code.as_str() {
            "unknown_parameter" => self.siblings(&problem.path, names),
            _ => names,
        });
        let path = place.pointer + &place.inside.unwrap_or_default();
        vec![Problem { path, code: problem.code.clone(), message, expected }]
    }

    /// What the schema that was shown says of a place and of what is in it.
    fn own(&self, pointer: &str) -> Vec<Problem> {
        let all = self.own.get_or_init(|| self.judged());
        let below = format!("{pointer}/");
        let here = |one: &&Problem| one.path == pointer || one.path.starts_with(&below);
        // Members may be left out that were shown as required; that is told where nothing else is.
        let told: Vec<Problem> =
            all.iter().filter(here).filter(|one| one.code != "required").cloned().collect();
        if told.is_empty() { all.iter().filter(here).cloned().collect() } else { told }
    }

    fn judged(&self) -> Vec<Problem> {
        let Some(Ok(shown)) = self.shown.map(validator::compile) else { return Vec::new() };
        let found = validator::problems(&shown, &self.sent, MOST);
        let told = |found: validator::Problem| {
            let code = found.code();
            let validator::Problem { path, message, expected, .. } = found;
            Problem { path, code, message, expected }
        };
        found.into_iter().map(told).collect()
    }

    fn message(&self, problem: &Problem, place: &Place<'_>) -> String {
        let name = unescape(problem.path.rsplit('/').next().unwrap_or_default());
        if problem.code == "duplicate_key" {
            let wire = unescape(place.pointer.rsplit('/').next().unwrap_or_default());
            return match &place.list {
                Some(list) => {
                    format!("the key `{name}` stands twice in {}; keep one", spoken(list))
                }
                None if wire != name => {
                    format!("`{wire}` was sent twice, once as `{name}`; keep `{wire}`")
                }
                None => problem.message.clone(),
            };
        }
        if let (Some(""), Some(Value::String(text))) = (place.inside.as_deref(), place.value)
            && let Err(why) = strict::parse(text, Limits::default())
        {
            return format!("{} must be JSON text: {why}", spoken(&place.pointer));
        }
        self.reworded(&problem.path, &problem.message, place)
    }

    /// The message with the names of places that it has replaced.
    fn reworded(&self, path: &str, message: &str, place: &Place<'_>) -> String {
        let text = match message.strip_prefix(spoken(path).as_str()) {
            Some(rest) => format!("{}{rest}", subject(place)),
            None => match message.strip_suffix(" is missing") {
                Some(missing) => format!("{} is missing", self.named(path, missing)),
                None => message.to_owned(),
            },
        };
        let text = swapped(&text, "in the nearest, ", |name| self.named(path, name));
        swapped(&text, "did you mean ", |name| {
            let around = path.rsplit_once('/').map_or("", |(around, _)| around);
            let name = escape(name.trim_matches('`'));
            let wire = self.plans.place(&format!("{around}/{name}"), &self.sent).pointer;
            format!("`{}`", unescape(wire.rsplit('/').next().unwrap_or_default()))
        })
    }

    /// A place that a message names in backticks, near a path.
    fn named(&self, path: &str, name: &str) -> String {
        let around = spoken(path);
        let around = if path.is_empty() { "" } else { around.trim_matches('`') };
        let name = name.trim_matches('`');
        let (from, rest) = match name.strip_prefix(around) {
            Some(rest) => (path, rest),
            None => ("", name),
        };
        // Right behind the path stands one name, most often; only then are its dots its own.
        let whole = rest.strip_prefix('.').unwrap_or(rest);
        let one = format!("{from}/{}", escape(whole));
        let place = self.plans.place(&one, &self.sent);
        if place.value.is_some() || !whole.contains(['.', '[']) {
            return subject(&place);
        }
        let steps = rest.replace('[', ".").replace(']', "");
        let steps = steps.split('.').filter(|step| !step.is_empty()).map(escape);
        let pointer = steps.fold(from.to_owned(), |pointer, step| format!("{pointer}/{step}"));
        subject(&self.plans.place(&pointer, &self.sent))
    }

    /// The names of members beside a place, as they were shown.
    fn siblings(&self, path: &str, names: Value) -> Value {
        let around = path.rsplit_once('/').map_or("", |(around, _)| around);
        let wire = |name: &Value| {
            let name = escape(name.as_str().unwrap_or_default());
            let place = self.plans.place(&format!("{around}/{name}"), &self.sent);
            json!(unescape(place.pointer.rsplit('/').next().unwrap_or_default()))
        };
        names.as_array().map_or(names.clone(), |list| list.iter().map(wire).collect())
    }
}

/// A place as a message begins with it.
fn subject(place: &Place<'_>) -> String {
    let at = spoken(&place.pointer);
    match place.inside.as_deref() {
        None => at,
        Some("") => format!("the JSON text of {at}"),
        Some(rest) => format!("in the JSON text of {at}, {}", spoken(rest)),
    }
}

/// A text with what stands in backticks behind `lead` replaced.
fn swapped(text: &str, lead: &str, with: impl FnOnce(&str) -> String) -> String {
    let Some((before, after)) = text.split_once(&format!("{lead}`")) else {
        return text.to_owned();
    };
    let Some((name, rest)) = after.split_once('`') else { return text.to_owned() };
    format!("{before}{lead}{}{rest}", with(name))
}
