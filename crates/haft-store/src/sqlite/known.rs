//! What the database itself knows of what stands beside it: that its trail is signed, with which key, and
//! which head was signed last. Without that, whoever removes those files would leave a trail that nobody
//! has ever signed.

use std::path::Path;
use std::time::Duration;

use haft_core::registry::{PublicKey, Signature, SigningKey};
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};

use super::tx::Tx;
use super::{read, reader, row};
use crate::steps::journal::{SIGNING, written};
use crate::tables::{Res, Tables as _};
use crate::trail::{Broken, Checkpoint, Fault, Link};

const ROW: &str = "SELECT number, hash, at_ms, signature FROM signed";

/// The conditions are those of the index.
const INTRODUCED: &str = "SELECT number, body FROM audit INDEXED BY audit_rare WHERE tenant = '' \
    AND kind <> 'call' AND kind <> 'settle' AND kind <> 'late' AND kind <> 'begin' \
    AND kind = 'signing' ORDER BY number DESC LIMIT 1";

/// The last head that was signed: the one before the first entry where none was yet. From the first on, the
/// files beside the database have to be there.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) link: Link,
    at_ms: i64,
    signature: Signature,
}

/// The entry of the trail that says which key it is signed with.
#[derive(Serialize, Deserialize)]
struct Introduction {
    key: PublicKey,
    /// Whether the trail says of every connection who may use it. An older haft did not.
    #[serde(default)]
    grants: bool,
}

/// All that the database knows, read before the files that it is compared with: a head is in its file
/// before it is known here.
pub(super) struct Evidence {
    pub(super) known: Option<Known>,
    introduced: Option<(u64, Introduction)>,
}

impl Known {
    pub(crate) fn sign(link: &Link, at_ms: i64, key: &SigningKey) -> Self {
        let signature = key.sign(&statement(link, at_ms));
        Self { link: link.clone(), at_ms, signature }
    }

    /// Whether it is what this key has signed.
    pub(crate) fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signature.key == *key && self.signature.covers(&statement(&self.link, self.at_ms))
    }

    fn is_of(&self, one: &Checkpoint) -> bool {
        (one.number, &one.hash) == (self.link.number, &self.link.hash)
    }

    /// Writes it down, unless something later is known.
    pub(super) fn put(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT INTO signed (id, number, hash, at_ms, signature) VALUES (1, ?1, ?2, ?3, ?4) \
                   ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash, \
                   at_ms = excluded.at_ms, signature = excluded.signature \
                   WHERE excluded.at_ms >= signed.at_ms";
        let signature = written(&self.signature).map_err(|why| row::unreadable(3, why))?;
        let Link { number, hash } = &self.link;
        let values = (row::signed(*number), hash.raw(), self.at_ms, signature);
        conn.prepare_cached(sql)?.execute(values).map(drop)
    }
}

fn statement(Link { number, hash }: &Link, at_ms: i64) -> String {
    format!("haft audit known 1\n{number}\n{hash}\n{at_ms}\n")
}

impl Evidence {
    /// What a database knows. A file that no newer haft has opened knows nothing.
    pub(super) fn of(conn: &Connection) -> Res<Self> {
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'signed'";
        if read::one(conn, table, (), |found| found.get::<_, i64>(0))?.is_none() {
            return Ok(Self { known: None, introduced: None });
        }
        // What cannot be read is not there.
        let known = read::one(conn, ROW, (), |found| Ok(known(found).ok()))?.flatten();
        let introduced = read::one(conn, INTRODUCED, (), |found| Ok(introduced(found).ok()))?;
        Ok(Self { known, introduced: introduced.flatten() })
    }

    pub(super) fn at(path: &Path) -> Res<Self> {
        Self::of(&reader::open(path, Duration::from_secs(5))?)
    }

    /// Whether nothing was signed yet, as in a new store.
    pub(super) fn is_none(&self) -> bool {
        self.link().is_none() && self.introduced.is_none()
    }

    /// The key that the trail is signed with.
    pub(super) fn key(&self) -> Option<&PublicKey> {
        let introduced = self.introduced.as_ref().map(|(_, said)| &said.key);
        introduced.or(self.known.as_ref().map(|known| &known.signature.key))
    }

