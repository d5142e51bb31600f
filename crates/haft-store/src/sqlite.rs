//! The store in one SQLite file, for one machine and several processes.
//!
//! Beside the database `haft.db` there are `haft.db.owners/` (who is alive), `haft.db.key` (the key
//! of the audit trail's checkpoints, readable by its owner alone), `haft.db.checkpoints` (those
//! checkpoints) with its lock, `haft.db.head` (where the trail ends, told with every commit),
//! `haft.db.checked` (how far it was found in order), and `haft.db.blocks` (there may be blocks). Where
//! `haft.db` is a link, they are beside the file that it leads to.

mod agree;
mod approvals;
mod calendar;
mod configs;
mod connections;
mod entries;
mod fault;
mod forget;
mod grants;
mod known;
mod listed;
mod log;
mod looked;
mod mark;
mod owner;
mod pass;
mod place;
mod port;
mod read;
mod reader;
mod room;
mod row;
mod schema;
mod sealing;
mod shared;
mod still;
mod time;
mod tx;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use haft_core::Principal;
use haft_core::port::StoreError;
use haft_core::registry::{PublicKey, SigningKey};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::clock::{Clock, Steady, System};
use crate::machine::Owner;
use crate::tables::{Res, Tables as _};
use crate::trail::{self, Checkpoint, Heads, Link, Signing};
use crate::vault::{KeyPlace, Ring};
use known::Evidence;
use owner::Owners;
use place::beside;
use reader::Readers;
use shared::{Beside, Shared, Suspicion};
use tx::Tx;
use writer::{Job, Task, Writer};

pub(crate) use connections::Kept;
pub(crate) use known::Known;
pub use verify::{ahead, verify, verify_here};

/// How a database is opened.
#[derive(Clone)]
pub struct Options {
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// How many writes may wait; callers wait for room, records of calls without effects do not.
    pub queue: usize,
    /// How long to wait for another process that writes.
    pub busy: Duration,
    /// After so many entries the head of the audit trail is signed; 0 is never.
    pub checkpoint_every: u64,
    /// How much of the audit trail is checked before anything is done. Effects of those whose entries
    /// were touched stop until [`Sqlite::acknowledge`].
    pub verify: Verify,
    /// A trail of no more entries than this is checked whole all the same: that takes a moment.
    pub short: u64,
    /// The largest size of the database in bytes; beyond, it is full like a disk.
    pub max_bytes: Option<u64>,
    /// Where the key is that what callers wrote is sealed with. Where there is none yet, it is written
    /// as it is.
    pub seal_with: Option<KeyPlace>,
}

/// How much of the audit trail is checked when a database is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing.
    Never,
    /// What was added since all of it was found in order, which is signed; all of it where that was
    /// never so, or is a week ago, or where it is short. [`Store::condition`] says when the rest is
    /// due to be checked while the store is used.
    ///
    /// [`Store::condition`]: haft_core::port::Store::condition
    #[default]
    Tail,
    /// All of it, which takes longer the longer it is.
    Whole,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(System::default()),
            queue: 1_024,
            busy: Duration::from_secs(5),
            checkpoint_every: 4_096,
            verify: Verify::Never,
            short: 16_384,
            max_bytes: None,
            seal_with: None,
        }
    }
}

/// A store in a SQLite file.
///
/// ```
/// use haft_core::port::Journal as _;
/// use haft_store::{Options, Sqlite};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("haft.db");
/// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// let store = Sqlite::open(&path, Options::default()).unwrap();
/// runtime.block_on(store.note("acme", "note", serde_json::json!("hello"))).unwrap();
/// drop(store); // waits until everything is written
///
/// let key = Sqlite::signing_key(&path).unwrap().public();
/// let verified = haft_store::sqlite::verify(&path, &key, &Sqlite::checkpoints(&path));
/// // The note, and which key the trail is signed with.
/// assert_eq!(verified.unwrap().unwrap().entries, 2);
/// ```
pub struct Sqlite {
    path: PathBuf,
    owner: Owner,
    shared: Arc<Shared>,
    ring: Arc<Ring>,
    queue: Option<mpsc::Sender<Box<dyn Task>>>,
    writer: Option<JoinHandle<()>>,
    readers: Readers,
    /// Of [`Options`].
    short: u64,
    forgetting: Mutex<forget::Memory>,
    granted: Arc<Mutex<grants::Memory>>,
}

