//! The native functions of the standard tools.

use haft_core::Registry;
use haft_core::contract::Handler;
use haft_core::registry::Tool;
use haft_exec::Native;

use crate::{contacts, time};

/// The name that contracts call this crate by.
const CRATE: &str = "haft-tools";

/// The functions of all tools of a registry that name this crate, each under its tool's id: a copy
/// of a standard tool in another toolset runs as the original does.
#[must_use]
pub fn functions(registry: &Registry) -> Native {
    registry.tools.iter().filter(|tool| is_ours(tool)).fold(Native::new(), add)
}

fn is_ours(tool: &Tool) -> bool {
    match &tool.contract.handler {
        Some(Handler::Native { krate, .. }) => krate == CRATE,
        Some(Handler::Unbound) | None => false,
    }
}

fn add(native: Native, tool: &Tool) -> Native {
    let id = tool.id.as_str();
    match tool.contract.tool_id.as_str() {
        "get_current_time" => native.tool(id, time::now),
        "format_datetime" => native.tool(id, time::format),
        "extract_contacts" => native.blocking(id, |asked, _| contacts::extract(asked)),
        _ => native,
    }
}
