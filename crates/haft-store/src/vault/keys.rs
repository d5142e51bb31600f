//! The keys that credentials are sealed with, and the file that keeps them.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::Digest;
use haft_core::digest::hex;
use haft_core::port::StoreError;
use zeroize::Zeroizing;

use crate::tables::Res;

/// So many keys are remembered while one takes over from another.
const MOST: usize = 32;

/// One key. It cannot be printed.
#[derive(Clone)]
pub struct Key {
    id: String,
    bytes: Zeroizing<[u8; 32]>,
}

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadKey;

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key is 64 hexadecimal digits; `openssl rand -hex 32` makes one")
    }
}

impl std::error::Error for BadKey {}

impl Key {
    /// A new one.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers.
    pub fn random() -> Res<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *bytes)
            .map_err(|why| StoreError::Unavailable(format!("no random numbers: {why}")))?;
        Ok(Self::of(bytes))
    }

    /// A key as it is written: 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// It is written differently.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let text = text.trim().as_bytes();
        let mut bytes = Zeroizing::new([0; 32]);
        if text.len() != 64 {
            return Err(BadKey);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| BadKey)?;
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(BadKey);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| BadKey)?;
        }
        Ok(Self::of(bytes))
    }

    pub(crate) fn of(bytes: Zeroizing<[u8; 32]>) -> Self {
        let named = Zeroizing::new([b"haft connections key".as_slice(), &*bytes].concat());
        let digest = Digest::of_bytes(&named);
        Self { id: digest.short().to_owned(), bytes }
    }

    /// The name under which records say that they were sealed with it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    fn written(&self) -> Zeroizing<String> {
        Zeroizing::new(hex(&*self.bytes))
    }
}

/// The keys that are known: what is written is sealed with the first, what is read opens with any.
#[derive(Clone, Default)]
pub struct Keyring(Vec<Key>);

impl Keyring {
    /// These keys, the current one first.
    #[must_use]
    pub fn new(keys: Vec<Key>) -> Self {
        Self(keys)
    }

    /// Reads the keys of a file; there are none where there is no file.
    ///
    /// # Errors
    ///
    /// It cannot be read, can be read by others, or holds something else.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        private(path)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let keys: Result<Vec<Key>, BadKey> = lines.map(Key::parse).collect();
        keys.map(Self).map_err(io::Error::other)
    }

    /// Writes the keys to a file that only its owner can read, in one step.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs::rename(self.write_aside(path)?, path)
    }

    /// The same where there is no file yet; what somebody else has written meanwhile stays.
    pub(super) fn write_first(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let aside = self.write_aside(path)?;
        let written = fs::hard_link(&aside, path);
        let _ = fs::remove_file(&aside);
        written
    }

    fn write_aside(&self, path: &Path) -> io::Result<PathBuf> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let aside = path.with_extension(format!("new-{}-{count}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&aside)?;
        for key in &self.0 {
            file.write_all(key.written().as_bytes())?;
            file.write_all(b"\n")?;
        }
        file.sync_all()?;
        Ok(aside)
    }

    /// The same, and after them those of another ring.
    pub(super) fn before(&self, others: &Self) -> Self {
        let is_new = |key: &&Key| !self.0.iter().any(|one| one.id == key.id);
        let all = self.0.iter().chain(others.0.iter().filter(is_new));
        Self(all.take(MOST).cloned().collect())
    }

    /// Whether one of this name is among them.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id == id)
    }

    /// The same with a new first key.
    #[must_use]
    pub fn led_by(&self, key: Key) -> Self {
        let others = self.0.iter().filter(|one| one.id != key.id).cloned();
        Self(std::iter::once(key.clone()).chain(others).collect())
    }

    /// The same with the first key alone.
    #[must_use]
    pub fn first_only(&self) -> Self {
        Self(self.0.first().cloned().into_iter().collect())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key that seals.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn current(&self) -> Res<&Key> {
        self.0.first().ok_or_else(|| {
            StoreError::WrongState("there is no key to seal connections with".to_owned())
        })
    }

    pub(crate) fn named(&self, id: &str) -> Res<&Key> {
        self.0.iter().find(|key| key.id == id).ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|key| key.id.as_str()).collect();
            let here = match known.as_slice() {
                [] => "there is no key here".to_owned(),
                known => format!("the key here is {}", known.join(", ")),
            };
            StoreError::WrongState(format!(
                "it was sealed with the key {id}, and {here}; nothing is lost: put the right key back"
            ))
        })
    }
}

/// A key that others can read is none.
#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match fs::metadata(path)?.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(io::Error::other("others can read it; `chmod 600` it")),
    }
}

#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}