impl Sqlite {
    /// Opens a database, or makes one. Blocks while it does. One that cannot be written to is opened to be
    /// read: whatever writes is refused, with what to do.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, and why: it is another program's, of a newer haft, or of an older one and
    /// not writable.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = place::alone(path.as_ref())?;
        if let Some(why) = still::barred(&path) {
            let why = still::in_words(&path, &why);
            return Self::open_to_read(path, &options, &why);
        }
        place::named_once(&path)?;
        let mut conn = connect(&path, &options)?;
        let log = log::Log::of(&mut conn).map_err(|error| fault::of_read(&error))?;
        let owners = Owners::new(beside(&path, "owners")).map_err(|error| no_owner(&error))?;
        owners.tidy().map_err(|error| no_owner(&error))?;
        let alive = owners.enter().map_err(|error| no_owner(&error))?;
        let owner = alive.owner;
        let shared = Arc::new(share(&conn, &path, &options)?);
        let signing = signing(&conn, &path, &options, shared.clock.now_ms())?;
        check(&conn, &path, &options, &shared)?;
        let ring = Arc::new(ring(&conn, &options)?);
        let readers = Readers::start(&path, options.busy, &ring)?;
        let (queue, tasks) = mpsc::channel(options.queue.max(1));
        let thread = std::thread::Builder::new().name("haft-store-write".to_owned());
        let (for_writer, keys) = (Arc::clone(&shared), Arc::clone(&ring));
        let held = place::Held::of(&path);
        let writer = thread.spawn(move || {
            let (shared, ring) = (for_writer, keys);
            Writer { conn, ring, owners, alive, shared, signing, log, held }.work(tasks);
        });
        let writer = writer.map_err(|error| {
            StoreError::Unavailable(format!("no thread to write with: {error}"))
        })?;
        Ok(Self {
            path,
            owner,
            shared,
            ring,
            queue: Some(queue),
            writer: Some(writer),
            readers,
            short: options.short,
            forgetting: Mutex::default(),
            granted: Arc::default(),
        })
    }

    /// Without anything that writes.
    fn open_to_read(path: PathBuf, options: &Options, why: &str) -> Result<Self, StoreError> {
        let conn = reader::open(&path, options.busy)?;
        schema::is_newest(&conn)?;
        let shared = Arc::new(share(&conn, &path, options)?);
        shared.poison(why);
        check(&conn, &path, options, &shared)?;
        let ring = Arc::new(ring(&conn, options)?);
        let readers = Readers::start(&path, options.busy, &ring)?;
        Ok(Self {
            path,
            owner: Owner::default(),
            shared,
            ring,
            queue: None,
            writer: None,
            readers,
            short: options.short,
            forgetting: Mutex::default(),
            granted: Arc::default(),
        })
    }

    /// Where a database's checkpoints are.
    #[must_use]
    pub fn checkpoints(path: &Path) -> PathBuf {
        beside(path, "checkpoints")
    }

    /// The key beside a database, made when there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be read or made.
    pub fn signing_key(path: &Path) -> Result<SigningKey, StoreError> {
        trail::key(&beside(path, "key"))
    }

    /// The key that this database's checkpoints are verified with.
    ///
    /// # Errors
    ///
    /// When it cannot be read or made.
    pub fn public_key(&self) -> Result<PublicKey, StoreError> {
        Ok(Self::signing_key(&self.path)?.public())
    }

    /// Why nothing can be written to it since it was opened, and what to do.
    #[must_use]
    pub fn only_read(&self) -> Option<String> {
        self.shared.poisoned().filter(|_| self.queue.is_none()).map(|why| why.to_string())
    }

    /// How many records of calls were dropped: the queue was full, or they could not be written.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// How often a head or a checkpoint of the audit trail could not be written.
    #[must_use]
    pub fn unsigned(&self) -> u64 {
        self.shared.unsigned.load(Ordering::Relaxed)
    }

    /// Signs the head of the audit trail and appends that to the checkpoints.
    ///
    /// # Errors
    ///
    /// When the store or the file cannot be written.
    pub async fn checkpoint(&self, key: &SigningKey) -> Result<Checkpoint, StoreError> {
        let public = key.public();
        let (link, now_ms) = self
            .write(move |tx| {
                // A trail without an entry has no head.
                if tx.link.number > 0 {
                    known::introduce_first(tx, &public)?;
                }
                Ok((tx.link.clone(), tx.now_ms()))
            })
            .await?;
        let checkpoint = Checkpoint::sign(&link, now_ms, key);
        let known = self.readers.look(|conn| Ok(Evidence::of(conn)?.known)).await?;
        let (path, known) = (Self::checkpoints(&self.path), known.as_ref());
        let stands = trail::append(&path, &checkpoint, known).map_err(|error| {
            StoreError::Unavailable(format!("the checkpoint cannot be written: {error}"))
        })?;
        if stands && known.is_some_and(|known| known.is_signed_by(&key.public())) {
            let known = Known::sign(&link, now_ms, key);
            self.write(move |tx| tx.try_(known.put(tx.conn))).await?;
        }
        Ok(checkpoint)
    }

    /// Goes on although the audit trail was touched: somebody has looked into it. That they have is
    /// written into the trail, for every tenant to see, with what there was to be looked at in the tables:
    /// what is found there later, they have not seen. It is signed with the store's key. What the table of calls
    /// should say is in the trail, so that is put right.
    ///
    /// # Errors
    ///
    /// When the trail cannot be read or written; effects stay stopped.
    pub async fn acknowledge(&self, by: &Principal, note: &str) -> Result<(), StoreError> {
        let (by, note, path) = (by.to_string(), note.to_owned(), self.path.clone());
        let key = Self::signing_key(&self.path)?;
        self.list_anew().await?;
        let public = key.public();
        let marks = verify::aside(move || verify::marks(&path, &public)).await?;
        let write = move |tx: &mut Tx<'_>| {
            known::begin_anew(tx, &key)?;
            let at_ms = looked::put(tx, &by, &note, &marks, &key)?;
            Ok((tx.link.clone(), at_ms))
        };
        let (link, at_ms) = self.write(write).await?;
        // Where that file was removed, this makes it anew.
        let told = Heads::open(&beside(&self.path, "head"));
        self.shared.wrote(Beside::Head, told.and_then(|mut heads| heads.tell(&link, at_ms)));
        self.shared.looked(at_ms);
        // Also where somebody else has looked in the same millisecond.
        self.shared.suspect(Suspicion::None);
        Ok(())
    }

    /// Refuses effects of a tenant whose trail was touched, until somebody has looked into it: here
    /// or in another process.
    async fn trusting(&self, tenant: &str) -> Result<(), StoreError> {
        let Err(touched) = self.shared.trusts(tenant) else { return Ok(()) };
        self.has_looked().await.map_err(|_| touched)?;
        self.shared.trusts(tenant)
    }

    /// Takes in when somebody last looked into the trail, here or in another process. Whoever begins to
    /// suspect something does so first, or what was looked at before would do for that too.
    async fn has_looked(&self) -> Res<i64> {
        let key = Self::signing_key(&self.path)?.public();
        let looked = self.readers.ask(move |conn| Ok(looked::last(conn, &key)?.at_ms)).await?;
        self.shared.looked(looked);
        Ok(looked)
    }

    /// Changes how large the database may become.
    ///
    /// # Errors
    ///
    /// When it cannot be set.
    pub async fn set_max_bytes(&self, max_bytes: Option<u64>) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        self.write(move |tx| {
            limit_size(tx.conn, max_bytes).map_err(|error| fault::of_read(&error))?;
            shared.may_have(pages(tx.conn, max_bytes));
            Ok(())
        })
        .await
    }

    /// Takes a step in the writer's next transaction, and answers once it is durable.
    async fn write<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Tx<'_>) -> Res<T> + Send + 'static,
    ) -> Res<T> {
        if let Some(why) = self.shared.poisoned() {
            return Err(why);
        }
        let gone = || {
            let why = "the store's writer is gone; restart".to_owned();
            self.shared.poison(&why);
            why
        };
        let never = || StoreError::Unavailable(gone());
        let queue = self.queue.as_ref().ok_or_else(never)?;
        let (answer, wait) = oneshot::channel();
        queue.send(Box::new(Job::new(step, answer))).await.map_err(|_| never())?;
        wait.await.map_err(|_| StoreError::InDoubt(gone()))?
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

fn connect(path: &Path, options: &Options) -> Res<Connection> {
    let failed = |error: rusqlite::Error| {
        StoreError::Unavailable(format!("`{}` cannot be opened: {error}", path.display()))
    };
    make_private(path).map_err(|error| {
        StoreError::Unavailable(format!("`{}` cannot be made: {error}", path.display()))
    })?;
    let mut conn = Connection::open(path).map_err(failed)?;
    conn.busy_timeout(options.busy).map_err(failed)?;
    conn.set_prepared_statement_cache_capacity(128);
    conn.execute_batch(schema::PRAGMAS).map_err(failed)?;
    schema::migrate(&mut conn)?;
    limit_size(&conn, options.max_bytes).map_err(failed)?;
    Ok(conn)
}

/// Checks as much of the trail as is wanted before anything is done.
fn check(conn: &Connection, path: &Path, options: &Options, shared: &Shared) -> Res<()> {
    if options.verify == Verify::Never {
        return Ok(());
    }
    let now_ms = shared.clock.now_ms();
    let key = Sqlite::signing_key(path)?.public();
    shared.looked(looked::last(conn, &key)?.at_ms);
    let (suspicion, whole) = pass::on_opening(path, options, now_ms)?;
    shared.suspect(suspicion);
    shared.checked(if whole { now_ms } else { 0 });
    Ok(())
}

/// Arguments and answers are in there, so a new file is its owner's alone; SQLite gives the files
/// beside it the same rights.
fn make_private(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// How many pages it may have, where that is limited.
fn pages(conn: &Connection, max_bytes: Option<u64>) -> Option<u64> {
    let page = conn.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0)).ok()?;
    Some(max_bytes? / u64::try_from(page).ok()?.max(1))
}

