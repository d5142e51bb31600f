//! The keys that are known, and where others may have put another one since.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use haft_core::port::StoreError;
use parking_lot::Mutex;

use super::keys::Keyring;
use super::place::KeyPlace;
use crate::tables::Res;

/// Keys, and where to look for them again.
#[derive(Default)]
pub(crate) struct Ring {
    known: Mutex<Arc<Keyring>>,
    place: Option<KeyPlace>,
}

impl Ring {
    /// These and no others.
    pub(crate) fn of(keys: Keyring) -> Self {
        Self { known: Mutex::new(Arc::new(keys)), place: None }
    }

    /// Those of a place.
    pub(crate) fn at(place: KeyPlace) -> io::Result<Self> {
        Ok(Self { known: Mutex::new(Arc::new(place.read()?)), place: Some(place) })
    }

    pub(crate) fn known(&self) -> Arc<Keyring> {
        self.known.lock().clone()
    }

    /// Makes the first key where there is none, and gives the file that it was put into.
    pub(super) fn prepare(&self) -> io::Result<Option<PathBuf>> {
        let Some(place) = &self.place else { return Ok(None) };
        let (keys, made) = place.make()?;
        self.learn(&keys);
        Ok(made.cloned())
    }

    /// The keys as they are now: those of the place, and after them whatever was known before. A
    /// record that was read a moment ago still opens.
    fn learn(&self, now: &Keyring) -> Arc<Keyring> {
        let mut keys = self.known.lock();
        *keys = Arc::new(now.before(&keys));
        keys.clone()
    }

    /// The keys, looked for again.
    pub(crate) fn anew(&self) -> io::Result<Arc<Keyring>> {
        match &self.place {
            Some(place) => Ok(self.learn(&place.read()?)),
            None => Ok(self.known()),
        }
    }

    /// The keys to open something with that one of this name has sealed.
    pub(crate) fn with(&self, id: &str) -> Res<Arc<Keyring>> {
        let known = self.known();
        if known.knows(id) {
            return Ok(known);
        }
        self.anew().map_err(|why| unread(&why))
    }
}

/// Why keys cannot be had: a file that cannot be read now may be a moment later, what is in it and who may
/// read it is for somebody to change.
pub(crate) fn unread(why: &io::Error) -> StoreError {
    match matches!(why.kind(), io::ErrorKind::Other | io::ErrorKind::InvalidData) {
        true => StoreError::WrongState(why.to_string()),
        false => StoreError::Unavailable(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said when a key is looked for where `put` has put something.
    #[track_caller]
    fn check(named: bool, put: impl FnOnce(&std::path::Path), expected: Result<(), &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        put(&path);
        let place = if named { KeyPlace::Named(path) } else { KeyPlace::File(path) };
        let ring = Ring { place: Some(place), ..Ring::default() };
        let found = match ring.with("none") {
            Ok(_) => Ok(()),
            Err(StoreError::Unavailable(why)) => Err(format!("later: {why}")),
            Err(other) => Err(format!("never: {other:?}")),
        };
        match (&found, expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) if part.split("..").all(|one| found.contains(one)) => {}
            _ => panic!("{found:?} is not {expected:?}"),
        }
    }

    fn write(path: &std::path::Path, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_read_now_may_be_later() {
        check(false, |_| {}, Ok(()));
        check(true, |_| {}, Err("later: ..there is no such file..openssl rand"));
        check(true, |path| write(path, "\n"), Err("later: ..it is empty"));
        check(true, |path| write(path, &"ab".repeat(32)), Ok(()));
        // A folder cannot be read as a file, whoever asks.
        check(false, |path| std::fs::create_dir(path).unwrap(), Err("later: "));
        check(false, |path| write(path, "nonsense"), Err("never: ..64 hexadecimal digits"));
        check(
            false,
            |path| std::fs::write(path, "ab".repeat(32)).unwrap(),
            Err("never: ..others can read it"),
        );
    }
}
