//! Vendors' dialects and our words: contracts out as tools, a model's output in as calls, outcomes
//! back out as messages.
//!
//! **Knows** the shapes of each provider. **Does not know** any I/O, any clock, any runtime: it is
//! fed with bytes or values and gives values back.
//!
//! | way | module |
//! |---|---|
//! | contracts → a provider's tools, and arguments back into the contract's shape | `tools` |
//! | bytes or a whole message → text, calls, one end | `decode` |
//! | outcomes → a provider's tool messages | `results` |
//!
//! A provider's own words stay in the file that is named after it; what crosses a module's edge is
//! a [`Dialect`], a [`Said`], a [`WireCall`].

pub mod decode;
pub mod dialect;
pub mod loss;
pub mod names;
pub mod raw;
pub mod results;
pub mod said;
pub mod tools;

pub use decode::{Close, Decoder, Limits};
pub use dialect::{Dialect, Strictness};
pub use loss::{Fate, Loss, Quarantined};
pub use said::{Broken, BrokenCall, End, Fault, Finish, RawJson, Said, Turn, Usage, WireCall};
pub use tools::{Choice, Description, Kept, Rendering, Renderings, Target, render};
