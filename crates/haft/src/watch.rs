//! Whether files have changed, for whoever waits for that.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// All files below some places, as they were.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen(BTreeMap<PathBuf, Option<Stamp>>);

/// What is another when a file is (a folder is what is in it). A copy, or one that is put back, may be older than what
/// it replaces.
type Stamp = (Option<SystemTime>, u64, Identity);

impl Seen {
    pub(crate) fn of(places: &[impl AsRef<Path>]) -> Self {
        let mut seen = BTreeMap::new();
        // The places themselves may be links; what they lead to is meant.
        let real = |place: &Path| fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
        let mut left: Vec<PathBuf> = places.iter().map(|place| real(place.as_ref())).collect();
        while let Some(path) = left.pop() {
            let Ok(here) = fs::symlink_metadata(&path) else { continue };
            if here.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                left.extend(entries.map(|entry| entry.path()).filter(|path| !is_hidden(path)));
            }
            // Of a link, what it leads to.
            let meta = fs::metadata(&path).unwrap_or(here);
            let stamp = || (meta.modified().ok(), meta.len(), identity(&meta));
            seen.insert(path, (!meta.is_dir()).then(stamp));
        }
        Self(seen)
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// The file, and when something about it was changed last: nobody sets that.
#[cfg(unix)]
type Identity = (u64, i64, i64);

#[cfg(unix)]
fn identity(meta: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;

    (meta.ino(), meta.ctime(), meta.ctime_nsec())
}

#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whatever_happens_to_a_file_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("tools/a")).unwrap();
        for (name, text) in [("tools/a/handler.js", "one"), ("tools/newest", ""), ("spare", "two")]
        {
            fs::write(at(name), text).unwrap();
        }
        let old = SystemTime::now() - Duration::from_secs(3600);
        let dated =
            |name: &str| fs::File::options().write(true).open(at(name)).unwrap().set_modified(old);
        dated("spare").unwrap();
        dated("tools/a/handler.js").unwrap();
        let look = || Seen::of(&[at("tools")]);
        let mut before = look();
        assert_eq!(before, look());
        let changes: [&dyn Fn(); 6] = [
            &|| fs::rename(at("tools/a"), at("tools/b")).unwrap(),
            // Of the same length and the same time.
            &|| fs::rename(at("spare"), at("tools/b/handler.js")).unwrap(),
            &|| fs::write(at("tools/newest"), "x").unwrap(),
            &|| fs::create_dir(at("tools/empty")).unwrap(),
            &|| fs::remove_file(at("tools/newest")).unwrap(),
            &|| fs::remove_dir_all(at("tools")).unwrap(),
        ];
        for (at, change) in changes.iter().enumerate() {
            change();
            let now = look();
            assert_ne!(now, before, "{at}");
            before = now;
        }
        fs::create_dir(at("tools")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("tools", at("link")).unwrap();
            let linked = Seen::of(&[at("link")]);
            fs::write(at("tools/one"), "x").unwrap();
            assert_ne!(Seen::of(&[at("link")]), linked, "behind a link");
        }
        before = look();
        fs::write(at("tools/.swp"), "an editor's").unwrap();
        assert_eq!(look(), before);
    }
}
