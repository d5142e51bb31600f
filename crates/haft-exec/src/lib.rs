//! Running a handler: native functions, and JavaScript in a sandbox that can be killed.
//!
//! **Knows** how to run what a contract names and how such a run can end. **Does not know** policy,
//! ledgers, sessions or chat formats: it gets a [`Job`](haft_core::port::Job) from the one path and
//! says how it [`Ended`](haft_core::port::Ended).
//!
//! - [`Native`] runs Rust functions, each under its tool's id;
//! - [`Js`] runs `handler.js` in a pool of child processes;
//! - [`Http`] makes the requests of contracts with an HTTP gateway;
//! - [`Process`] runs programs that speak JSON in lines;
//! - [`Executors`] asks them in turn.
//!
//! ```
//! use haft_core::ToolError;
//! use haft_exec::native::{Context, Native};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Greet {
//!     name: String,
//! }
//!
//! #[derive(Serialize)]
//! struct Greeting {
//!     text: String,
//! }
//!
//! async fn greet(args: Greet, _: Context) -> Result<Greeting, ToolError> {
//!     Ok(Greeting { text: format!("hello {}", args.name) })
//! }
//!
//! let native = Native::new().tool("core__greet", greet);
//! assert!(native.has("core__greet"));
//! ```

pub mod broker;
mod depth;
pub mod dispatch;
mod end;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod filter;
pub mod http;
pub mod images;
mod inherited;
pub mod js;
pub mod native;
pub mod process;
mod said;

pub use broker::Broker;
pub use dispatch::Executors;
pub use http::Http;
pub use js::Js;
pub use native::Native;
pub use process::Process;
