//! What leaves the conversation: the allowlist view for UI, events and telemetry, and the scrubbing
//! of known secrets from everything that anyone sees.
//!
//! Two different questions, two different tools. A [`View`] answers *may this be seen at all?* by
//! listing what may; whatever a new version of a tool adds is left out until somebody lists it. A
//! [`Scrubber`] answers *is a secret in here?* by knowing the secrets.

mod clean;
mod confided;
mod decode;
mod known;
mod mark;
mod parts;
mod pattern;
mod quoted;
mod scrub;
mod secrets;
mod view;

pub use clean::{clean_text, is_hidden};
pub(crate) use confided::{Confided, WITHHELD};
pub use mark::Marker;
pub use pattern::{Secret, SecretRefused};
pub use scrub::{Scrubber, Unscrubbed};
pub(crate) use secrets::{Leased, Secrets};
pub use view::View;
pub(crate) use view::declared;
