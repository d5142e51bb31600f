//! Text that nobody may see.

use zeroize::Zeroizing;

/// A secret. It cannot be printed, compared or written by accident, and its memory is wiped when it
/// goes.
///
/// ```
/// use haft_core::secret::SecretText;
///
/// let key = SecretText::new("sk-123456");
/// assert_eq!(key.expose().len(), 9);
/// ```
///
/// ```compile_fail
/// let key = haft_core::secret::SecretText::new("sk-123456");
/// println!("{key:?}");
/// ```
///
/// ```compile_fail
/// let key = haft_core::secret::SecretText::new("sk-123456");
/// println!("{key}");
/// ```
///
/// ```compile_fail
/// let key = haft_core::secret::SecretText::new("sk-123456");
/// serde_json::to_string(&key).unwrap();
/// ```
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Hides a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself. Whoever calls this answers for where it goes.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}
