//! Anthropic: all results of a turn in one user message, before anything else that the user says.

use haft_core::content::{Content, Contents};
use serde_json::{Value, json};

use super::{Answer, Told, told};

pub(super) fn reply(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let text = |text: &&str| json!({ "type": "text", "text": text });
    let content: Vec<Value> = answers.iter().map(block).chain(words.iter().map(text)).collect();
    match content.is_empty() {
        true => Vec::new(),
        false => vec![json!({ "role": "user", "content": content })],
    }
}

/// Text; and a list of blocks where there are pictures, which this dialect can show.
fn content(told: &Told) -> Value {
    let shown = match told {
        Told::Done { data, .. } => Contents::of(data),
        Told::Failed { .. } => None,
    };
    let is_picture = |block: &Content| matches!(block, Content::Image { .. });
    let Some(shown) = shown.filter(|shown| shown.blocks.iter().any(is_picture)) else {
        return json!(told.text());
    };
    let mut words = shown.clone();
    words.blocks.retain(|block| !is_picture(block));
    let plain = Told::Done { data: json!(words), notes: told.notes().to_vec() };
    let pictures = shown.blocks.iter().filter_map(|block| match block {
        Content::Image { mime_type, data } => Some(json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        })),
        Content::Text { .. }
        | Content::Audio { .. }
        | Content::Resource { .. }
        | Content::ResourceLink { .. } => None,
    });
    let text = Some(plain.text()).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    text.into_iter().chain(pictures).collect()
}

fn block(answer: &Answer<'_>) -> Value {
    let told = told(answer.envelope);
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": answer.pair(),
        "content": content(&told),
    });
    if let (true, Some(block)) = (told.is_error(), block.as_object_mut()) {
        block.insert("is_error".into(), json!(true));
    }
    block
}
