//! Meetings, in SQLite. The writer's transaction decides who gets a time.

use haft_core::calendar::{Booked, Booking, BookingStatus, Draft, Meeting, Span, Which};
use haft_core::port::{Boxed, Calendar, StoreError};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde_json::json;

use super::fault::of_read;
use super::sealing::{Nothing, Place, Seals};
use super::tx::Tx;
use super::{Sqlite, read};
use crate::calendar::{LATE_MS, cancelled};
use crate::steps::journal::written;
use crate::tables::{Res, Tables as _};

type Answer<'a, T> = Boxed<'a, Res<T>>;

const BY_EVENT: &str = "SELECT event, body FROM bookings WHERE tenant = ?1 AND event = ?2";
const BY_DRAFT: &str = "SELECT event, body FROM bookings WHERE tenant = ?1 AND draft = ?2";
const DRAFT: &str =
    "SELECT meeting, expires_ms FROM drafts WHERE tenant = ?1 AND id = ?2 AND expires_ms > ?3";
const TAKEN: &str = "SELECT 1 FROM booked_time WHERE tenant = ?1 AND person = ?2 \
    AND start_ms < ?4 AND end_ms > ?3 AND event <> ?5 \
    AND (held_until_ms IS NULL OR held_until_ms > ?6) LIMIT 1";
const BUSY: &str = "SELECT start_ms, end_ms FROM booked_time WHERE tenant = ?1 AND person = ?2 \
    AND start_ms < ?4 AND end_ms > ?3 AND (held_until_ms IS NULL OR held_until_ms > ?5)";
const BOOKINGS: &str = "SELECT event, body FROM bookings WHERE tenant = ?1 \
    AND body ->> '$.meeting.span.start_ms' < ?3 AND body ->> '$.meeting.span.end_ms' > ?2 \
    AND (?4 IS NULL OR EXISTS (SELECT 1 FROM json_each(body, '$.meeting.attendees') WHERE value = ?4)) \
    ORDER BY body ->> '$.meeting.span.start_ms', body ->> '$.meeting.span.end_ms', event LIMIT ?5";
const DRAFTS: &str = "SELECT id, meeting, expires_ms FROM drafts WHERE tenant = ?1 \
    AND (?3 IS NULL OR expires_ms > ?3) AND NOT EXISTS (SELECT 1 FROM bookings WHERE bookings.tenant = ?1 AND bookings.draft = drafts.id) \
    ORDER BY expires_ms DESC, id DESC LIMIT ?2";

