//! Times when everybody is free, in everybody's working hours.

use std::collections::HashSet;

use haft_core::calendar::Span;
use haft_core::{ErrorKind, ToolError};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};

use super::busy::{Asking, Who};
use super::hours::{Days, Hours, working};
use super::shown::{email, moment, rfc3339};
use super::{Provider, Setup, slots, spans};

/// A longer search is a slip.
const LONGEST_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// `context.calendar.freeSlots({…})`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Asked {
    attendees: Vec<Attendee>,
    duration_minutes: u32,
    from: String,
    until: String,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    working_hours: Option<RawHours>,
    #[serde(default)]
    weekends: bool,
    #[serde(default)]
    preferred: Vec<String>,
    #[serde(default = "many")]
    limit: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attendee {
    email: String,
    #[serde(default)]
    timezone: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHours {
    start: String,
    end: String,
}

fn many() -> usize {
    500
}

/// An attendee, with what is known of them.
struct Guest {
    /// As the caller wrote it.
    shown: String,
    who: Who,
    /// Whether the zone is theirs, not a guess.
    placed: bool,
    hours: Hours,
    days: Days,
}

/// What a look into everybody's time gave.
struct Looked {
    here: TimeZone,
    guests: Vec<Guest>,
    free: Vec<Span>,
    not_checked: Vec<String>,
    notes: Vec<String>,
}

/// When people are free together.
#[derive(Clone, Debug)]
pub struct Free {
    /// The zone of whoever asks.
    pub zone: TimeZone,
    /// The times, as long as was asked for or longer.
    pub spans: Vec<Span>,
    /// Those whose own zone is known, by their address.
    pub zones: Vec<(String, TimeZone)>,
    /// Those whose calendars nobody could look into.
    pub not_checked: Vec<String>,
    /// What else should be known.
    pub notes: Vec<String>,
}

impl Provider {
    /// When people are free together, asked as `freeSlots` is. For whoever has no connection to a
    /// calendar elsewhere; where that is needed, it is refused.
    ///
    /// # Errors
    ///
    /// What was asked makes no sense, or a calendar cannot be looked into.
    pub async fn free(&self, tenant: &str, asked: Value) -> Result<Free, ToolError> {
        let asked: Asked = super::provide::read(asked)?;
        let looked = self.look(Asking { tenant, auth: None }, &asked).await?;
        let length_ms = i64::from(asked.duration_minutes) * 60_000;
        let long = |span: &Span| span.end_ms - span.start_ms >= length_ms;
        let placed = looked.guests.into_iter().filter(|guest| guest.placed);
        Ok(Free {
            zone: looked.here,
            spans: looked.free.into_iter().filter(long).collect(),
            zones: placed.map(|guest| (guest.who.email, guest.who.zone)).collect(),
            not_checked: looked.not_checked,
            notes: looked.notes,
        })
    }

    pub(super) async fn free_slots(
        &self,
        asking: Asking<'_>,
        asked: Asked,
    ) -> Result<Value, ToolError> {
        let Looked { here, guests, free, not_checked, notes } = self.look(asking, &asked).await?;
        let wishes: Result<Vec<i64>, _> =
            asked.preferred.iter().map(|text| moment("preferred", text)).collect();
        let length_ms = i64::from(asked.duration_minutes) * 60_000;
        let starts = slots::starts(&free, length_ms, &wishes?, asked.limit.min(many()));
        let slots: Vec<Value> =
            starts.iter().map(|start| shown(*start, length_ms, &here, &guests)).collect();
        Ok(json!({
            "slots": slots, "timezone": here.iana_name().unwrap_or("UTC"),
            "notChecked": not_checked, "notes": notes,
        }))
    }

    async fn look(&self, asking: Asking<'_>, asked: &Asked) -> Result<Looked, ToolError> {
        let within =
            Span { start_ms: moment("from", &asked.from)?, end_ms: moment("until", &asked.until)? };
        if within.end_ms.saturating_sub(within.start_ms) > LONGEST_MS {
            let message = "the period to search is longer than a year";
            return Err(
                ToolError::new(ErrorKind::InvalidArguments, message).suggest("search a few weeks")
            );
        }
        let here = match &asked.timezone {
            Some(name) => Setup::zone(name)?,
            None => self.setup.common.zone.clone(),
        };
        let guests = self.guests(asking.tenant, asked, &here)?;
        let people: Vec<Who> = guests.iter().map(|guest| guest.who.clone()).collect();
        let taken = self.taken(asking, &people, within).await?;
        let busy = spans::merged(taken.entries.into_iter().map(|entry| entry.span).collect());
        let free = spans::without(&together(&guests, within), &busy);
        let mut notes = Vec::new();
        if taken.unreadable > 0 {
            notes.push(format!(
                "{} entries of these calendars could not be read and may clash",
                taken.unreadable
            ));
        }
        Ok(Looked { here, guests, free, not_checked: taken.not_checked, notes })
    }

    fn guests(
        &self,
        tenant: &str,
        asked: &Asked,
        here: &TimeZone,
    ) -> Result<Vec<Guest>, ToolError> {
        let hours = asked.working_hours.as_ref().map(|raw| {
            Hours::parse(&raw.start, &raw.end)
                .map_err(|why| ToolError::new(ErrorKind::InvalidArguments, why))
        });
        let hours = hours.transpose()?;
        let mut seen = HashSet::new();
        let mut guests = Vec::new();
        for attendee in &asked.attendees {
            let email = email(&attendee.email)?;
            if !seen.insert(email.clone()) {
                continue;
            }
            let person = self.setup.person(tenant, &email);
            let given = attendee.timezone.as_deref().map(Setup::zone).transpose()?;
            let zone = given.or_else(|| person.and_then(|one| one.zone.clone()));
            let common = &self.setup.common;
            guests.push(Guest {
                shown: attendee.email.clone(),
                placed: zone.is_some(),
                who: Who { email, zone: zone.unwrap_or_else(|| here.clone()) },
                hours: hours.or(person.and_then(|one| one.hours)).unwrap_or(common.hours),
                days: match asked.weekends {
                    true => Days::ALL,
                    false => person.and_then(|one| one.days).unwrap_or(common.days),
                },
            });
        }
        Ok(guests)
    }
}

/// When everybody works.
fn together(guests: &[Guest], within: Span) -> Vec<Span> {
    guests.iter().fold(vec![within], |all, guest| {
        spans::shared(&all, &working(guest.hours, guest.days, &guest.who.zone, within))
    })
}

fn shown(start_ms: i64, length_ms: i64, here: &TimeZone, guests: &[Guest]) -> Value {
    let at = |ms: i64, zone: &TimeZone| {
        Timestamp::from_millisecond(ms).map(|at| rfc3339(at, zone)).unwrap_or_default()
    };
    let local: Vec<Value> = guests
        .iter()
        .filter(|guest| guest.placed)
        .map(|guest| json!({ "email": guest.shown, "start": at(start_ms, &guest.who.zone) }))
        .collect();
    json!({ "start": at(start_ms, here), "end": at(start_ms + length_ms, here), "localTimes": local })
}
