//! The ALTAR data model 1.0: tools, the functions in them, calls to those and what comes back.
//!
//! **Its one job** is to let nothing wrong exist: a [`Tool`], a [`FunctionCall`] or a
//! [`ToolResult`] that you hold follows every rule of the model, wherever it came from. What does
//! not is refused with all its mistakes at once, each with the function, the place and what to do.
//!
//! **It knows** JSON text and JSON values, the structures, their rules, and whether a call fits
//! the tool it is made to. **It does not know** who calls, how a function is run, or how any
//! vendor spells these things; it reads no files and opens no connections.
//!
//! ```
//! use haft_adm::{FunctionCall, Tool, ToolResult};
//!
//! let tool = Tool::parse(r#"{
//!     "function_declarations": [{
//!         "name": "book_table",
//!         "description": "Books a table at a restaurant.",
//!         "parameters": {
//!             "type": "OBJECT",
//!             "properties": {
//!                 "guests": {"type": "INTEGER"},
//!                 "area": {"type": "STRING", "enum": ["inside", "terrace"]}
//!             },
//!             "required": ["guests"]
//!         }
//!     }]
//! }"#)?;
//!
//! let call = FunctionCall::parse(r#"{"name": "book_table", "args": {"guests": 4}}"#)?;
//! tool.check_call(&call)?;
//!
//! let result = ToolResult::success(call.name().clone(), serde_json::json!({"table": 12}))?;
//! result.check_answers(&call)?;
//!
//! let wrong = r#"{"name": "book_table", "args": {"guests": 4.5, "area": "roof"}}"#;
//! assert_eq!(
//!     tool.check_call(&FunctionCall::parse(wrong)?).unwrap_err().to_string(),
//!     "function `book_table`, at `/args/guests`: \
//!      `4.5` is not a whole number, but INTEGER takes only those\n\
//!      function `book_table`, at `/args/area`: \
//!      `roof` is not allowed; use `inside`, `terrace`"
//! );
//! # Ok::<(), haft_adm::Errors>(())
//! ```
//!
//! # What the model leaves open, and how it is settled here
//!
//! | question | answer | because |
//! |---|---|---|
//! | Is the limit of 1,000 characters on descriptions binding? | Yes, in Unicode characters. | Its prose recommends it, its JSON Schema demands it; the part that machines read wins. |
//! | May a function's parameters be other than OBJECT? | No. | Arguments come as an object, so such a function could never be called. |
//! | May a call carry undeclared arguments? | No, even if the function declares none at all. | A function that takes nothing does not take anything. |
//! | May a nested OBJECT carry undeclared properties? | Only if it declares none. | The model says that an empty map takes any; a map that lists some would say nothing if it did too. |
//! | Is `1.0` an INTEGER? | Yes, and so is `1e3`, below 2^53. | What counts is the value; some models know only doubles. [`integer_value`] reads both. |
//! | Is `1e18` an INTEGER? | No. | From 2^53 on a double no longer proves which digits were written. |
//! | Is `9223372036854775808` an INTEGER? | No. | It is 2^63, one too many. |
//! | Is a large integer a NUMBER? | Yes, if 64 bits hold it; it is kept digit by digit. | Rounding it to a double would be a silent change. |
//! | May `enum` be empty, or list a value twice? | No. | Nothing could match the one; the other is a slip. |
//! | May `required` list a property twice? | No. | The same slip. |
//! | May `required` or `properties` stand on another type than OBJECT, `items` on another than ARRAY? | No, as with `enum`. | They would have no meaning. |
//! | May an optional field be `null`? | No; `content` may, being required. | The model leaves out what it does not have. |
//! | May names of properties, or descriptions in schemas, be empty? | Yes. | Nothing forbids it. |
//! | How deep may schemas nest? | [`SCHEMA_LEVELS`]; documents, [`strict::MAX_DEPTH`]. | The model says without end, stacks say otherwise. |
//! | Which error types are there? | The eight, and any other string as it came. | The eight are recommended, not required. |
//! | Is a message of blanks empty? | Yes. | The model trims it first. |
//!
//! # Three doors, one check
//!
//! `parse` reads text, `from_value` a [`serde_json::Value`], and serde's `Deserialize` whatever
//! serde reads. Behind all three stands the same check. The doors differ in two ways: `parse`
//! alone has [limits on size](strict::Limits), and `parse` alone sees numbers as they were
//! written. A tool has no numbers in it; for calls and results that come as text use `parse`.

mod call;
mod declaration;
mod depth;
mod error;
mod error_object;
mod fields;
mod gather;
mod integer;
pub mod json_schema;
mod name;
mod path;
mod report;
mod result;
pub mod rule;
mod schema;
pub mod strict;
mod structure;
mod tool;
mod words;

pub use call::FunctionCall;
pub use declaration::FunctionDeclaration;
pub use error::{Error, ErrorKind};
pub use error_object::{ErrorObject, ErrorType, OtherType};
pub use integer::integer_value;
pub use name::FunctionName;
pub use report::Errors;
pub use result::{Outcome, ToolResult};
pub use schema::{ObjectBuilder, Schema, SchemaType};
pub use tool::Tool;

/// The most characters that a function's description may have.
pub const DESCRIPTION_CHARACTERS: usize = 1000;

/// The most schemas that may lie inside one another.
///
/// The largest round number with which a whole tool stays within [`strict::MAX_DEPTH`]: every
/// schema inside an OBJECT takes two levels of the document.
pub const SCHEMA_LEVELS: usize = 60;
