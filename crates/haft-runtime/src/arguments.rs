//! Arguments: wide in, strict out.
//!
//! A [`Reader`] is compiled once per tool. Reading takes the arguments through one order: parse →
//! coerce (lenient tools only) → fill defaults → clamp for the mode → validate. A value that the
//! schema accepts is never touched, so the common call costs one parse and one validation; only a
//! call that is refused at first is looked at again, guided by the schema.
//!
//! ```
//! use haft_runtime::arguments::Reader;
//! use haft_core::contract::{Arguments, Fraction, Leniency, Mode};
//! use serde_json::json;
//!
//! let parameters = json!({
//!     "type": "object",
//!     "properties": {"top_k": {"type": "integer", "maximum": 10}, "deep": {"type": "boolean", "default": false}},
//!     "additionalProperties": false
//! });
//! let lenient = Arguments { mode: Leniency::Lenient, fraction: Fraction::Refuse };
//! let reader = Reader::new(&parameters, lenient, &Default::default()).unwrap();
//! let prepared = reader.read(&r#"{"top_k": "3"}"#.into(), Mode::Text).unwrap();
//! assert_eq!(prepared.effective, json!({"top_k": 3, "deep": false}));
//! assert_eq!(*prepared.received(), json!({"top_k": "3"}));
//! assert_eq!(prepared.warnings[0].code, "string_to_integer");
//! ```

mod clamp;
mod coerce;
pub(crate) mod dotted;
mod fill;
mod inspect;
mod invalid;
mod parse;
mod path;
mod plan;
mod repair;
mod spelling;
mod time;

use std::borrow::Cow;
use std::collections::BTreeMap;

use haft_core::call::RawArguments;
use haft_core::contract::{Arguments, Leniency, Mode, ModeRules};
use haft_core::outcome::{Clamped, Warning};
use haft_core::validator::{self, Validator};
use serde_json::{Map, Value};

pub use invalid::{Invalid, Problem, Reason};

/// The most bytes of text that are read.
pub const MAX_BYTES: usize = 1 << 20;
/// The most arrays and objects inside one another.
pub const MAX_DEPTH: usize = 64;
/// The most values, counting each array and object and everything in it.
pub const MAX_VALUES: usize = 100_000;
/// The most problems and repairs that one call is told of.
pub const MAX_TOLD: usize = 64;

/// Reads one tool's arguments.
#[derive(Debug)]
pub struct Reader {
    validator: Validator,
    plan: plan::Plan,
    rules: Arguments,
    clamps: clamp::Clamps,
}

/// Arguments that a handler may see, and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// What the tool is called with: repaired, completed, clamped and valid.
    pub effective: Value,
    /// What was repaired.
    pub warnings: Vec<Warning>,
    /// What the mode reduced.
    pub clamps: Vec<Clamped>,
    pub(crate) came: Came,
}

/// How the effective arguments came about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Came {
    received: Received,
    /// What was repaired, before defaults and clamps; where nothing was, that is what was received.
    accepted: Option<Received>,
}

impl Came {
    /// The arguments as they were accepted, from what they have become.
    pub(crate) fn accepted<'p>(&'p self, effective: &'p Value) -> Cow<'p, Value> {
        self.accepted.as_ref().unwrap_or(&self.received).within(effective)
    }
}

/// How to get from the effective arguments back to what came.
#[derive(Clone, Debug, PartialEq)]
enum Received {
    /// The first so many members: defaults are put behind them, so most calls need no copy.
    First(usize),
    /// Something inside was changed; this is what it was.
    Kept(Box<Value>),
}

impl Prepared {
    /// The arguments as they were parsed, before anything in them was changed. A string that held
    /// them, and empty text, have become the object already; the caller has the raw text.
    #[must_use]
    pub fn received(&self) -> Cow<'_, Value> {
        self.came.received.within(&self.effective)
    }

    /// The arguments as they were accepted: repaired, but without defaults and clamps. Two calls
    /// that differ only in spelling are the same here, and stay so when a default changes.
    #[must_use]
    pub fn accepted(&self) -> Cow<'_, Value> {
        self.came.accepted(&self.effective)
    }
}

impl Received {
    fn within<'p>(&'p self, effective: &'p Value) -> Cow<'p, Value> {
        match self {
            Self::Kept(value) => Cow::Borrowed(value),
            Self::First(count) => first(effective, *count),
        }
    }
}

fn first(effective: &Value, count: usize) -> Cow<'_, Value> {
    match effective.as_object() {
        Some(map) if map.len() > count => {
            let came = map.iter().take(count).map(|(name, value)| (name.clone(), value.clone()));
            Cow::Owned(Value::Object(came.collect::<Map<_, _>>()))
        }
        Some(_) | None => Cow::Borrowed(effective),
    }
}

impl Reader {
    /// Compiles a tool's parameters, defaults and clamps.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema or with its defaults.
    pub fn compile(tool: &haft_core::Tool) -> Result<Self, String> {
        let contract = &tool.contract;
        Self::new(&contract.parameters, contract.arguments, &contract.modes)
            .map_err(|why| format!("the parameters of `{}` cannot be read: {why}", tool.id))
    }

