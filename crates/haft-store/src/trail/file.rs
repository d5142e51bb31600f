//! The files beside a database: its signing key, and the checkpoints signed with it.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use haft_core::port::StoreError;
use haft_core::registry::SigningKey;

use super::{Broken, Checkpoint, Fault, Heads, Link, regular};
use crate::sqlite::Known;

/// However few were written, they are signed after so long: what is not signed can be taken away
/// from the end without a trace. Each signature is read whenever the store is opened.
const PATIENCE_MS: i64 = 5 * 60 * 1_000;

/// Signs the head every so many entries, and what was written when time is up.
pub(crate) struct Signing {
    pub(crate) key: SigningKey,
    pub(crate) path: PathBuf,
    pub(crate) every: u64,
    /// The last entry that is covered.
    pub(crate) covered: u64,
    /// Since when nothing was signed.
    pub(crate) since_ms: i64,
    /// Where every head is told meanwhile; none where that file was removed, until somebody has looked.
    pub(crate) heads: Option<Heads>,
    pub(crate) head: PathBuf,
    /// What was signed, for the database to know with its next commit.
    pub(crate) pending: Option<Known>,
    /// Whether the trail does not say yet which key it is signed with.
    pub(crate) unintroduced: bool,
}

impl Signing {
    /// Whether enough was written since the last time, or some long ago, or any where it is
    /// `now_or_never`.
    pub(crate) fn is_due(&self, link: &Link, at_ms: i64, now_or_never: bool) -> bool {
        let new = link.number.saturating_sub(self.covered);
        let due = new >= self.every || at_ms.saturating_sub(self.since_ms) >= PATIENCE_MS;
        new > 0 && self.every > 0 && (due || now_or_never)
    }

    /// Signs the head. Where those signed before are gone, of which the last one is `known` to the
    /// database, it goes on knowing that.
    pub(crate) fn sign(
        &mut self,
        link: &Link,
        at_ms: i64,
        known: Option<&Known>,
    ) -> io::Result<()> {
        let stands = append(&self.path, &Checkpoint::sign(link, at_ms, &self.key), known)?;
        if stands && known.is_some_and(|known| known.is_signed_by(&self.key.public())) {
            self.pending = Some(Known::sign(link, at_ms, &self.key));
        }
        self.covered = link.number;
        self.since_ms = at_ms;
        Ok(())
    }

    /// Tells where the trail ends now.
    pub(crate) fn tell(&mut self, link: &Link, at_ms: i64) -> io::Result<()> {
        if self.heads.is_none() && self.head.exists() {
            self.heads = Some(Heads::open(&self.head)?);
        }
        self.heads.as_mut().map_or(Ok(()), |heads| heads.tell(link, at_ms))
    }
}

/// Appends a checkpoint as one line, in one write, so that processes do not write into each other. Returns
/// whether the one that is `known` was there.
pub(crate) fn append(
    path: &Path,
    checkpoint: &Checkpoint,
    known: Option<&Known>,
) -> io::Result<bool> {
    let mut line = serde_json::to_string(checkpoint)?;
    line.push('\n');
    let _alone = alone(path)?;
    let mut options = OpenOptions::new();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = regular::open(path, &mut options)?;
    if !ends_a_line(&mut file)? {
        mend(&mut file)?;
    }
    let stands = match known.map(|known| &known.link).filter(|link| link.number > 0) {
        Some(link) => has(&mut file, link)?,
        None => true,
    };
    let is_new = file.metadata()?.len() == 0;
    file.write_all(line.as_bytes())?;
    file.sync_data()?;
    // Or the file could be gone with the power, and the database knows that there was one.
    #[cfg(unix)]
    if is_new && let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(stands)
}

/// Whether a head is in the file. Who has signed it is for others to check.
fn has(file: &mut File, link: &Link) -> io::Result<bool> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let hash = format!("\"hash\":\"{}\"", link.hash);
    Ok(String::from_utf8_lossy(&text).contains(&hash))
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Ends the last line of a file, or takes it away where the power or the room has failed in its midst:
/// nobody has read that, and what comes next must not become part of it.
fn mend(file: &mut File) -> io::Result<()> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    match text.get(whole..).map(serde_json::from_slice::<Checkpoint>) {
        Some(Ok(_)) => file.write_all(b"\n"),
        Some(Err(_)) | None => file.set_len(whole as u64),
    }
}

