//! A pass over the audit trail: of all of it, or of what was added since all of it was last found in
//! order. It says whose effects are to stop.

use std::path::Path;
use std::time::Duration;

use haft_core::port::{Checked, StoreError};
use haft_core::registry::{PublicKey, SigningKey};
use rusqlite::Connection;

use super::agree::{Differing, Words};
use super::fault::of_read;
use super::forget::gaps;
use super::known::Evidence;
use super::listed::each_with_calls;
use super::looked::{AGAIN, Acknowledged};
use super::mark::Mark;
use super::shared::Suspicion;
use super::verify::{each, has, in_words, is_told, signed, suspects, told};
use super::{Options, Sqlite, Verify, reader, writer};
use crate::tables::Res;
use crate::trail::{self, Broken, Chain, Checkpoint, Fault, Gap, Head, Link, Signed, Written};

/// Which signatures of checkpoints are checked. To check each takes long where there are many, and the
/// newest proves what all of them do: every entry is linked to those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signatures {
    Newest,
    All,
}

/// What came of a pass over the whole trail.
pub(super) struct Passed {
    /// Whom to stop, because of faults that nobody has acknowledged.
    pub(super) suspicion: Suspicion,
    /// When somebody had last looked at what is wrong.
    pub(super) looked_at_ms: i64,
    /// The first fault, acknowledged or not; nothing where not all signatures were checked.
    pub(super) verdict: Option<Checked>,
}

/// Checks a trail when its database is opened. Returns whom to stop, and whether that was all of it.
pub(super) fn on_opening(path: &Path, options: &Options, now_ms: i64) -> Res<(Suspicion, bool)> {
    if options.verify == Verify::Tail {
        match tail(path, options.short, now_ms) {
            Ok(None) => {}
            Ok(Some(suspicion)) => return Ok((suspicion, false)),
            Err(StoreError::Tampered(why)) => return Ok((Suspicion::All(why), false)),
            Err(error) => return Err(error),
        }
    }
    Ok((whole(path, options.short, now_ms, Signatures::Newest)?.suspicion, true))
}

/// Where everything that is compared comes from, as of one moment.
struct View {
    conn: Connection,
    key: SigningKey,
    looked: Acknowledged,
    /// Those that are newer than what somebody has looked at.
    checkpoints: Signed,
    all: Vec<Checkpoint>,
    gaps: Vec<Gap>,
    had: Option<Head>,
    /// The entry that was signed last, as the database knows.
    known: Option<Link>,
    /// What is missing beside it.
    missing: Option<Broken>,
}

impl View {
    /// The checkpoints are read before the database, and that in one transaction: whoever writes
    /// meanwhile would seem to have touched the one or the other.
    fn open(path: &Path) -> Res<Result<Self, Broken>> {
        let evidence = Evidence::at(path)?;
        let had = told(path)?;
        let all = match signed(&Sqlite::checkpoints(path))? {
            Ok(all) => all,
            Err(broken) => return Ok(Err(broken)),
        };
        let conn = reader::open(path, Duration::from_secs(5))?;
        conn.execute_batch("BEGIN").map_err(|error| of_read(&error))?;
        let key = Sqlite::signing_key(path)?;
        let looked = Acknowledged::read(&conn, &key.public())?;
        let newer = all.iter().filter(|one| one.at_ms > looked.last.at_ms).cloned().collect();
        let (checkpoints, gaps) = (trail::by_number(newer), gaps(&conn)?);
        let missing = evidence.against(&key.public(), &all, is_told(path));
        let known = evidence.link();
        Ok(Ok(Self { conn, key, looked, checkpoints, all, gaps, had, known, missing }))
    }

    /// The newest checkpoint, and gaps that nobody has looked at, must be signed. All the other
    /// checkpoints are compared with their entries like it.
    fn forged(&self, key: &PublicKey) -> Option<Broken> {
        let broken = |number, fault| Some(Broken { number, tenant: None, fault });
        let is_forged = |one: &Checkpoint| !one.is_signed_by(key);
        let newest = self.checkpoints.last_key_value();
        if let Some((number, _)) = newest.filter(|(_, newest)| newest.iter().any(is_forged)) {
            return broken(*number, Fault::Checkpoint);
        }
        // One from before the key was lost is known, as checkpoints of that time are.
        let mut unknown = self.gaps.iter().filter(|gap| !self.looked.last.covers(gap));
        let forged = unknown.find(|gap| !gap.is_signed_by(key))?;
        broken(forged.first, Fault::Forgotten)
    }

