//! Calendars: when people are free, and meetings that are booked.
//!
//! [`Provider`] stands behind the `calendar` capability. Drafts and bookings are kept in the store;
//! where a CalDAV calendar is set up, it holds the events, and the store decides only who of those
//! on one machine gets a time first.

mod book;
mod busy;
mod dav;
mod free;
mod hours;
mod ical;
mod provide;
mod setup;
mod shown;
mod slots;
mod spans;

pub use free::Free;
pub use hours::{Days, Hours};
pub use provide::Provider;
pub use setup::{Common, Person, Setup};

#[cfg(test)]
mod tests;
