//! Finding tools by words, for people and programs as `reg_search` does for models.

use super::Runtime;

impl Runtime {
    /// The ids of a registry's tools that fit some words, the best first: of the registry in use, or
    /// of another that is loaded. Who may see them is for a catalog to say.
    #[must_use]
    pub fn search(&self, registry_version: Option<&str>, words: &str, most: usize) -> Vec<String> {
        let Some(shelf) = self.inner.shelf(registry_version) else { return Vec::new() };
        let stock = shelf.stock.tools();
        let found = shelf.index().search(words, most, |_| true);
        found.into_iter().filter_map(|at| stock.get(at)).map(|one| one.tool.id.clone()).collect()
    }
}
