//! Decisions in words.

use std::sync::Arc;

use haft_core::call::Caller;
use haft_core::port::{Decision, Verdict};
use haft_core::registry::Tool;

use super::cedar::Rule;
use super::grants::{Access, Acting, Instant};

pub(crate) fn deny(
    rule: impl Into<Arc<str>>,
    why: impl Into<Arc<str>>,
    enable: impl Into<Arc<str>>,
) -> Arc<Decision> {
    said(Verdict::Deny, rule, why, Some(enable.into()))
}

pub(crate) fn allow(rule: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Arc<Decision> {
    said(Verdict::Allow, rule, why, None)
}

pub(crate) fn approve(rule: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Arc<Decision> {
    let enable = "a person has to approve this call";
    said(Verdict::RequireApproval, rule, why, Some(enable.into()))
}

fn said(
    verdict: Verdict,
    rule: impl Into<Arc<str>>,
    why: impl Into<Arc<str>>,
    enable: Option<Arc<str>>,
) -> Arc<Decision> {
    Arc::new(Decision { verdict, rule: rule.into(), why: why.into(), enable })
}

/// What gives a caller a connection. Word for word, because whoever reads it has a terminal or asks
/// somebody who has one; the grant must name the caller, or it would be granted to somebody else.
pub(crate) fn connect(caller: &Caller, provider: &str, tool: &str) -> String {
    let tenant = match &*caller.tenant {
        "default" => String::new(),
        other => format!(" --tenant {other}"),
    };
    let who = caller.principal();
    format!(
        "an operator adds an account with `haft connections add <id> --provider {provider} --kind <kind>{tenant}` \
         where there is none (the kind `bearer` is for most API keys), and grants it with `haft connections grant \
         <id> --to {who} --tools {tool}{tenant}`; the call then names it (`haft call … --connection <id>`)"
    )
}

/// What a connection's grants say, where they say no.
pub(crate) fn access(
    access: Access,
    caller: &Caller,
    tool: &Tool,
    provider: &str,
) -> Option<Arc<Decision>> {
    let id = &tool.id;
    // Somebody else's connection and one that does not exist sound the same.
    let connect = connect(caller, provider, id);
    match access {
        Access::Granted => None,
        Access::NotGranted => Some(deny(
            "connection:not-granted",
            "no grant of this tenant gives the principal this connection",
            connect,
        )),
        Access::OtherProvider => Some(deny(
            "connection:provider",
            format!("`{id}` needs a connection to {provider}"),
            connect,
        )),
        Access::OtherTools => Some(deny(
            "connection:tool",
            format!("the connection is not granted for `{id}`"),
            connect,
        )),
    }
}

/// What the record of delegations says, where it says no; else until when it holds.
pub(crate) fn acting(acting: &Acting, tool: &Tool) -> Result<i64, Arc<Decision>> {
    let id = &tool.id;
    let enable = format!("the person has to delegate `{id}` to this agent");
    let (rule, why) = match acting {
        Acting::Covered(until) => return Ok(*until),
        Acting::None => ("delegation:none", "no delegation is on record".to_owned()),
        Acting::OtherTools => ("delegation:tools", format!("the delegation leaves out `{id}`")),
        Acting::NotConnection => {
            ("delegation:connection", "the delegation leaves out the connection".to_owned())
        }
        Acting::Expired(at) => {
            ("delegation:expired", format!("the delegation ended at {}", Instant(*at)))
        }
    };
    Err(deny(rule, why, enable))
}

/// A Cedar rule that forbids.
pub(crate) fn forbidden(rule: &Rule, tool: &Tool) -> Arc<Decision> {
    let why = rule.description.clone().unwrap_or_else(|| "a rule forbids it".into());
    let enable = rule
        .enable
        .clone()
        .unwrap_or_else(|| format!("a rule of the administrator forbids `{}` here", tool.id));
    deny(rule.id.clone(), why, enable)
}

/// A Cedar rule that demands approval.
pub(crate) fn asked(rule: &Rule) -> Arc<Decision> {
    let reason = rule.approve.clone().filter(|reason| !reason.is_empty());
    approve(rule.id.clone(), reason.unwrap_or_else(|| "a rule demands approval".into()))
}
