//! Whether the table of calls, where they are found and counted, says what their entries in the trail do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rusqlite::{Row, Rows};
use serde::Deserialize;

use super::row;
use super::sealing::MARK;
use crate::steps::configs::SHRED;
use crate::trail::{Broken, Fault, Written};

pub(super) const ROWS: &str = "SELECT number, tenant, agent, tool, session, call, error, \
    started_at_ms, duration_us FROM calls WHERE number > ?1 ORDER BY number";

/// A row.
struct Listed {
    number: u64,
    tenant: String,
    agent: String,
    tool: String,
    session: Option<String>,
    call: String,
    error: Option<String>,
    started_at_ms: i64,
    duration_us: u64,
}

/// What an entry says of a call; of a sealed one, what is clear beside the seal.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    call: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    started_at_ms: Option<i64>,
    duration_us: Option<u64>,
    #[serde(borrow)]
    record: Option<Box<Line<'a>>>,
    /// Whether there is a record in the seal.
    #[serde(default)]
    recorded: bool,
}

impl Line<'_> {
    fn fits(&self, listed: &Listed) -> bool {
        let says = |said: &Option<Cow<'_, str>>, found: &str| {
            said.as_ref().is_none_or(|said| said == found)
        };
        let is_whole = self.started_at_ms.is_some();
        says(&self.call, &listed.call)
            && says(&self.agent, &listed.agent)
            && says(&self.tool, &listed.tool)
            && (self.agent.is_none() || self.session.as_deref() == listed.session.as_deref())
            && (!is_whole
                || (self.error.as_deref() == listed.error.as_deref()
                    && self.started_at_ms == Some(listed.started_at_ms)
                    && self.duration_us == Some(listed.duration_us)))
    }
}

/// The comparison, fed with the entries in order: the rows are read beside them.
pub(super) struct Calls<'s> {
    rows: Rows<'s>,
    next: Option<Listed>,
    /// The entry that was taken last.
    last: u64,
    /// Up to here somebody has looked.
    looked: u64,
    /// By tenant: the first that does not fit, and the first that nobody has looked at.
    faults: BTreeMap<String, (u64, Option<u64>)>,
}

impl<'s> Calls<'s> {
    pub(super) fn new(rows: Rows<'s>, looked: u64) -> rusqlite::Result<Self> {
        let mut calls = Self { rows, next: None, last: 0, looked, faults: BTreeMap::new() };
        calls.advance()?;
        Ok(calls)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = self.rows.next()?.map(listed).transpose()?;
        Ok(())
    }

    /// Takes an entry in.
    pub(super) fn take(&mut self, entry: &Written<'_>) -> rusqlite::Result<()> {
        while let Some(stray) = self.next.take_if(|listed| listed.number < entry.number) {
            self.fault(&stray.tenant, stray.number);
            self.advance()?;
        }
        self.last = entry.number;
        if entry.kind == SHRED {
            // Its calls went with it.
            self.faults.remove(entry.tenant);
        }
        let listed = self.next.take_if(|listed| listed.number == entry.number);
        let fits = match (&listed, said(entry)) {
            (None, Said::Nothing | Said::Perhaps(_)) => true,
            (Some(listed), Said::Record(line) | Said::Perhaps(line)) => {
                let line = line.record.as_deref().unwrap_or(&line);
                listed.tenant == entry.tenant && line.fits(listed)
            }
            (None, Said::Record(_)) | (Some(_), Said::Nothing) => false,
        };
        if !fits {
            self.fault(entry.tenant, entry.number);
        }
        if listed.is_some() {
            self.advance()?;
        }
        Ok(())
    }

    fn fault(&mut self, tenant: &str, number: u64) {
        let unseen = (number > self.looked).then_some(number);
        let (_, first_unseen) = self.faults.entry(tenant.to_owned()).or_insert((number, unseen));
        *first_unseen = first_unseen.or(unseen);
    }

    /// The first of each tenant that does not fit, and of those that nobody has looked at.
    pub(super) fn end(mut self) -> rusqlite::Result<(Vec<Broken>, Vec<Broken>)> {
        // There is no entry that they could be of, so they count as of the last.
        while let Some(stray) = self.next.take() {
            self.fault(&stray.tenant, self.last.max(1));
            self.advance()?;
        }
        let broken = |tenant: &String, number| Broken {
            number,
            tenant: Some(tenant.clone()),
            fault: Fault::Calls,
        };
        let mut all: Vec<_> =
            self.faults.iter().map(|(tenant, (first, _))| broken(tenant, *first)).collect();
        all.sort_by_key(|one| one.number);
        let unseen =
            self.faults.iter().filter_map(|(tenant, (_, new))| Some(broken(tenant, (*new)?)));
        Ok((all, unseen.collect()))
    }
}

/// What an entry says of a call.
enum Said<'a> {
    /// It is no record of one.
    Nothing,
    Record(Line<'a>),
    /// It is sealed, and an older haft did not say whether there is a record in it.
    Perhaps(Line<'a>),
}

fn said<'a>(entry: &Written<'a>) -> Said<'a> {
    let is_call = entry.kind == "call";
    if !is_call && !matches!(entry.kind, "settle" | "late") {
        return Said::Nothing;
    }
    // What is sealed is JSON, too, after its mark.
    let Ok(line) = serde_json::from_str::<Line<'_>>(entry.body) else { return Said::Nothing };
    match is_call || line.recorded || line.record.is_some() {
        true => Said::Record(line),
        false if entry.body.starts_with(MARK) => Said::Perhaps(line),
        false => Said::Nothing,
    }
}

/// What cannot be read fits nothing.
fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let text = |at: usize| -> rusqlite::Result<Option<String>> {
        let bytes = row.get_ref(at)?.as_bytes_or_null()?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    };
    let some = |at| text(at).map(Option::unwrap_or_default);
    Ok(Listed {
        number: row::unsigned(row, 0)?,
        tenant: some(1)?,
        agent: some(2)?,
        tool: some(3)?,
        session: text(4)?,
        call: some(5)?,
        error: text(6)?,
        started_at_ms: row.get(7)?,
        duration_us: row::unsigned(row, 8)?,
    })
}