/// Nobody else writes checkpoints meanwhile. The lock is a file of its own, because theirs is
/// another one once some were dropped.
fn alone(path: &Path) -> io::Result<File> {
    let lock = regular::open(&beside(path, "lock"), OpenOptions::new().create(true).append(true))?;
    lock.lock()?;
    Ok(lock)
}

/// Drops these checkpoints. Never the newest: it tells when the tail was cut off.
pub(crate) fn drop_some(path: &Path, gone: &HashMap<(u64, i64), Checkpoint>) -> io::Result<()> {
    let _alone = alone(path)?;
    let Ok(mut checkpoints) = read(path)? else { return Ok(()) };
    let (before, newest) = (checkpoints.len(), checkpoints.iter().map(|one| one.number).max());
    let last = checkpoints.last().cloned();
    checkpoints.retain(|one| {
        let goes = gone.get(&(one.number, one.at_ms)) == Some(one);
        !goes || Some(one.number) == newest || Some(one) == last.as_ref()
    });
    if checkpoints.len() == before {
        return Ok(());
    }
    let mut text = String::new();
    for one in &checkpoints {
        text.push_str(&serde_json::to_string(one)?);
        text.push('\n');
    }
    put(&beside(path, "new"), path, &text)
}

/// Writes a file that only its owner can read in the place of another, whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    put(&aside(path)?, path, text)
}

fn put(aside: &Path, path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if let Err(error) = write_private(aside, text).and_then(|()| fs::rename(aside, path)) {
        // Where the disk is full, what was begun only takes room.
        let _ = fs::remove_file(aside);
        return Err(error);
    }
    // Or what is appended next could be lost with the name that the old file still has on disk.
    #[cfg(unix)]
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())?;
    Ok(())
}

/// A name that nobody else writes to.
fn aside(path: &Path) -> io::Result<PathBuf> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(beside(path, &haft_core::digest::hex(&name)))
}

/// Reads checkpoints. A last line without its end is a write that was interrupted; any other line
/// that cannot be read was touched, be it no text at all.
pub(crate) fn read(path: &Path) -> io::Result<Result<Vec<Checkpoint>, Broken>> {
    let text = match regular::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').and_then(|end| text.get(..end));
    let lines = whole.into_iter().flat_map(|whole| whole.split(|byte| *byte == b'\n'));
    Ok(lines.into_iter().try_fold(Vec::new(), |mut read, line| {
        let last = read.last().map_or(0, |one: &Checkpoint| one.number);
        let broken = Broken { number: last + 1, tenant: None, fault: Fault::Checkpoint };
        read.push(serde_json::from_slice(line).map_err(|_| broken)?);
        Ok(read)
    }))
}

/// The key beside a database, if there is one.
pub(crate) fn key_there(path: &Path) -> Result<Option<SigningKey>, StoreError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("the signing key `{}` {what}: {error}", path.display()))
    };
    match regular::read(path) {
        Ok(pem) => {
            let pem = String::from_utf8_lossy(&pem);
            SigningKey::from_pem(&pem).map(Some).map_err(|error| failed("is", &error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("cannot be read", &error)),
    }
}

/// The key beside a database; made when there is none, readable by its owner alone.
pub(crate) fn key(path: &Path) -> Result<SigningKey, StoreError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("the signing key `{}` {what}: {error}", path.display()))
    };
    if let Some(key) = key_there(path)? {
        return Ok(key);
    }
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| failed("cannot be made", &error))?;
    let key = SigningKey::from_seed(&seed);
    let pem = key.to_pem().map_err(|error| failed("cannot be made", &error))?;
    match put_new(path, &pem) {
        Ok(()) => Ok(key),
        // Another process was faster: theirs is the key.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self::key(path),
        Err(error) => Err(failed("cannot be written", &error)),
    }
}

/// Writes a file that only its owner can read, whole or not at all, unless there is one.
fn put_new(path: &Path, text: &str) -> io::Result<()> {
    let aside = aside(path)?;
    let written = write_private(&aside, text).and_then(|()| fs::hard_link(&aside, path));
    let removed = fs::remove_file(&aside);
    written.and(removed)
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    PathBuf::from(name)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file: File = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
