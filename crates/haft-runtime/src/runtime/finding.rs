//! Finding tools by words, for people and programs as `reg_search` does for models.

use super::Runtime;

impl Runtime {
    /// The ids of tools that a tenant may know of and that fit some words, the best first: of the
    /// registry in use, or of another that is loaded. Who may see them is for a catalog to say.
    #[must_use]
    pub fn search(
        &self,
        tenant: &str,
        registry_version: Option<&str>,
        words: &str,
        most: usize,
    ) -> Vec<String> {
        let Some(shelf) = self.inner.shelf(tenant, registry_version) else { return Vec::new() };
        let found = shelf.search(words, most, |_| true);
        found.into_iter().map(|tool| tool.id.clone()).collect()
    }
}