fn limit_size(conn: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    let page: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = max_bytes.map_or(i64::from(u32::MAX) - 1, |bytes| row::signed(bytes) / page.max(1));
    conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}

fn share(conn: &Connection, path: &Path, options: &Options) -> Res<Shared> {
    let mut stored = time::stored(conn)?;
    let (_, at_ms) = writer::last_entry(conn).map_err(|error| fault::of_read(&error))?;
    stored.told = writer::latest(stored.reading.times.now, at_ms);
    let clock = Steady::new(Arc::clone(&options.clock), stored);
    let any_blocks = read::any_blocks(conn)?;
    let shared = Shared::new(clock, beside(path, "blocks"), any_blocks, options.verify);
    shared.may_have(pages(conn, options.max_bytes));
    Ok(shared)
}

fn ring(conn: &Connection, options: &Options) -> Res<Ring> {
    let ring = match &options.seal_with {
        Some(place) => {
            Ring::at(place.clone()).map_err(|why| StoreError::Unavailable(why.to_string()))?
        }
        None => Ring::default(),
    };
    sealing::check(conn, &ring)?;
    Ok(ring)
}

fn signing(conn: &Connection, path: &Path, options: &Options, now_ms: i64) -> Res<Option<Signing>> {
    if options.checkpoint_every == 0 {
        return Ok(None);
    }
    let path_of = Sqlite::checkpoints(path);
    // Whatever is wrong with the file is for `verify` to say.
    let checkpoints = trail::read(&path_of).ok().and_then(Result::ok).unwrap_or_default();
    let newest = checkpoints.into_iter().max_by_key(|one| one.number);
    let covered = newest.as_ref().map_or(0, |one| one.number);
    let last = writer::last_link(conn).map_err(|error| fault::of_read(&error))?;
    let key = Sqlite::signing_key(path)?;
    // Before the next head is told in its place.
    verify::fence(conn, path, &key)?;
    let (evidence, head) = (Evidence::of(conn)?, beside(path, "head"));
    // One that was removed is not made anew before somebody has looked.
    let heads = match evidence.is_none() || head.exists() {
        true => Some(Heads::open(&head).map_err(|error| {
            StoreError::Unavailable(format!("`{}` cannot be made: {error}", head.display()))
        })?),
        false => None,
    };
    let is_known = |known: &Known| known.is_signed_by(&key.public());
    if evidence.is_none() && !evidence.known.as_ref().is_some_and(is_known) {
        let first = newest.filter(|one| one.is_signed_by(&key.public()));
        let first = first.map(|one| Link { number: one.number, hash: one.hash });
        let there = first.filter(|link| verify::has(conn, link).unwrap_or_default());
        let known = Known::sign(&there.unwrap_or_default(), now_ms, &key);
        known.put(conn).map_err(|error| fault::of_read(&error))?;
    }
    let unintroduced = Evidence::of(conn)?.wants_introduction();
    Ok(Some(Signing {
        key,
        heads,
        head,
        pending: None,
        unintroduced,
        path: path_of,
        every: options.checkpoint_every,
        covered: covered.min(last.number),
        since_ms: now_ms,
    }))
}

fn no_owner(error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("the database's owners cannot be told apart: {error}"))
}
