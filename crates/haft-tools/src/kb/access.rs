//! Namespaces are a permission: who may read which.
//!
//! Where none are declared, everybody reads everything. Where some are, nobody reads anything that
//! is not granted: a namespace without readers is closed, and so is one that is not declared.

use haft_core::call::{Caller, Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

/// A namespace and who may read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// As records and calls name it.
    pub id: String,
    /// Who may read it: `*`, `tenant:acme`, `user:mara`, `agent:*`.
    #[serde(default)]
    pub readers: Vec<String>,
    /// Whether everybody has one of their own under this name. Records of `user:mara` are in
    /// `<id>/mara`, and nobody else reads them.
    #[serde(default)]
    pub personal: bool,
}

/// What a caller may read.
#[derive(Clone, Debug, PartialEq)]
pub enum Readable {
    /// Everything.
    All,
    /// Only these namespaces, as records are stored.
    Only(Vec<String>),
}

impl Readable {
    /// For a search.
    #[must_use]
    pub fn namespaces(self) -> Option<Vec<String>> {
        match self {
            Self::All => None,
            Self::Only(names) => Some(names),
        }
    }
}

/// All namespaces that are declared.
#[derive(Clone, Debug, Default)]
pub struct Namespaces(Vec<Namespace>);

impl Namespaces {
    /// Checks them.
    ///
    /// # Errors
    ///
    /// What is wrong with a name or a reader.
    pub fn new(declared: Vec<Namespace>) -> Result<Self, String> {
        for (at, one) in declared.iter().enumerate() {
            if one.id.is_empty() || one.id.contains('/') || one.id.chars().any(char::is_control) {
                return Err(format!("`{}` cannot be a namespace", one.id.escape_debug()));
            }
            if declared.iter().take(at).any(|other| other.id == one.id) {
                return Err(format!("the namespace `{}` is declared twice", one.id));
            }
            if one.personal && !one.readers.is_empty() {
                return Err(format!(
                    "the namespace `{}` is personal, so only its owner reads it: leave `readers` out",
                    one.id
                ));
            }
            if let Some(wrong) = one.readers.iter().find(|reader| !is_reader(reader)) {
                return Err(format!(
                    "`{}` is no reader of `{}`: write `*`, `tenant:<id>`, `user:<id>`, `agent:<id>` or `service:<id>`",
                    wrong.escape_debug(),
                    one.id
                ));
            }
        }
        Ok(Self(declared))
    }

    /// Everything that a caller may read.
    #[must_use]
    pub fn readable(&self, caller: &Caller) -> Readable {
        if self.0.is_empty() {
            return Readable::All;
        }
        Readable::Only(self.0.iter().filter_map(|one| stored(one, caller)).collect())
    }

    /// The namespace of this name, as its records are stored, where the caller may read it.
    #[must_use]
    pub fn named(&self, name: &str, caller: &Caller) -> Option<String> {
        if self.0.is_empty() {
            return Some(name.to_owned());
        }
        self.0.iter().find(|one| one.id == name).and_then(|one| stored(one, caller))
    }
}

/// Who acts for somebody needs the permission of both.
fn stored(one: &Namespace, caller: &Caller) -> Option<String> {
    if one.personal {
        let owner = caller.principal();
        return (owner.kind == PrincipalKind::User).then(|| format!("{}/{}", one.id, owner.id));
    }
    let may = |who: &Principal| one.readers.iter().any(|reader| matches(reader, who, caller));
    let may_read = may(&caller.actor) && caller.subject.as_ref().is_none_or(may);
    may_read.then(|| one.id.clone())
}

fn matches(reader: &str, who: &Principal, caller: &Caller) -> bool {
    match reader.split_once(':') {
        None => reader == "*",
        Some(("tenant", id)) => id == "*" || id == &*caller.tenant,
        Some((kind, id)) => kind == who.kind.as_str() && (id == "*" || id == who.id),
    }
}

fn is_reader(text: &str) -> bool {
    let tenant = text.strip_prefix("tenant:").is_some_and(|id| !id.is_empty());
    text == "*" || tenant || Principal::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Namespaces {
        let one = |id: &str, readers: &[&str]| Namespace {
            id: id.into(),
            readers: readers.iter().map(|reader| (*reader).into()).collect(),
            personal: false,
        };
        let own = Namespace { id: "personal".into(), personal: true, ..Namespace::default() };
        Namespaces::new(vec![
            one("public", &["*"]),
            one("studio", &["tenant:north"]),
            one("board", &["user:mara", "agent:desk"]),
            one("closed", &[]),
            own,
        ])
        .unwrap()
    }

    fn caller(tenant: &str, actor: &str, subject: Option<&str>) -> Caller {
        let mut caller = Caller::agent(tenant, "desk");
        caller.actor = Principal::parse(actor).unwrap();
        caller.subject = subject.map(|who| Principal::parse(who).unwrap());
        caller
    }

    #[track_caller]
    fn check(caller: &Caller, expected: &[&str]) {
        let expected = expected.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(declared().readable(caller), Readable::Only(expected));
    }

    #[test]
    fn only_what_is_granted_is_read() {
        check(&caller("south", "agent:desk", None), &["public", "board"]);
        check(&caller("north", "agent:other", None), &["public", "studio"]);
        check(&caller("north", "user:mara", None), &["public", "studio", "board", "personal/mara"]);
    }

    #[test]
    fn acting_for_somebody_takes_the_permission_of_both() {
        check(
            &caller("south", "agent:desk", Some("user:mara")),
            &["public", "board", "personal/mara"],
        );
        check(&caller("south", "agent:desk", Some("user:radu")), &["public", "personal/radu"]);
        check(&caller("south", "agent:other", Some("user:mara")), &["public", "personal/mara"]);
    }

    #[test]
    fn a_name_that_is_not_declared_is_not_read() {
        let mara = caller("north", "user:mara", None);
        for (name, expected) in [
            ("personal", Some("personal/mara")),
            ("personal/radu", None),
            ("personal/mara", None),
            ("closed", None),
            ("other", None),
        ] {
            assert_eq!(declared().named(name, &mara).as_deref(), expected, "{name}");
        }
        assert_eq!(Namespaces::default().named("other", &mara).as_deref(), Some("other"));
        assert_eq!(Namespaces::default().readable(&mara), Readable::All);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let one = |id: &str, reader: &str| Namespace {
            id: id.into(),
            readers: vec![reader.into()],
            personal: false,
        };
        assert!(Namespaces::new(vec![one("a/b", "*")]).is_err());
        assert!(Namespaces::new(vec![one("a", "*"), one("a", "*")]).is_err());
        assert!(Namespaces::new(vec![one("a", "everybody")]).is_err());
        assert!(Namespaces::new(vec![Namespace { personal: true, ..one("a", "*") }]).is_err());
    }
}