    /// Whether somebody has looked at everything in what stands beside the database; where something
    /// `is_told` of the trail, the signature of every head is part of that.
    fn is_looked_at(&self, is_told: bool) -> Res<bool> {
        let unseen = self.had.as_ref().filter(|head| head.at_ms > self.looked.last.at_ms);
        let stands = unseen.map_or(Ok(true), |head| has(&self.conn, &head.link))?;
        let key = self.key.public();
        let mut heads = self.checkpoints.values().flatten();
        Ok(stands && (!is_told || heads.all(|one| one.is_signed_by(&key))))
    }

    /// Whom to stop, and why; and what to do where somebody has looked, and that does not count.
    fn suspects(&self, faults: &[Broken]) -> Suspicion {
        let also = |why: String| match self.looked.unsigned.is_empty() {
            true => why,
            false => format!("{why}; {AGAIN}"),
        };
        match suspects(faults) {
            Suspicion::None => Suspicion::None,
            Suspicion::Of(tenants, why) => Suspicion::Of(tenants, also(why)),
            Suspicion::All(why) => Suspicion::All(also(why)),
        }
    }

    /// Of what was signed and forgotten, what comes after this entry.
    fn after(self, number: u64) -> Self {
        let checkpoints = self.checkpoints.into_iter().filter(|(at, _)| *at > number).collect();
        let gaps = self.gaps.into_iter().filter(|gap| gap.first > number).collect();
        Self { checkpoints, gaps, ..self }
    }
}

/// Everything that is wrong from an entry on.
struct Faults {
    /// What nobody has acknowledged.
    new: Vec<Broken>,
    /// Where the table of calls does not fit, acknowledged or not: only where all of it was read.
    listed: Vec<Differing>,
    words: Words,
    end: Link,
}

/// Reads the trail from an entry on. What the ledger is compared with is for the caller to say.
fn faults(
    view: &View,
    from: Link,
    mut words: Words,
    mut also: impl FnMut(&Written<'_>, bool),
) -> Res<Faults> {
    let mut chain = Chain::from(from.clone(), view.checkpoints.clone(), view.gaps.clone());
    chain.had(view.known.clone());
    let mut new = Vec::new();
    let take = |entry: &Written<'_>, is_intact: bool| {
        also(entry, is_intact);
        words.take(entry);
        let fault = chain.follow(entry, is_intact).err();
        // Whoever changed what somebody has said changed what they have looked at.
        let is_whole = fault.as_ref().is_none_or(|broken| broken.fault != Fault::Hash);
        if is_whole && view.looked.vouches_for(entry.number) {
            words.look(entry);
        }
        new.extend(fault.filter(|broken| broken.number > view.looked.last.number));
    };
    let listed = read_from(&view.conn, from.number, take)?;
    let end = chain.last();
    new.extend(chain.end().err());
    new.extend(view.missing.clone());
    Ok(Faults { new, listed, words, end })
}

