//! The toolbox: which tools there are, which a tenant has taken, and which an agent may use.
//!
//! Tier 1 is the [`Stock`], every tool that is known. Tier 2 is what a tenant has taken: the tools
//! of its own toolset, and of what was discovered only what somebody turned on. Tier 3 is what one
//! agent may use in one mode: a [`Catalog`]. Whatever is in tier 2 and not in tier 3 says why not,
//! and what would enable it; whatever is not in tier 2 does not exist as far as an agent can tell.
//!
//! Everything here is data and functions over it; nothing waits or reads files.

mod catalog;
mod catalogs;
mod directory;
mod effective;
mod overrides;
mod records;
mod stock;
mod suggestions;
mod why;

pub use catalog::{Catalog, Found, Seen};
pub use catalogs::Catalogs;
pub use directory::Directory;
pub use effective::{EffectiveTool, Metadata};
pub use overrides::Overrides;
pub use records::{
    Activation, Agent, Definition, McpAccess, ModelChoice, Origin, Period, Records, Tenant,
    TenantPolicy, TokenBudget,
};
pub use stock::{Shelf, Stock, Stocked, Stocks};
pub use suggestions::{Suggestion, Suggestions};
pub use why::{Unavailable, Why};