impl Calendar for Sqlite {
    fn keep<'a>(&'a self, draft: Draft) -> Answer<'a, ()> {
        Box::pin(self.write(move |tx| {
            let old = tx.now_ms() - LATE_MS;
            tx.execute("DELETE FROM drafts WHERE expires_ms < ?1", (old,))?;
            let sql = "INSERT OR REPLACE INTO drafts (tenant, id, expires_ms, meeting) \
                       VALUES (?1, ?2, ?3, ?4)";
            let place = Place::draft(&draft.tenant, &draft.id);
            let meeting = tx.sealed(place, Nothing {}, written(&draft.meeting)?)?;
            tx.execute(sql, (&draft.tenant, &draft.id, draft.expires_ms, meeting)).map(drop)
        }))
    }

    fn draft<'a>(&'a self, tenant: &'a str, id: &'a str, now_ms: i64) -> Answer<'a, Option<Draft>> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| {
            let place = Place::draft(&tenant, &id);
            let raw = |row: &Row<'_>| Ok((conn.json(row, 0, place)?, row.get(1)?));
            let found = read::one(conn, DRAFT, (&tenant, &id, now_ms), raw)?;
            let Some((meeting, expires_ms)) = found else { return Ok(None) };
            let meeting = meeting.ok_or_else(touched)?;
            Ok(Some(Draft { tenant, id, meeting, expires_ms }))
        }))
    }

    fn book<'a>(&'a self, booking: Booking, now_ms: i64, hold_ms: i64) -> Answer<'a, Booked> {
        Box::pin(self.write(move |tx| book(tx, &booking, now_ms, hold_ms)))
    }

    fn confirm<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, Option<Booking>> {
        let (tenant, event) = (tenant.to_owned(), event.to_owned());
        Box::pin(self.write(move |tx| {
            let Some(mut booking) = find(tx, BY_EVENT, &tenant, &event)? else { return Ok(None) };
            if booking.status == BookingStatus::Held {
                booking.status = BookingStatus::Confirmed;
                update(tx, &booking)?;
                let sql = match booking.place {
                    Some(_) => "DELETE FROM booked_time WHERE tenant = ?1 AND event = ?2",
                    None => {
                        "UPDATE booked_time SET held_until_ms = NULL \
                         WHERE tenant = ?1 AND event = ?2"
                    }
                };
                tx.execute(sql, (&tenant, &event))?;
            }
            Ok(Some(booking))
        }))
    }

    fn release<'a>(&'a self, tenant: &'a str, event: &'a str) -> Answer<'a, ()> {
        let (tenant, event) = (tenant.to_owned(), event.to_owned());
        Box::pin(self.write(move |tx| {
            let held = find(tx, BY_EVENT, &tenant, &event)?
                .is_some_and(|booking| booking.status == BookingStatus::Held);
            if !held {
                return Ok(());
            }
            let sql = "DELETE FROM bookings WHERE tenant = ?1 AND event = ?2";
            tx.execute(sql, (&tenant, &event))?;
            free(tx, &tenant, &event)
        }))
    }

    fn cancel<'a>(
        &'a self,
        tenant: &'a str,
        event: &'a str,
        reason: &'a str,
    ) -> Answer<'a, Option<Booking>> {
        let (tenant, event, reason) = (tenant.to_owned(), event.to_owned(), reason.to_owned());
        Box::pin(self.write(move |tx| {
            let Some(before) = find(tx, BY_EVENT, &tenant, &event)? else { return Ok(None) };
            let mut after = before.clone();
            cancelled(&mut after, &reason);
            update(tx, &after)?;
            free(tx, &tenant, &event)?;
            Ok(Some(before))
        }))
    }

    fn booking<'a>(&'a self, tenant: &'a str, which: Which<'a>) -> Answer<'a, Option<Booking>> {
        let (sql, id) = match which {
            Which::Event(id) => (BY_EVENT, id),
            Which::Draft(id) => (BY_DRAFT, id),
        };
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| {
            Ok(read::one(conn, sql, (&tenant, &id), |row| booking(row, conn, &tenant))?.flatten())
        }))
    }

    fn taken<'a>(
        &'a self,
        tenant: &'a str,
        people: &'a [String],
        within: Span,
        now_ms: i64,
    ) -> Answer<'a, Vec<(String, Span)>> {
        let (tenant, people) = (tenant.to_owned(), people.to_vec());
        Box::pin(self.readers.ask(move |conn| {
            let mut found = Vec::new();
            for person in people {
                let spans = busy(conn, &tenant, &person, within, now_ms);
                let spans = spans.map_err(|error| of_read(&error))?;
                found.extend(spans.into_iter().map(|span| (person.clone(), span)));
            }
            found.sort_by(|(a, one), (b, other)| (one, a).cmp(&(other, b)));
            Ok(found)
        }))
    }

    fn bookings<'a>(
        &'a self,
        tenant: &'a str,
        within: Span,
        person: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Booking>> {
        let (tenant, person) = (tenant.to_owned(), person.map(str::to_owned));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Box::pin(self.readers.ask(move |conn| {
            let params = (&tenant, within.start_ms, within.end_ms, person, limit);
            let found = read::all(conn, BOOKINGS, params, |row| booking(row, conn, &tenant))?;
            Ok(found.into_iter().flatten().collect())
        }))
    }

    fn drafts<'a>(
        &'a self,
        tenant: &'a str,
        open_at_ms: Option<i64>,
        limit: usize,
    ) -> Answer<'a, Vec<Draft>> {
        let tenant = tenant.to_owned();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Box::pin(self.readers.ask(move |conn| {
            let raw = |row: &Row<'_>| {
                let id: String = row.get(0)?;
                let meeting = conn.json(row, 1, Place::draft(&tenant, &id))?;
                Ok((id, meeting, row.get(2)?))
            };
            let found = read::all(conn, DRAFTS, (&tenant, limit, open_at_ms), raw)?;
            let draft = |(id, meeting, expires_ms): (String, Option<Meeting>, i64)| {
                let meeting = meeting.ok_or_else(touched)?;
                Ok(Draft { tenant: tenant.clone(), id, meeting, expires_ms })
            };
            found.into_iter().rev().map(draft).collect()
        }))
    }
}

