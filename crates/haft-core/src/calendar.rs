//! Meetings: times that were proposed, and times that were booked.
//!
//! Times are milliseconds since 1970 in UTC; what a clock on a wall shows is the business of whoever
//! shows it. People are e-mail addresses in small letters.

use serde::{Deserialize, Serialize};

/// From a moment up to another one, which is no longer part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The first moment.
    pub start_ms: i64,
    /// The first moment after it.
    pub end_ms: i64,
}

impl Span {
    /// Whether both share a moment. What ends when the other begins does not.
    ///
    /// ```
    /// use haft_core::calendar::Span;
    ///
    /// let nine = Span { start_ms: 9, end_ms: 10 };
    /// assert!(!nine.overlaps(Span { start_ms: 10, end_ms: 11 }));
    /// assert!(nine.overlaps(Span { start_ms: 0, end_ms: 24 }));
    /// ```
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start_ms < other.end_ms && other.start_ms < self.end_ms
    }
}

/// What a meeting is, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Meeting {
    /// What it is called.
    pub title: String,
    /// Who takes part.
    pub attendees: Vec<String>,
    /// When.
    pub span: Span,
    /// The zone that its times are shown in, by its IANA name.
    pub zone: String,
    /// Whether people can join from elsewhere.
    pub conference: bool,
    /// Where people meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What everybody who takes part may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// A time that was proposed. It holds nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Whose it is.
    pub tenant: String,
    /// What it is booked by.
    pub id: String,
    /// What would be booked.
    pub meeting: Meeting,
    /// Until when.
    pub expires_ms: i64,
}

/// How a booking stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookingStatus {
    /// The time is taken here, and the calendar elsewhere has not said yes yet.
    Held,
    /// It takes place.
    Confirmed,
    /// It does not take place any more.
    Cancelled,
}

impl BookingStatus {
    /// The word in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Confirmed => "confirmed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A draft that was booked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Booking {
    /// Whose it is.
    pub tenant: String,
    /// The event.
    pub event: String,
    /// The draft that it was made from.
    pub draft: String,
    /// What was booked.
    pub meeting: Meeting,
    /// How it stands.
    pub status: BookingStatus,
    /// Where people join from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conference_url: Option<String>,
    /// The address of its record in a calendar elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was first asked for.
    pub made_ms: i64,
}

/// What came of an attempt to book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Booked {
    /// The time is taken by this booking from now on.
    Fresh(Booking),
    /// The draft was booked before; this is that booking.
    Before(Booking),
    /// Somebody has another meeting at that time.
    Taken,
    /// There is no such draft, or no longer.
    NoDraft,
}

/// How a booking is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// By the event.
    Event(&'a str),
    /// By the draft that it was made from.
    Draft(&'a str),
}
