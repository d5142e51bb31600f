//! Whether the ledger and what is configured say what the audit trail says: what was edited in the
//! one table does not fit the other, which nobody can edit unseen.

mod word;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use haft_core::Digest;
use haft_core::ledger::State;
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fault::of_read;
use super::grants::{self, Grants};
use super::row::stored_columns;
use super::schema;
use crate::machine;
use crate::steps::configs::SHRED;
use crate::steps::journal::{ACKNOWLEDGE, BEGIN};
use crate::steps::proof::is_word;
use crate::tables::Res;
use crate::trail::{Broken, Fault, Written};
use word::{Found, Open, Raw, Said, Tag, Tags, Told, Word, found};

/// The last word of the trail on each effect, on each thing that is configured, and on who may use what.
#[derive(Default)]
pub(super) struct Words {
    all: Vec<Word>,
    /// By call: where each word is, the last one last. Only what an older haft said is looked for so, and
    /// what no entry knows.
    calls: OnceCell<Vec<(u64, u32)>>,
    tags: Tags,
    /// By key: where the last word on what is there is.
    kept: HashMap<Tag, u32>,
    /// All that was said of effects that have not come to an end, for whoever reads on later.
    open: HashMap<u32, Told>,
    /// The keys, where each effect is asked for by its own.
    keys: Option<HashMap<u32, Raw>>,
    tenants: Tenants,
    configs: HashMap<Name, (u64, Option<Digest>)>,
    grants: Grants,
    /// The latest time in the trail: a clock that was ahead for a while forgot by it.
    latest_ms: i64,
    /// From when on the trail says of each effect that it has begun: an older haft did not.
    begins_ms: Option<i64>,
    /// What somebody has looked at, by its mark; and by an older haft, everything up to an entry.
    looked: HashSet<Digest>,
    looked_to: u64,
}

/// The names of tenants, each with a number.
#[derive(Default)]
pub(super) struct Tenants {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Tenants {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = place(self.names.len());
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

/// The number of a place. There are not so many: the memory would not do for a part of them.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
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

/// What a thing says from then on; no digest where it was removed.
#[derive(Deserialize)]
struct Configured {
    kind: String,
    id: String,
    digest: Option<Digest>,
}

/// What the trail said at some moment of what must be there as it was, however long that lasts: what is
/// configured, and the effects that have not come to an end.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Standing {
    begins_ms: Option<i64>,
    latest_ms: i64,
    configs: Vec<(Name, (u64, Option<Digest>))>,
    /// An older haft did not say.
    #[serde(default)]
    grants: Option<Vec<(grants::Name, grants::Told)>>,
    open: Vec<Open>,
    /// What of that was not as it was said, and somebody has looked at.
    looked: HashSet<Digest>,
    looked_to: u64,
}

/// [`found`] reads its columns: those of a file that only an earlier version has written, and of one of this.
const ROWS: [&str; 3] = [
    concat!("SELECT ", stored_columns!(none), ", due_at_ms FROM effects ORDER BY id"),
    concat!("SELECT ", stored_columns!(deeds), ", due_at_ms FROM effects ORDER BY id"),
    concat!("SELECT ", stored_columns!(), ", due_at_ms FROM effects ORDER BY id"),
];
const ROW: [&str; 3] = [
    concat!("SELECT ", stored_columns!(none), ", due_at_ms FROM effects WHERE key = ?1"),
    concat!("SELECT ", stored_columns!(deeds), ", due_at_ms FROM effects WHERE key = ?1"),
    concat!("SELECT ", stored_columns!(), ", due_at_ms FROM effects WHERE key = ?1"),
];

impl Words {
    /// Takes an entry in. What it says of no effect, or too late, changes nothing.
    pub(super) fn take(&mut self, entry: &Written<'_>) {
        self.latest_ms = self.latest_ms.max(entry.at_ms);
        match entry.kind {
            "config" => self.configure(entry),
            "connection" => self.grants.take(entry),
            SHRED => {
                let (tenant, all) = (self.tenants.number(entry.tenant), &self.all);
                let stays = |at: &u32| all.get(*at as usize).is_none_or(|one| one.tenant != tenant);
                self.kept.retain(|_, at| stays(at));
                self.open.retain(|at, _| stays(at));
            }
            kind if is_word(kind) => {
                if kind == BEGIN {
                    self.begins_ms.get_or_insert(entry.at_ms);
                }
                if let Ok(said) = serde_json::from_str::<Said<'_>>(entry.body) {
                    self.hear(entry, &said);
                }
            }
            _ => {}
        }
    }

