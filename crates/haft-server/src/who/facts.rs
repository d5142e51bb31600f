//! What a credential says about its user: `context.user` in rules and conditions. Like everything
//! about who asks, it comes from there and never from the request.

use std::sync::{Arc, LazyLock};

use haft_core::call::{Principal, PrincipalKind};
use serde_json::{Map, Value};

/// What is known about a user, by name.
pub type Facts = Map<String, Value>;

/// The fact that doors know by themselves: whether the credential names a person.
const AUTHENTICATED: &str = "isAuthenticated";
const MOST_FACTS: usize = 32;
const MOST_BYTES: usize = 4 << 10;

/// One of each for all: every request names one, and callers are compared by it first.
static PERSON: LazyLock<Arc<Facts>> = LazyLock::new(|| alone(true));
static NOBODY: LazyLock<Arc<Facts>> = LazyLock::new(|| alone(false));

fn alone(person: bool) -> Arc<Facts> {
    Arc::new(Map::from_iter([(AUTHENTICATED.to_owned(), Value::Bool(person))]))
}

/// What is known about the user of a credential: whether it names a person, as whoever acts or as
/// whom they act for, and what else it says, which wins.
#[must_use]
pub fn of(principal: &Principal, subject: Option<&Principal>, said: &Facts) -> Arc<Facts> {
    let user = |one: &Principal| one.kind == PrincipalKind::User;
    let known = match user(principal) || subject.is_some_and(user) {
        true => &*PERSON,
        false => &*NOBODY,
    };
    if said.is_empty() {
        return known.clone();
    }
    let mut all = Facts::clone(known);
    all.extend(said.iter().map(|(name, fact)| (name.clone(), fact.clone())));
    Arc::new(all)
}

/// What is wrong with facts that somebody wrote down.
pub(super) fn fault(facts: &Facts) -> Option<&'static str> {
    if facts.len() > MOST_FACTS || Value::from(facts.clone()).to_string().len() > MOST_BYTES {
        return Some("says more in `user` than 32 members or 4 KiB");
    }
    let sayable = |fact: &Value| match fact {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(all) => all.iter().all(Value::is_string),
        Value::Null | Value::Object(_) => false,
    };
    (!facts.values().all(sayable)).then_some(
        "says in `user` what rules cannot read; write texts, numbers, booleans, or lists of texts",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(principal: Principal, subject: Option<Principal>, said: Value, expected: &Value) {
        let Value::Object(said) = said else { panic!("no facts") };
        assert_eq!(
            &Value::from(of(&principal, subject.as_ref(), &said).as_ref().clone()),
            expected
        );
    }

    #[test]
    fn a_credential_that_names_a_person_says_so() {
        let (yes, no) = (json!({"isAuthenticated": true}), json!({"isAuthenticated": false}));
        check(Principal::user("ada"), None, json!({}), &yes);
        check(Principal::agent("helper"), Some(Principal::user("ada")), json!({}), &yes);
        check(Principal::agent("helper"), None, json!({}), &no);
        let guest = json!({"isAuthenticated": false, "level": 1});
        check(Principal::user("guest"), None, guest.clone(), &guest);
    }

    #[test]
    fn what_rules_cannot_read_is_refused() {
        let wrong = |facts: Value| fault(facts.as_object().unwrap()).is_some();
        assert!(!wrong(
            json!({"level": 2, "plan": "pro", "staff": true, "teams": ["a", "b"], "x": 0.5})
        ));
        for odd in [json!(null), json!({}), json!([1]), json!([["a"]])] {
            assert!(wrong(json!({ "odd": odd })), "{odd}");
        }
        assert!(wrong(json!({ "long": "x".repeat(MOST_BYTES) })));
        assert!(wrong(Value::from(Map::from_iter((0..33).map(|n| (n.to_string(), json!(n)))))));
    }
}
