//! Whose time is taken: by meetings of haft's own, and by whatever stands in people's calendars.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use haft_core::calendar::Span;
use haft_core::port::{Auth, StoreError};
use haft_core::{ErrorKind, ToolError};
use jiff::tz::TimeZone;

use super::Provider;
use super::dav::Dav;
use super::ical::{Entry, Whose, entries};

/// Calendars that are asked at once.
const AT_ONCE: usize = 4;
/// Times without a zone may be a day off from what the server takes them for.
const MARGIN_MS: i64 = 26 * 60 * 60 * 1_000;

/// Who asks, and with what.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) tenant: &'a str,
    pub(super) auth: Option<&'a Auth>,
}

/// Somebody, and the zone that their times without a zone are in.
#[derive(Clone)]
pub(super) struct Who {
    pub(super) email: String,
    pub(super) zone: TimeZone,
}

/// What is known of people's time.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) entries: Vec<Entry>,
    /// Those whose calendars nobody could look into.
    pub(super) not_checked: Vec<String>,
    /// Objects that could not be understood.
    pub(super) unreadable: usize,
}

/// A calendar to look into, and for whom.
struct Look {
    url: String,
    /// Those whose own it is; everybody else was asked to what stands in it.
    owners: Vec<String>,
    /// Whether others count too.
    shared: bool,
}

impl Provider {
    /// The taken times of people between two moments.
    pub(super) async fn taken(
        &self,
        asking: Asking<'_>,
        people: &[Who],
        within: Span,
    ) -> Result<Taken, ToolError> {
        let emails: Vec<String> = people.iter().map(|who| who.email.clone()).collect();
        let now_ms = (self.now_ms)();
        let own = self.store.taken(asking.tenant, &emails, within, now_ms).await;
        let own = own.map_err(unkept)?.into_iter();
        let mut taken = self.elsewhere(asking, people, within).await?;
        taken.entries.extend(own.map(|(_, span)| Entry { uid: String::new(), span }));
        Ok(taken)
    }

    /// The same, without what only haft knows of.
    pub(super) async fn elsewhere(
        &self,
        asking: Asking<'_>,
        people: &[Who],
        within: Span,
    ) -> Result<Taken, ToolError> {
        let emails: Vec<String> = people.iter().map(|who| who.email.clone()).collect();
        let not_checked = self.unknown(asking.tenant, &emails);
        let looks = self.looks(asking.tenant, &emails);
        if looks.is_empty() {
            return Ok(Taken { not_checked, ..Taken::default() });
        }
        let dav = self.dav(asking)?;
        let wide =
            Span { start_ms: within.start_ms - MARGIN_MS, end_ms: within.end_ms + MARGIN_MS };
        let found: Vec<(Look, Vec<String>)> = stream::iter(looks)
            .map(|look| async move {
                let texts = dav.events(&look.url, wide).await.map_err(|why| whose(why, &look))?;
                Ok::<_, ToolError>((look, texts))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let people = people.to_vec();
        // A year of somebody's series is work for a processor.
        let read = tokio::task::spawn_blocking(move || read(&found, &people, within)).await;
        let (entries, unreadable) = read.map_err(|why| {
            ToolError::new(ErrorKind::Internal, "the calendars could not be read").caused_by(why)
        })?;
        Ok(Taken { entries, not_checked, unreadable })
    }

    pub(super) fn dav<'a>(&'a self, asking: Asking<'a>) -> Result<Dav<'a>, ToolError> {
        let auth = asking.auth.ok_or_else(unconnected)?;
        Ok(Dav { client: &self.client, auth })
    }

    /// The calendar of all meetings, and the people's own.
    fn looks(&self, tenant: &str, emails: &[String]) -> Vec<Look> {
        let mut looks: Vec<Look> = Vec::new();
        let mut seen = BTreeSet::new();
        let shared = self.setup.book_in.iter().map(|url| (url.clone(), None));
        let own = emails.iter().flat_map(|email| {
            let person = self.setup.person(tenant, email);
            let all = person.map(|person| person.calendars.as_slice()).unwrap_or_default();
            all.iter().map(|url| (url.clone(), Some(email.clone())))
        });
        for (url, owner) in shared.chain(own) {
            if seen.insert(url.clone()) {
                looks.push(Look { url: url.clone(), owners: Vec::new(), shared: false });
            }
            if let Some(look) = looks.iter_mut().find(|look| look.url == url) {
                match owner {
                    Some(owner) => look.owners.push(owner),
                    None => look.shared = true,
                }
            }
        }
        looks
    }

    /// Those of whom nothing is set up: what they do beside meetings that were booked here, nobody knows.
    fn unknown(&self, tenant: &str, emails: &[String]) -> Vec<String> {
        let is_known = |email: &&String| {
            let person = self.setup.person(tenant, email);
            person.is_some_and(|one| self.setup.book_in.is_none() || !one.calendars.is_empty())
        };
        emails.iter().filter(|email| !is_known(email)).cloned().collect()
    }
}

fn read(found: &[(Look, Vec<String>)], people: &[Who], within: Span) -> (Vec<Entry>, usize) {
    let (mut all, mut unreadable) = (Vec::new(), 0);
    for (look, texts) in found {
        for text in texts {
            let mut broken = false;
            for who in people {
                let whose = match look.owners.contains(&who.email) {
                    true => Whose::Own(&who.email),
                    false if look.shared => Whose::Asked(&who.email),
                    false => continue,
                };
                let (entries, whole) = entries(text, whose, &who.zone, within);
                all.extend(entries);
                broken |= whole.is_err();
            }
            unreadable += usize::from(broken);
        }
    }
    (all, unreadable)
}

/// A model may know whose calendar it is, and has no use for its address.
fn whose(mut error: ToolError, look: &Look) -> ToolError {
    match look.owners.first() {
        Some(owner) => error.message = format!("{} (the calendar of `{owner}`)", error.message),
        None => error.message = format!("{} (the calendar of all meetings)", error.message),
    }
    error
}

fn unconnected() -> ToolError {
    ToolError::new(ErrorKind::Auth, "the calendar stands on a server, and the call has no connection to it").suggest(
        "an administrator adds one: `haft connections add calendar --provider caldav --kind basic --user NAME \
         --host HOST`, then `haft connections grant calendar --to 'agent:*' --tools '*calendar_*'`; the call names it \
         (`--connection calendar`, or `connections.caldav` of the model in haft.toml)",
    )
}

pub(super) fn unkept(why: StoreError) -> ToolError {
    let message = "the calendar's records cannot be read or written";
    let mut error = ToolError::new(ErrorKind::Transient, message);
    error.partial_side_effects = matches!(why, StoreError::InDoubt(_));
    error.caused_by(why)
}
