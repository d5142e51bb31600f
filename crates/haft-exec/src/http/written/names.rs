//! Names of a query or a form: which of them stand for one place.

use url::form_urlencoded;

/// No service, with all that stands before it, takes off more layers of escapes.
const MOST_ESCAPES: usize = 3;

/// A name that an argument chose, or the end of one.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) name: String,
    /// How many of its steps are the contract's.
    given: usize,
}

impl Chosen {
    /// All of it.
    pub(super) fn whole(name: &str) -> Self {
        Self { name: name.to_owned(), given: 0 }
    }

    /// What comes after a name of the contract's.
    pub(super) fn behind(given: &str, name: &str) -> Self {
        Self { name: name.to_owned(), given: steps(given).len() }
    }

    /// Whether it is one of these names, or a part of one. (That the contract itself has put one of its names
    /// into another is no argument's doing.)
    pub(super) fn is_one_of(&self, reserved: &[Vec<String>]) -> bool {
        let chosen = steps(&self.name);
        reserved.iter().any(|own| own.len() > self.given && lead_together(own, &chosen))
    }
}

/// Whether two names of a query stand for one place, or for one within the other: a service that takes
/// `filter[owner]` for a member of `filter` takes it from either. Dots lead nowhere: no style writes them
/// into a name, and services have parameters called `q` and `q.op`.
pub(in crate::http) fn meet(one: &str, other: &str) -> bool {
    lead_together(&steps(one), &steps(other))
}

fn lead_together(one: &[String], other: &[String]) -> bool {
    !one.is_empty() && !other.is_empty() && one.iter().zip(other).all(|(a, b)| a == b)
}

/// The name and the members that lead from it to a value, however a service is lenient about how they are
/// written: brackets that are missing, doubled or escaped once more, spaces, capital letters, and a NUL,
/// which ends a name for those that count characters to it.
pub(super) fn steps(name: &str) -> Vec<String> {
    let name = unescaped(name).to_lowercase();
    let parts = name.split(|c: char| matches!(c, '[' | ']') || c.is_control());
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A name without the escapes that it had itself, before it was escaped for the query.
fn unescaped(name: &str) -> String {
    let mut here = name.to_owned();
    for _ in 0..MOST_ESCAPES {
        if !here.contains(['%', '+']) {
            break;
        }
        // These are not escapes, and would end the name.
        let whole = here.replace('&', "%26").replace('=', "%3D");
        let found = form_urlencoded::parse(whole.as_bytes()).next();
        here = found.map(|(name, _)| name.into_owned()).unwrap_or_default();
    }
    here
}
