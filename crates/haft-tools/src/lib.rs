//! The standard tools, and the knowledge base behind them.
//!
//! **Knows** records, how they are found and ranked, and what the bundled tools' native functions
//! do. **Does not know** policy, sessions or chat formats: it stands behind the `kb` capability
//! ([`kb::Provider`]) and behind functions that the native executor runs.
//!
//! ```
//! use haft_tools::kb::words::{Language, words};
//!
//! let found = words(Language::English, "The festival's lanterns");
//! assert_eq!(found, ["the", "festiv", "lantern"]);
//! ```

pub mod bundled;
pub mod calendar;
mod contacts;
mod functions;
pub mod kb;
mod time;

pub use functions::functions;
