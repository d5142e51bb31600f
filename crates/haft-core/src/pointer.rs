//! JSON pointers (RFC 6901): how a place in a value is named.

/// A name as one step of a JSON pointer.
///
/// ```
/// assert_eq!(haft_core::pointer::escape("a/b~c"), "a~1b~0c");
/// ```
#[must_use]
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
