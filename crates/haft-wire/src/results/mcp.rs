//! MCP: a `CallToolResult` for a call. The same answer as text and, where it is an object, as
//! structured content.

use serde_json::{Value, json};

use super::{Answer, Told, told};

pub(super) fn result(answer: &Answer<'_>) -> Value {
    let told = told(answer.envelope);
    let text = |text: String| json!({ "type": "text", "text": text });
    let mut result = match &told {
        Told::Done { data, notes } => {
            let plain = Told::Done { data: data.clone(), notes: Vec::new() };
            let notes = notes.iter().map(|note| text(format!("note: {note}")));
            let content: Vec<Value> = std::iter::once(text(plain.text())).chain(notes).collect();
            json!({ "content": content, "isError": false })
        }
        Told::Failed { .. } => json!({ "content": [text(told.text())], "isError": true }),
    };
    if let Some(result) = result.as_object_mut() {
        // The revision of 2026 asks for it, and the ones before ignore it.
        result.insert("resultType".into(), json!("complete"));
        if let Told::Done { data: data @ Value::Object(_), .. } = told {
            result.insert("structuredContent".into(), data);
        }
    }
    result
}
