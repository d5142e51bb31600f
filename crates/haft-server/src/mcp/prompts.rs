//! Prompts: the agent's own, and those that the program behind the server adds.

use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
    PromptMessage, Reference, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::call::Round;
use super::extra::{self, Message, Speaker};
use super::handler::Handler;
use super::state::Request;
use super::talk::Line;
use super::{composed, discovery};

pub(super) fn list(handler: &Handler) -> Vec<Prompt> {
    let all = handler.door.mcp.prompts.iter().flat_map(|one| one.list(&handler.seat.caller));
    std::iter::once(composed::prompt()).chain(all).map(shown).collect()
}

fn shown(prompt: extra::Prompt) -> Prompt {
    let argument = |one: extra::Argument| {
        PromptArgument::new(one.name).with_description(one.description).with_required(one.required)
    };
    let arguments: Vec<_> = prompt.arguments.into_iter().map(argument).collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(prompt.name, Some(prompt.description), arguments)
}

pub(super) async fn get(
    handler: &Handler,
    request: GetPromptRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let GetPromptRequestParams { name, arguments, request_state, input_responses, .. } = request;
    let arguments = arguments.unwrap_or_default();
    let given = Value::Object(arguments.clone());
    let words = &Value::Null;
    let asked = Request { method: "prompts/get", name: &name, arguments: &given, words };
    let (line, sealed) = (Line::of(&context), request_state.as_deref());
    let round = Round::open(handler, line, asked, sealed, input_responses)?;
    let caller = &handler.seat.caller;
    if name == composed::NAME {
        let composed = composed::get(&handler.door.runtime, caller, &arguments);
        let messages = composed
            .map_err(|error| ErrorData::invalid_params(error.into_fault().message, None))?;
        let messages: Vec<_> = messages.iter().filter_map(message).collect();
        return Ok(GetPromptResult::new(messages).into());
    }
    for prompts in &handler.door.mcp.prompts {
        match prompts.get(caller, &name, &arguments, &*round.talk).await {
            None => {}
            Some(Ok(messages)) => {
                let messages: Vec<_> = messages.iter().filter_map(message).collect();
                return Ok(GetPromptResult::new(messages).into());
            }
            Some(Err(error)) => {
                if let Some(lacking) = round.talk.lacking() {
                    return Err(ErrorData::missing_required_client_capability(lacking));
                }
                if round.talk.by_result && !round.talk.unanswered().is_empty() {
                    return round.ask(handler, asked).map(Into::into);
                }
                return Err(ErrorData::invalid_params(error.into_fault().message, None));
            }
        }
    }
    let data = json!({ "name": name });
    Err(ErrorData::invalid_params("there is no such prompt", Some(data)))
}

fn message(message: &Message) -> Option<PromptMessage> {
    let role = match message.speaker {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    let content: ContentBlock = serde_json::from_value(json!(message.content)).ok()?;
    Some(PromptMessage::new(role, content))
}

pub(super) fn complete(handler: &Handler, request: &CompleteRequestParams) -> CompleteResult {
    let (door, seat, argument) = (&handler.door, &handler.seat, &request.argument);
    let mut found = match &request.r#ref {
        Reference::Prompt(prompt) => of_prompt(handler, &prompt.name, argument),
        Reference::Resource(resource) => {
            discovery::complete(door, seat, &resource.uri, &argument.name, &argument.value)
        }
        _ => Vec::new(),
    };
    let (total, more) = (u32::try_from(found.len()).ok(), found.len() > CompletionInfo::MAX_VALUES);
    found.truncate(CompletionInfo::MAX_VALUES);
    let completion = CompletionInfo::with_pagination(found, total, more);
    CompleteResult::new(completion.unwrap_or_default())
}

fn of_prompt(handler: &Handler, name: &str, argument: &ArgumentInfo) -> Vec<String> {
    let own = match name == composed::NAME {
        true => composed::complete(&argument.name, &argument.value),
        false => Vec::new(),
    };
    let caller = &handler.seat.caller;
    let all = handler.door.mcp.prompts.iter();
    let all = all.flat_map(|one| one.complete(caller, name, &argument.name, &argument.value));
    own.into_iter().chain(all).collect()
}
