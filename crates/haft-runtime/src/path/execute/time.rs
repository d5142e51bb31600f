//! How long an attempt may take.

use std::time::Duration;

use haft_core::contract::SideEffectPolicy;
use tokio::time::Instant;

use crate::path::claim::Granted;
use crate::path::join::Joined;
use crate::runtime::Inner;

/// How long an attempt may take, and when it is over.
#[derive(Clone, Copy)]
pub(super) struct Time {
    pub(super) deadline: Duration,
    pub(super) end: Option<Instant>,
}

impl Time {
    /// Taken before it is asked whether it is too late: what stops the process in between makes it shorter.
    pub(super) fn from_now(deadline: Duration, forgets: Option<Instant>) -> Self {
        let end = Instant::now().checked_add(deadline);
        let end = end.map_or(forgets, |end| Some(forgets.map_or(end, |forgets| end.min(forgets))));
        Self { deadline, end }
    }

    pub(super) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    pub(super) fn left(self) -> Duration {
        self.end.map_or(self.deadline, |end| end.saturating_duration_since(Instant::now()))
    }
}

/// When the provider of an idempotent call may have forgotten its key, counted from the first attempt in
/// doubt, which may have been another call's. After that an attempt may do it a second time: none is
/// begun, and what runs is ended.
pub(super) async fn forgets(inner: &Inner, call: &Joined, granted: &Granted) -> Option<Instant> {
    let ticket = granted.ticket().filter(|_| call.class() == SideEffectPolicy::Idempotent)?;
    let again = Duration::from_millis(call.tool.limits.again_within_ms());
    let age = match ticket.in_doubt {
        false => granted.age(),
        true => match inner.store.effect(&call.call().caller.tenant, &ticket.call).await {
            Ok(record) => {
                let ms = inner.store.now_ms().saturating_sub(record.first_at_ms());
                Duration::from_millis(u64::try_from(ms).unwrap_or(0))
            }
            // Nobody can say how long ago it was.
            Err(_) => Duration::MAX,
        },
    };
    Instant::now().checked_add(again.saturating_sub(age))
}
