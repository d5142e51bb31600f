//! The end of the trail as it stands beside the database, told anew with every commit.
//!
//! Heads are signed now and then. Whoever puts an older copy of the database back may do so before
//! the next one is: this tells that there was more, down to the last effect that was begun.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use haft_core::Digest;

use super::Link;

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
        match File::open(path) {
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
        options.create(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: options.open(path)?, told: 0 })
    }

    /// Tells where the trail ends now, in the place of what was told before. Nothing waits for the
    /// disk: a process that is killed leaves this behind all the same, and for what a machine loses
    /// with its power there are the signed heads.
    pub(crate) fn tell(&mut self, link: &Link, at_ms: i64) -> io::Result<()> {
        if self.told == link.number {
            return Ok(());
        }
        let line = Head { link: link.clone(), at_ms }.line();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(line.as_bytes())?;
        self.told = link.number;
        Ok(())
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
        for number in [7, 12_345, 8] {
            let head = head(number);
            Heads::open(&path).unwrap().tell(&head.link, head.at_ms).unwrap();
            assert_eq!(Head::read(&path).unwrap(), Some(head));
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
