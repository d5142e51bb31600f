//! Where the keys of connections come from. A program that runs for long looks there again: the first
//! key is made when the first connection is added, and another one takes over when somebody says so.

use std::io;
use std::path::{Path, PathBuf};

use super::keys::{BadKey, Key, Keyring};

/// Where the keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A variable that holds one, or several in order, separated by commas.
    Env(String),
    /// A file with one on each line, made where there is none yet.
    File(PathBuf),
    /// A file that somebody has named: what they meant to be sealed is not written without it.
    Named(PathBuf),
}

impl KeyPlace {
    /// The keys that are there now; none where there is no file yet.
    ///
    /// # Errors
    ///
    /// The variable is not set, the file cannot be read or can be read by others, something else is in
    /// it, or there is none in a file that was named.
    pub fn read(&self) -> io::Result<Keyring> {
        match self {
            Self::Env(name) => of_variable(name),
            Self::File(path) => of_file(path),
            Self::Named(path) => {
                let keys = of_file(path)?;
                if keys.is_empty() {
                    let what = if path.exists() { "it is empty" } else { "there is no such file" };
                    let path = path.display();
                    return Err(io::Error::new(
                        io::ErrorKind::NotFound,
                        format!(
                            "the key of connections, `{path}`: {what}, and nothing is kept in the clear \
                             instead; put the key there, or make one: `(umask 077; openssl rand -hex 32 \
                             > {path})`"
                        ),
                    ));
                }
                Ok(keys)
            }
        }
    }

    /// The file, where it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Named(path) => Some(path),
            Self::Env(_) => None,
        }
    }

    /// Makes the first key where there is none; whoever makes one at the same time has the same.
    /// Gives the keys, and the file where it was made.
    ///
    /// # Errors
    ///
    /// It cannot be made there.
    pub fn make(&self) -> io::Result<(Keyring, Option<&PathBuf>)> {
        let there = self.read()?;
        let Self::File(path) = self else { return Ok((there, None)) };
        if !there.is_empty() {
            return Ok((there, None));
        }
        let new = Keyring::new(vec![Key::random().map_err(io::Error::other)?]);
        match new.write_first(path) {
            Ok(()) => Ok((new, Some(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((self.read()?, None)),
            Err(why) => {
                let path = path.display();
                Err(io::Error::other(format!("`{path}` cannot be written: {why}")))
            }
        }
    }
}

fn of_file(path: &Path) -> io::Result<Keyring> {
    Keyring::read(path).map_err(|why| {
        let path = path.display();
        io::Error::new(why.kind(), format!("the key of connections, `{path}`: {why}"))
    })
}

fn of_variable(name: &str) -> io::Result<Keyring> {
    let other =
        |what: String| io::Error::other(format!("the environment variable `{name}` {what}"));
    let Ok(text) = std::env::var(name) else {
        return Err(other("with the key of connections is not set".to_owned()));
    };
    let text = zeroize::Zeroizing::new(text);
    let keys: Result<Vec<Key>, BadKey> = text.split(',').map(Key::parse).collect();
    keys.map(Keyring::new).map_err(|why| other(format!("holds no key: {why}")))
}
