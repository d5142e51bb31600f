//! Whether the table of calls, where they are found and counted, says what their entries in the trail do.
//!
//! Each row follows from the entry of its number: from the record in it, or, where that is sealed, from a
//! digest of the row that stands beside the seal. So a row that was changed can be made anew.

mod anew;

use std::borrow::Cow;

use haft_core::Digest;
use haft_core::record::InvocationRecord;
use rusqlite::{Connection, Row, Rows};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::agree::{Differing, Tenants};
use super::fault::of_read;
use super::row;
use super::sealing::MARK;
use super::verify::each;
use crate::steps::configs::SHRED;
use crate::tables::Res;
use crate::trail::{Broken, Fault, Written};

/// The columns of [`listed`], in its order.
macro_rules! columns {
    () => {
        "SELECT number, tenant, agent, tool, session, call, error, started_at_ms, duration_us FROM calls"
    };
}
use columns;

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
    /// Of the row, or that there is none; an older haft did not say.
    #[serde(default, deserialize_with = "said_so")]
    listed: Option<Option<Digest>>,
}

fn said_so<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Option<Digest>>, D::Error> {
    Option::<Digest>::deserialize(from).map(Some)
}

/// What a row is known by beside a sealed record.
pub(super) fn digest(record: &InvocationRecord) -> Digest {
    let InvocationRecord { tenant, agent, tool, session, call, .. } = record;
    let (error, at, took) = (record.error, record.started_at_ms, record.duration_us);
    Digest::of_json(&json!([tenant, agent, tool, session, call, error, at, took]))
}

impl Listed {
    fn digest(&self) -> Digest {
        let Self { tenant, agent, tool, session, call, error, started_at_ms, duration_us, .. } =
            self;
        Digest::of_json(&json!([
            tenant,
            agent,
            tool,
            session,
            call,
            error,
            started_at_ms,
            duration_us
        ]))
    }
}

impl Line<'_> {
    fn fits(&self, listed: &Listed) -> bool {
        let is = |said: &Option<Cow<'_, str>>, found: &str| said.as_deref() == Some(found);
        is(&self.call, &listed.call)
            && is(&self.agent, &listed.agent)
            && is(&self.tool, &listed.tool)
            && self.session.as_deref() == listed.session.as_deref()
            && self.error.as_deref() == listed.error.as_deref()
            && self.started_at_ms == Some(listed.started_at_ms)
            && self.duration_us == Some(listed.duration_us)
    }

    /// The same of what an older haft has left clear beside a seal: which call, agent, tool and session a read
    /// was, and which call an effect was.
    fn fits_in_part(&self, listed: &Listed) -> bool {
        let may_be = |said: &Option<Cow<'_, str>>, found: &str| {
            said.as_ref().is_none_or(|said| said == found)
        };
        may_be(&self.call, &listed.call)
            && may_be(&self.agent, &listed.agent)
            && may_be(&self.tool, &listed.tool)
            && (self.agent.is_none() || self.session.as_deref() == listed.session.as_deref())
    }
}

/// What an entry says of a call.
enum Said<'a> {
    /// It is no record of one.
    Nothing,
    Record(Line<'a>),
    Sealed(Digest),
    /// An older haft sealed it, and left only this clear: of an effect not even whether there is a record.
    Older(Line<'a>, bool),
}

impl<'a> Said<'a> {
    fn by(entry: &Written<'a>) -> Self {
        let is_read = entry.kind == "call";
        if !is_read && !matches!(entry.kind, "settle" | "late") {
            return Self::Nothing;
        }
        // What is sealed is JSON, too, after its mark.
        let Ok(line) = serde_json::from_str::<Line<'_>>(entry.body) else { return Self::Nothing };
        if entry.body.starts_with(MARK) {
            return match line.listed {
                Some(Some(digest)) => Self::Sealed(digest),
                Some(None) => Self::Nothing,
                None => Self::Older(line, is_read),
            };
        }
        match (is_read, line.record) {
            (true, _) => Self::Record(Line { record: None, ..line }),
            (false, Some(record)) => Self::Record(*record),
            (false, None) => Self::Nothing,
        }
    }

    fn fits(&self, tenant: &str, listed: Option<&Listed>) -> bool {
        let Some(listed) = listed else {
            return matches!(self, Self::Nothing | Self::Older(_, false));
        };
        let fits = match self {
            Self::Nothing => false,
            Self::Record(line) => line.fits(listed),
            Self::Sealed(digest) => listed.digest() == *digest,
            Self::Older(line, _) => line.fits_in_part(listed),
        };
        fits && listed.tenant == tenant
    }
}

/// A row that does not fit, or that is missing.
struct Off {
    number: u64,
    tenant: u32,
    /// Its tenant was removed since, and with it all its rows.
    goes: bool,
    is_missing: bool,
    mark: [u8; 32],
}

/// The comparison, fed with the entries in order: the rows are read beside them.
struct Calls<'s> {
    rows: Rows<'s>,
    next: Option<Listed>,
    /// The entry that was taken last.
    last: u64,
    tenants: Tenants,
    off: Vec<Off>,
}