fn book(tx: &mut Tx<'_>, booking: &Booking, now_ms: i64, hold_ms: i64) -> Res<Booked> {
    let tenant = &booking.tenant;
    let before = find(tx, BY_DRAFT, tenant, &booking.draft)?;
    if let Some(before) = before.filter(|one| one.status != BookingStatus::Held) {
        return Ok(Booked::Before(before));
    }
    if tx.one(DRAFT, (tenant, &booking.draft, now_ms), |_| Ok(()))?.is_none() {
        return Ok(Booked::NoDraft);
    }
    let Span { start_ms, end_ms } = booking.meeting.span;
    for person in &booking.meeting.attendees {
        let params = (tenant, person, start_ms, end_ms, &booking.event, now_ms);
        if tx.one(TAKEN, params, |_| Ok(()))?.is_some() {
            return Ok(Booked::Taken);
        }
    }
    let sql =
        "INSERT OR REPLACE INTO bookings (tenant, event, draft, body) VALUES (?1, ?2, ?3, ?4)";
    let body = sealed(tx, booking)?;
    tx.execute(sql, (tenant, &booking.event, &booking.draft, body))?;
    let until = (booking.status == BookingStatus::Held).then_some(now_ms.saturating_add(hold_ms));
    let sql = "INSERT OR REPLACE INTO booked_time \
               (tenant, person, start_ms, event, end_ms, held_until_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for person in &booking.meeting.attendees {
        tx.execute(sql, (tenant, person, start_ms, &booking.event, end_ms, until))?;
    }
    Ok(Booked::Fresh(booking.clone()))
}

fn find(tx: &mut Tx<'_>, sql: &str, tenant: &str, id: &str) -> Res<Option<Booking>> {
    let statement = tx.conn.prepare_cached(sql);
    let read = |row: &Row<'_>| self::booking(row, &tx.seals, tenant);
    let found = statement.and_then(|mut it| it.query_row((tenant, id), read).optional());
    Ok(tx.try_(found)?.flatten())
}

/// Whose time it takes and when stays clear, as it does among [`TAKEN`] times: bookings are found by it.
fn sealed(tx: &mut Tx<'_>, booking: &Booking) -> Res<String> {
    let Meeting { span, attendees, .. } = &booking.meeting;
    let clear = json!({ "meeting": { "span": span, "attendees": attendees } });
    tx.sealed(Place::booking(&booking.tenant, &booking.event), clear, written(booking)?)
}

/// `event, body`.
fn booking(row: &Row<'_>, seals: &Seals<'_>, tenant: &str) -> rusqlite::Result<Option<Booking>> {
    seals.json(row, 1, Place::booking(tenant, row.get_ref(0)?.as_str()?))
}

fn update(tx: &mut Tx<'_>, booking: &Booking) -> Res<()> {
    let sql = "UPDATE bookings SET body = ?3 WHERE tenant = ?1 AND event = ?2";
    let body = sealed(tx, booking)?;
    tx.execute(sql, (&booking.tenant, &booking.event, body)).map(drop)
}

fn free(tx: &mut Tx<'_>, tenant: &str, event: &str) -> Res<()> {
    tx.execute("DELETE FROM booked_time WHERE tenant = ?1 AND event = ?2", (tenant, event))
        .map(drop)
}

fn busy(
    conn: &Connection,
    tenant: &str,
    person: &str,
    within: Span,
    now_ms: i64,
) -> rusqlite::Result<Vec<Span>> {
    let params = (tenant, person, within.start_ms, within.end_ms, now_ms);
    let span = |row: &Row<'_>| Ok(Span { start_ms: row.get(0)?, end_ms: row.get(1)? });
    conn.prepare_cached(BUSY)?.query_map(params, span)?.collect()
}

fn touched() -> StoreError {
    StoreError::Tampered("a meeting cannot be read".to_owned())
}
