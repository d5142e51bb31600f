//! Rows of the table of calls, made anew from their entries once somebody has looked at what was wrong with them.

use std::path::Path;
use std::time::Duration;

use haft_core::port::StoreError;
use rusqlite::Row;

use super::{Listed, Off, Said, columns, compare, listed};
use crate::sqlite::fault::of_read;
use crate::sqlite::sealing::Place;
use crate::sqlite::tx::Tx;
use crate::sqlite::{Sqlite, reader, row, verify};
use crate::steps::journal;
use crate::tables::{Res, Tables as _};

/// So many rows are made anew in one transaction, so that nobody waits long behind it.
const AT_ONCE: usize = 1_024;

const ENTRY: &str =
    "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit WHERE number = ?1";
const LISTED: &str = concat!(columns!(), " WHERE number = ?1");

/// A row that did not fit, and whether it goes whatever its entry says.
type Wrong = (u64, bool);

impl Sqlite {
    /// Puts right what does not fit. What cannot be, because nobody can read it any more, stays as it is.
    pub(in crate::sqlite) async fn list_anew(&self) -> Res<()> {
        let path = self.path.clone();
        let wrong = verify::aside(move || wrong(&path)).await?;
        for some in wrong.chunks(AT_ONCE).map(<[Wrong]>::to_vec) {
            self.write(move |tx| some.iter().try_for_each(|one| mend(tx, *one))).await?;
        }
        Ok(())
    }
}

fn wrong(path: &Path) -> Res<Vec<Wrong>> {
    let conn = reader::open(path, Duration::from_secs(5))?;
    let conn = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let (off, ..) = compare(&conn, |_, _| ())?;
    Ok(off.into_iter().map(|Off { number, goes, .. }| (number, goes)).collect())
}

/// Looks at a row again, which may be another by now.
fn mend(tx: &mut Tx<'_>, (number, goes): Wrong) -> Res<()> {
    let at = (row::signed(number),);
    let found: Option<Listed> = tx.one(LISTED, at, listed)?;
    let entry = tx.one(ENTRY, at, |found: &Row<'_>| Ok(row::audit(found).ok()))?.flatten();
    let mut record = None;
    if let Some(entry) = entry.filter(|_| !goes) {
        let written = (&entry).into();
        let said = Said::by(&written);
        if said.fits(&entry.tenant, found.as_ref()) {
            return Ok(());
        }
        let is_record = !matches!(said, Said::Nothing);
        let opened = tx.seals.open(Place::entry(&entry.tenant, &entry.kind), &entry.body);
        let opened = match opened.map_err(|error| of_read(&error)) {
            Ok(opened) => opened,
            // Its key is gone, or it was touched.
            Err(StoreError::WrongState(_) | StoreError::Tampered(_)) => return Ok(()),
            Err(why) => return Err(why),
        };
        record = journal::recorded(&entry.kind, &opened).ok().filter(|_| is_record);
    }
    tx.execute("DELETE FROM calls WHERE number = ?1", at)?;
    record.map_or(Ok(()), |record| tx.put_call(number, &record))
}
