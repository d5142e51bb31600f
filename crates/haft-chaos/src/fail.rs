//! The victim's own failpoints, in the build that has them.

/// A named place in a tool.
#[cfg(feature = "failpoints")]
pub(crate) use haft_runtime::fail::fail_point;

/// A named place in a tool.
#[cfg(not(feature = "failpoints"))]
pub(crate) async fn fail_point(_name: &str) {}

/// Whether this build has failpoints at all.
pub(crate) const BUILT_IN: bool = cfg!(feature = "failpoints");
