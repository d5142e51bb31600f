//! What can be told about a handler without running it.

mod binary;
pub(crate) mod js;
pub(crate) mod tests_file;

pub(crate) use binary::check as check_binary;
