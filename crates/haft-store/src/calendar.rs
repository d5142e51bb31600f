//! Meetings in memory: the reference, and the fake.

use std::collections::BTreeMap;
use std::future::ready;

use haft_core::calendar::{Booked, Booking, BookingStatus, Draft, Span, Which};
use haft_core::port::{Boxed, Calendar};
use parking_lot::Mutex;

use crate::tables::Res;

type Answer<'a, T> = Boxed<'a, Res<T>>;
type Key = (String, String);

/// Expired drafts are kept this much longer, so that whoever is late learns nothing by timing.
pub(crate) const LATE_MS: i64 = 86_400_000;

/// Meetings that go with the program.
#[derive(Default)]
pub struct Appointments {
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    drafts: BTreeMap<Key, Draft>,
    bookings: BTreeMap<Key, (Booking, Option<i64>)>,
}

fn key(tenant: &str, id: &str) -> Key {
    (tenant.to_owned(), id.to_owned())
}

impl Rows {
    fn takes(&self, booking: &Booking, now_ms: i64) -> bool {
        self.standing(&booking.tenant, now_ms).any(|other| {
            other.event != booking.event
                && other.meeting.span.overlaps(booking.meeting.span)
                && other.meeting.attendees.iter().any(|one| booking.meeting.attendees.contains(one))
        })
    }

    fn standing<'a>(&'a self, tenant: &'a str, now_ms: i64) -> impl Iterator<Item = &'a Booking> {
        self.bookings.values().filter_map(move |(booking, until)| {
            let counts = match booking.status {
                BookingStatus::Held => until.is_none_or(|until| until > now_ms),
                BookingStatus::Confirmed => booking.place.is_none(),
                BookingStatus::Cancelled => false,
            };
            (counts && booking.tenant == tenant).then_some(booking)
        })
    }

    fn book(&mut self, booking: Booking, now_ms: i64, hold_ms: i64) -> Booked {
        let at = key(&booking.tenant, &booking.event);
        let before = self.find(&booking.tenant, Which::Draft(&booking.draft)).cloned();
        if let Some(before) = before.filter(|one| one.status != BookingStatus::Held) {
            return Booked::Before(before);
        }
        let draft = self.drafts.get(&key(&booking.tenant, &booking.draft));
        if draft.is_none_or(|draft| draft.expires_ms <= now_ms) {
            return Booked::NoDraft;
        }
        if self.takes(&booking, now_ms) {
            return Booked::Taken;
        }
        let until = (booking.status == BookingStatus::Held).then_some(now_ms + hold_ms);
        self.bookings.insert(at, (booking.clone(), until));
        Booked::Fresh(booking)
    }

    fn find(&self, tenant: &str, which: Which<'_>) -> Option<&Booking> {
        match which {
            Which::Event(id) => self.bookings.get(&key(tenant, id)).map(|(booking, _)| booking),
            Which::Draft(id) => {
                let mut all = self.bookings.values().map(|(booking, _)| booking);
                all.find(|one| one.tenant == tenant && one.draft == id)
            }
        }
    }
}

impl Appointments {
    fn answer<'a, T: Send + 'a>(&self, step: impl FnOnce(&mut Rows) -> T) -> Answer<'a, T> {
        Box::pin(ready(Ok(step(&mut self.rows.lock()))))
    }
}

impl Calendar for Appointments {
    fn keep<'a>(&'a self, draft: Draft) -> Answer<'a, ()> {
        self.answer(|rows| {
            rows.drafts.insert(key(&draft.tenant, &draft.id), draft);
        })
    }

    fn draft<'a>(&'a self, tenant: &'a str, id: &'a str, now_ms: i64) -> Answer<'a, Option<Draft>> {
        self.answer(|rows| {
            let found = rows.drafts.get(&key(tenant, id));
            found.filter(|draft| draft.expires_ms > now_ms).cloned()
        })
    }

    fn book<'a>(&'a self, booking: Booking, now_ms: i64, hold_ms: i64) -> Answer<'a, Booked> {
        self.answer(|rows| rows.book(booking, now_ms, hold_ms))
    }

    fn confirm<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, Option<Booking>> {
        self.answer(|rows| {
            let (booking, until) = rows.bookings.get_mut(&key(tenant, event))?;
            if booking.status == BookingStatus::Held {
                booking.status = BookingStatus::Confirmed;
                *until = None;
            }
            Some(booking.clone())
        })
    }

    fn release<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, ()> {
        self.answer(|rows| {
            let at = key(tenant, event);
            let held = rows.bookings.get(&at);
            if held.is_some_and(|(booking, _)| booking.status == BookingStatus::Held) {
                rows.bookings.remove(&at);
            }
        })
    }

    fn cancel<'a>(
        &'a self,
        tenant: &'a str,
        event: &'a str,
        reason: &'a str,
    ) -> Answer<'a, Option<Booking>> {
        self.answer(|rows| {
            let (booking, _) = rows.bookings.get_mut(&key(tenant, event))?;
            let before = booking.clone();
            cancelled(booking, reason);
            Some(before)
        })
    }

    fn booking<'a>(&'a self, tenant: &'a str, which: Which<'a>) -> Answer<'a, Option<Booking>> {
        self.answer(|rows| rows.find(tenant, which).cloned())
    }

    fn taken<'a>(
        &'a self,
        tenant: &'a str,
        people: &'a [String],
        within: Span,
        now_ms: i64,
    ) -> Answer<'a, Vec<(String, Span)>> {
        self.answer(|rows| {
            let mut found: Vec<(String, Span)> = rows
                .standing(tenant, now_ms)
                .filter(|one| one.meeting.span.overlaps(within))
                .flat_map(|one| one.meeting.attendees.iter().map(|who| (who, one.meeting.span)))
                .filter(|(who, _)| people.contains(who))
                .map(|(who, span)| (who.clone(), span))
                .collect();
            found.sort_by(|(a, one), (b, other)| (one, a).cmp(&(other, b)));
            found
        })
    }

    fn bookings<'a>(
        &'a self,
        tenant: &'a str,
        within: Span,
        person: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Booking>> {
        self.answer(|rows| {
            let all = rows.bookings.values().map(|(booking, _)| booking);
            let mut found: Vec<Booking> = all
                .filter(|one| one.tenant == tenant && one.meeting.span.overlaps(within))
                .filter(|one| {
                    person.is_none_or(|who| one.meeting.attendees.iter().any(|a| a == who))
                })
                .cloned()
                .collect();
            found.sort_by(|a, b| (a.meeting.span, &a.event).cmp(&(b.meeting.span, &b.event)));
            found.truncate(limit);
            found
        })
    }

    fn drafts<'a>(
        &'a self,
        tenant: &'a str,
        open_at_ms: Option<i64>,
        limit: usize,
    ) -> Answer<'a, Vec<Draft>> {
        self.answer(|rows| {
            let mut found: Vec<Draft> = rows
                .drafts
                .values()
                .filter(|one| one.tenant == tenant)
                .filter(|one| open_at_ms.is_none_or(|now_ms| one.expires_ms > now_ms))
                .filter(|one| rows.find(tenant, Which::Draft(&one.id)).is_none())
                .cloned()
                .collect();
            found.sort_by(|a, b| (a.expires_ms, &a.id).cmp(&(b.expires_ms, &b.id)));
            found.split_off(found.len().saturating_sub(limit))
        })
    }
}

/// The first reason stays.
pub(crate) fn cancelled(booking: &mut Booking, reason: &str) {
    if booking.status != BookingStatus::Cancelled {
        booking.status = BookingStatus::Cancelled;
        booking.reason = Some(reason.to_owned());
    }
}
