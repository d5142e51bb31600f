//! Whether the ledger and what is configured say what the audit trail says: what was edited in the
//! one table does not fit the other, which nobody can edit unseen.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::rc::Rc;

use haft_core::Digest;
use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{Keep, State};
use haft_core::record::AuditEntry;
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault::of_read;
use super::row::{self, stored_columns};
use crate::machine;
use crate::steps::configs::SHRED;
use crate::steps::journal::{ACKNOWLEDGE, BEGIN};
use crate::steps::proof::{Proof, Stored, is_word};
use crate::tables::Res;
use crate::trail::{Broken, Fault};

/// The last word of the trail on each effect and on each thing that is configured.
#[derive(Default)]
pub(super) struct Words {
    effects: HashMap<String, Rc<Word>>,
    /// By key: the last word on what is there.
    kept: HashMap<Digest, Rc<Word>>,
    configs: HashMap<Name, (u64, Option<Digest>)>,
    /// The latest time in the trail: a clock that was ahead for a while forgot by it.
    latest_ms: i64,
    /// From when on the trail says of each effect that it has begun: an older haft did not.
    begins_ms: Option<i64>,
    /// What somebody has looked at, by its mark; and by an older haft, everything up to an entry.
    looked: HashSet<Digest>,
    looked_to: u64,
}

/// Something on which the two do not agree.
pub(super) struct Differing {
    /// What it is known by once somebody has looked at it: as it is, and as gone, which it may be later.
    pub(super) marks: Vec<Digest>,
    pub(super) broken: Broken,
}

/// The marks of what was there to be looked at. An older haft did not say.
#[derive(Deserialize)]
struct Looked {
    faults: Option<Vec<Digest>>,
}

/// Kind, tenant and id of a thing that is configured.
type Name = (String, String, String);

/// What an entry says of an effect.
#[derive(Clone, Serialize, Deserialize)]
struct Word {
    number: u64,
    tenant: String,
    state: String,
    proof: Option<Proof>,
}

/// What a thing says from then on; no digest where it was removed.
#[derive(Deserialize)]
struct Configured {
    kind: String,
    id: String,
    digest: Option<Digest>,
}

#[derive(Deserialize)]
struct Said {
    call: String,
    state: String,
    /// An older haft did not say so much.
    #[serde(flatten)]
    proof: Option<Proof>,
}

/// What the trail said at some moment of what must be there as it was, however long that lasts: what is
/// configured, and the effects that have not come to an end.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Standing {
    begins_ms: Option<i64>,
    latest_ms: i64,
    configs: Vec<(Name, (u64, Option<Digest>))>,
    open: Vec<Word>,
}

/// [`found`] reads its columns.
const ROWS: &str = concat!("SELECT ", stored_columns!(), ", due_at_ms FROM effects ORDER BY id");
const ROW: &str = concat!("SELECT ", stored_columns!(), ", due_at_ms FROM effects WHERE key = ?1");

/// An entry of the ledger, whatever somebody has made of it.
struct Found {
    key: Option<Digest>,
    call: String,
    tenant: String,
    state: String,
    class: Option<SideEffectPolicy>,
    stored: Stored,
    /// Of the answer's text alone.
    answer: Option<Digest>,
    started_at_ms: i64,
    /// When its answer may be gone, if ever; and whether it is forgotten when that says so.
    answer_until_ms: Option<i64>,
    in_time: bool,
}

fn found(row: &Row<'_>) -> rusqlite::Result<Found> {
    let stored = row::stored(row)?;
    let key = row.get_ref(4)?.as_blob().ok().and_then(|blob| <[u8; 32]>::try_from(blob).ok());
    let state: String = row.get(13)?;
    let keep = Keep { result_ms: row::unsigned(row, 17)?, key_ms: row::unsigned(row, 18)? };
    let ended: Option<i64> = row.get(20)?;
    let due = |has_body| machine::due_at_ms(State::parse(&state)?, ended?, keep, has_body);
    let answer = row.get_ref(1)?.as_str_or_null().ok().flatten();
    Ok(Found {
        key: key.map(|raw| Digest::from_raw(&raw)),
        call: row.get(8)?,
        tenant: row.get(7)?,
        class: row.get_ref(12)?.as_str().ok().and_then(row::class),
        answer: answer.map(|text| Digest::of_bytes(text.as_bytes())),
        started_at_ms: row.get(19)?,
        answer_until_ms: due(true),
        in_time: due(stored.answer.is_some()) == row.get::<_, Option<i64>>(row::STORED)?,
        state,
        stored,
    })
}

impl Found {
    /// Without its answer, which goes in its time.
    fn marks(&self) -> Vec<Digest> {
        let row = Digest::of_json(&json!([self.stored.asked, self.stored.rest]));
        iter::once(row).chain(self.key.clone()).collect()
    }
}

