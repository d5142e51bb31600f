//! How far a trail was found in order, or as somebody has looked at it, whole and together with the
//! ledger: signed, so that whoever opens the database again need not read what is before.

use std::fs;
use std::io;
use std::path::Path;

use haft_core::Digest;
use haft_core::port::StoreError;
use haft_core::registry::{PublicKey, Signature, SigningKey};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::agree::Standing;
use super::{beside, read, row};
use crate::steps::forget::DAY_MS;
use crate::steps::journal::written;
use crate::tables::Res;
use crate::trail::{self, Link};

/// Whatever was found in order longer ago is looked at again first.
const LASTS_MS: i64 = 7 * DAY_MS;

/// Up to this entry everything was in order. The file's first line; what stood then is the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Mark {
    number: u64,
    hash: Digest,
    /// When, in milliseconds of the Unix epoch by the store's clock.
    at_ms: i64,
    /// Of what stood then.
    standing: Digest,
    /// Over all of the above.
    signature: Signature,
}

impl Mark {
    /// Writes down that everything up to here is in order, in the place of what was written before. Where
    /// that cannot be done, the next opening reads what this one has read, and that is all.
    pub(super) fn write(
        path: &Path,
        end: &Link,
        at_ms: i64,
        standing: &Standing,
        key: &SigningKey,
    ) {
        let file = beside(path, "checked");
        let text = Self::text(end, at_ms, standing, key).map_err(io::Error::other);
        if let Err(error) = text.and_then(|text| trail::replace(&file, &text)) {
            let file = file.display();
            tracing::warn!(event = "check_not_remembered", file = %file, why = %error);
        }
    }

    fn text(end: &Link, at_ms: i64, standing: &Standing, key: &SigningKey) -> Res<String> {
        let body = written(standing)?;
        let standing = Digest::of_bytes(body.as_bytes());
        let Link { number, hash } = end.clone();
        let signature = key.sign(&statement(number, &hash, at_ms, &standing));
        let mark = written(&Self { number, hash, at_ms, standing, signature })?;
        Ok(format!("{mark}\n{body}\n"))
    }

    /// Takes back that it ever was in order. Whoever found something acts on it whatever comes of this;
    /// where the file stays, the next opening by the tail goes on from it, so somebody has to know.
    pub(super) fn remove(path: &Path) {
        let file = beside(path, "checked");
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let file = file.display();
                tracing::error!(event = "check_not_taken_back", file = %file, why = %error);
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// What was written last, unless that is too long ago, was not written whole, or by somebody else
    /// as far as can be told without the key. What cannot be read for any reason is none: it only saves
    /// reading the trail.
    pub(super) fn read(path: &Path, now_ms: i64) -> Option<(Self, Standing)> {
        let text = String::from_utf8(trail::read_file(&beside(path, "checked")).ok()?).ok()?;
        let (mark, body) = text.trim_end().split_once('\n')?;
        let mark = serde_json::from_str::<Self>(mark).ok()?;
        let lasts = (0..LASTS_MS).contains(&now_ms.saturating_sub(mark.at_ms));
        if !lasts || Digest::of_bytes(body.as_bytes()) != mark.standing {
            return None;
        }
        serde_json::from_str(body).ok().map(|standing| (mark, standing))
    }

    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        let said = statement(self.number, &self.hash, self.at_ms, &self.standing);
        self.signature.key == *key && self.signature.covers(&said)
    }

    /// Whether its entry is there as it was, so that what comes after can be linked to it.
    pub(super) fn stands_in(&self, conn: &Connection) -> Res<bool> {
        let sql = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
                   WHERE number = ?1";
        let entry = match read::one(conn, sql, (row::signed(self.number),), row::audit) {
            Err(StoreError::Tampered(_)) => return Ok(false),
            other => other?,
        };
        let whole = |entry: haft_core::record::AuditEntry| {
            entry.hash == self.hash && entry.expected_hash() == self.hash
        };
        Ok(entry.is_some_and(whole))
    }

    pub(super) fn link(&self) -> Link {
        Link { number: self.number, hash: self.hash.clone() }
    }
}

fn statement(number: u64, hash: &Digest, at_ms: i64, standing: &Digest) -> String {
    format!("haft audit checked 2\n{number}\n{hash}\n{at_ms}\n{standing}\n")
}
