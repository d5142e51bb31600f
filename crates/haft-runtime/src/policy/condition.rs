//! Conditions of contracts: Cedar expressions over `context`, compiled once.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::{EvalResult, Expression, eval_expression};
use haft_core::nesting;
use haft_core::port::Ask;
use parking_lot::RwLock;

use super::cedar::mentions::Mentions;
use super::cedar::request::{Names, context};
use super::cedar::schema::OTHER;
use super::cedar::search;
use super::cedar::types::Record;

/// How many different conditions are kept compiled. Contracts are many, conditions are few.
const MOST: usize = 4096;

/// A condition, read.
#[derive(Debug)]
pub(crate) struct Condition {
    expression: Expression,
    pub(crate) mentions: Mentions,
}

type Compiled = Result<Arc<Condition>, String>;

/// Conditions that were read before.
#[derive(Debug)]
pub(crate) struct Conditions {
    names: Result<Names, String>,
    user: Record,
    read: RwLock<HashMap<String, Compiled>>,
}

impl Conditions {
    pub(crate) fn new(user: Record) -> Self {
        Self { names: Names::new(), user, read: RwLock::default() }
    }

    /// Reads a condition, or says why it is none.
    pub(crate) fn read(&self, text: &str) -> Compiled {
        if let Some(compiled) = self.read.read().get(text) {
            return compiled.clone();
        }
        let compiled = parse(text).map(Arc::new);
        let mut all = self.read.write();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(text.to_owned(), compiled.clone());
        compiled
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&self, text: &str, ask: &Ask<'_>) -> Result<bool, String> {
        let condition = self.read(text)?;
        let mentions = &condition.mentions;
        let user = serde_json::Value::Object(ask.caller.user.as_ref().clone());
        let user = self
            .user
            .value(&user, &|name| mentions.speaks_of_user(name))
            .map_err(|why| format!("context.user: {why}"))?;
        let arguments = match (mentions.arguments, ask.arguments) {
            (false, _) => None,
            (true, None) => return Err("the arguments are not known yet".into()),
            (true, Some(arguments)) => Some(
                Record::of_parameters(&ask.tool.contract.parameters)
                    .value(arguments, &|name| mentions.speaks_of_argument(name))
                    .map_err(|why| format!("context.arguments: {why}"))?,
            ),
        };
        search::affordable(mentions, ask)?;
        let names = self.names.as_ref().map_err(Clone::clone)?;
        let context = context(ask, user, arguments)?;
        let (request, entities) = names.request(ask.caller.principal(), OTHER, ask, context)?;
        match eval_expression(&request, &entities, &condition.expression) {
            Ok(EvalResult::Bool(holds)) => Ok(holds),
            Ok(
                EvalResult::Long(_)
                | EvalResult::String(_)
                | EvalResult::EntityUid(_)
                | EvalResult::Set(_)
                | EvalResult::Record(_)
                | EvalResult::ExtensionValue(_),
            ) => Err("the condition is neither true nor false".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Reads one condition. It must be an expression by itself: text that would close a policy and open
/// another (`true } unless { false`) is not one.
fn parse(text: &str) -> Result<Condition, String> {
    // Parsing recurses.
    if let Some(why) = nesting::unfit_condition(text) {
        return Err(why.to_owned());
    }
    let expression =
        Expression::from_str(text).map_err(|error| format!("this is not a condition: {error}"))?;
    let mentions = Mentions::of_condition(&expression);
    Ok(Condition { expression, mentions })
}
