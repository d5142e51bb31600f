//! The `calendar` capability.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::calendar::{Draft, Meeting, Span, Which};
use haft_core::port::{Binding, Boxed, Calendar, Provide, Scope};
use haft_core::{ErrorKind, ToolError};
use haft_exec::http::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Setup;
use super::busy::{Asking, unkept};
use super::shown;

/// Answers handlers that ask about calendars.
pub struct Provider {
    pub(super) store: Arc<dyn Calendar>,
    pub(super) client: Arc<Client>,
    pub(super) setup: Setup,
    pub(super) now_ms: fn() -> i64,
}

impl Provider {
    /// Over a store, with a client for calendars elsewhere.
    #[must_use]
    pub fn new(store: Arc<dyn Calendar>, client: Arc<Client>, setup: Setup) -> Self {
        Self { store, client, setup, now_ms }
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `context.calendar.saveDraft({…})`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposed {
    title: String,
    attendees: Vec<String>,
    start: String,
    end: String,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    conference: bool,
    #[serde(default)]
    location: Option<String>,
    #[serde(default)]
    notes: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfDraft {
    draft_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    event_id: Option<String>,
    #[serde(default)]
    draft_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CalledOff {
    event_id: String,
    reason: String,
}

impl Provide for Provider {
    fn provide<'a>(
        &'a self,
        scope: &'a Scope,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        let asking = Asking { tenant: &scope.caller.tenant, auth: None };
        Box::pin(self.answer(asking, method, arguments))
    }

    fn provide_bound<'a>(
        &'a self,
        binding: Binding<'a>,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        let asking = Asking { tenant: &binding.scope.caller.tenant, auth: binding.auth };
        Box::pin(self.answer(asking, method, arguments))
    }

    fn reads_connection(&self) -> bool {
        false
    }

    /// A draft is a note of ours: nobody else sees it, and it goes by itself.
    fn writes(&self, method: &str) -> bool {
        matches!(method, "createEvent" | "cancelEvent")
    }
}

impl Provider {
    pub(super) async fn answer(
        &self,
        asking: Asking<'_>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        match method {
            "freeSlots" => self.free_slots(asking, read(arguments)?).await,
            "saveDraft" => self.save(asking.tenant, read(arguments)?).await,
            "getDraft" => self.draft(asking.tenant, &read::<OfDraft>(arguments)?.draft_id).await,
            "createEvent" => self.create(asking, &read::<OfDraft>(arguments)?.draft_id).await,
            "findEvent" => {
                let wanted: Wanted = read(arguments)?;
                let which = match (&wanted.event_id, &wanted.draft_id) {
                    (Some(event), None) => Which::Event(event),
                    (None, Some(draft)) => Which::Draft(draft),
                    (Some(_), Some(_)) | (None, None) => {
                        return Err(fault("`findEvent` takes `eventId` or `draftId`"));
                    }
                };
                self.find(asking, which).await
            }
            "cancelEvent" => {
                let off: CalledOff = read(arguments)?;
                self.cancel(asking, &off.event_id, &off.reason).await
            }
            _ => Err(fault(
                "`calendar` has `freeSlots`, `saveDraft`, `getDraft`, `createEvent`, `findEvent` and `cancelEvent`",
            )),
        }
    }

    async fn save(&self, tenant: &str, proposed: Proposed) -> Result<Value, ToolError> {
        let span = Span {
            start_ms: shown::moment("start", &proposed.start)?,
            end_ms: shown::moment("end", &proposed.end)?,
        };
        if span.start_ms >= span.end_ms {
            let message = "the meeting would end before it starts";
            return Err(ToolError::new(ErrorKind::InvalidArguments, message));
        }
        let mut attendees: Vec<String> = Vec::new();
        for one in &proposed.attendees {
            let email = shown::email(one)?;
            if !attendees.contains(&email) {
                attendees.push(email);
            }
        }
        let zone = match &proposed.timezone {
            Some(name) => Setup::zone(name)?,
            None => self.setup.common.zone.clone(),
        };
        let drafts_for = i64::try_from(self.setup.common.drafts_for.as_millis());
        let draft = Draft {
            tenant: tenant.to_owned(),
            id: fresh()?,
            meeting: Meeting {
                title: proposed.title,
                attendees,
                span,
                zone: zone.iana_name().unwrap_or("UTC").to_owned(),
                conference: proposed.conference,
                location: proposed.location,
                notes: proposed.notes,
            },
            expires_ms: (self.now_ms)().saturating_add(drafts_for.unwrap_or(i64::MAX)),
        };
        self.store.keep(draft.clone()).await.map_err(unkept)?;
        Ok(json!({ "draftId": draft.id, "expiresAt": shown::expires(&draft) }))
    }

    /// A draft; one that was booked stays known by its booking.
    async fn draft(&self, tenant: &str, id: &str) -> Result<Value, ToolError> {
        if let Some(draft) = self.store.draft(tenant, id, (self.now_ms)()).await.map_err(unkept)? {
            return Ok(shown::draft(id, &draft.meeting));
        }
        let booked = self.store.booking(tenant, Which::Draft(id)).await.map_err(unkept)?;
        Ok(booked.map_or(Value::Null, |booking| shown::draft(id, &booking.meeting)))
    }
}

pub(super) fn read<T: for<'de> Deserialize<'de>>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|why| {
        let message = format!("`calendar` was not asked as it can be asked: {why}");
        ToolError::new(ErrorKind::InvalidArguments, message)
    })
}

fn fault(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Internal, message)
}

/// Nobody can guess the draft of somebody else.
fn fresh() -> Result<String, ToolError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| fault("no random numbers").caused_by(why))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("draft_{hex}"))
}