    fn configure(&mut self, entry: &Written<'_>) {
        let Ok(said) = serde_json::from_str::<Configured>(entry.body) else { return };
        let name = (said.kind, entry.tenant.to_owned(), said.id);
        self.configs.insert(name, (entry.number, said.digest));
    }

    /// Keeps a word in the place of an earlier one on the same attempt.
    fn hear(&mut self, entry: &Written<'_>, said: &Said<'_>) {
        let told = said.told();
        let word = Word {
            number: entry.number,
            tenant: self.tenants.number(entry.tenant),
            call: self.tags.call(&said.call),
            state: State::parse(&said.state),
            proof: told.map(|told| told.proved(&self.tags)),
        };
        let before = told.and_then(|told| self.kept.get(&self.tags.of(told.key))).copied();
        let same = |at: &u32| self.word(*at).is_some_and(|one| one.call == word.call);
        let at = before.filter(same).unwrap_or(place(self.all.len()));
        match self.all.get_mut(at as usize) {
            Some(place) => *place = word,
            None => self.all.push(word),
        }
        if let Some(before) = before {
            self.open.remove(&before);
        }
        if let Some(told) = told {
            self.keep(told, at);
        }
    }

    fn keep(&mut self, told: Told, at: u32) {
        self.kept.insert(self.tags.of(told.key), at);
        if told.is_open() {
            self.open.insert(at, told);
        }
        if let Some(keys) = &mut self.keys {
            keys.insert(at, told.key);
        }
    }

    fn word(&self, at: u32) -> Option<&Word> {
        self.all.get(at as usize)
    }

