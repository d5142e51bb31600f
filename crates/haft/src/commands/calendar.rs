//! `haft calendar`: what is booked and proposed, for people. What changes something is a call.

mod clock;
mod view;

use std::sync::Arc;

use anyhow::bail;
use haft_core::Digest;
use haft_core::calendar::{BookingStatus, Span, Which};
use haft_core::port::{Calendar as _, Store as _};
use haft_exec::http::{Client, Settings};
use haft_store::Sqlite;
use haft_tools::calendar::{Provider, Setup};
use jiff::Timestamp;
use serde_json::json;

use crate::assembly::{block_on, open_store, plain, said};
use crate::cli::calendar::{
    Calendar, CalendarCancel, CalendarCommand, CalendarDrafts, CalendarFree, CalendarList,
    CalendarShow, Shown,
};
use crate::cli::{Call, ModeName};
use crate::output::{Exit, Given as _, Output, misuse};
use crate::source::Place;
use clock::Clock;

/// How far ahead free time is looked for when nothing is said.
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
const NO_TIME: &str =
    "there is no time between `--from` and `--until`; `--from` is now when left out";
/// More proposals than anybody reads.
const MOST_DRAFTS: usize = 1_000;

pub(crate) fn run(at: &Place, options: &Calendar, out: &mut Output) -> anyhow::Result<Exit> {
    match &options.what {
        CalendarCommand::List(options) => {
            block_on(list(&Desk::open(at, &options.shown)?, options, out))
        }
        CalendarCommand::Drafts(options) => {
            block_on(drafts(&Desk::open(at, &options.shown)?, options, out))
        }
        CalendarCommand::Show(options) => {
            block_on(show(&Desk::open(at, &options.shown)?, options, out))
        }
        CalendarCommand::Free(options) => {
            block_on(free(&Desk::open(at, &options.shown)?, options, out))
        }
        CalendarCommand::Cancel(options) => cancel(at, options, out),
    }
}

/// The store, read only, and how times are shown.
struct Desk {
    store: Arc<Sqlite>,
    setup: Setup,
    clock: Clock,
    now_ms: i64,
}

impl Desk {
    fn open(at: &Place, shown: &Shown) -> anyhow::Result<Self> {
        let config = at.config()?;
        let setup = config.calendar()?;
        let zone =
            shown.zone.as_deref().map(Setup::zone).transpose().map_err(said).given("--zone")?;
        let clock = Clock { common: setup.common.zone.clone(), wanted: zone };
        let store = Arc::new(open_store(&config)?);
        let now_ms = store.now_ms();
        Ok(Self { store, setup, clock, now_ms })
    }
}

async fn list(desk: &Desk, options: &CalendarList, out: &mut Output) -> anyhow::Result<Exit> {
    let from = desk.clock.read("--from", options.from.as_deref())?.unwrap_or(desk.now_ms);
    let until = desk.clock.read("--until", options.until.as_deref())?.unwrap_or(i64::MAX);
    if until <= from {
        return Err(misuse(NO_TIME));
    }
    let person = options.person.as_ref().map(|one| one.trim().to_lowercase());
    let limit = usize::from(options.limit);
    let within = Span { start_ms: from, end_ms: until };
    // Those that are left out have to be read to be left out.
    let read = if options.cancelled { limit.saturating_add(1) } else { usize::MAX };
    let tenant = &options.shown.tenant;
    let mut found = desk.store.bookings(tenant, within, person.as_deref(), read).await?;
    found.retain(|one| options.cancelled || one.status != BookingStatus::Cancelled);
    let more = found.len() > limit;
    found.truncate(limit);
    view::bookings(&found, &desk.clock, options.shown.json, out)?;
    if more {
        out.note(&format!("there are more than {limit}; `--limit` shows them"));
    }
    if found.is_empty() && !options.shown.json && desk.setup.book_in.is_some() {
        out.note("only what was booked with haft is listed, not the rest of the calendar's server");
    }
    Ok(Exit::Done)
}

async fn drafts(desk: &Desk, options: &CalendarDrafts, out: &mut Output) -> anyhow::Result<Exit> {
    let open_at = (!options.expired).then_some(desk.now_ms);
    let mut found = desk.store.drafts(&options.shown.tenant, open_at, MOST_DRAFTS + 1).await?;
    let spare = found.len().saturating_sub(MOST_DRAFTS);
    view::drafts(&found.split_off(spare), &desk.clock, desk.now_ms, options.shown.json, out)?;
    if spare > 0 {
        out.note(&format!("there are more; these are the {MOST_DRAFTS} that last longest"));
    }
    Ok(Exit::Done)
}

