//! Booking a draft, finding what became of it, and calling it off.
//!
//! The store decides first, in one transaction: of two on one machine that want the same person at
//! the same time, one goes on. A calendar elsewhere is looked into after that, so what the first one
//! has written there is seen by the second. The event's name comes from the draft: writing it twice
//! makes one event, and after a lost answer it can be asked for.

use std::time::Duration;

use haft_core::calendar::{Booked, Booking, BookingStatus, Draft, Which};
use haft_core::{ErrorKind, ToolError};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde_json::{Value, json};

use super::Provider;
use super::busy::{Asking, Who, unkept};
use super::dav::{Deleted, Put};
use super::ical::{standing, written};
use super::shown::{event, mark};

/// How long a time is kept for whoever writes it into a calendar elsewhere.
const HOLD_MS: i64 = 10 * 60 * 1_000;
/// A request that was sent so long ago has been acted on, or will not be.
const SETTLED_MS: i64 = 20_000;
/// How often something that may be repeated is.
const TRIES: usize = 3;
/// How long whoever gives way may take.
const GIVE_WAY: Duration = Duration::from_millis(400);
/// Events of haft's own, by their ids.
const OURS: &str = "@haft";

impl Provider {
    pub(super) async fn create(&self, asking: Asking<'_>, id: &str) -> Result<Value, ToolError> {
        let tenant = asking.tenant;
        let now_ms = (self.now_ms)();
        let draft = self.store.draft(tenant, id, now_ms).await.map_err(unkept)?;
        let Some(draft) = draft else { return self.booked_before(tenant, id).await };
        if draft.meeting.span.start_ms <= now_ms {
            return Err(taken("the time has passed"));
        }
        let booking = self.booking(&draft, now_ms);
        match self.store.book(booking, now_ms, HOLD_MS).await.map_err(unkept)? {
            Booked::Fresh(booking) if booking.place.is_some() => self.write(asking, booking).await,
            Booked::Fresh(booking) => Ok(told(&booking)),
            Booked::Before(booking) => again(&booking),
            Booked::Taken => Err(taken("somebody has another meeting at that time")),
            Booked::NoDraft => Err(no_draft(id)),
        }
    }

    async fn booked_before(&self, tenant: &str, id: &str) -> Result<Value, ToolError> {
        match self.store.booking(tenant, Which::Draft(id)).await.map_err(unkept)? {
            Some(booking) if booking.status != BookingStatus::Held => again(&booking),
            Some(_) | None => Err(no_draft(id)),
        }
    }

    fn booking(&self, draft: &Draft, now_ms: i64) -> Booking {
        let name = format!("evt_{}", mark("event", &draft.tenant, &draft.id));
        let place = self.setup.book_in.as_ref().map(|url| {
            let slash = if url.ends_with('/') { "" } else { "/" };
            format!("{url}{slash}{name}.ics")
        });
        let room = mark("conference", &draft.tenant, &draft.id);
        let link = self.setup.conference_url.as_ref().filter(|_| draft.meeting.conference);
        Booking {
            tenant: draft.tenant.clone(),
            event: name,
            draft: draft.id.clone(),
            meeting: draft.meeting.clone(),
            status: match place {
                Some(_) => BookingStatus::Held,
                None => BookingStatus::Confirmed,
            },
            conference_url: link.map(|url| url.replace("{id}", &room)),
            place,
            reason: None,
            made_ms: now_ms,
        }
    }

