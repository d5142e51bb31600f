//! Who there is, where they are, and where meetings are written.

use std::collections::HashMap;
use std::time::Duration;

use haft_core::ToolError;
use jiff::tz::TimeZone;

use super::hours::{Days, Hours};

/// How calendars are set up.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// For people of whom nothing else is known.
    pub common: Common,
    /// Who is known, by tenant and address in small letters.
    pub people: HashMap<(String, String), Person>,
    /// The CalDAV calendar that meetings are written to; haft's own store when absent.
    pub book_in: Option<String>,
    /// Who asks people to meetings that are written elsewhere.
    pub organizer: Option<String>,
    /// The address of a video conference, with `{id}` for what tells them apart.
    pub conference_url: Option<String>,
}

/// What holds for everybody who has nothing of their own.
#[derive(Clone, Debug)]
pub struct Common {
    /// Where they are.
    pub zone: TimeZone,
    /// When they work.
    pub hours: Hours,
    /// On which days.
    pub days: Days,
    /// How long a proposal can be booked.
    pub drafts_for: Duration,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            hours: Hours::default(),
            days: Days::default(),
            drafts_for: Duration::from_secs(60 * 60),
        }
    }
}

/// What is known of somebody.
#[derive(Clone, Debug, Default)]
pub struct Person {
    /// Where they are.
    pub zone: Option<TimeZone>,
    /// When they work.
    pub hours: Option<Hours>,
    /// On which days.
    pub days: Option<Days>,
    /// Their CalDAV calendars.
    pub calendars: Vec<String>,
}

impl Setup {
    pub(super) fn person(&self, tenant: &str, email: &str) -> Option<&Person> {
        self.people.get(&(tenant.to_owned(), email.to_owned()))
    }

    /// The zone of that name.
    ///
    /// # Errors
    ///
    /// There is none; the suggestion names the nearest.
    pub fn zone(name: &str) -> Result<TimeZone, ToolError> {
        crate::time::zone(name)
    }
}