async fn show(desk: &Desk, options: &CalendarShow, out: &mut Output) -> anyhow::Result<Exit> {
    let (tenant, id) = (options.shown.tenant.as_str(), options.id.as_str());
    for which in [Which::Event(id), Which::Draft(id)] {
        if let Some(booking) = desk.store.booking(tenant, which).await? {
            view::booking(&booking, &desk.clock, options.shown.json, out)?;
            return Ok(Exit::Done);
        }
    }
    // Expired ones too, as long as they are kept.
    let Some(draft) = desk.store.draft(tenant, id, i64::MIN).await? else {
        bail!(
            "there is no meeting or proposal `{}`; `haft calendar list` and `haft calendar drafts` name them",
            plain(id)
        );
    };
    view::draft(&draft, &desk.clock, desk.now_ms, options.shown.json, out)?;
    Ok(Exit::Done)
}

async fn free(desk: &Desk, options: &CalendarFree, out: &mut Output) -> anyhow::Result<Exit> {
    let from = desk.clock.read("--from", options.from.as_deref())?.unwrap_or(desk.now_ms);
    let until = desk.clock.read("--until", options.until.as_deref())?;
    let until = until.unwrap_or_else(|| from.saturating_add(WEEK_MS));
    if until <= from {
        return Err(misuse(NO_TIME));
    }
    let elsewhere = desk.setup.book_in.is_some();
    if elsewhere {
        bail!(
            "people's calendars stand on a server, which is asked with a connection: \
             haft call calendar_propose_event --connection NAME --args '{{\"attendees\": […], \"duration_minutes\": {}}}'",
            options.minutes
        );
    }
    let moment = |ms| Timestamp::from_millisecond(ms).map(|at| at.to_string());
    let attendees: Vec<_> = options.people.iter().map(|one| json!({ "email": one })).collect();
    let asked = json!({
        "attendees": attendees, "durationMinutes": options.minutes, "weekends": options.weekends,
        "from": moment(from)?, "until": moment(until)?, "timezone": options.shown.zone,
    });
    let client = Arc::new(Client::new(Settings::default()));
    let provider = Provider::new(desk.store.clone(), client, desk.setup.clone());
    let free = provider.free(&options.shown.tenant, asked).await.map_err(said)?;
    view::free(&free, options.shown.json, out)?;
    Ok(if free.spans.is_empty() { Exit::Findings } else { Exit::Done })
}

/// Asks for it as anybody would: the path decides, and somebody approves.
fn cancel(at: &Place, options: &CalendarCancel, out: &mut Output) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let tenant = options.who.tenant.clone().unwrap_or_else(|| config.tenant_of(&options.who.agent));
    let booking = block_on(async {
        let store = open_store(&config)?;
        Ok(store.booking(&tenant, Which::Event(&options.event)).await?)
    })?;
    let Some(booking) = booking else {
        bail!("there is no meeting `{}`; `haft calendar list` names them", plain(&options.event));
    };
    if booking.status == BookingStatus::Cancelled {
        view::cancelled(&booking, options.json, out)?;
        return Ok(Exit::Done);
    }
    let arguments = json!({
        "event_id": booking.event, "title": booking.meeting.title, "reason": options.reason,
    });
    let call = Call {
        tool: "calendar_cancel_event".to_owned(),
        args: arguments.to_string(),
        mode: Some(ModeName::Text),
        session: None,
        turn: false,
        who: options.who.clone(),
        subject: None,
        user: None,
        key: Some(cancel_key(&booking.event, &options.reason)),
        id: None,
        occurrence: 1,
        connection: options.connection.clone(),
        confirm: None,
        despite_unknown: false,
        dry_run: false,
        registry: None,
        json: options.json,
    };
    super::call::run(at, &call, out)
}

/// The same for the same command, so that it can be given again after the approval. Another reason is
/// another call: under one key it would be refused.
fn cancel_key(event: &str, reason: &str) -> String {
    let of = Digest::of_json(&json!([event, reason]));
    format!("calendar-cancel-{}", of.hex().get(..32).unwrap_or_default())
}
