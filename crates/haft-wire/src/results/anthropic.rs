//! Anthropic: all results of a turn in one user message, before anything else that the user says.

use serde_json::{Value, json};

use super::{Answer, told};

pub(super) fn reply(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let text = |text: &&str| json!({ "type": "text", "text": text });
    let content: Vec<Value> = answers.iter().map(block).chain(words.iter().map(text)).collect();
    match content.is_empty() {
        true => Vec::new(),
        false => vec![json!({ "role": "user", "content": content })],
    }
}

fn block(answer: &Answer<'_>) -> Value {
    let told = told(answer.envelope);
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": answer.pair(),
        "content": told.text(),
    });
    if let (true, Some(block)) = (told.is_error(), block.as_object_mut()) {
        block.insert("is_error".into(), json!(true));
    }
    block
}