    /// Takes in what somebody has looked at.
    pub(super) fn look(&mut self, entry: &Written<'_>) {
        if entry.kind != ACKNOWLEDGE || !entry.tenant.is_empty() {
            return;
        }
        match serde_json::from_str(entry.body) {
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

    /// What to tell of all that is wrong: what nobody has looked at, or else the first.
    pub(super) fn telling(&self, all: &[Differing]) -> Option<Broken> {
        let new = all.iter().find(|one| !self.knows(one));
        new.or(all.first()).map(|one| one.broken.clone())
    }

    /// The effects of the ledger on which the two do not agree, those that are gone before their time, and
    /// such things that are configured, granted or approved.
    pub(super) fn against(&self, conn: &Connection) -> Res<Vec<Differing>> {
        let now_ms = self.now_ms(conn)?;
        let (mut differing, there) = self.edited(conn, now_ms)?;
        differing.extend(self.removed(conn, &there, now_ms)?);
        differing.extend(self.against_configs(conn)?);
        differing.extend(self.grants.against(conn)?);
        differing.extend(super::approvals::unfounded(conn, now_ms)?);
        Ok(differing)
    }

    /// The same of those effects alone that these are words on, by their keys: nothing is known of the
    /// others here.
    pub(super) fn against_these(&self, conn: &Connection) -> Res<Vec<Differing>> {
        let (now_ms, mut differing) = (self.now_ms(conn)?, Vec::new());
        let sql = schema::by_columns(conn, ROW).map_err(|error| of_read(&error))?;
        let mut there = vec![false; self.all.len()];
        for at in self.kept.values() {
            let key = self.keys.as_ref().and_then(|keys| keys.get(at));
            let word = self.word(*at).zip(there.get_mut(*at as usize));
            let (Some(key), Some((word, is_there))) = (key, word) else { continue };
            let differs = |row: &Row<'_>| {
                let found = found(row)?;
                let broken = || self.broken(word, Fault::Ledger);
                let differs = self.differs(&found, word, now_ms);
                Ok(differs.then(|| Differing { marks: found.marks(), broken: broken() }))
            };
            if let Some(differs) = super::read::one(conn, sql, (key,), differs)? {
                *is_there = true;
                differing.extend(differs);
            }
        }
        differing.sort_unstable_by_key(|one| one.broken.number);
        differing.extend(self.removed(conn, &there, now_ms)?);
        differing.extend(self.against_configs(conn)?);
        differing.extend(self.grants.against(conn)?);
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
        let open = self.open.iter().filter_map(|(at, told)| {
            let word = self.word(*at)?;
            Open::of(told, word, self.tenants.name(word.tenant))
        });
        Standing {
            begins_ms: self.begins_ms,
            latest_ms: self.latest_ms,
            configs: self.configs.clone().into_iter().collect(),
            grants: self.grants.standing(),
            open: open.collect(),
            looked: self.looked.clone(),
            looked_to: self.looked_to,
        }
    }

    /// Goes on from there.
    pub(super) fn since(standing: Standing) -> Self {
        let mut words = Self {
            configs: standing.configs.into_iter().collect(),
            grants: Grants::since(standing.grants),
            latest_ms: standing.latest_ms,
            begins_ms: standing.begins_ms,
            looked: standing.looked,
            looked_to: standing.looked_to,
            keys: Some(HashMap::new()),
            ..Self::default()
        };
        for open in &standing.open {
            let tenant = words.tenants.number(&open.tenant);
            let (told, word) = open.word(tenant, &words.tags);
            words.keep(told, place(words.all.len()));
            words.all.push(word);
        }
        words
    }

    fn broken(&self, word: &Word, fault: Fault) -> Broken {
        let tenant = Some(self.tenants.name(word.tenant).to_owned());
        Broken { number: word.number, tenant, fault }
    }

    /// The entries that do not say what the trail says, and which words are on one that is there.
    fn edited(&self, conn: &Connection, now_ms: i64) -> Res<(Vec<Differing>, Vec<bool>)> {
        let (mut edited, mut there) = (Vec::new(), vec![false; self.all.len()]);
        let mut read = || -> rusqlite::Result<()> {
            let sql = schema::by_columns(conn, ROWS)?;
            let mut statement = conn.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let found = found(row)?;
                let under_key =
                    found.key.and_then(|key| self.kept.get(&self.tags.of(key))).copied();
                if let Some(broken) = self.disagrees(&found, under_key, now_ms) {
                    edited.push(Differing { marks: found.marks(), broken });
                }
                if let Some(is_there) = under_key.and_then(|at| there.get_mut(at as usize)) {
                    *is_there = true;
                }
            }
            Ok(())
        };
        read().map_err(|error| of_read(&error))?;
        Ok((edited, there))
    }

    fn disagrees(&self, found: &Found<'_>, under_key: Option<u32>, now_ms: i64) -> Option<Broken> {
        let under_key = under_key.and_then(|at| self.word(at));
        match self.decisive(found, under_key) {
            Some(word) => {
                (!word.fits(found, now_ms, &self.tags)).then(|| self.broken(word, Fault::Ledger))
            }
            None if self.was_begun_before(found, under_key) => None,
            None => Some(Broken {
                number: under_key.map_or(0, |word| word.number),
                tenant: found.tenant.map(str::to_owned),
                fault: Fault::Ledger,
            }),
        }
    }

