//! The fields of a form.

/// How many are read.
const MOST: usize = 2_000;

/// What a form said, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Posted(Vec<(String, String)>);

impl Posted {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes).take(MOST);
        // Browsers end lines as the network does.
        Self(pairs.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect())
    }

    /// The first of this name.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The same, where something was filled in.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.one(name).filter(|value| !value.is_empty())
    }

    /// Whether something was filled in in a field below a name.
    pub(crate) fn has_below(&self, name: &str) -> bool {
        let is_below = |own: &str| own.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.0.iter().any(|(own, value)| is_below(own) && !value.is_empty())
    }
}
