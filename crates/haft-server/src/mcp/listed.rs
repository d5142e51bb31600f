//! The agent's tools as `tools/list` shows them, put together once for each catalog.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::contract::Mode;
use haft_runtime::toolbox::Catalog;
use haft_wire::{Dialect, Rendering, Strictness, Target};
use rmcp::model::Tool;
use serde_json::Value;

use super::{Names, Seat};
use crate::door::Door;

/// How many lists are kept.
const KEPT: usize = 64;

type Kept = (Arc<Rendering>, Arc<Vec<Tool>>);

/// Lists by the rendering that they were made from, which is kept with them.
#[derive(Default)]
pub(crate) struct Lists {
    made: Mutex<HashMap<(usize, Names), Kept>>,
}

/// The tools of a seat, in the catalog's order.
pub(super) fn tools(door: &Door, seat: &Seat) -> Arc<Vec<Tool>> {
    let catalog = door.runtime.catalog(&seat.caller, Mode::Text);
    let rendering = door.renderings.of(&catalog, Target::new(Dialect::Mcp, Strictness::Plain));
    let key = (Arc::as_ptr(&rendering) as usize, door.mcp.names);
    let made = || door.lists.made.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, tools)) = made().get(&key) {
        return tools.clone();
    }
    let tools = Arc::new(read(&catalog, &rendering, door.mcp.names));
    let mut made = made();
    if made.len() >= KEPT {
        made.clear();
    }
    made.insert(key, (rendering, tools.clone()));
    tools
}

fn read(catalog: &Catalog, rendering: &Rendering, names: Names) -> Vec<Tool> {
    let all = rendering.tools.as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = |shown: &Value| {
        let mut tool: Tool = serde_json::from_value(shown.clone()).ok()?;
        if names == Names::Short {
            let own = catalog.get(&tool.name).map(|one| one.tool.contract.tool_id.clone());
            // Only where the short name leads back to this very tool.
            let back = own.as_deref().and_then(|own| catalog.get(own));
            if back.is_some_and(|back| back.tool.id == *tool.name) {
                tool.name = own.unwrap_or_default().into();
            }
        }
        Some(tool)
    };
    all.iter().filter_map(tool).collect()
}

/// A tool of which arguments are repeated in headers, so that those can be checked.
pub(super) fn with_headers(door: &Door, seat: &Seat, name: &str) -> Option<Tool> {
    let catalog = door.runtime.catalog(&seat.caller, Mode::Text);
    let parameters = &catalog.get(name)?.tool.contract.parameters;
    let properties = parameters.get("properties")?.as_object()?;
    let marked = properties.values().any(|property| property.get("x-mcp-header").is_some());
    let schema = parameters.as_object().filter(|_| marked)?;
    Some(Tool::new(name.to_owned(), String::new(), Arc::new(schema.clone())))
}