impl<'s> Calls<'s> {
    fn new(rows: Rows<'s>) -> rusqlite::Result<Self> {
        let (tenants, off) = (Tenants::default(), Vec::new());
        let mut calls = Self { rows, next: None, last: 0, tenants, off };
        calls.advance()?;
        Ok(calls)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = self.rows.next()?.map(listed).transpose()?;
        Ok(())
    }

    /// Takes an entry in. One that was touched is told as such, and says nothing of its row.
    fn take(&mut self, entry: &Written<'_>, is_intact: bool) -> rusqlite::Result<()> {
        while let Some(stray) = self.next.take_if(|listed| listed.number < entry.number) {
            self.differs(&stray.tenant, stray.number, None, Some(&stray));
            self.advance()?;
        }
        self.last = entry.number;
        if entry.kind == SHRED {
            self.shred(entry.tenant);
        }
        let listed = self.next.take_if(|listed| listed.number == entry.number);
        if is_intact && !Said::by(entry).fits(entry.tenant, listed.as_ref()) {
            self.differs(entry.tenant, entry.number, Some(&entry.hash), listed.as_ref());
        }
        if listed.is_some() {
            self.advance()?;
        }
        Ok(())
    }

    fn shred(&mut self, tenant: &str) {
        let tenant = self.tenants.number(tenant);
        self.off.retain(|off| off.tenant != tenant || !off.is_missing);
        self.off.iter_mut().filter(|off| off.tenant == tenant).for_each(|off| off.goes = true);
    }

    fn differs(
        &mut self,
        tenant: &str,
        number: u64,
        entry: Option<&[u8; 32]>,
        listed: Option<&Listed>,
    ) {
        let entry = entry.map(Digest::from_raw);
        let mark = json!(["call", number, entry, listed.map(Listed::digest)]);
        let (tenant, mark) = (self.tenants.number(tenant), Digest::of_json(&mark).raw());
        self.off.push(Off { number, tenant, goes: false, is_missing: listed.is_none(), mark });
    }

    /// Rows after the last entry are of none.
    fn end(mut self) -> rusqlite::Result<(Vec<Off>, Tenants, u64)> {
        while let Some(stray) = self.next.take() {
            self.differs(&stray.tenant, stray.number, None, Some(&stray));
            self.advance()?;
        }
        Ok((self.off, self.tenants, self.last))
    }
}

/// Every entry, with whether it is intact, and beside them the table of calls. Returns what of that does not fit.
pub(super) fn each_with_calls(
    conn: &Connection,
    take: impl FnMut(&Written<'_>, bool),
) -> Res<Vec<Differing>> {
    let (off, tenants, last) = compare(conn, take)?;
    let differing = |off: Off| {
        // Somebody may have put it where no entry is.
        let (number, tenant) = (off.number.min(last), Some(tenants.name(off.tenant).to_owned()));
        let broken = Broken { number, tenant, fault: Fault::Calls };
        Differing { marks: vec![Digest::from_raw(&off.mark)], broken }
    };
    Ok(off.into_iter().map(differing).collect())
}

fn compare(
    conn: &Connection,
    mut take: impl FnMut(&Written<'_>, bool),
) -> Res<(Vec<Off>, Tenants, u64)> {
    let failed = |error: rusqlite::Error| of_read(&error);
    let mut statement = conn.prepare(concat!(columns!(), " ORDER BY number")).map_err(failed)?;
    let rows = statement.query(()).map_err(failed)?;
    let mut calls = Calls::new(rows).map_err(failed)?;
    let mut ended = Ok(());
    each(conn, 0, |entry| {
        let is_intact = entry.is_intact();
        take(entry, is_intact);
        if ended.is_ok() {
            ended = calls.take(entry, is_intact);
        }
    })?;
    ended.and_then(|()| calls.end()).map_err(failed)
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
