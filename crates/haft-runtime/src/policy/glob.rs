//! Patterns over canonical ids: `core__kb_search`, `core__*`, `mcp__github__*`.

use std::collections::BTreeSet;

use haft_core::nearest;
use haft_core::registry::Registry;

use super::problem::Problem;

/// A pattern in which `*` stands for any run of characters. Nothing else is special, so a pattern
/// cannot mean more than it seems to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob(String);

impl Glob {
    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for exactly one name.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether a name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        fits(&self.0, name)
    }
}

/// Whether a name fits a pattern.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Several patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Globs(Vec<Glob>);

impl Globs {
    /// The first pattern that a name fits.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Glob> {
        self.0.iter().find(|glob| glob.matches(name))
    }

    /// Whether any pattern fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Glob> {
        self.0.iter()
    }

    /// Everything.
    #[must_use]
    pub fn everything() -> Self {
        Self(vec![Glob("*".into())])
    }

    /// Patterns over ids that are no tools: connections.
    pub(crate) fn plain(written: &[String]) -> Self {
        Self(written.iter().cloned().map(Glob).collect())
    }
}

/// The tools that names and patterns are read against.
pub(crate) struct Known<'a> {
    /// Canonical id and the tool's own id, sorted.
    tools: Vec<(&'a str, &'a str)>,
    /// Ids of tools that are there for others. Whoever names one makes no mistake, and nobody else
    /// is pointed to it.
    elsewhere: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    pub(crate) fn of(registries: &[&'a Registry]) -> Self {
        let tools = registries.iter().flat_map(|registry| &registry.tools);
        Self::from_ids(tools.map(|tool| (tool.id.as_str(), tool.contract.tool_id.as_str())))
    }

    pub(crate) fn from_ids(ids: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tools: Vec<_> = ids.collect();
        tools.sort_unstable();
        tools.dedup();
        Self { tools, elsewhere: BTreeSet::new() }
    }

    /// With tools that are there for others.
    pub(crate) fn elsewhere(mut self, ids: impl Iterator<Item = &'a str>) -> Self {
        self.elsewhere = ids.collect();
        self
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.tools.binary_search_by(|(known, _)| known.cmp(&id)).is_ok()
    }

    /// `did you mean …?` for a canonical id.
    pub(crate) fn suggest(&self, id: &str) -> Option<String> {
        self.suggest_among(id, &[])
    }

    /// The same where other words may be meant, too.
    fn suggest_among(&self, id: &str, words: &[&str]) -> Option<String> {
        let ids = self.tools.iter().flat_map(|(id, own)| [*id, *own]);
        let near = nearest::find(id, ids.chain(words.iter().copied()));
        near.map(|near| format!("did you mean `{near}`?"))
    }

    /// Reads patterns; short names become canonical ids.
    pub(crate) fn globs(
        &self,
        file: &str,
        place: &str,
        written: &[String],
        problems: &mut Vec<Problem>,
    ) -> Globs {
        self.globs_beside(file, place, written, &[], problems)
    }

    /// The same of a list in which other words may stand, which are read elsewhere.
    pub(crate) fn globs_beside(
        &self,
        file: &str,
        place: &str,
        written: &[String],
        words: &[&str],
        problems: &mut Vec<Problem>,
    ) -> Globs {
        let read = |text: &String| match self.glob(text, words) {
            Ok((glob, None)) => Some(glob),
            Ok((glob, Some(doubt))) => {
                problems.push(Problem::warning(file, format!("{place}: {doubt}")));
                Some(glob)
            }
            Err((message, help)) => {
                let problem = Problem::error(file, format!("{place}: {message}"));
                problems.push(match help {
                    Some(help) => problem.help(help),
                    None => problem,
                });
                None
            }
        };
        Globs(written.iter().filter_map(read).collect())
    }

    fn glob(
        &self,
        text: &str,
        words: &[&str],
    ) -> Result<(Glob, Option<String>), (String, Option<String>)> {
        // Look-alikes from other alphabets, spaces and invisible characters end here.
        if text.is_empty()
            || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-*".contains(&b))
        {
            let help = "use ASCII letters, digits, `_`, `-` and `*`".to_owned();
            return Err((
                format!("`{}` is not a tool or a pattern", text.escape_debug()),
                Some(help),
            ));
        }
        let glob = Glob(text.to_owned());
        if !glob.is_exact() {
            let any = self.tools.iter().any(|(id, _)| glob.matches(id));
            return Ok((glob, (!any).then(|| format!("`{text}` fits no tool that is known now"))));
        }
        if self.has(text) || self.elsewhere.contains(text) {
            return Ok((glob, None));
        }
        let found: Vec<&str> =
            self.tools.iter().filter(|(_, own)| *own == text).map(|(id, _)| *id).collect();
        match found.as_slice() {
            [id] => Ok((Glob((*id).to_owned()), None)),
            [] => Err((format!("there is no tool `{text}`"), self.suggest_among(text, words))),
            several => Err((
                format!("`{text}` could be {}", nearest::list(several)),
                Some("write the whole id".into()),
            )),
        }
    }
}
