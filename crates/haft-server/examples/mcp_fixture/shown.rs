//! Resources and prompts of the fixture's own.

use haft_core::content::{Content, Document};
use haft_core::port::{Asked, Boxed, Client, Question};
use haft_core::{Caller, ToolError};
use haft_server::mcp::{Argument, Message, Prompt, Prompts, Resource, Resources};
use serde_json::{Map, Value, json};

use super::functions::PNG;

pub(super) struct Shown;

fn resource(uri: &str, name: &str, description: &str, mime_type: &str) -> Resource {
    let [uri, name, description, mime_type] =
        [uri, name, description, mime_type].map(str::to_owned);
    Resource { uri, name, description, mime_type }
}

impl Resources for Shown {
    fn list(&self, _: &Caller) -> Vec<Resource> {
        vec![
            resource("test://static-text", "Text", "A text that stays", "text/plain"),
            resource("test://static-binary", "Picture", "A picture that stays", "image/png"),
            resource("test://watched-resource", "Watched", "A text to watch", "text/plain"),
        ]
    }

    fn templates(&self, _: &Caller) -> Vec<Resource> {
        let uri = "test://template/{id}/data";
        vec![resource(uri, "By number", "Something for each id", "application/json")]
    }

    fn read<'a>(&'a self, _: &'a Caller, uri: &'a str) -> Boxed<'a, Option<Vec<Document>>> {
        Box::pin(async move {
            let text = |kind: &str, text: String| Some(vec![Document::text(uri, kind, text)]);
            match uri {
                "test://static-text" => {
                    text("text/plain", "This is the content of the static text resource.".into())
                }
                "test://watched-resource" => text("text/plain", "Watched.".into()),
                "test://static-binary" => Some(vec![Document::bytes(uri, "image/png", PNG)]),
                _ => {
                    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
                    let data = format!("Data for ID: {id}");
                    let data = json!({"id": id, "templateTest": true, "data": data});
                    text("application/json", data.to_string())
                }
            }
        })
    }
}

fn prompt(name: &str, description: &str, arguments: &[&str]) -> Prompt {
    let argument = |name: &&str| Argument {
        name: (*name).to_owned(),
        description: format!("What to put for {name}"),
        required: true,
    };
    let (name, description) = (name.to_owned(), description.to_owned());
    Prompt { name, description, arguments: arguments.iter().map(argument).collect() }
}

impl Prompts for Shown {
    fn list(&self, _: &Caller) -> Vec<Prompt> {
        vec![
            prompt("test_simple_prompt", "A sentence", &[]),
            prompt("test_prompt_with_arguments", "A sentence to fill in", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", "With a document", &["resourceUri"]),
            prompt("test_prompt_with_image", "With a picture", &[]),
            prompt("test_input_required_result_prompt", "Asks for what it needs", &[]),
        ]
    }

    fn get<'a>(
        &'a self,
        _: &'a Caller,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        client: &'a dyn Client,
    ) -> Boxed<'a, Option<Result<Vec<Message>, ToolError>>> {
        Box::pin(async move {
            let given =
                |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            let user =
                |blocks: Vec<Content>| Some(Ok(blocks.into_iter().map(Message::user).collect()));
            match name {
                "test_simple_prompt" => {
                    user(vec![Content::text("This is a simple prompt for testing.")])
                }
                "test_prompt_with_arguments" => {
                    let (first, second) = (given("arg1"), given("arg2"));
                    let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
                    user(vec![Content::text(text)])
                }
                "test_prompt_with_embedded_resource" => {
                    let text = "Embedded resource content for testing.";
                    let document = Document::text(given("resourceUri"), "text/plain", text);
                    let ask = Content::text("Please process the embedded resource above.");
                    user(vec![Content::document(document), ask])
                }
                "test_prompt_with_image" => {
                    let ask = Content::text("Please analyze the image above.");
                    user(vec![Content::image("image/png", PNG), ask])
                }
                "test_input_required_result_prompt" => Some(asked(client).await),
                _ => None,
            }
        })
    }

    fn complete(&self, _: &Caller, prompt: &str, _: &str, so_far: &str) -> Vec<String> {
        let all = if prompt == "test_prompt_with_arguments" {
            &["paris", "park", "party"][..]
        } else {
            &[]
        };
        all.iter().filter(|one| one.starts_with(so_far)).map(|one| (*one).to_owned()).collect()
    }
}

async fn asked(client: &dyn Client) -> Result<Vec<Message>, ToolError> {
    let question = Question::Elicit {
        message: "What context should the prompt use?".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"context": {"type": "string"}},
            "required": ["context"],
        }),
    };
    let said = client.ask(vec![Asked { name: "user_context".to_owned(), question }]).await?;
    let said = said.get("user_context").cloned().unwrap_or_default();
    Ok(vec![Message::user(Content::text(format!("Context: {said}")))])
}
