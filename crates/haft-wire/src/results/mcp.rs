//! MCP: a `CallToolResult` for a call. The same answer as text and, where it is an object, as
//! structured content.

use haft_core::content::Contents;
use serde_json::{Value, json};

use super::{Answer, Told, told};

pub(super) fn result(answer: &Answer<'_>) -> Value {
    let told = told(answer.envelope);
    let text = |text: String| json!({ "type": "text", "text": text });
    let mut result = match &told {
        Told::Done { data, notes } => {
            let plain = Told::Done { data: data.clone(), notes: Vec::new() };
            let notes = notes.iter().map(|note| text(format!("note: {note}")));
            let blocks = match Contents::of(data) {
                Some(shown) => shown.blocks.iter().map(|block| json!(block)).collect(),
                None => vec![text(plain.text())],
            };
            let content: Vec<Value> = blocks.into_iter().chain(notes).collect();
            json!({ "content": content, "isError": false })
        }
        Told::Failed { .. } => json!({ "content": [text(told.text())], "isError": true }),
    };
    if let Some(result) = result.as_object_mut() {
        // The revision of 2026 asks for it, and the ones before ignore it.
        result.insert("resultType".into(), json!("complete"));
        if let Told::Done { data: Value::Object(mut data), .. } = told {
            // What is shown stands in the content already.
            let shown = data.shift_remove(haft_core::content::MEMBER).is_some();
            if !shown || !data.is_empty() {
                result.insert("structuredContent".into(), Value::Object(data));
            }
        }
    }
    result
}
