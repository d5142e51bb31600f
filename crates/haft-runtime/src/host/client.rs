//! `client`: whoever made the call. Told how far it is and what is worth a line; asked what only
//! they can answer.

use haft_core::port::{Asked, Can, Client, Log, Note, Progress, Question};
use haft_core::{ErrorKind, ToolError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::builtin::unknown;

/// So many questions are put at once.
const MOST: usize = 16;

pub(super) async fn answer(
    client: Option<&dyn Client>,
    method: &str,
    said: Value,
) -> Result<Value, ToolError> {
    match method {
        "can" => Ok(json!(client.map_or_else(Can::default, Client::can))),
        "progress" => tell(client, Note::Progress(read::<Progress>(method, said)?)).await,
        "log" => tell(client, Note::Log(read::<Log>(method, said)?)).await,
        "ask" => ask(client, read::<Map<String, Value>>(method, said)?).await,
        "elicit" | "sample" | "roots" => one(client, method, said).await,
        _ => Err(unknown("client", method)),
    }
}

/// Nobody there: nobody is told.
async fn tell(client: Option<&dyn Client>, note: Note) -> Result<Value, ToolError> {
    if let Some(client) = client {
        client.tell(note).await;
    }
    Ok(Value::Null)
}

/// One question, under its own name or under what it asks.
async fn one(
    client: Option<&dyn Client>,
    method: &str,
    mut said: Value,
) -> Result<Value, ToolError> {
    let given = said.as_object_mut().and_then(|said| said.remove("name"));
    let name = given.as_ref().and_then(Value::as_str).unwrap_or(method).to_owned();
    let said = if said.is_null() { json!({}) } else { said };
    let questions = Map::from_iter([(name.clone(), json!({ method: said }))]);
    let mut answers = ask(client, questions).await?;
    Ok(answers.get_mut(&name).map(Value::take).unwrap_or_default())
}

async fn ask(
    client: Option<&dyn Client>,
    questions: Map<String, Value>,
) -> Result<Value, ToolError> {
    let wrong = |what: String| Err(ToolError::new(ErrorKind::Internal, what));
    if questions.is_empty() || questions.len() > MOST {
        return wrong(format!("`client.ask` takes 1 to {MOST} questions"));
    }
    let mut asked = Vec::with_capacity(questions.len());
    for (name, question) in questions {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            return wrong(
                "a question's name has 1 to 64 letters, digits, `_`, `-` or `.`".to_owned(),
            );
        }
        let question = read::<Question>("ask", question)?;
        asked.push(Asked { name, question });
    }
    let Some(client) = client else {
        let message = "nobody can be asked: the call was not made by a client that answers";
        return Err(ToolError::new(ErrorKind::Permanent, message)
            .suggest("ask the user yourself, and call again with what they said"));
    };
    client.ask(asked).await.map(Value::Object)
}

fn read<T: DeserializeOwned>(method: &str, said: Value) -> Result<T, ToolError> {
    serde_json::from_value(said).map_err(|why| {
        let message = format!("`client.{method}` does not take this: {why}");
        ToolError::new(ErrorKind::Internal, message)
    })
}
