//! The rules of the data model that an error can name, and how each is said.
//!
//! ```
//! use haft_adm::rule;
//!
//! assert_eq!(
//!     rule::Schema::ItemsMissing.to_string(),
//!     "an ARRAY needs `items`; add the schema of its elements"
//! );
//! ```

mod argument;
mod declaration;
mod outcome;
mod schema;
mod shape;

pub use argument::Argument;
pub use declaration::Declaration;
pub use outcome::Outcome;
pub use schema::Schema;
pub use shape::Shape;
