//! The registry in use.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::need;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// Which tools there are, at which version, with which digests.
#[derive(Serialize, ToSchema)]
pub(crate) struct Registry {
    /// From its content; behind a `+` what stands for the tools that the tenant has defined.
    version: String,
    /// Over its content.
    digest: String,
    /// Whose tools these are.
    namespace: String,
    /// When it was built.
    built: String,
    /// Each tool with its digest.
    tools: Vec<Listed>,
}

/// A tool of the registry.
#[derive(Serialize, ToSchema)]
pub(crate) struct Listed {
    /// Its canonical id.
    id: String,
    /// Its contract's version.
    version: String,
    /// Over contract, documents and handler.
    digest: String,
    /// Whether the tenant has defined it itself.
    own: bool,
}

/// The registry in use.
#[utoipa::path(get, path = "/v1/registry", tag = "tools",
    operation_id = "show_registry",
    responses(
        (status = 200, description = "What new sessions use.", body = Registry),
        NoKey,
        NoRole))]
pub(crate) async fn registry(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Registry>, Problem> {
    need(&who, Role::Operator)?;
    let registry = door.runtime.current();
    let own = door.runtime.own_tools(&who.tenant);
    let listed = |tool: &haft_core::Tool, own: bool| Listed {
        id: tool.id.clone(),
        version: tool.contract.version.to_string(),
        digest: tool.digest.to_string(),
        own,
    };
    let own = own.iter().map(|tool| listed(tool, true));
    let listed = registry.tools.iter().map(|tool| listed(tool, false)).chain(own);
    Ok(Json(Registry {
        version: door.runtime.version_for(&who.tenant).to_string(),
        digest: registry.digest.to_string(),
        namespace: registry.namespace.to_string(),
        built: registry.build.at.clone(),
        tools: listed.collect(),
    }))
}
