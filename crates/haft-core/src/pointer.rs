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

/// The name that one step of a JSON pointer stands for.
///
/// ```
/// assert_eq!(haft_core::pointer::unescape("a~1b~0c"), "a/b~c");
/// ```
#[must_use]
pub fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// A place as messages name it.
///
/// ```
/// assert_eq!(haft_core::pointer::spoken("/filters/0/name"), "`filters[0].name`");
/// assert_eq!(haft_core::pointer::spoken(""), "the value");
/// ```
#[must_use]
pub fn spoken(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the value".to_owned();
    }
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = unescape(step);
        if !path.is_empty() && step.parse::<usize>().is_ok() {
            path.push_str(&format!("[{step}]"));
        } else if path.is_empty() {
            path.push_str(&step);
        } else {
            path.push_str(&format!(".{step}"));
        }
    }
    format!("`{path}`")
}
