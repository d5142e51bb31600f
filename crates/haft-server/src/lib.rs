//! The doors of haft: HTTP, WebSocket, MCP and a console.
//!
//! **Knows** HTTP, credentials and limits. **Does not know** SQL, NATS, or how a tool is run: every
//! call ends in the runtime's one path.

mod api;
mod arriving;
mod body;
mod console;
mod document;
mod door;
mod follow;
mod framing;
mod guard;
mod heard;
mod hub;
mod later;
mod listen;
pub mod logs;
pub mod mcp;
pub mod metrics;
mod patient;
mod pieces;
mod places;
pub mod problem;
mod room;
mod seat;
mod shapes;
mod shortage;
mod shown;
mod socket;
mod tending;
pub mod traces;
pub mod who;
mod whole;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header;
use axum::response::IntoResponse as _;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use guard::Guarded;

pub use api::effects::shown as shown_effect;
pub use door::{Door, Limits, Models};
pub use hub::Hub;
pub use listen::{DRAIN, Left, serve};
pub use metrics::Metrics;

#[derive(OpenApi)]
#[openapi(
    info(title = "haft", description = "Tools for agents: listed, called, approved, undone."),
    modifiers(&Bearer),
    security(("key" = [])),
)]
struct Api;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// Every route, with what it takes and gives.
fn routes() -> (OpenApiRouter<Arc<Door>>, OpenApiRouter<Arc<Door>>) {
    let open = OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(api::health::healthz))
        .routes(routes!(api::health::readyz))
        .routes(routes!(api::health::page));
    let keyed = OpenApiRouter::new()
        .routes(routes!(api::health::metrics))
        .routes(routes!(api::tools::of_agent::of_agent))
        .routes(routes!(api::tools::of_agent::unavailable))
        .routes(routes!(api::tools::of_agent::one))
        .routes(routes!(api::tools::of_agent::doc))
        .routes(routes!(api::tools::of_tenant::of_tenant))
        .routes(routes!(api::tools::of_tenant::one_of_tenant))
        .routes(routes!(api::tools::of_tenant::doc_of_tenant))
        .routes(routes!(api::tools::registry::registry))
        .routes(routes!(api::usage::show))
        .routes(routes!(api::calls::make))
        .routes(routes!(api::calls::poll, api::calls::later::cancel))
        .routes(routes!(api::completions::complete))
        .routes(routes!(api::completions::of_agent))
        .routes(routes!(api::completions::models))
        .routes(routes!(api::sessions::list))
        .routes(routes!(api::sessions::begin))
        .routes(routes!(api::sessions::show, api::sessions::close))
        .routes(routes!(api::sessions::message))
        .routes(routes!(api::sessions::signal))
        .routes(routes!(socket::open))
        .routes(routes!(api::confirmations::list))
        .routes(routes!(api::confirmations::show, api::confirmations::decide))
        .routes(routes!(api::effects::list))
        .routes(routes!(api::effects::probe))
        .routes(routes!(api::effects::settle))
        .routes(routes!(api::effects::undo))
        .routes(routes!(api::records::calls))
        .routes(routes!(api::records::stats))
        .routes(routes!(api::records::series))
        .routes(routes!(api::audit::list))
        .routes(routes!(api::audit::verify))
        .routes(routes!(api::events::list))
        .merge(administration())
        .merge(connected());
    (open, keyed)
}

/// What administrators read and change.
fn administration() -> OpenApiRouter<Arc<Door>> {
    use api::admin::{
        activations, agents, definitions, delegations, keys, policies, suggestions, tenants,
    };
    OpenApiRouter::new()
        .routes(routes!(tenants::list))
        .routes(routes!(tenants::show, tenants::put, tenants::remove))
        .routes(routes!(tenants::key))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::put, agents::remove))
        .routes(routes!(activations::list))
        .routes(routes!(activations::show, activations::put, activations::remove))
        .routes(routes!(activations::switch))
        .routes(routes!(definitions::list))
        .routes(routes!(definitions::show, definitions::put, definitions::remove))
        .routes(routes!(delegations::list))
        .routes(routes!(delegations::show, delegations::put, delegations::remove))
        .routes(routes!(policies::list))
        .routes(routes!(policies::show, policies::put, policies::remove))
        .routes(routes!(policies::versions))
        .routes(routes!(keys::list, keys::make))
        .routes(routes!(keys::show, keys::revoke))
        .routes(routes!(suggestions::list))
        .routes(routes!(suggestions::accept))
}

/// Accounts elsewhere, and who may use them.
fn connected() -> OpenApiRouter<Arc<Door>> {
    use api::connections::{self, grants, shown, test};
    OpenApiRouter::new()
        .routes(routes!(shown::list, connections::make))
        .routes(routes!(shown::show, connections::remove))
        .routes(routes!(connections::secret))
        .routes(routes!(test::run))
        .routes(routes!(grants::list, grants::make, grants::revoke_all))
        .routes(routes!(grants::revoke))
        .routes(routes!(api::consents::renew))
        .routes(routes!(api::consents::show, api::consents::cancel))
}

/// The OpenAPI document that is served under `/v1/openapi.json`.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let (open, keyed) = routes();
    let mut api = open.merge(keyed).split_for_parts().1;
    document::complete(&mut api);
    api
}

/// Everything behind one door, for another program's routes.
pub fn router(door: Arc<Door>) -> Router {
    let guarded = guarded(door);
    Router::new().fallback(move |request: Request| guarded.clone().answer(request))
}

/// Every route, with what must be passed before it.
fn guarded(door: Arc<Door>) -> Guarded {
    let document = openapi().to_json().unwrap_or_default();
    let (open, keyed) = routes();
    let (open, _) = open.split_for_parts();
    let (keyed, _) = keyed.split_for_parts();
    let described = get(move || async move {
        ([(header::CONTENT_TYPE, "application/json")], document).into_response()
    });
    let mcp = Arc::new(mcp::Endpoint::new(&door));
    let routes = keyed
        .merge(open)
        .merge(console::routes(&door))
        .merge(mcp::routes(&mcp))
        .route("/v1/openapi.json", described)
        .fallback(|| async { problem::Problem::missing("page") })
        .method_not_allowed_fallback(|| async { problem::Problem::wrong_method() })
        .with_state(door.clone());
    Guarded::new(door, mcp, routes)
}
