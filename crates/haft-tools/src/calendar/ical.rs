//! iCalendar: what takes somebody's time, and a meeting as others read it.
//!
//! The parser, the expansion of recurrences and the writer are `calcard`'s. It is handed times
//! without zones, as clocks on walls show them, and what it returns is put back into its zone here:
//! so a daily nine o'clock stays nine o'clock, and hours that a clock skips or shows twice are times
//! too.

mod floating;
mod read;
mod write;

pub(super) use read::{Entry, Whose, entries, standing};
pub(super) use write::written;

#[cfg(test)]
mod tests;
