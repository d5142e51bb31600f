//! The one path: every call decided, checked, confirmed, done once, redacted and recorded.

pub mod arguments;
pub mod preview;
pub mod redact;
