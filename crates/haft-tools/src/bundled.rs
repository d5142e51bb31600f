//! The bundled toolset, as files: a tool that is worth imitating can be copied.

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Every file of the toolset with its text, by its path in the toolset.
#[must_use]
pub fn files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// The names of the bundled tools' folders.
#[must_use]
pub fn tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = FILES
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("tools/")?.strip_suffix("/schema.json"))
        .collect();
    names.sort_unstable();
    names
}

/// The files of one tool, by their names; none where there is no such tool.
///
/// ```
/// let files = haft_tools::bundled::tool("kb_search");
/// assert!(files.iter().any(|(name, _)| *name == "schema.json"));
/// ```
#[must_use]
pub fn tool(name: &str) -> Vec<(&'static str, &'static str)> {
    let folder = format!("tools/{}/", name.replace('_', "-"));
    FILES
        .iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(folder.as_str())?, *text)))
        .collect()
}
