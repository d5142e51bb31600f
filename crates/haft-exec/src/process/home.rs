//! The folder of one program: made with it, gone with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::start::private_folder;

/// What the folders' names begin with; the process that made one comes next.
const PREFIX: &str = "home-";

/// What a program that has just been killed still writes is removed at the next try.
const TRIES: u32 = 3;

/// A folder that is removed when nobody holds it any more.
pub(super) struct Home(PathBuf);

impl Home {
    pub(super) fn new(run: &Path) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = run.join(format!("{PREFIX}{}-{number}", std::process::id()));
        // One of an earlier process with our number.
        let _ = fs::remove_dir_all(&path);
        private_folder(&path)?;
        let whole = fs::canonicalize(&path).map_err(|why| why.to_string())?;
        Ok(Self(whole))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            if fs::remove_dir_all(&self.0).is_ok() {
                return;
            }
        }
    }
}

/// Removes what processes that are gone have left.
pub(super) fn sweep(run: &Path) {
    for entry in fs::read_dir(run).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<i32>().ok());
        let gone = |id: i32| kill(Pid::from_raw(id), None) == Err(Errno::ESRCH);
        if maker.is_some_and(|id| id > 0 && gone(id)) {
            // What cannot be removed now is tried again at the next start.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
