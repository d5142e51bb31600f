//! Who may act for whom, and who may use which connection.

use std::collections::HashMap;
use std::fmt;

use haft_core::call::{Caller, Principal};
use haft_core::registry::Tool;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::glob::{Globs, Known};
use super::problem::Problem;

/// A delegation on record: `actor` may use `tools` for `subject`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// In which tenant.
    pub tenant: String,
    /// Who acts.
    pub actor: Principal,
    /// For whom.
    pub subject: Principal,
    /// With which tools.
    pub tools: Vec<String>,
    /// Through which of the subject's connections; none when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<String>,
    /// Until when.
    pub until: Instant,
}

/// A grant: these principals may use this connection, with these tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The connection, an opaque id.
    pub connection: String,
    /// Whose account it is.
    pub provider: String,
    /// In which tenant.
    pub tenant: String,
    /// Who: `user:mara`, `agent:*`, `*`.
    pub principals: Vec<String>,
    /// With which tools.
    pub tools: Vec<String>,
}

/// An instant in milliseconds of the Unix epoch, written as RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub i64);

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => f.write_str("a time out of range"),
        }
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let at: jiff::Timestamp = text.parse().map_err(|_| {
            de::Error::custom(format!(
                "`{}` is not a time; write it like `2026-12-31T18:00:00Z`",
                text.escape_debug()
            ))
        })?;
        Ok(Self(at.as_millisecond()))
    }
}

/// Delegations, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Delegations(HashMap<(String, Principal, Principal), Vec<Delegated>>);

#[derive(Debug)]
struct Delegated {
    tools: Globs,
    connections: Globs,
    until: i64,
}

/// What the record says about acting for someone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Acting {
    /// Covered until then.
    Covered(i64),
    /// Nothing on record between these two.
    None,
    /// Something is, and not for this tool.
    OtherTools,
    /// The tool is covered, the connection is not.
    NotConnection,
    /// It was covered, and is over.
    Expired(i64),
}

impl Delegations {
    pub(crate) fn read(
        written: &[Delegation],
        known: &Known<'_>,
        file: &str,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut index: HashMap<_, Vec<Delegated>> = HashMap::new();
        for entry in written {
            let place = format!("delegation of {} to {}", entry.subject, entry.actor);
            let tools = known.globs(file, &place, &entry.tools, problems);
            let connections = Globs::plain(&entry.connections);
            let key = (entry.tenant.clone(), entry.actor.clone(), entry.subject.clone());
            index.entry(key).or_default().push(Delegated {
                tools,
                connections,
                until: entry.until.0,
            });
        }
        Self(index)
    }

    pub(crate) fn acting(
        &self,
        caller: &Caller,
        subject: &Principal,
        tool: &Tool,
        connection: Option<&str>,
        now_ms: i64,
    ) -> Acting {
        let key = (caller.tenant.to_string(), caller.actor.clone(), subject.clone());
        let Some(entries) = self.0.get(&key) else { return Acting::None };
        let for_tool: Vec<_> = entries.iter().filter(|one| one.tools.matches(&tool.id)).collect();
        let through = |one: &&&Delegated| connection.is_none_or(|id| one.connections.matches(id));
        let latest = for_tool.iter().filter(through).map(|one| one.until).max();
        match latest {
            Some(until) if until > now_ms => Acting::Covered(until),
            Some(until) => Acting::Expired(until),
            None if for_tool.is_empty() => Acting::OtherTools,
            None => Acting::NotConnection,
        }
    }
}

/// Grants, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Grants(HashMap<String, HashMap<String, Vec<Granted>>>);

#[derive(Debug)]
struct Granted {
    provider: String,
    principals: Globs,
    tools: Globs,
}

/// What grants say about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may be used.
    Granted,
    /// There is no such connection, or it is not this principal's.
    NotGranted,
    /// It is an account elsewhere.
    OtherProvider,
    /// It is not for this tool.
    OtherTools,
}

impl Grants {
    pub(crate) fn read(
        written: &[Grant],
        known: &Known<'_>,
        file: &str,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut index: HashMap<String, HashMap<String, Vec<Granted>>> = HashMap::new();
        for entry in written {
            let place = format!("grant of connection `{}`", entry.connection);
            for who in entry.principals.iter().filter(|who| !is_principals(who)) {
                let message = format!("{place}: `{}` is nobody", who.escape_debug());
                let help = "write `user:<id>`, `agent:<id>`, `service:<id>`, `user:*` or `*`";
                problems.push(Problem::error(file, message).help(help));
            }
            let granted = Granted {
                provider: entry.provider.clone(),
                principals: Globs::plain(&entry.principals),
                tools: known.globs(file, &place, &entry.tools, problems),
            };
            let all = index.entry(entry.tenant.clone()).or_default();
            let same = all.entry(entry.connection.clone()).or_default();
            if same.iter().any(|other| other.provider != granted.provider) {
                problems.push(Problem::error(file, format!("{place}: it has two providers")));
            }
            same.push(granted);
        }
        Self(index)
    }

    /// With those of other tenants.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether a principal may use a connection with a tool.
    pub(crate) fn access(
        &self,
        tenant: &str,
        principal: &Principal,
        connection: &str,
        provider: &str,
        tool: &str,
    ) -> Access {
        let entries = self.0.get(tenant).and_then(|all| all.get(connection));
        let who = principal.to_string();
        let theirs = entries.into_iter().flatten().filter(|one| one.principals.matches(&who));
        let all: Vec<&Granted> = theirs.collect();
        match all.first() {
            None => Access::NotGranted,
            Some(one) if one.provider != provider => Access::OtherProvider,
            Some(_) if all.iter().any(|one| one.tools.matches(tool)) => Access::Granted,
            Some(_) => Access::OtherTools,
        }
    }

    /// The connections that a principal may use with a tool, in stable order.
    pub(crate) fn usable(
        &self,
        tenant: &str,
        principal: &Principal,
        provider: &str,
        tool: &str,
    ) -> Vec<&str> {
        let all = self.0.get(tenant).into_iter().flat_map(|all| all.keys());
        let mut usable: Vec<&str> = all
            .map(String::as_str)
            .filter(|id| self.access(tenant, principal, id, provider, tool) == Access::Granted)
            .collect();
        usable.sort_unstable();
        usable
    }
}

/// `*`, `user:*` or a principal.
fn is_principals(text: &str) -> bool {
    matches!(text, "*" | "user:*" | "agent:*" | "service:*")
        || (Principal::parse(text).is_ok() && !text.contains('*'))
}