    /// Writes what is held into the calendar elsewhere.
    async fn write(&self, asking: Asking<'_>, booking: Booking) -> Result<Value, ToolError> {
        let given_up = |error: ToolError| async {
            self.store.release(&booking.tenant, &booking.event).await.map_err(unkept)?;
            Err(error)
        };
        let (Ok(dav), Some(place)) = (self.dav(asking), booking.place.as_deref()) else {
            let error = self.dav(asking).err().unwrap_or_else(|| taken("there is no calendar"));
            return given_up(error).await;
        };
        match self.others(asking, &booking).await {
            Ok(others) if others.is_empty() => {}
            Ok(_) => return given_up(taken("somebody has something else at that time")).await,
            Err(error) => return given_up(error).await,
        }
        let organizer = self.organizer(&booking);
        let text = written(&booking, &uid(&booking), &organizer);
        let mut lost = None;
        for _ in 0..TRIES {
            match dav.put(place, &text).await {
                // What stands there has this draft's name: it is what was to be written.
                Put::Made | Put::There => return self.written(asking, booking).await,
                // It may be that an earlier try was acted on, though this one was not.
                Put::Refused(error) | Put::Unsent(error) if lost.is_none() => {
                    return given_up(error).await;
                }
                Put::Refused(error) | Put::Unsent(error) | Put::Lost(error) => lost = Some(error),
            }
        }
        let mut error = lost.unwrap_or_else(|| taken("the calendar did not answer"));
        error.kind = ErrorKind::UnknownOutcome;
        error.partial_side_effects = true;
        error.message = "the calendar's answer was lost: the meeting may be booked".to_owned();
        Err(error
            .suggest("do not book it again; check with `calendar_find_event` in half a minute"))
    }

    /// It stands there. Of two hafts that did not know of each other and wrote the same time, the
    /// later one sees the other in any case, and takes its own back, unless the other does.
    async fn written(&self, asking: Asking<'_>, booking: Booking) -> Result<Value, ToolError> {
        if self.is_second(asking, &booking).await
            && let (Ok(dav), Some(place)) = (self.dav(asking), booking.place.as_deref())
            && let Deleted::Gone = dav.delete(place, None).await
        {
            self.store.release(&booking.tenant, &booking.event).await.map_err(unkept)?;
            return Err(taken("somebody booked that time at the same moment"));
        }
        let sure = self.store.confirm(&booking.tenant, &booking.event).await;
        match sure {
            Ok(Some(booking)) => Ok(told(&booking)),
            // It was done. That it could not be noted is mended when somebody looks for it.
            Ok(None) | Err(_) => Ok(told(&booking)),
        }
    }

    /// Whether another haft has the time. Where both see each other, the larger name gives way at
    /// once, and the smaller one waits for that.
    async fn is_second(&self, asking: Asking<'_>, booking: &Booking) -> bool {
        let own = uid(booking);
        for _ in 0..TRIES {
            let Ok(others) = self.others(asking, booking).await else { return false };
            let ours = |other: &&String| other.ends_with(OURS);
            match others.iter().filter(ours).min() {
                None => return false,
                Some(first) if *first < own => return true,
                Some(_) => tokio::time::sleep(GIVE_WAY).await,
            }
        }
        true
    }

    fn organizer(&self, booking: &Booking) -> String {
        let first = booking.meeting.attendees.first();
        self.setup.organizer.clone().or_else(|| first.cloned()).unwrap_or_default()
    }

    /// The ids of what else stands in calendars elsewhere at the time of a booking.
    async fn others(
        &self,
        asking: Asking<'_>,
        booking: &Booking,
    ) -> Result<Vec<String>, ToolError> {
        let people: Vec<Who> = booking
            .meeting
            .attendees
            .iter()
            .map(|email| {
                let person = self.setup.person(asking.tenant, email);
                let zone = person.and_then(|one| one.zone.clone());
                let zone = zone.unwrap_or_else(|| self.setup.common.zone.clone());
                Who { email: email.clone(), zone }
            })
            .collect();
        let own = uid(booking);
        let taken = self.elsewhere(asking, &people, booking.meeting.span).await?;
        let all = taken.entries.into_iter().map(|entry| entry.uid);
        Ok(all.filter(|uid| *uid != own).collect())
    }

    pub(super) async fn find(
        &self,
        asking: Asking<'_>,
        which: Which<'_>,
    ) -> Result<Value, ToolError> {
        let booking = self.store.booking(asking.tenant, which).await.map_err(unkept)?;
        let Some(mut booking) = booking else { return Ok(Value::Null) };
        let Some(place) = booking.place.clone() else { return Ok(event(&booking)) };
        if booking.status == BookingStatus::Cancelled {
            return Ok(event(&booking));
        }
        match self.dav(asking)?.get(&place).await? {
            Some(object) => {
                if booking.status == BookingStatus::Held {
                    // What is noted late is noted all the same; what cannot be is told.
                    let _ = self.store.confirm(&booking.tenant, &booking.event).await;
                    booking.status = BookingStatus::Confirmed;
                }
                as_it_stands(&mut booking, &object.text);
                Ok(event(&booking))
            }
            None if booking.status == BookingStatus::Confirmed => {
                booking.status = BookingStatus::Cancelled;
                Ok(event(&booking))
            }
            None if (self.now_ms)() - booking.made_ms < SETTLED_MS => Err(ToolError::new(
                ErrorKind::Transient,
                "the event is not there yet, and may still be written",
            )
            .suggest("ask again in half a minute")),
            None => Ok(Value::Null),
        }
    }

