//! Remembering meetings.

use super::{Boxed, StoreError};
use crate::calendar::{Booked, Booking, Draft, Span, Which};

type Answer<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// Where drafts and bookings are kept. Every step is one transaction: of two programs that want the
/// same person at the same time, one gets it.
pub trait Calendar: Send + Sync {
    /// Keeps a draft until it expires.
    fn keep<'a>(&'a self, draft: Draft) -> Answer<'a, ()>;

    /// A draft that has not expired.
    fn draft<'a>(&'a self, tenant: &'a str, id: &'a str, now_ms: i64) -> Answer<'a, Option<Draft>>;

    /// Takes the time of a draft for a booking, unless one of its people has another meeting then.
    /// What is only held counts for `hold_ms`.
    fn book<'a>(&'a self, booking: Booking, now_ms: i64, hold_ms: i64) -> Answer<'a, Booked>;

    /// What was held takes place. From now on the time of what stands in a calendar elsewhere is
    /// that calendar's to tell: people move and delete meetings there. Gives nothing where there is
    /// no such booking.
    fn confirm<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, Option<Booking>>;

    /// What was held came to nothing: the time is free again, and the draft can be booked.
    fn release<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, ()>;

    /// Takes a booking off. Gives how it stood before.
    fn cancel<'a>(
        &'a self,
        tenant: &'a str,
        event: &'a str,
        reason: &'a str,
    ) -> Answer<'a, Option<Booking>>;

    /// One booking.
    fn booking<'a>(&'a self, tenant: &'a str, which: Which<'a>) -> Answer<'a, Option<Booking>>;

    /// When people have meetings between two moments, in order of time.
    fn taken<'a>(
        &'a self,
        tenant: &'a str,
        people: &'a [String],
        within: Span,
        now_ms: i64,
    ) -> Answer<'a, Vec<(String, Span)>>;

    /// Bookings that share a moment with a span, however they stand, in order of time; those of one
    /// person where one is named.
    fn bookings<'a>(
        &'a self,
        tenant: &'a str,
        within: Span,
        person: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Booking>>;

    /// Drafts that are still kept and were not booked, in the order in which they expire; only those
    /// that have not expired at a time, where one is given. Of more than the limit, those that last
    /// longest.
    fn drafts<'a>(
        &'a self,
        tenant: &'a str,
        open_at_ms: Option<i64>,
        limit: usize,
    ) -> Answer<'a, Vec<Draft>>;
}