impl Word {
    fn fits(&self, found: &Found, now_ms: i64) -> bool {
        let Some(proof) = &self.proof else { return self.state == found.state };
        let (told, stored) = (&proof.answer, &found.stored);
        let same = self.state == found.state && proof.asked == stored.asked;
        let Some(rest) = &proof.rest else {
            // An answer that is no longer kept says nothing.
            return same && (found.answer.is_none() || *told == found.answer);
        };
        let gone = || {
            stored.answer.is_none() && found.answer_until_ms.is_some_and(|until| until <= now_ms)
        };
        same && *rest == stored.rest && found.in_time && (*told == stored.answer || gone())
    }

    fn broken(&self, fault: Fault) -> Broken {
        Broken { number: self.number, tenant: Some(self.tenant.clone()), fault }
    }
}

impl Words {
    /// Takes an entry in. What it says of no effect, or too late, changes nothing.
    pub(super) fn take(&mut self, entry: &AuditEntry) {
        self.latest_ms = self.latest_ms.max(entry.at_ms);
        if entry.kind == "config"
            && let Ok(said) = serde_json::from_str::<Configured>(&entry.body)
        {
            let name = (said.kind, entry.tenant.clone(), said.id);
            self.configs.insert(name, (entry.number, said.digest));
        }
        if entry.kind == SHRED {
            self.kept.retain(|_, word| word.tenant != entry.tenant);
        }
        if entry.kind == BEGIN {
            self.begins_ms.get_or_insert(entry.at_ms);
        }
        if is_word(&entry.kind)
            && let Ok(Said { call, state, proof }) = serde_json::from_str(&entry.body)
        {
            let (number, tenant) = (entry.number, entry.tenant.clone());
            let word = Rc::new(Word { number, tenant, state, proof });
            if let Some(proof) = &word.proof {
                self.kept.insert(proof.key.clone(), Rc::clone(&word));
            }
            self.effects.insert(call, word);
        }
    }

    /// Takes in what somebody has looked at.
    pub(super) fn look(&mut self, entry: &AuditEntry) {
        if entry.kind != ACKNOWLEDGE || !entry.tenant.is_empty() {
            return;
        }
        match serde_json::from_str(&entry.body) {
            Ok(Looked { faults: Some(faults) }) => self.looked.extend(faults),
            Ok(Looked { faults: None }) => self.looked_to = entry.number,
            Err(_) => {}
        }
    }

    /// Whether somebody has looked at it.
    pub(super) fn knows(&self, differing: &Differing) -> bool {
        let number = differing.broken.number;
        differing.marks.first().is_some_and(|mark| self.looked.contains(mark))
            || (1..=self.looked_to).contains(&number)
    }

    /// The effects of the ledger on which the two do not agree, those that are gone before their time, and
    /// such things that are configured.
    pub(super) fn against(&self, conn: &Connection) -> Res<Vec<Differing>> {
        let now_ms = self.now_ms(conn)?;
        let (mut differing, found) = self.edited(conn, now_ms)?;
        differing.extend(self.removed(&found, now_ms));
        differing.extend(self.against_configs(conn)?);
        Ok(differing)
    }

    /// The same of those effects alone that these are words on, by their keys: nothing is known of the
    /// others here.
    pub(super) fn against_these(&self, conn: &Connection) -> Res<Vec<Differing>> {
        let (now_ms, mut differing) = (self.now_ms(conn)?, Vec::new());
        let mut there = HashSet::new();
        for (key, word) in &self.kept {
            let Some(found) = super::read::one(conn, ROW, (key.raw(),), found)? else { continue };
            there.insert(key.clone());
            if !word.fits(&found, now_ms) {
                let broken = word.broken(Fault::Ledger);
                differing.push(Differing { marks: found.marks(), broken });
            }
        }
        differing.sort_unstable_by_key(|one| one.broken.number);
        differing.extend(self.removed(&there, now_ms));
        differing.extend(self.against_configs(conn)?);
        Ok(differing)
    }

    /// Now, as far as the ledger and the trail can tell.
    fn now_ms(&self, conn: &Connection) -> Res<i64> {
        let clock = "SELECT now_ms FROM clock";
        let now_ms = super::read::one(conn, clock, (), |row| row.get(0))?.unwrap_or(i64::MAX);
        Ok(self.latest_ms.max(now_ms))
    }

    /// What there is to know of everything so far, for whoever reads on from here.
    pub(super) fn standing(&self) -> Standing {
        let has_to_be_there =
            |word: &&Rc<Word>| word.proof.as_ref().is_some_and(|it| it.forget_at_ms.is_none());
        let open = self.kept.values().filter(has_to_be_there).map(|word| Word::clone(word));
        Standing {
            begins_ms: self.begins_ms,
            latest_ms: self.latest_ms,
            configs: self.configs.clone().into_iter().collect(),
            open: open.collect(),
        }
    }

