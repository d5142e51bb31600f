//! Namespaces are a permission: who may read which.
//!
//! Where none are declared, everybody reads everything. Where some are, nobody reads anything that
//! is not granted: a namespace without readers is closed, and so is one that is not declared.
//!
//! Names of people and agents are unique in their tenant only, and each tenant gives them out itself.
//! So a reader is somebody of a tenant, and `user:mara` alone is the one of the base's own tenant.

use haft_core::call::{Caller, Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

/// A namespace and who may read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// As records and calls name it.
    pub id: String,
    /// Who may read it: `*`, `tenant:acme`, `acme/user:mara`, `*/agent:*`; and of the base's own
    /// tenant `user:mara`, `agent:*`.
    #[serde(default)]
    pub readers: Vec<String>,
    /// Whether everybody has one of their own under this name. Records of `user:mara` of the tenant
    /// `acme` are in `<id>/acme/mara`, those of the base's own tenant also in `<id>/mara`, and nobody
    /// else reads them.
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
pub struct Namespaces {
    declared: Vec<Namespace>,
    /// The tenant that is meant where none is named.
    home: Option<String>,
}

impl Namespaces {
    /// Checks them. Where there is one tenant that is meant when none is named, it is `home`.
    ///
    /// # Errors
    ///
    /// What is wrong with a name or a reader.
    pub fn new(declared: Vec<Namespace>, home: Option<String>) -> Result<Self, String> {
        match Self::faults(&declared, home.as_deref()).into_iter().next() {
            Some(why) => Err(why),
            None => Ok(Self { declared, home }),
        }
    }

    /// Everything that makes no sense, the first first.
    #[must_use]
    pub fn faults(declared: &[Namespace], home: Option<&str>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (at, one) in declared.iter().enumerate() {
            let id = &one.id;
            if id.is_empty() || id.contains('/') || id.chars().any(char::is_control) {
                wrong.push(format!("`{}` cannot be a namespace", id.escape_debug()));
            }
            if declared.iter().take(at).any(|other| other.id == *id) {
                wrong.push(format!("the namespace `{id}` is declared twice"));
            }
            if one.personal && !one.readers.is_empty() {
                wrong.push(format!(
                    "the namespace `{id}` is personal, so only its owner reads it: leave `readers` out"
                ));
            }
            wrong.extend(one.readers.iter().filter_map(|reader| no_reader(reader, id, home)));
        }
        wrong
    }

    /// Everything that a caller may read.
    #[must_use]
    pub fn readable(&self, caller: &Caller) -> Readable {
        if self.declared.is_empty() {
            return Readable::All;
        }
        Readable::Only(self.declared.iter().flat_map(|one| self.stored(one, caller)).collect())
    }

    /// The namespaces of this name, as records are stored, that the caller may read.
    #[must_use]
    pub fn named(&self, name: &str, caller: &Caller) -> Vec<String> {
        if self.declared.is_empty() {
            return vec![name.to_owned()];
        }
        let found = self.declared.iter().find(|one| one.id == name);
        found.map_or_else(Vec::new, |one| self.stored(one, caller))
    }

    /// Who acts for somebody needs the permission of both.
    fn stored(&self, one: &Namespace, caller: &Caller) -> Vec<String> {
        if one.personal {
            return self.places(one, caller);
        }
        let may =
            |who: &Principal| one.readers.iter().any(|reader| self.matches(reader, who, caller));
        let may_read = may(&caller.actor) && caller.subject.as_ref().is_none_or(may);
        may_read.then(|| one.id.clone()).into_iter().collect()
    }

    /// Where a person's own records are.
    fn places(&self, one: &Namespace, caller: &Caller) -> Vec<String> {
        let (owner, tenant) = (caller.principal(), &*caller.tenant);
        // A tenant's name with a slash would be read as a shorter one and a part of somebody's name.
        if owner.kind != PrincipalKind::User || tenant.contains('/') {
            return Vec::new();
        }
        let mut places = vec![format!("{}/{tenant}/{}", one.id, owner.id)];
        // So would a person's.
        if self.is_home(tenant) && !owner.id.contains('/') {
            places.push(format!("{}/{}", one.id, owner.id));
        }
        places
    }

    fn is_home(&self, tenant: &str) -> bool {
        self.home.as_deref() == Some(tenant)
    }

    fn matches(&self, reader: &str, who: &Principal, caller: &Caller) -> bool {
        let tenant = &*caller.tenant;
        if let Some(id) = reader.strip_prefix("tenant:") {
            return id == "*" || id == tenant;
        }
        let is = |reader: &str| match reader.split_once(':') {
            Some((kind, id)) => kind == who.kind.as_str() && (id == "*" || id == &*who.id),
            None => false,
        };
        match of_tenant(reader) {
            Some((of, principal)) => (of == "*" || of == tenant) && is(principal),
            None => reader == "*" || self.is_home(tenant) && is(reader),
        }
    }
}

/// A tenant and one of its principals, where a reader is written so.
fn of_tenant(reader: &str) -> Option<(&str, &str)> {
    let (tenant, principal) = reader.split_once('/')?;
    // `user:a/b` is somebody whose name has a slash.
    (!tenant.is_empty() && !tenant.contains(':')).then_some((tenant, principal))
}

/// Why somebody cannot be a reader of a namespace.
fn no_reader(reader: &str, namespace: &str, home: Option<&str>) -> Option<String> {
    let shown = reader.escape_debug();
    if !is_reader(reader) {
        return Some(format!(
            "`{shown}` is no reader of `{namespace}`: write `*`, `tenant:<id>`, `<tenant>/user:<id>`, `<tenant>/agent:<id>` or `<tenant>/service:<id>`"
        ));
    }
    let bare = home.is_none() && Principal::parse(reader).is_ok();
    bare.then(|| {
        format!(
            "`{shown}` of which tenant may read `{namespace}`? there are several: write `<tenant>/{shown}`, or name the one that is meant with `kb.tenant`"
        )
    })
}

fn is_reader(text: &str) -> bool {
    let tenant = text.strip_prefix("tenant:").is_some_and(|id| !id.is_empty());
    let principal = of_tenant(text).map_or(text, |(_, principal)| principal);
    text == "*" || tenant || Principal::parse(principal).is_ok()
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
        let all = vec![
            one("public", &["*"]),
            one("studio", &["tenant:north"]),
            one("board", &["user:mara", "agent:desk"]),
            one("guild", &["south/user:mara", "*/service:bell"]),
            one("closed", &[]),
            own,
        ];
        Namespaces::new(all, Some("north".to_owned())).unwrap()
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
        check(&caller("north", "agent:desk", None), &["public", "studio", "board"]);
        check(&caller("north", "agent:other", None), &["public", "studio"]);
        check(
            &caller("north", "user:mara", None),
            &["public", "studio", "board", "personal/north/mara", "personal/mara"],
        );
    }

    #[test]
    fn a_namesake_of_another_tenant_is_somebody_else() {
        check(&caller("south", "agent:desk", None), &["public"]);
        check(&caller("south", "user:mara", None), &["public", "guild", "personal/south/mara"]);
        check(&caller("east", "user:mara", None), &["public", "personal/east/mara"]);
        check(&caller("east", "service:bell", None), &["public", "guild"]);
        // No name reads like a tenant's and a name.
        let own = ["public", "studio", "personal/north/south/mara"];
        check(&caller("north", "user:south/mara", None), &own);
        check(&caller("north/south", "user:mara", None), &["public"]);
    }

    #[test]
    fn acting_for_somebody_takes_the_permission_of_both() {
        check(
            &caller("north", "agent:desk", Some("user:mara")),
            &["public", "studio", "board", "personal/north/mara", "personal/mara"],
        );
        check(
            &caller("north", "agent:desk", Some("user:radu")),
            &["public", "studio", "personal/north/radu", "personal/radu"],
        );
        check(
            &caller("south", "agent:other", Some("user:mara")),
            &["public", "personal/south/mara"],
        );
    }

    #[test]
    fn a_name_that_is_not_declared_is_not_read() {
        let mara = caller("north", "user:mara", None);
        for (name, expected) in [
            ("personal", &["personal/north/mara", "personal/mara"][..]),
            ("personal/radu", &[]),
            ("personal/mara", &[]),
            ("closed", &[]),
            ("other", &[]),
        ] {
            assert_eq!(declared().named(name, &mara), expected, "{name}");
        }
        assert_eq!(Namespaces::default().named("other", &mara), ["other"]);
        assert_eq!(Namespaces::default().readable(&mara), Readable::All);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let one = |id: &str, reader: &str| Namespace {
            id: id.into(),
            readers: vec![reader.into()],
            personal: false,
        };
        let home = || Some("north".to_owned());
        for wrong in [
            vec![one("a/b", "*")],
            vec![one("a", "*"), one("a", "*")],
            vec![one("a", "everybody")],
            vec![one("a", "north/")],
            vec![one("a", "north/everybody")],
            vec![one("a", "/user:mara")],
            vec![Namespace { personal: true, ..one("a", "*") }],
        ] {
            assert!(Namespaces::new(wrong.clone(), home()).is_err(), "{wrong:?}");
        }
        // Where it is not said which tenant is meant, it has to be said of whom.
        let why = Namespaces::new(vec![one("a", "user:mara")], None).unwrap_err();
        assert!(why.contains("write `<tenant>/user:mara`, or name the one"), "{why}");
        assert!(
            Namespaces::new(vec![one("a", "north/user:mara"), one("b", "tenant:x")], None).is_ok()
        );
    }
}
