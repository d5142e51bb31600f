//! Names that are valid everywhere: in each provider's API, in a file system, in a policy.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest canonical id that every provider accepts.
pub const MAX_ID: usize = 64;

/// What stands between a namespace and a tool's own id. Neither side may contain it, so
/// `a__b__c` cannot be read two ways.
pub const SEPARATOR: &str = "__";

/// The first part of a canonical id: whose tools these are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(String);

impl Namespace {
    /// Reads a namespace such as `core` or `mcp__github`.
    ///
    /// ```
    /// use haft_core::names::Namespace;
    /// assert!(Namespace::parse("mcp__github").is_ok());
    /// assert!(Namespace::parse("core_").is_err(), "`core_` + `__` would be ambiguous");
    /// ```
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if !text.split(SEPARATOR).all(is_part) {
            return Err(NameError::Namespace(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The namespace as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Namespace> for String {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

impl TryFrom<String> for Namespace {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Not a namespace.
    Namespace(String),
    /// Not a tool id.
    ToolId(String),
    /// Namespace and id together are longer than providers allow.
    TooLong(String),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(
                f,
                "`{name}` is not a namespace; use letters, digits and single `_`, starting with a \
                 letter, not ending in `_`; parts may be joined by `__`"
            ),
            Self::ToolId(name) => write!(
                f,
                "`{name}` is not a tool id; use ASCII letters, digits and single `_`, starting \
                 with a letter and not ending in `_`"
            ),
            Self::TooLong(name) => {
                write!(f, "`{name}` has {} characters; providers take at most {MAX_ID}", name.len())
            }
        }
    }
}

impl std::error::Error for NameError {}

/// What an id of a tenant, an agent or a policy is made of.
pub const PLAIN_ID: &str = "an id has 1 to 64 of `a-z A-Z 0-9 . _ -`, a letter or digit first";

/// Whether people may choose this id: it is plain, so that it can stand in addresses, records and
/// commands.
#[must_use]
pub fn is_plain_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.len() <= 64 && id.chars().all(plain)
}

/// Whether `text` can be a tool's own id: `kb_search`, not `kb__search`, `2nd` or `kb-search`.
#[must_use]
pub fn is_tool_id(text: &str) -> bool {
    is_part(text) && text.len() <= MAX_ID
}

/// The id that a folder's name stands for: `kb-search` is `kb_search`.
///
/// ```
/// assert_eq!(haft_core::names::id_of_folder("kb-search"), "kb_search");
/// ```
#[must_use]
pub fn id_of_folder(folder: &str) -> String {
    folder.replace('-', "_")
}

/// `<namespace>__<toolId>`, refused when providers could not take it.
pub fn canonical_id(namespace: &Namespace, tool_id: &str) -> Result<String, NameError> {
    if !is_part(tool_id) {
        return Err(NameError::ToolId(tool_id.to_owned()));
    }
    let id = format!("{namespace}{SEPARATOR}{tool_id}");
    if id.len() > MAX_ID { Err(NameError::TooLong(id)) } else { Ok(id) }
}

/// The id that a name means: the one that is written like it, else the one that ends with it after
/// `__`. A name that none of them has is taken as it is.
///
/// ```
/// use haft_core::names::meant;
///
/// let ids = ["core__get", "core__send", "hub__get"];
/// assert_eq!(meant("send", ids), Ok("core__send"));
/// assert_eq!(meant("core__get", ids), Ok("core__get"));
/// assert_eq!(meant("none", ids), Ok("none"));
/// // A call that was refused under a short name does not make it another tool's.
/// assert_eq!(meant("send", ["send", "core__send"]), Ok("core__send"));
/// assert_eq!(meant("get", ids), Err(vec!["core__get", "hub__get"]));
/// ```
///
/// # Errors
///
/// All those that it could mean, where they are several.
pub fn meant<'a>(
    name: &'a str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<&'a str, Vec<&'a str>> {
    let mut found = Vec::new();
    for id in ids {
        match id.strip_suffix(name) {
            Some("") if name.contains(SEPARATOR) => return Ok(name),
            Some(before) if before.ends_with(SEPARATOR) && !name.is_empty() => found.push(id),
            Some(_) | None => {}
        }
    }
    match found.as_slice() {
        [] => Ok(name),
        [one] => Ok(one),
        _ => Err(found),
    }
}

/// A letter first, then letters, digits and single underscores; no underscore at the end.
fn is_part(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with('_')
        && !text.contains(SEPARATOR)
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_one_way_only() {
        for (id, good) in [
            ("kb_search", true),
            ("KbSearch2", true),
            ("kb__search", false),
            ("_kb", false),
            ("kb_", false),
            ("2nd", false),
            ("kb-search", false),
            ("kb.search", false),
            ("", false),
            ("kb_\u{0430}", false),
        ] {
            assert_eq!(is_tool_id(id), good, "{id}");
        }
    }

    #[test]
    fn a_canonical_id_fits_every_provider() {
        let core = Namespace::parse("core").unwrap();
        assert_eq!(canonical_id(&core, &"a".repeat(58)).unwrap().len(), 64);
        assert!(matches!(canonical_id(&core, &"a".repeat(59)), Err(NameError::TooLong(_))));
        assert!(matches!(canonical_id(&core, "a-b"), Err(NameError::ToolId(_))));
    }
}
