//! Remembering: the ledger, records, confirmations and sessions, in memory and in SQLite.
