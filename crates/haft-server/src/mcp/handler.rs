//! One client's server, as the SDK calls it. Which method does what stands here; how, in the files
//! beside it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::port::Level;
use haft_runtime::toolbox::McpAccess;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;

use super::talk::{self, Line};
use super::{Seat, call, changes, listed, prompts, resources};
use crate::door::Door;

/// How many tools a page of `tools/list` has.
const PAGE: usize = 1_000;
/// How long a list may be kept. Changes are told; this is for those who don't listen.
const FRESH_MS: u64 = 60_000;
/// How many resources one session may watch.
pub(super) const WATCHED: usize = 100;

/// What a session wants to hear about.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<BTreeSet<String>>>);

impl Subscriptions {
    fn set(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.set().iter().cloned().collect()
    }
}

/// The server of one client: of a session, of a request, or of a pipe.
pub(super) struct Handler {
    pub(super) door: Arc<Door>,
    pub(super) seat: Arc<Seat>,
    level: Mutex<Level>,
    subscribed: Subscriptions,
    /// Goes with the handler, so that whoever watches for it knows.
    life: watch::Sender<()>,
}

impl Handler {
    pub(super) fn new(door: Arc<Door>, seat: Seat) -> Self {
        Self {
            door,
            seat: Arc::new(seat),
            level: Mutex::default(),
            subscribed: Subscriptions::default(),
            life: watch::Sender::new(()),
        }
    }

    /// Whether tools are called through this door.
    pub(super) fn calls(&self) -> bool {
        let access = self.door.runtime.mcp_access(&self.seat.caller.tenant);
        access == McpAccess::Whole && !self.door.mcp.discovery_only
    }

    /// The least grave line that a session wants to hear.
    pub(super) fn level(&self) -> Level {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which part of a list is asked for.
fn from(request: Option<&PaginatedRequestParams>) -> Result<usize, ErrorData> {
    let Some(cursor) = request.and_then(|request| request.cursor.as_ref()) else { return Ok(0) };
    let wrong = |_| ErrorData::invalid_params("this cursor is not one of ours", None);
    cursor.parse().map_err(wrong)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions();
        #[expect(deprecated, reason = "the older era has it")]
        let capabilities = capabilities.enable_logging();
        let capabilities = match self.calls() {
            true => capabilities.enable_tools().enable_tool_list_changed().build(),
            false => capabilities.build(),
        };
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        config.instructions.clone_from(&self.door.mcp.instructions);
        config
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.calls() {
            return Ok(ListToolsResult::default());
        }
        let start = from(request.as_ref())?;
        let all = listed::tools(&self.door, &self.seat);
        let page: Vec<Tool> = all.iter().skip(start).take(PAGE).cloned().collect();
        let next = start.saturating_add(PAGE);
        let mut result = ListToolsResult::with_all_items(page);
        result.next_cursor = (next < all.len()).then(|| next.to_string());
        result.ttl_ms = Some(FRESH_MS);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        listed::with_headers(&self.door, &self.seat, name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::call(self, request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut result = ListResourcesResult::with_all_items(resources::list(self));
        result.ttl_ms = Some(FRESH_MS);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result = ListResourceTemplatesResult::with_all_items(resources::templates(self));
        result.ttl_ms = Some(FRESH_MS);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut result = resources::read(self, &request.uri).await?;
        result.ttl_ms = Some(0);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !resources::can_be_read(self, &request.uri).await {
            return Err(resources::missing(&request.uri));
        }
        let mut watched = self.subscribed.set();
        if watched.len() >= WATCHED && !watched.contains(&request.uri) {
            let why = format!("a session watches {WATCHED} resources at most");
            return Err(ErrorData::invalid_request(why, None));
        }
        watched.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.set().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            resources::keep_readable(self, uris);
        }
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let stopped = self.door.stopped();
        tokio::select! {
            () = changes::tell_subscription(&self.door, &self.seat, &subscription) => {}
            () = stopped => {}
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut result = ListPromptsResult::with_all_items(prompts::list(self));
        result.ttl_ms = Some(FRESH_MS);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(self, request, context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(prompts::complete(self, &request))
    }

    #[expect(deprecated, reason = "the older era has it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // In the newer one each request says what its client wants to hear.
        if Line::of(&context).is_newer() {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        *level = talk::level(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (peer, ends) = (context.peer, self.life.subscribe());
        let subscribed = self.subscribed.clone();
        changes::tell_session(&self.door, &self.seat, peer, subscribed, ends);
    }
}
