//! How many tokens of models a tenant has used, and whether it may use more.
//!
//! What counts is what the audit trail says of requests to models: it is there after a restart, and
//! every process on the same store sees what the others have used.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::port::{StoreError, TrailFilter};
use haft_core::record::AuditEntry;
use haft_core::{ErrorKind, ToolError};
use haft_runtime::Runtime;
use haft_runtime::toolbox::{Period, TokenBudget};
use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use serde_json::Value;

/// The kind of entry that tells of a request to a model.
pub(crate) const REQUEST: &str = "model_request";

/// So many entries are read at once.
const PAGE: usize = 1_000;

/// What tenants have used in their periods, as far as it was read.
#[derive(Debug, Default)]
pub struct Spending(Mutex<HashMap<String, Counted>>);

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    since_ms: i64,
    /// The last entry that is counted.
    last: u64,
    tokens: u64,
}

/// Where a tenant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What it may use.
    pub budget: TokenBudget,
    /// What it has used, in and out, as providers count it.
    pub used: u64,
    /// When the period began, in milliseconds of the Unix epoch.
    pub since_ms: i64,
    /// When the next begins.
    pub resets_at_ms: i64,
}

impl Spending {
    /// Where a tenant stands; none where it may use as many as it likes.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn of(
        &self,
        runtime: &Runtime,
        tenant: &str,
    ) -> Result<Option<Standing>, StoreError> {
        let configured = runtime.configured();
        let own = configured.records.tenants.iter().find(|one| one.id == tenant);
        let Some(budget) = own.and_then(|one| one.tokens) else { return Ok(None) };
        let (since_ms, resets_at_ms) = period(budget.per, runtime.store().now_ms());
        let used = self.used(runtime, tenant, since_ms).await?;
        Ok(Some(Standing { budget, used, since_ms, resets_at_ms }))
    }

    /// Reads what has come since it was last asked.
    async fn used(
        &self,
        runtime: &Runtime,
        tenant: &str,
        since_ms: i64,
    ) -> Result<u64, StoreError> {
        let nothing = Counted { since_ms, ..Counted::default() };
        let known = self.all().get(tenant).copied().filter(|one| one.since_ms == since_ms);
        let before = known.unwrap_or(nothing);
        let now = match counted(runtime, tenant, before).await? {
            Some(now) => now,
            None => counted(runtime, tenant, nothing).await?.unwrap_or(nothing),
        };
        let mut all = self.all();
        let kept = all.entry(tenant.to_owned()).or_default();
        // Others may have read further meanwhile.
        if kept.since_ms != since_ms || kept.last < now.last || kept.last == before.last {
            *kept = now;
        }
        Ok(now.tokens)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts on from what was counted before, newest first. None where what was counted last is not there
/// any more: the tenant was removed, and another is called so.
async fn counted(
    runtime: &Runtime,
    tenant: &str,
    before: Counted,
) -> Result<Option<Counted>, StoreError> {
    let mut now = before;
    let mut at = None;
    loop {
        let wanted = TrailFilter {
            tenant: tenant.to_owned(),
            kinds: vec![REQUEST.to_owned()],
            since_ms: Some(before.since_ms),
            before: at,
            limit: PAGE,
            ..TrailFilter::default()
        };
        let page = runtime.store().trail(wanted).await?;
        let new = page.iter().take_while(|one| one.number > before.last);
        for entry in new {
            now.last = now.last.max(entry.number);
            now.tokens = now.tokens.saturating_add(tokens(entry));
        }
        at = page.last().map(|one| one.number).filter(|last| *last > before.last);
        if page.len() < PAGE || at.is_none() {
            let is_there = page.iter().any(|one| one.number == before.last);
            return Ok((before.last == 0 || is_there).then_some(now));
        }
    }
}

impl Standing {
    /// Refuses more where all is used up.
    ///
    /// # Errors
    ///
    /// It is, and this says when there is more.
    pub fn allows_more(&self) -> Result<(), ToolError> {
        if self.used < self.budget.most {
            return Ok(());
        }
        let (most, per) = (self.budget.most, self.budget.per.as_str());
        let again = Timestamp::from_millisecond(self.resets_at_ms).unwrap_or_default();
        let message = format!(
            "the tenant's {most} tokens of models for this {per} are used up until {again}"
        );
        let advice = "wait until then, or ask whoever runs this server for a larger budget (`tokens` of the \
                      tenant)";
        Err(ToolError::new(ErrorKind::BudgetExceeded, message).suggest(advice))
    }
}

/// What a request has cost, in and out.
fn tokens(entry: &AuditEntry) -> u64 {
    let said: Value = serde_json::from_str(&entry.body).unwrap_or(Value::Null);
    let count = |name: &str| said.get(name).and_then(Value::as_u64).unwrap_or_default();
    count("inputTokens").saturating_add(count("outputTokens"))
}

/// When the period of a time began, and when the next does; in UTC.
fn period(per: Period, now_ms: i64) -> (i64, i64) {
    let at = Timestamp::from_millisecond(now_ms).unwrap_or_default();
    let at = TimeZone::UTC.to_datetime(at);
    let day = at.date();
    let hour = Time::midnight().with().hour(at.hour()).build().unwrap_or(Time::midnight());
    let (from, next) = match per {
        Period::Hour => (day.to_datetime(hour), day.to_datetime(hour).checked_add(hours(1))),
        Period::Day => (day.into(), DateTime::from(day).checked_add(hours(24))),
        Period::Month => {
            let first = DateTime::from(day.first_of_month());
            (first, DateTime::from(day.last_of_month()).checked_add(hours(24)))
        }
    };
    let ms = |at: DateTime| TimeZone::UTC.to_timestamp(at).map_or(now_ms, |at| at.as_millisecond());
    (ms(from), ms(next.unwrap_or(DateTime::MAX)))
}

fn hours(hours: i64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_hours(hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(per: Period, now: &str, from: &str, next: &str) {
        let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        assert_eq!(period(per, ms(now)), (ms(from), ms(next)), "{per:?} {now}");
    }

    #[test]
    fn periods_are_those_of_the_calendar() {
        let now = "2028-02-29T23:59:59.999Z";
        check(Period::Hour, now, "2028-02-29T23:00:00Z", "2028-03-01T00:00:00Z");
        check(Period::Day, now, "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z");
        check(Period::Month, now, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z");
        let new_year = "2027-01-01T00:00:00Z";
        check(Period::Day, new_year, new_year, "2027-01-02T00:00:00Z");
        check(Period::Month, new_year, new_year, "2027-02-01T00:00:00Z");
    }

    #[test]
    fn the_last_token_is_the_last() {
        let standing = |used| Standing {
            budget: TokenBudget { most: 10, per: Period::Day },
            used,
            since_ms: 0,
            resets_at_ms: 86_400_000,
        };
        assert_eq!(standing(9).allows_more(), Ok(()));
        for used in [10, 11] {
            let refused = standing(used).allows_more().unwrap_err();
            assert_eq!(refused.kind, ErrorKind::BudgetExceeded);
            assert!(refused.message.ends_with("used up until 1970-01-02T00:00:00Z"), "{refused:?}");
        }
    }
}
