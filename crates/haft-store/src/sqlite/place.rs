//! Which file a path stands for: what is beside it is there once, however it is named.

use std::fs;
use std::path::{Path, PathBuf};

use haft_core::port::StoreError;

use crate::tables::Res;

/// More links than this lead in a circle.
const MOST_LINKS: usize = 40;

/// A file beside a database.
pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    with(&real(path), what)
}

fn with(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    PathBuf::from(name)
}

/// The file that a path stands for, by a name without links; also where it is not there yet.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(real) = fs::canonicalize(&path) {
            return real;
        }
        match fs::read_link(&path) {
            // One that is absolute takes the folder's place.
            Ok(to) => path = folder(&path).join(to),
            Err(_) => break,
        }
    }
    named(&path).unwrap_or(path)
}

/// The path itself with its folder by a name without links.
fn named(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?))
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The same, unless a haft that took the link for the database has left something beside the link: its key and its
/// heads are needed beside the database, and somebody may still be alive there.
pub(super) fn alone(path: &Path) -> Res<PathBuf> {
    let real = real(path);
    let left = named(path).filter(|link| *link != real).filter(|link| {
        let is_there = |what| fs::exists(with(link, what)).unwrap_or(true);
        is_there("owners") || is_there("key")
    });
    let Some(link) = left else { return Ok(real) };
    let (link, there) = (link.display(), real.display());
    Err(StoreError::Unavailable(format!(
        "`{link}` is a link to `{there}`, and an earlier haft kept what belongs beside the database beside the link: \
         stop every haft that uses it, then move `{link}.*` to `{there}.*`, and where there are such files \
         already, move those of the one that was used most and remove the others"
    )))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_has_one_name_however_it_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let at = |name: &str| root.join(name);
        for folder in ["data", "here"] {
            fs::create_dir(at(folder)).unwrap();
        }
        symlink("../data/haft.db", at("here/relative.db")).unwrap();
        symlink(at("here/relative.db"), at("here/twice.db")).unwrap();
        symlink("data", at("folder")).unwrap();
        symlink("circle.db", at("circle.db")).unwrap();
        // Before it is made, and afterwards.
        for _ in 0..2 {
            for name in ["data/haft.db", "here/relative.db", "here/twice.db", "folder/haft.db"] {
                assert_eq!(real(&at(name)), at("data/haft.db"), "{name}");
            }
            fs::write(at("data/haft.db"), "").unwrap();
        }
        for name in ["circle.db", "nowhere/haft.db"] {
            assert_eq!(real(&at(name)), at(name), "{name}");
        }
        assert_eq!(folder(Path::new("haft.db")), Path::new("."));
    }

    #[test]
    fn what_was_kept_beside_a_link_is_not_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("data")).unwrap();
        let (link, database) = (root.join("haft.db"), root.join("data/haft.db"));
        symlink("data/haft.db", &link).unwrap();
        fs::create_dir(beside(&database, "owners")).unwrap();
        assert_eq!((alone(&link), alone(&database)), (Ok(database.clone()), Ok(database.clone())));
        fs::write(root.join("haft.db.key"), "").unwrap();
        let StoreError::Unavailable(why) = alone(&link).unwrap_err() else { panic!("refused") };
        assert!(why.contains("is a link to") && why.contains("move `"), "{why}");
        assert_eq!(alone(&database), Ok(database));
    }
}