/// Reads the trail after an entry; all of it together with the table of calls.
fn read_from(
    conn: &Connection,
    after: u64,
    mut take: impl FnMut(&Written<'_>, bool),
) -> Res<Vec<Differing>> {
    if after == 0 {
        return each_with_calls(conn, take);
    }
    each(conn, after, |entry| take(entry, entry.is_intact())).map(|()| Vec::new())
}

/// Checks all of it, and remembers that where nothing is wrong that nobody has looked at. What cannot be
/// read is not as it was written: whoever put it there must not have their way because the check ends
/// at it.
pub(super) fn whole(path: &Path, short: u64, now_ms: i64, signatures: Signatures) -> Res<Passed> {
    match read_whole(path, short, now_ms, signatures) {
        Err(StoreError::Tampered(why)) => stopped(path, 0, why),
        other => other,
    }
}

fn read_whole(path: &Path, short: u64, now_ms: i64, signatures: Signatures) -> Res<Passed> {
    let view = match View::open(path)? {
        Ok(view) => view,
        Err(broken) => return stopped(path, broken.number, in_words(&broken)),
    };
    let key = view.key.public();
    let mut strict = match signatures {
        Signatures::All => Some(Chain::new(view.all.clone(), view.gaps.clone(), &key)),
        Signatures::Newest => None,
    };
    if let Some(Ok(chain)) = &mut strict {
        chain.had(view.had.as_ref().map(|head| head.link.clone()));
        chain.had(view.known.clone());
    }
    if let Some(forged) = view.forged(&key) {
        return stopped(path, forged.number, in_words(&forged));
    }
    let mut first = None;
    let mut found = faults(&view, Link::default(), Words::default(), |entry, is_intact| {
        if let (Some(Ok(chain)), None) = (&mut strict, &first) {
            first = chain.follow(entry, is_intact).err();
        }
    })?;
    let differing = found.words.against(&view.conn)?;
    let all = || differing.iter().chain(&view.looked.alone).chain(&found.listed);
    let mut told = all().map(|one| &one.broken).chain(&view.looked.unsigned);
    first = first.or_else(|| told.next().cloned());
    let unseen = all().filter(|one| !found.words.knows(one)).map(|one| one.broken.clone());
    found.new.extend(unseen);
    let missing = view.missing.clone();
    let ended = |chain: Chain| {
        let ended = first.map_or_else(|| chain.end(), Err);
        ended.and_then(|verified| missing.map_or(Ok(verified), Err))
    };
    let verdict = strict.map(|strict| strict.and_then(ended));
    let is_told = matches!(verdict, Some(Err(_)));
    let is_known = found.new.is_empty() && view.is_looked_at(is_told)?;
    match is_known {
        false => Mark::remove(path),
        // Nobody would go on from there: the disk need not be waited for.
        true if found.end.number <= short => {}
        true => Mark::write(path, &found.end, now_ms, &found.words.standing(), &view.key),
    }
    let suspicion = view.suspects(&found.new);
    let first_new = found.new.first().map(|broken| (broken.number, in_words(broken)));
    let verdict = verdict.map(|verdict| {
        let said = trail::said(verdict);
        // A signature that is not the newest one's is looked at here alone.
        let unseen = first_new.or_else(|| said.broken.clone().filter(|_| !is_known));
        Checked { unseen, ..said }
    });
    Ok(Passed { suspicion, looked_at_ms: view.looked.last.at_ms, verdict })
}

/// What nobody can read on from stops everybody.
fn stopped(path: &Path, number: u64, why: String) -> Res<Passed> {
    Mark::remove(path);
    let conn = reader::open(path, Duration::from_secs(5))?;
    let key = Sqlite::signing_key(path)?.public();
    let looked_at_ms = super::looked::last(&conn, &key)?.at_ms;
    let verdict = Some(trail::broken(number, why.clone()));
    Ok(Passed { suspicion: Suspicion::All(why), looked_at_ms, verdict })
}

/// Checks what was added since all of it was found in order; nothing where it never was, or too long
/// ago, or where all of it takes but a moment.
fn tail(path: &Path, short: u64, now_ms: i64) -> Res<Option<Suspicion>> {
    let Some((mark, standing)) = Mark::read(path, now_ms) else { return Ok(None) };
    let view = match View::open(path)? {
        Ok(view) => view,
        Err(broken) => return Ok(Some(Suspicion::All(in_words(&broken)))),
    };
    let key = view.key.public();
    let last = writer::last_link(&view.conn).map_err(|error| of_read(&error))?;
    if last.number <= short || !mark.is_signed_by(&key) || !mark.stands_in(&view.conn)? {
        return Ok(None);
    }
    let view = view.after(mark.link().number);
    if let Some(forged) = view.forged(&key) {
        return Ok(Some(Suspicion::All(in_words(&forged))));
    }
    let mut found = faults(&view, mark.link(), Words::since(standing), |_, _| ())?;
    let differing = found.words.against_these(&view.conn)?;
    let all = differing.iter().chain(&view.looked.alone);
    let unseen = all.filter(|one| !found.words.knows(one)).map(|one| one.broken.clone());
    found.new.extend(unseen);
    Ok(Some(view.suspects(&found.new)))
}
