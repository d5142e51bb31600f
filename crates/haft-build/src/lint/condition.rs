//! Conditions are Cedar expressions, the language of policies.

use std::str::FromStr;

use haft_core::nesting;
use serde_json::Value;

use crate::code;
use crate::diagnostic::Findings;

/// Checks `requiresConfirmation.when` and `availability.condition`.
pub(crate) fn check(contract: &Value, out: &mut Findings) {
    for pointer in ["/requiresConfirmation/when", "/availability/condition"] {
        if let Some(text) = contract.pointer(pointer).and_then(Value::as_str)
            && !text.trim().is_empty()
            && let Err(why) = parse(text)
        {
            out.contract(&code::CONDITION, pointer, why).help(hint(text));
        }
    }
}

/// Reads one condition. It must be an expression by itself: text that would close a policy and
/// open another (`true } unless { false`) is not one.
fn parse(text: &str) -> Result<(), String> {
    // Parsing recurses.
    if let Some(why) = nesting::unfit_condition(text) {
        return Err(why.to_owned());
    }
    cedar_policy::Expression::from_str(text)
        .map(drop)
        .map_err(|error| format!("this is not a condition: {error}"))
}

fn hint(text: &str) -> String {
    let wrong = [
        ("===", "write `==`"),
        ("!==", "write `!=`"),
        ("?.", "write `context has user && context.user.…`"),
        (".includes(", "write `[\"a\", \"b\"].contains(context.mode)`"),
        ("'", "texts stand in double quotes"),
        (" and ", "write `&&`"),
        (" or ", "write `||`"),
    ];
    wrong
        .iter()
        .find(|(mark, _)| text.contains(mark))
        .map_or("conditions are Cedar expressions: `context.mode == \"voice\"`", |(_, help)| help)
        .to_owned()
}
