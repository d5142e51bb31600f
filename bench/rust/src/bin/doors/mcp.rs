//! A server of the official MCP SDK with one typed tool and nothing around it.

use std::sync::Arc;

use axum::Router;
use haft_bench::fixture::Fixture;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read, so that it is checked")]
struct Search {
    #[schemars(length(min = 1, max = 200))]
    query: String,
    namespace: Namespace,
    filters: Option<Filters>,
    #[schemars(range(min = 1, max = 10))]
    top_k: Option<u8>,
    #[serde(default)]
    return_fields: Vec<Field>,
    include_snippets: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Namespace {
    Docs,
    Tickets,
    Wiki,
    Runbooks,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Field {
    Title,
    Url,
    Snippet,
    Score,
    UpdatedAt,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read, so that it is checked")]
struct Filters {
    #[serde(default)]
    tags: Vec<String>,
    date_range: Option<Dates>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read, so that it is checked")]
struct Dates {
    start: String,
    end: String,
}

#[derive(Clone)]
struct Bare {
    answer: Arc<str>,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bare {
    #[tool(description = "searches the knowledge base")]
    async fn kb_search(&self, Parameters(_): Parameters<Search>) -> String {
        self.answer.to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Without sessions answers are JSON, its fastest setting; with them they are streams of events.
pub fn router(fixture: Fixture, sessions: bool) -> Router {
    let bare = Bare { answer: fixture.answer.into(), tool_router: Bare::tool_router() };
    let mut config = StreamableHttpServerConfig::default().with_json_response(true);
    config.legacy_session_mode = sessions;
    config.sse_keep_alive = None;
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(bare.clone()), sessions, config);
    Router::new().nest_service("/mcp", service)
}
