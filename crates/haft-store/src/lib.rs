//! Remembering: the ledger, records, confirmations, sessions and blocks, in memory and in SQLite.
//!
//! **Knows** the ports of [`haft_core::port::Store`], the rules of the ledger, SQL and files. **Does
//! not know** HTTP, the path of a call, or how a tool is run.
//!
//! The rules are written once: [`machine`] decides, `steps` carries the decisions out on whatever
//! implements `Tables`, and [`Memory`] and [`Sqlite`] are the two sets of tables. [`Memory`] is the
//! reference and the fake; the same contract suite runs on both.
//!
//! ```
//! use haft_core::port::Store;
//! use haft_store::Memory;
//!
//! let store = Memory::new();
//! assert!(store.is_writable());
//! ```

pub mod calendar;
pub mod clock;
pub mod machine;
pub mod memory;
pub mod sqlite;
pub mod trail;
pub mod vault;

mod fail;
mod figures;
mod steps;
mod tables;

pub use calendar::Appointments;
pub use clock::{Clock, Manual, System};
pub use memory::Memory;
pub use sqlite::{Options, Sqlite, Verify};
pub use trail::{Broken, Checkpoint, Verified};
pub use vault::{Accounts, Keyring, Vault};
