//! `[calendar]`: who there is, when they work, and where meetings are written.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use haft_tools::calendar::{Common, Days, Hours, Person, Setup};
use serde::Deserialize;

/// The section as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCalendar {
    zone: Option<String>,
    hours: Option<RawHours>,
    days: Option<Vec<String>>,
    draft_minutes: Option<u32>,
    conference_url: Option<String>,
    book_in: Option<String>,
    organizer: Option<String>,
    people: Vec<RawPerson>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPerson {
    email: String,
    tenant: Option<String>,
    zone: Option<String>,
    hours: Option<RawHours>,
    days: Option<Vec<String>>,
    #[serde(default)]
    calendars: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHours {
    start: String,
    end: String,
}

impl RawCalendar {
    /// People who name no tenant are of the first one.
    pub(super) fn resolve(&self, first_tenant: &str, wrong: &mut Vec<anyhow::Error>) -> Setup {
        let mut common = Common::default();
        let mut noted = |name: &str, why: anyhow::Error| {
            wrong.push(why.context(format!("`calendar.{name}`")));
        };
        match zone(self.zone.as_deref()) {
            Ok(zone) => common.zone = zone.unwrap_or(common.zone),
            Err(why) => noted("zone", why),
        }
        match hours(self.hours.as_ref()) {
            Ok(hours) => common.hours = hours.unwrap_or(common.hours),
            Err(why) => noted("hours", why),
        }
        match days(self.days.as_deref()) {
            Ok(days) => common.days = days.unwrap_or(common.days),
            Err(why) => noted("days", why),
        }
        if let Some(Err(why)) = self.book_in.as_deref().map(address) {
            noted("book_in", why);
        }
        if let Some(organizer) = self.organizer.as_deref().filter(|one| !is_email(one)) {
            noted("organizer", anyhow!("`{organizer}` is no e-mail address"));
        }
        if let Some(minutes) = self.draft_minutes {
            if !(1..=7 * 24 * 60).contains(&minutes) {
                wrong.push(anyhow!(
                    "`calendar.draft_minutes` is between one minute and a week (10080)"
                ));
            }
            common.drafts_for = Duration::from_secs(u64::from(minutes) * 60);
        }
        let people = self.everybody(first_tenant, wrong);
        Setup {
            common,
            people,
            book_in: self.book_in.clone(),
            organizer: self.organizer.as_ref().map(|one| one.trim().to_lowercase()),
            conference_url: super::or_default(conference(self.conference_url.as_deref()), wrong),
        }
    }

    fn everybody(
        &self,
        first_tenant: &str,
        wrong: &mut Vec<anyhow::Error>,
    ) -> HashMap<(String, String), Person> {
        let mut people = HashMap::new();
        for raw in &self.people {
            let mut faults = Vec::new();
            let person = raw.resolve(&mut faults);
            let who = || format!("`calendar.people`: `{}`", raw.email);
            wrong.extend(faults.into_iter().map(|why| why.context(who())));
            let tenant = raw.tenant.clone().unwrap_or_else(|| first_tenant.to_owned());
            let key = (tenant, raw.email.trim().to_lowercase());
            if people.insert(key, person).is_some() {
                wrong.push(anyhow!("`calendar.people` names `{}` twice", raw.email));
            }
        }
        let elsewhere = self.people.iter().find(|person| !person.calendars.is_empty());
        if let (Some(person), None) = (elsewhere, &self.book_in) {
            wrong.push(anyhow!(
                "`calendar.people` gives `{}` a calendar on a server, and nothing says where meetings are written; \
                 set `calendar.book_in` to the address of a CalDAV calendar",
                person.email
            ));
        }
        people
    }
}

impl RawPerson {
    fn resolve(&self, wrong: &mut Vec<anyhow::Error>) -> Person {
        if !is_email(&self.email) {
            wrong.push(anyhow!("this is no e-mail address"));
        }
        for why in self.calendars.iter().filter_map(|url| address(url).err()) {
            wrong.push(why.context("`calendars`"));
        }
        Person {
            zone: super::or_default(zone(self.zone.as_deref()).context("`zone`"), wrong),
            hours: super::or_default(hours(self.hours.as_ref()).context("`hours`"), wrong),
            days: super::or_default(days(self.days.as_deref()).context("`days`"), wrong),
            calendars: self.calendars.clone(),
        }
    }
}

fn zone(name: Option<&str>) -> anyhow::Result<Option<jiff::tz::TimeZone>> {
    let found = name.map(Setup::zone).transpose();
    found.map_err(|error| anyhow!("{}; {}", error.message, error.suggestion))
}

fn hours(raw: Option<&RawHours>) -> anyhow::Result<Option<Hours>> {
    let found = raw.map(|raw| Hours::parse(&raw.start, &raw.end)).transpose();
    found.map_err(anyhow::Error::msg)
}

fn days(names: Option<&[String]>) -> anyhow::Result<Option<Days>> {
    names.map(Days::parse).transpose().map_err(anyhow::Error::msg)
}

fn is_email(text: &str) -> bool {
    let text = text.trim();
    let plain =
        !text.contains(|c: char| c.is_whitespace() || c.is_control() || "<>,;:".contains(c));
    plain && text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// The address of a calendar. The way to it is encrypted, or does not leave the machine.
fn address(text: &str) -> anyhow::Result<()> {
    let url = url::Url::parse(text).with_context(|| format!("`{text}` is no address"))?;
    if !url.username().is_empty() || url.password().is_some() {
        bail!(
            "the address holds a name or a password; they belong into a connection (`haft connections add`)"
        );
    }
    let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => Ok(()),
        "http" if local => Ok(()),
        "http" => bail!("`{text}` would send what it is used with in the clear; use https"),
        _ => bail!("`{text}` is not an address that begins with https"),
    }
}

fn conference(url: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(url) = url else { return Ok(None) };
    if !url.contains("{id}") {
        bail!(
            "`calendar.conference_url` needs `{{id}}` where conferences differ: `https://meet.example.com/{{id}}`"
        );
    }
    let made = url::Url::parse(&url.replace("{id}", "0")).context("`calendar.conference_url`")?;
    if made.scheme() != "https" {
        bail!("`calendar.conference_url` begins with https");
    }
    Ok(Some(url.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(), &str>) {
        let raw: Result<RawCalendar, _> = toml::from_str(text);
        let found = raw.map_err(anyhow::Error::from).and_then(|raw| {
            let mut wrong = Vec::new();
            let setup = raw.resolve("acme", &mut wrong);
            super::super::sound(Some(setup), wrong)
        });
        match (found, expected) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(part)) => {
                let said = format!("{error:#}");
                assert!(said.contains(part), "{said}");
            }
            (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_calendar_is_set_up_or_it_is_said_what_is_wrong() {
        check("", Ok(()));
        check(
            "zone = 'Europe/Bucharest'\nhours = { start = '08:00', end = '16:30' }\ndays = ['sun', 'mon']\n\
             draft_minutes = 30\nconference_url = 'https://meet.example.com/{id}'\nbook_in = 'https://dav.example/m/'\n\
             organizer = 'studio@x.example'\n[[people]]\nemail = 'Mara@x.example'\nzone = 'Asia/Tokyo'\n\
             calendars = ['https://dav.example/mara/']",
            Ok(()),
        );
        check("zone = 'Europe/Bukarest'", Err("use `Europe/Bucharest`"));
        check("hours = { start = '9', end = '17:00' }", Err("`calendar.hours`"));
        check("days = ['monday']", Err("is no day"));
        check("draft_minutes = 0", Err("draft_minutes"));
        check("conference_url = 'https://meet.example.com/'", Err("{id}"));
        check("[[people]]\nemail = 'mara'", Err("no e-mail address"));
        check("[[people]]\nemail = 'a@b'\n[[people]]\nemail = 'A@b'", Err("twice"));
        check(
            "[[people]]\nemail = 'a@b'\ncalendars = ['https://dav.example/a/']",
            Err("calendar.book_in"),
        );
        check("book_in = 'http://dav.example/a/'", Err("use https"));
        check("book_in = 'https://me:pw@dav.example/a/'", Err("belong into a connection"));
        check("book_in = 'http://127.0.0.1:5232/a/'", Ok(()));
        check("zoned = 'UTC'", Err("unknown field"));
    }
}
