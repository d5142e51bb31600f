//! Which file a path stands for: what is beside it is there once, however it is named.

use std::fs;
use std::io;
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

/// Refuses a file that has another name as well: what belongs beside it, its log and who is alive, would be there
/// twice, and two processes that name it differently would not know of each other.
pub(super) fn named_once(path: &Path) -> Res<()> {
    let why = match names(path) {
        1 if is_mounted(path) => "is mounted by itself: mount the folder that it is in",
        1 => return Ok(()),
        _ => "is a file that has several names (hard links): remove all but one",
    };
    let path = path.display();
    Err(StoreError::Unavailable(format!(
        "`{path}` {why}. What belongs beside it would be there twice, and effects could be carried out twice"
    )))
}

#[cfg(unix)]
fn names(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;

    // One that is not there yet gets this one.
    fs::metadata(path).map_or(1, |meta| meta.nlink().max(1))
}

#[cfg(not(unix))]
fn names(_: &Path) -> u64 {
    1
}

/// Whether something is mounted at a path. Where nobody says, nothing is.
fn is_mounted(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    path.to_str().is_some_and(|path| is_mount(&mounts, path))
}

/// The fifth word of each line is where it is mounted, with what would divide words written as octal numbers.
fn is_mount(mounts: &str, path: &str) -> bool {
    let written = path.replace('\\', "\\134").replace(' ', "\\040");
    let written = written.replace('\t', "\\011").replace('\n', "\\012");
    mounts.lines().any(|line| line.split(' ').nth(4) == Some(&written))
}

/// The files that a process has open, by what tells them from others of the same name.
pub(super) struct Held(Vec<(PathBuf, Identity)>);

impl Held {
    /// The database, its log and the index of that, as they are now.
    pub(super) fn of(path: &Path) -> Self {
        let with = |end| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let files = [path.to_owned(), with("-wal"), with("-shm")];
        let held = |path: PathBuf| identity(&path).ok().map(|id| (path, id));
        Self(files.into_iter().filter_map(held).collect())
    }

    /// The first of them that is not there any more.
    pub(super) fn lost(&self) -> io::Result<Option<&Path>> {
        for (path, id) in &self.0 {
            match identity(path) {
                Ok(now) if now == *id => {}
                Ok(_) => return Ok(Some(path)),
                Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
                Err(why) => return Err(why),
            }
        }
        Ok(None)
    }
}

#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;

    fs::metadata(path).map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
type Identity = ();

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(drop)
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
    fn a_file_that_is_mounted_by_itself_is_known() {
        let mounts = "28 1 254:0 / / rw - ext4 /dev/vda rw\n\
                      31 28 254:0 /data/a.db /srv/my\\040files/a\\134b.db rw - ext4 /dev/vda rw\n";
        for (path, expected) in [
            ("/", true),
            ("/srv/my files/a\\b.db", true),
            ("/srv/my files", false),
            ("/data/a.db", false),
        ] {
            assert_eq!(is_mount(mounts, path), expected, "{path}");
        }
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
