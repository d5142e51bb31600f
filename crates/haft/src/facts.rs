//! What somebody who types a command says about the user, held against what rules can read.

use haft_core::contract::Confirmation;
use haft_core::{Caller, Tool, nearest};
use haft_runtime::policy::UserType;
use haft_server::who::facts::Facts;

use crate::assembly::{Desk, plain};
use crate::output::{Given as _, misuse};

/// The member that is there undeclared.
const AUTHENTICATED: &str = "isAuthenticated";

/// What is known about the user, as somebody typed it.
pub(crate) fn read(user: Option<&str>) -> anyhow::Result<Facts> {
    let read = |text| serde_json::from_str(text).given("--user must be a JSON object");
    Ok(user.map(read).transpose()?.unwrap_or_default())
}

/// The same, where nothing in it is misspelt and everything is of the type that is declared: what no rule
/// reads would be left out without a word.
pub(crate) fn known(desk: &Desk, caller: &Caller, user: Option<&str>) -> anyhow::Result<Facts> {
    let facts = read(user)?;
    let mut declared = desk.config.rules.user.clone();
    declared.entry(AUTHENTICATED.to_owned()).or_insert(UserType::Boolean);
    for (name, fact) in &facts {
        let shown = plain(name);
        match declared.get(name) {
            Some(ty) if ty.takes(fact) => {}
            Some(ty) => {
                let (what, said) = (ty.in_words(), plain(&fact.to_string()));
                return Err(misuse(format!("--user: `{shown}` must be {what}, not {said}")));
            }
            None if is_asked_for(desk, caller, name) => {}
            None => {
                let names: Vec<&str> = declared.keys().map(String::as_str).collect();
                let fix = nearest::suggest(name, &names);
                let why = format!("`{shown}` is not declared in `[policy.user]`");
                return Err(misuse(format!("--user: {why}, so no rule reads it; {fix}")));
            }
        }
    }
    Ok(facts)
}

/// Conditions of contracts read members that nobody declared, too.
fn is_asked_for(desk: &Desk, caller: &Caller, name: &str) -> bool {
    let catalog = desk.runtime.catalog(caller, haft_core::contract::Mode::Text);
    let there = catalog.list().any(|one| asks_for(&one.tool, name));
    there || catalog.unavailable().iter().any(|one| asks_for(&one.tool, name))
}

fn asks_for(tool: &Tool, name: &str) -> bool {
    let contract = &tool.contract;
    let available = contract.availability.as_ref().map(|one| one.condition.as_str());
    let asked = match &contract.requires_confirmation {
        Confirmation::When { when } => Some(when.as_str()),
        Confirmation::Always(_) => None,
    };
    let said = |text: &str| text.contains("user") && text.contains(name);
    !name.is_empty() && (available.is_some_and(said) || asked.is_some_and(said))
}