    /// Whether the trail is signed with another key than this one: nothing is signed with this, so that the
    /// right one can be put back.
    pub(super) fn is_of_another(&self, key: &PublicKey) -> bool {
        self.key().is_some_and(|known| known != key)
    }

    /// Whether the trail says which key it is signed with.
    pub(super) fn is_introduced(&self) -> bool {
        self.introduced.is_some()
    }

    /// Whether a head was signed, and the trail does not say yet with which key.
    pub(super) fn wants_introduction(&self) -> bool {
        self.introduced.is_none() && self.known.as_ref().is_some_and(|known| known.link.number > 0)
    }

    /// Whether the trail says of every connection who may use it.
    pub(super) fn tells_grants(&self) -> bool {
        self.introduced.as_ref().is_some_and(|(_, said)| said.grants)
    }

    /// The entry that was signed last.
    pub(super) fn link(&self) -> Option<Link> {
        let known = self.known.as_ref().filter(|known| known.link.number > 0);
        known.map(|known| known.link.clone())
    }

    /// What is missing beside the database, or is not what it was.
    pub(super) fn against(
        &self,
        key: &PublicKey,
        heads: &[Checkpoint],
        is_told: bool,
    ) -> Option<Broken> {
        if self.is_none() {
            return None;
        }
        let number = self.link().map_or(0, |link| link.number);
        let broken = |number, fault| Some(Broken { number, tenant: None, fault });
        if self.is_of_another(key) {
            return broken(number, Fault::Key);
        }
        let known = match (&self.known, &self.introduced) {
            (Some(known), _) if known.is_signed_by(key) => known,
            (_, Some((entry, _))) => return broken(*entry, Fault::Known),
            (_, None) => return broken(number, Fault::Known),
        };
        if number > 0 && !heads.iter().any(|one| known.is_of(one)) {
            return broken(number, Fault::Heads);
        }
        match is_told {
            true => None,
            false => broken(number, Fault::Head),
        }
    }
}

fn known(found: &Row<'_>) -> rusqlite::Result<Known> {
    let signature = row::json(found, 3)?.ok_or_else(|| row::unreadable(3, "no signature"))?;
    let link = Link { number: row::unsigned(found, 0)?, hash: row::digest(found, 1)? };
    Ok(Known { link, at_ms: found.get(2)?, signature })
}

fn introduced(found: &Row<'_>) -> rusqlite::Result<(u64, Introduction)> {
    let said: Option<Introduction> = row::json(found, 1)?;
    let said = said.ok_or_else(|| row::unreadable(1, "no key"))?;
    Ok((row::unsigned(found, 0)?, said))
}

/// Says in the trail which key it is signed with: there nobody can take it back unseen.
pub(super) fn introduce(tx: &mut Tx<'_>, key: &PublicKey) -> Res<()> {
    tx.append("", SIGNING, written(&Introduction { key: *key, grants: true })?).map(drop)
}

/// The same before the first head is signed with a key, where the database knows that it is this one.
pub(super) fn introduce_first(tx: &mut Tx<'_>, key: &PublicKey) -> Res<()> {
    let evidence = Evidence::of(tx.conn)?;
    let is_ours = evidence.known.as_ref().is_some_and(|known| known.is_signed_by(key));
    match is_ours && !evidence.is_introduced() {
        true => introduce(tx, key),
        false => Ok(()),
    }
}

/// Begins anew after somebody has looked: from here on this key signs, and what is missing is known.
pub(super) fn begin_anew(tx: &mut Tx<'_>, key: &SigningKey) -> Res<()> {
    let public = key.public();
    if Evidence::of(tx.conn)?.key().is_some_and(|known| *known != public) {
        introduce(tx, &public)?;
    }
    // Whatever time it says: a clock may have been set back since, and somebody has looked.
    tx.execute("DELETE FROM signed", ())?;
    let known = Known::sign(&Link::default(), tx.now_ms, key).put(tx.conn);
    tx.try_(known)
}
