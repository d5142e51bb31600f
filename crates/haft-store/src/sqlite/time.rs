//! What is known of the time, in the one row that keeps it for the next process.

use rusqlite::{Connection, Row};

use super::read;
use crate::clock::{Jump, Reading, Stored, Times};
use crate::tables::Res;

/// What was written last; of a file without any, nothing.
pub(super) fn stored(conn: &Connection) -> Res<Stored> {
    let sql = "SELECT now_ms, held_ms, sure_ms, floor_ms, boot, ticks_ms, jump_offset_ms, jump_since_ms, jump_off_ms
               FROM clock";
    Ok(read::one(conn, sql, (), row)?.unwrap_or_default())
}

fn row(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let times =
        Times { now: row.get(0)?, held: row.get(1)?, sure: row.get(2)?, floor: row.get(3)? };
    let jump = match row.get(6)? {
        Some(offset) => Some(Jump { offset, since: row.get(7)?, off: row.get(8)? }),
        None => None,
    };
    let reading = Reading { times, ticks: row.get(5)?, jump };
    Ok(Stored { reading, boot: row.get(4)?, told: 0 })
}

/// Writes what is known now.
pub(super) fn put(conn: &Connection, now: &Reading, boot: Option<&str>) -> rusqlite::Result<()> {
    let sql = "UPDATE clock SET now_ms = ?1, held_ms = ?2, sure_ms = ?3, floor_ms = ?4, boot = ?5, ticks_ms = ?6,
               jump_offset_ms = ?7, jump_since_ms = ?8, jump_off_ms = ?9";
    let Reading { times: Times { now, held, sure, floor }, ticks, jump } = *now;
    let (offset, since, off) =
        (jump.map(|jump| jump.offset), jump.map(|jump| jump.since), jump.map(|jump| jump.off));
    let mut row = conn.prepare_cached(sql)?;
    row.execute((now, held, sure, floor, boot, ticks, offset, since, off)).map(drop)
}
