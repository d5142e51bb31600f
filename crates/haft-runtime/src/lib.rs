//! The one path: every call decided, checked, confirmed, done once, redacted and recorded.

pub mod policy;
pub mod toolbox;