    /// Goes on from there.
    pub(super) fn since(standing: Standing) -> Self {
        let kept = standing.open.into_iter().filter_map(|word| {
            let key = word.proof.as_ref()?.key.clone();
            Some((key, Rc::new(word)))
        });
        Self {
            kept: kept.collect(),
            configs: standing.configs.into_iter().collect(),
            latest_ms: standing.latest_ms,
            begins_ms: standing.begins_ms,
            ..Self::default()
        }
    }

    /// The entries that do not say what the trail says, and the keys of all.
    fn edited(&self, conn: &Connection, now_ms: i64) -> Res<(Vec<Differing>, HashSet<Digest>)> {
        let (mut edited, mut keys) = (Vec::new(), HashSet::new());
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = conn.prepare(ROWS)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let found = found(row)?;
                if let Some(broken) = self.disagrees(&found, now_ms) {
                    edited.push(Differing { marks: found.marks(), broken });
                }
                keys.extend(found.key);
            }
            Ok(())
        };
        read().map_err(|error| of_read(&error))?;
        Ok((edited, keys))
    }

    fn disagrees(&self, found: &Found, now_ms: i64) -> Option<Broken> {
        let under_key = found.key.as_ref().and_then(|key| self.kept.get(key));
        let whole =
            |word: &&Rc<Word>| word.proof.as_ref().is_some_and(|proof| proof.rest.is_some());
        match under_key.filter(whole).or_else(|| self.effects.get(&found.call)) {
            Some(word) => (!word.fits(found, now_ms)).then(|| word.broken(Fault::Ledger)),
            None if self.was_begun_before(found, under_key) => None,
            None => Some(Broken {
                number: under_key.map_or(0, |word| word.number),
                tenant: Some(found.tenant.clone()),
                fault: Fault::Ledger,
            }),
        }
    }

    /// Whether an older haft, which said nothing of what has only begun, can have begun it.
    fn was_begun_before(&self, found: &Found, under_key: Option<&Rc<Word>>) -> bool {
        let again = |word: &Rc<Word>| match State::parse(&word.state) {
            Some(State::Failed | State::NotHappened) => true,
            Some(State::Unknown) => found.class.is_some_and(machine::may_run_again),
            _ => false,
        };
        let was_forgotten = |word: &Rc<Word>| {
            word.proof.as_ref().is_some_and(|proof| !proof.holds_at(found.started_at_ms))
        };
        found.state == State::Started.as_str()
            && self.begins_ms.is_none_or(|begins| found.started_at_ms < begins)
            && under_key.is_none_or(|word| again(word) || was_forgotten(word))
    }

    /// The entries that are not there and have to be.
    fn removed(&self, found: &HashSet<Digest>, now_ms: i64) -> Vec<Differing> {
        let holds =
            |word: &Rc<Word>| word.proof.as_ref().is_some_and(|proof| proof.holds_at(now_ms));
        let gone = self.kept.iter().filter(|(key, word)| !found.contains(*key) && holds(word));
        let removed = |(key, word): (&Digest, &Rc<Word>)| Differing {
            marks: vec![key.clone()],
            broken: word.broken(Fault::Removed),
        };
        let mut gone: Vec<_> = gone.map(removed).collect();
        gone.sort_unstable_by_key(|one| one.broken.number);
        gone
    }

    /// The things that are configured and not as they were written, then those written and not there.
    fn against_configs(&self, conn: &Connection) -> Res<Vec<Differing>> {
        // A file that no newer haft has opened has no such table.
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'configs'";
        if super::read::one(conn, table, (), |row| row.get::<_, i64>(0))?.is_none() {
            return Ok(Vec::new());
        }
        let sql = "SELECT kind, tenant, id, body FROM configs ORDER BY kind, tenant, id";
        let found = super::read::all(conn, sql, (), |row| {
            let name: Name = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((name, row.get::<_, Option<String>>(3)?))
        })?;
        let differing = |name: &Name, now: Option<Digest>, number: u64| {
            let broken = Broken { number, tenant: Some(name.1.clone()), fault: Fault::Config };
            Differing { marks: vec![Digest::of_json(&json!([name, now]))], broken }
        };
        let (mut left, mut all) = (self.configs.clone(), Vec::new());
        for (name, body) in &found {
            let now = body.as_deref().map(digest_of);
            match left.remove(name) {
                Some((_, digest)) if digest == now => {}
                said => all.push(differing(name, now, said.map_or(0, |(number, _)| number))),
            }
        }
        let mut gone: Vec<_> = left.iter().map(|(name, (number, _))| (*number, name)).collect();
        gone.sort_unstable();
        all.extend(gone.into_iter().map(|(number, name)| differing(name, None, number)));
        Ok(all)
    }
}

/// What cannot be read fits nothing.
fn digest_of(body: &str) -> Digest {
    match serde_json::from_str(body) {
        Ok(value) => Digest::of_json(&value),
        Err(_) => Digest::of_bytes(body.as_bytes()),
    }
}

#[cfg(test)]
mod tests;