    pub(super) async fn cancel(
        &self,
        asking: Asking<'_>,
        id: &str,
        reason: &str,
    ) -> Result<Value, ToolError> {
        let booking = self.store.booking(asking.tenant, Which::Event(id)).await.map_err(unkept)?;
        let Some(booking) = booking else {
            return Err(ToolError::new(ErrorKind::NotFound, format!("there is no event `{id}`")));
        };
        if let (Some(place), true) = (&booking.place, booking.status != BookingStatus::Cancelled) {
            self.take_out(asking, place).await?;
        }
        self.store.cancel(asking.tenant, id, reason).await.map_err(|why| {
            // It is gone from the calendar elsewhere; saying otherwise would be a lie.
            let mut error = unkept(why);
            error.partial_side_effects |= booking.place.is_some();
            error
        })?;
        Ok(Value::Null)
    }

    /// Deletes the event as it stands now, whoever changed it meanwhile.
    async fn take_out(&self, asking: Asking<'_>, place: &str) -> Result<(), ToolError> {
        let dav = self.dav(asking)?;
        let mut lost = None;
        for _ in 0..TRIES {
            let object = match dav.get(place).await {
                Ok(Some(object)) => object,
                Ok(None) => return Ok(()),
                Err(error) if lost.is_none() => return Err(error),
                Err(error) => {
                    lost = Some(error);
                    continue;
                }
            };
            match dav.delete(place, object.etag.as_deref()).await {
                Deleted::Gone => return Ok(()),
                Deleted::Changed => {}
                Deleted::Refused(error) if lost.is_none() => return Err(error),
                Deleted::Refused(error) | Deleted::Lost(error) => lost = Some(error),
            }
        }
        let Some(mut error) = lost else {
            let message = "the event was changed again and again while it was to be cancelled";
            return Err(ToolError::new(ErrorKind::Conflict, message));
        };
        error.partial_side_effects = true;
        Err(error)
    }
}

fn uid(booking: &Booking) -> String {
    format!("{}{OURS}", booking.event)
}

fn as_it_stands(booking: &mut Booking, text: &str) {
    let zone = TimeZoneDatabase::bundled().get(&booking.meeting.zone).unwrap_or(TimeZone::UTC);
    let Some(now) = standing(text, &zone) else { return };
    if let Some(title) = now.title {
        booking.meeting.title = title;
    }
    if let Some(span) = now.span {
        booking.meeting.span = span;
    }
    if now.cancelled {
        booking.status = BookingStatus::Cancelled;
    }
}

fn again(booking: &Booking) -> Result<Value, ToolError> {
    match booking.status {
        BookingStatus::Held | BookingStatus::Confirmed => Ok(told(booking)),
        BookingStatus::Cancelled => Err(taken("this draft was booked before, and cancelled")),
    }
}

/// A booking, with what would otherwise be taken for granted: that the others know of it, and a link.
fn told(booking: &Booking) -> Value {
    let mut notes = vec![match booking.place {
        None => "the meeting stands in haft's own calendar; nobody was told of it",
        Some(_) => "whether attendees are told of the meeting is up to the calendar server",
    }];
    if booking.meeting.conference && booking.conference_url.is_none() {
        notes.push("there is no conference link, because conferences are not set up");
    }
    let mut shown = event(booking);
    if let Value::Object(shown) = &mut shown {
        shown.insert("notes".to_owned(), json!(notes));
    }
    shown
}

fn taken(why: &str) -> ToolError {
    ToolError::new(ErrorKind::Conflict, why)
        .suggest("propose new times with `calendar_propose_event`")
}

fn no_draft(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("the draft `{id}` does not exist or has expired"))
        .suggest("propose new times with `calendar_propose_event`")
}
