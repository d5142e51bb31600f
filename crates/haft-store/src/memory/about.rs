//! Which entries of the audit trail a filter means.

use haft_core::port::TrailFilter;
use haft_core::record::{AuditEntry, InvocationRecord};
use serde::Deserialize;

use crate::steps::journal::BEGIN;

/// What an entry is about.
#[derive(Default, Deserialize)]
struct About {
    agent: Option<String>,
    tool: Option<String>,
    session: Option<String>,
    call: Option<String>,
}

/// Whether a filter means an entry. The record is that of the call which the entry tells of.
pub(super) fn is_meant<'a>(
    filter: &TrailFilter,
    entry: &AuditEntry,
    record: impl FnOnce() -> Option<&'a InvocationRecord>,
) -> bool {
    filter.tenant == entry.tenant
        && (filter.kinds.is_empty() || filter.kinds.contains(&entry.kind))
        && filter.since_ms.is_none_or(|since| entry.at_ms >= since)
        && filter.until_ms.is_none_or(|until| entry.at_ms <= until)
        && filter.before.is_none_or(|before| entry.number < before)
        && (!filter.is_about_something() || fits(filter, &about(entry, record())))
}

fn about(entry: &AuditEntry, record: Option<&InvocationRecord>) -> About {
    match record {
        Some(record) => About {
            agent: Some(record.agent.to_string()),
            tool: Some(record.tool.to_string()),
            session: record.session.clone(),
            call: Some(record.call.to_string()),
        },
        None if matches!(entry.kind.as_str(), "call" | "settle" | "late" | BEGIN) => {
            About::default()
        }
        None => serde_json::from_str(&entry.body).unwrap_or_default(),
    }
}

fn fits(filter: &TrailFilter, about: &About) -> bool {
    let says = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
    says(&filter.agent, &about.agent)
        && (says(&filter.tool, &about.tool)
            || (about.tool.is_some() && filter.or_tool == about.tool))
        && says(&filter.session, &about.session)
        && says(&filter.call, &about.call)
}