    /// The word that decides: the one under its key, unless an older haft said it, which did not say so
    /// of every attempt; then the one on its call.
    fn decisive<'w>(&'w self, found: &Found<'_>, under_key: Option<&'w Word>) -> Option<&'w Word> {
        let whole = |word: &&Word| word.proof.is_some_and(|proof| proof.is_whole());
        under_key.filter(whole).or_else(|| self.last_on(self.tags.call(found.call)))
    }

    /// The last word on a call.
    fn last_on(&self, call: u64) -> Option<&Word> {
        let calls = self.calls.get_or_init(|| {
            let known = self.all.iter().enumerate().filter(|(_, word)| word.call != 0);
            let mut all: Vec<_> = known.map(|(at, word)| (word.call, place(at))).collect();
            let number = |at: u32| self.word(at).map(|word| word.number);
            all.sort_unstable_by_key(|(call, at)| (*call, number(*at)));
            all
        });
        let end = calls.partition_point(|(other, _)| *other <= call);
        let (other, at) = calls.get(end.checked_sub(1)?)?;
        self.word(*at).filter(|_| *other == call)
    }

    /// Whether an effect is not what the word under its key says. That may be from before these words
    /// begin, and then nobody knows of which call it was.
    fn differs(&self, found: &Found<'_>, word: &Word, now_ms: i64) -> bool {
        match self.decisive(found, Some(word)) {
            Some(word) => !word.fits(found, now_ms, &self.tags),
            None => {
                !word.fits(found, now_ms, &self.tags) && !self.was_begun_before(found, Some(word))
            }
        }
    }

    /// Whether an older haft, which said nothing of what has only begun, can have begun it.
    fn was_begun_before(&self, found: &Found<'_>, under_key: Option<&Word>) -> bool {
        let again = |word: &Word| match word.state {
            Some(State::Failed | State::NotHappened) => true,
            Some(State::Unknown) => found.class.is_some_and(machine::may_run_again),
            _ => false,
        };
        let was_forgotten =
            |word: &Word| word.proof.is_some_and(|proof| !proof.holds_at(found.started_at_ms));
        found.state == Some(State::Started)
            && self.begins_ms.is_none_or(|begins| found.started_at_ms < begins)
            && under_key.is_none_or(|word| again(word) || was_forgotten(word))
    }

    /// The entries that are not there and have to be.
    fn removed(&self, conn: &Connection, there: &[bool], now_ms: i64) -> Res<Vec<Differing>> {
        let is_there = |at: &u32| there.get(*at as usize).copied().unwrap_or_default();
        let mut gone = Vec::new();
        for at in self.kept.values().filter(|at| !is_there(at)) {
            let Some(word) = self.word(*at) else { continue };
            if word.proof.is_some_and(|proof| proof.holds_at(now_ms)) {
                let marks = self.key(conn, *at, word)?.iter().map(Digest::from_raw).collect();
                gone.push(Differing { marks, broken: self.broken(word, Fault::Removed) });
            }
        }
        gone.sort_unstable_by_key(|one| one.broken.number);
        Ok(gone)
    }

    /// The key that a word is on: few are asked for, and the trail has it.
    fn key(&self, conn: &Connection, at: u32, word: &Word) -> Res<Option<Raw>> {
        if let Some(told) = self.open.get(&at) {
            return Ok(Some(told.key));
        }
        let sql = "SELECT body FROM audit WHERE number = ?1";
        let body = super::read::one(conn, sql, (super::row::signed(word.number),), |row| {
            row.get::<_, String>(0)
        })?;
        let said = |body: &String| serde_json::from_str::<Said<'_>>(body).ok()?.key;
        Ok(body.as_ref().and_then(said))
    }

    /// The things that are configured and not as they were written, then those written and not there.
    fn against_configs(&self, conn: &Connection) -> Res<Vec<Differing>> {
        // A file that no newer haft has opened has no such table.
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'configs'";
        if super::read::one(conn, table, (), |row| row.get::<_, i64>(0))?.is_none() {
            return Ok(Vec::new());
        }
        let sql = "SELECT kind, tenant, id, body FROM configs ORDER BY kind, tenant, id";
        let found: Vec<(Name, Option<String>)> = super::read::all(conn, sql, (), |row| {
            let text = |at: usize| -> rusqlite::Result<Option<String>> {
                Ok(row.get_ref(at)?.as_bytes_or_null()?.map(lossy))
            };
            let name = |at| text(at).map(Option::unwrap_or_default);
            Ok(((name(0)?, name(1)?, name(2)?), text(3)?))
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

/// Bytes that are no text fit nothing that was ever written.
fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// What cannot be read fits nothing.
fn digest_of(body: &str) -> Digest {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(value) => Digest::of_json(&value),
        Err(_) => Digest::of_bytes(body.as_bytes()),
    }
}

#[cfg(test)]
mod tests;
