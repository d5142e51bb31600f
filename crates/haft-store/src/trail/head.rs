//! The end of the trail as it stands beside the database, told anew with every commit.
//!
//! Heads are signed now and then. Whoever puts an older copy of the database back may do so before
//! the next one is: this tells that there was more, down to the last effect that was begun.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use haft_core::Digest;

use super::{Link, regular};

/// What is known of the end: one line, always of the same length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) link: Link,
    /// When, in milliseconds of the Unix epoch by the store's clock.
    pub(crate) at_ms: i64,
}

impl Head {
    /// The end that was told last, if one was. A line that does not fit its own digest was cut off
    /// while it was written, as when the power fails, and says nothing.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut text = Vec::new();
        match regular::open(path, OpenOptions::new().read(true)) {
            Ok(file) => file.take(512).read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(std::str::from_utf8(&text).ok().and_then(Self::parse))
    }

    fn parse(text: &str) -> Option<Self> {
        let (said, check) = text.trim_end().rsplit_once(' ')?;
        if Digest::of_bytes(said.as_bytes()).short() != check {
            return None;
        }
        let mut words = said.split(' ');
        let (number, hash, at_ms) = (words.next()?, words.next()?, words.next()?);
        let hash = Digest::try_from(hash.to_owned()).ok()?;
        Some(Self { link: Link { number: number.parse().ok()?, hash }, at_ms: at_ms.parse().ok()? })
    }

    fn line(&self) -> String {
        let Link { number, hash } = &self.link;
        let said = format!("{number:020} {hash} {:020}", self.at_ms);
        let check = Digest::of_bytes(said.as_bytes());
        format!("{said} {}\n", check.short())
    }
}

/// The file that is told.
pub(crate) struct Heads {
    file: File,
    told: u64,
}

impl Heads {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: regular::open(path, &mut options)?, told: 0 })
    }

    /// Tells where the trail ends now, in the place of what was told before. Nothing waits for the
    /// disk: a process that is killed leaves this behind all the same, and for what a machine loses
    /// with its power there are the signed heads.
    ///
    /// Several processes write to one file, and whoever has committed may come late to tell it: a later
    /// end stays. By its time, not by its number, which is lower after an older copy was put back.
    /// Nobody is kept waiting by a lock for the moment between the look and the write; an earlier end
    /// that gets in there stands until the next commit of anybody.
    pub(crate) fn tell(&mut self, link: &Link, at_ms: i64) -> io::Result<()> {
        if link.number <= self.told {
            return Ok(());
        }
        let head = Head { link: link.clone(), at_ms };
        let is_later = |there: Head| (there.at_ms, there.link.number) > (at_ms, link.number);
        if !self.there().is_some_and(is_later) {
            self.put(head.line().as_bytes())?;
        }
        self.told = link.number;
        Ok(())
    }

    /// What cannot be read is written over.
    fn there(&mut self) -> Option<Head> {
        let mut text = [0; 512];
        let length = self.get(&mut text).ok()?;
        Head::parse(std::str::from_utf8(text.get(..length)?).ok()?)
    }

    #[cfg(unix)]
    fn get(&mut self, text: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, text, 0)
    }

    #[cfg(unix)]
    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, line, 0)
    }

    #[cfg(not(unix))]
    fn get(&mut self, text: &mut [u8]) -> io::Result<usize> {
        io::Seek::rewind(&mut self.file)?;
        self.file.read(text)
    }

    #[cfg(not(unix))]
    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        io::Seek::rewind(&mut self.file)?;
        io::Write::write_all(&mut self.file, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(number: u64) -> Head {
        let hash = Digest::of_bytes(&number.to_be_bytes());
        Head { link: Link { number, hash }, at_ms: 1_800_000_000_000 }
    }

    #[test]
    fn the_end_that_was_told_last_is_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("head");
        assert_eq!(Head::read(&path).unwrap(), None, "there is no file");
        for number in [7, 12_345, 12_346] {
            let head = head(number);
            Heads::open(&path).unwrap().tell(&head.link, head.at_ms).unwrap();
            assert_eq!(Head::read(&path).unwrap(), Some(head));
        }
    }

    /// Two processes commit in turn, and one of them is late to say so.
    #[test]
    fn whoever_tells_an_earlier_end_later_does_not_take_the_later_one_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("head");
        let mut processes = [(); 3].map(|()| Heads::open(&path).unwrap());
        let (one, other, third) = (0, 1, 2);
        for (process, number, at_ms, stands) in [
            (one, 9, 5, 9),
            (other, 11, 6, 11),
            (other, 12, 6, 12),
            // Committed before those.
            (one, 10, 6, 12),
            (one, 13, 6, 13),
            // A process that writes nothing lower than it has written.
            (one, 12, 7, 13),
            // An older copy was put back: what is written to it is told.
            (third, 3, 8, 3),
        ] {
            processes[process].tell(&head(number).link, at_ms).unwrap();
            let there = Head::read(&path).unwrap().unwrap();
            assert_eq!(there.link, head(stands).link, "{number} at {at_ms}");
        }
    }

    #[test]
    fn a_line_that_is_not_whole_says_nothing() {
        let line = head(7).line();
        for (text, whole) in [
            (line.as_str(), true),
            ("", false),
            ("\n", false),
            (&line[..line.len() - 4], false),
            (&line.replacen('7', "9", 1), false),
            (&format!("{}{}", &line[..40], &head(9).line()[40..]), false),
        ] {
            assert_eq!(Head::parse(text).is_some(), whole, "{text}");
        }
    }
}