    /// The same from the parts of a contract that matter here.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema or with its defaults.
    pub fn new(
        parameters: &Value,
        rules: Arguments,
        modes: &BTreeMap<Mode, ModeRules>,
    ) -> Result<Self, String> {
        Ok(Self {
            validator: validator::compile(parameters)?,
            plan: plan::Plan::compile(parameters)?,
            rules,
            clamps: clamp::Clamps::compile(modes, parameters),
        })
    }

    /// Reads the arguments of one call.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, in words that a model can act on.
    pub fn read(&self, raw: &RawArguments, mode: Mode) -> Result<Prepared, Invalid> {
        self.read_under(raw, mode, self.rules)
    }

    /// The same under other rules than the contract's: an activation can be stricter.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_under(
        &self,
        raw: &RawArguments,
        mode: Mode,
        rules: Arguments,
    ) -> Result<Prepared, Invalid> {
        match raw {
            RawArguments::Text(text) => self.read_text(text, mode, rules),
            RawArguments::Value(value) => self.read_value(value.clone(), mode, rules),
            RawArguments::Read(value, text) => self.read_from(value.clone(), text, mode, rules),
        }
    }

    pub(crate) fn read_text(
        &self,
        text: &str,
        mode: Mode,
        rules: Arguments,
    ) -> Result<Prepared, Invalid> {
        self.settle(parse::text(text, rules.mode)?, Some(text), mode, rules)
    }

    pub(crate) fn read_value(
        &self,
        value: Value,
        mode: Mode,
        rules: Arguments,
    ) -> Result<Prepared, Invalid> {
        self.settle(parse::value(value, false, rules.mode)?, None, mode, rules)
    }

    /// Takes what was read from this text.
    pub(crate) fn read_from(
        &self,
        value: Value,
        text: &str,
        mode: Mode,
        rules: Arguments,
    ) -> Result<Prepared, Invalid> {
        let plain = parse::is_plain(text) && parse::is_small(text);
        self.settle(parse::value(value, plain, rules.mode)?, Some(text), mode, rules)
    }

    /// From what was parsed to what is used; `text` is what numbers were written in.
    fn settle(
        &self,
        mut parsed: parse::Parsed,
        text: Option<&str>,
        mode: Mode,
        rules: Arguments,
    ) -> Result<Prepared, Invalid> {
        let seen = inspect::inspect(&parsed.value, parsed.plain, parsed.numbers)?;
        let held = parsed.take_held();
        let mut prepared = self.complete(parsed.value, mode);
        prepared.warnings = parsed.warnings;
        if let Some(why) = self.validator.too_much(&prepared.effective) {
            let problems = vec![Problem::new(String::new(), "too_many_values", why)];
            let (reason, warnings) = (Reason::Validation, prepared.warnings);
            return Err(Invalid { reason, problems, warnings });
        }
        // A whole float where an integer is due is valid and still respelled, so it is looked at.
        let valid = self.validator.is_valid(&prepared.effective);
        if valid && !seen.whole_floats && !seen.large_integers {
            return Ok(prepared);
        }
        let mut problems = Vec::new();
        if seen.whole_floats || (!valid && rules.mode == Leniency::Lenient) {
            let text = held.as_deref().or(text);
            prepared = self.coerced(prepared, text, mode, rules, &mut problems);
        }
        self.judge(prepared, problems)
    }

    /// Fills defaults and clamps.
    fn complete(&self, mut value: Value, mode: Mode) -> Prepared {
        let count = value.as_object().map_or(0, Map::len);
        let mut received = Received::First(count);
        if fill::lacks_inside(&self.plan, &value) {
            received = Received::Kept(Box::new(value.clone()));
        }
        fill::fill(&self.plan, &mut value);
        let clamps = self.clamps.apply(mode, &mut value, |value| {
            if let Received::First(count) = received {
                received = Received::Kept(Box::new(first(value, count).into_owned()));
            }
        });
        let came = Came { received, accepted: None };
        Prepared { effective: value, warnings: Vec::new(), clamps, came }
    }

    fn coerced(
        &self,
        before: Prepared,
        text: Option<&str>,
        mode: Mode,
        rules: Arguments,
        problems: &mut Vec<Problem>,
    ) -> Prepared {
        let mut warnings = before.warnings;
        let came = match before.came.received {
            Received::Kept(value) => *value,
            Received::First(count) => first(&before.effective, count).into_owned(),
        };
        let mut value = came.clone();
        *problems = coerce::mend(&self.plan, rules, &mut value, text, &mut warnings);
        let completed = self.complete(value, mode);
        Prepared {
            effective: completed.effective,
            clamps: completed.clamps,
            warnings,
            came: Came {
                received: Received::Kept(Box::new(came)),
                accepted: Some(completed.came.received),
            },
        }
    }

    /// The last word: strict, with every error.
    fn judge(&self, prepared: Prepared, mut problems: Vec<Problem>) -> Result<Prepared, Invalid> {
        problems.extend(inspect::rounded(&prepared.effective));
        let found = validator::problems(&self.validator, &prepared.effective, MAX_TOLD);
        problems.extend(found.into_iter().map(|found| Problem::from_schema(found, &prepared)));
        if problems.is_empty() {
            return Ok(prepared);
        }
        problems.truncate(MAX_TOLD);
        Err(Invalid { reason: Reason::Validation, problems, warnings: prepared.warnings })
    }
}
