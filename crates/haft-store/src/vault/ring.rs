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
        self.anew().map_err(|why| StoreError::WrongState(why.to_string()))
    }
}
