//! Who is alive: each open store holds a lock on a file of its own, and the lock goes with it,
//! however it goes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use haft_core::digest::hex;

use crate::machine::Owner;

/// The directory of the owners' files.
pub(super) struct Owners {
    dir: PathBuf,
}

/// This store's own entry. Dropping it says that the store is gone.
pub(super) struct Alive {
    pub(super) owner: Owner,
    path: PathBuf,
    _locked: File,
}

impl Drop for Alive {
    fn drop(&mut self) {
        // Were the file to stay, its lock would be free all the same.
        let _ = fs::remove_file(&self.path);
    }
}

impl Owners {
    pub(super) fn new(dir: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        Ok(Self { dir })
    }

    /// Enters a new owner. The file gets its name only once it is locked, so that nobody sees an
    /// owner that seems to be gone before it has begun.
    pub(super) fn enter(&self) -> io::Result<Alive> {
        for _ in 0..8 {
            let mut owner = Owner::default();
            getrandom::fill(&mut owner).map_err(|error| io::Error::other(error.to_string()))?;
            let path = self.path(owner);
            let aside = path.with_extension("new");
            let file = OpenOptions::new().write(true).create_new(true).open(&aside)?;
            // Someone who tidies up may have been faster than we: then with another name.
            if file.try_lock().is_ok() && fs::rename(&aside, &path).is_ok() {
                return Ok(Alive { owner, path, _locked: file });
            }
        }
        Err(io::Error::other("its directory of owners does not hold locks"))
    }

    /// Whether an owner's lock is held. Of one that is gone, the file is removed.
    pub(super) fn is_alive(&self, owner: Owner) -> bool {
        is_locked(&self.path(owner))
    }

    /// Removes the files of owners that are gone.
    pub(super) fn tidy(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            is_locked(&entry?.path());
        }
        Ok(())
    }

    fn path(&self, owner: Owner) -> PathBuf {
        self.dir.join(hex(&owner))
    }
}

/// Whether somebody holds the lock on a file; it is removed when nobody does. What cannot be told
/// counts as held: to take a living owner for dead would be the worse mistake.
fn is_locked(path: &Path) -> bool {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    match file.try_lock() {
        Ok(()) => {
            let _ = fs::remove_file(path);
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_alive_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let owners = Owners::new(dir.path().join("owners")).unwrap();
        let (one, two) = (owners.enter().unwrap(), owners.enter().unwrap());
        let (first, second) = (one.owner, two.owner);
        owners.tidy().unwrap();
        assert!(owners.is_alive(first) && owners.is_alive(second));
        drop(one);
        assert!(!owners.is_alive(first) && owners.is_alive(second));
    }

    #[test]
    fn what_a_killed_owner_left_is_tidied_up() {
        let dir = tempfile::tempdir().unwrap();
        let owners = Owners::new(dir.path().to_owned()).unwrap();
        fs::write(owners.path([7; 16]), "").unwrap();
        fs::write(owners.path([8; 16]).with_extension("new"), "").unwrap();
        owners.tidy().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(!owners.is_alive([7; 16]));
    }
}
