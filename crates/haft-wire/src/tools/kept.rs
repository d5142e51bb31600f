//! Renderings that were made before.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{Digest, Tool};

use super::{Rendering, Target};

/// So many renderings are kept where nobody says.
const MOST: usize = 64;

/// A rendering, and the size of its JSON.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The tools.
    pub rendering: Arc<Rendering>,
    /// Bytes of JSON.
    pub size: usize,
}

/// Renderings by what they are made from: the target, and the ids and digests of the tools. So one is
/// good for as long as the same contracts are shown, whatever registry they came in.
pub struct Renderings {
    most: usize,
    made: Mutex<HashMap<Digest, Kept>>,
}

impl Default for Renderings {
    fn default() -> Self {
        Self::keeping(MOST)
    }
}

impl fmt::Debug for Renderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renderings")
    }
}

impl Renderings {
    /// At most so many.
    #[must_use]
    pub fn keeping(most: usize) -> Self {
        Self { most, made: Mutex::default() }
    }

    /// The tools in a target's words, in the order in which they are given, as
    /// [one request takes them](Rendering::for_request).
    #[must_use]
    pub fn get(&self, target: Target, tools: &[&Tool]) -> Kept {
        let render = || target.render(tools.iter().copied()).for_request();
        self.kept(key("request", target, tools), render)
    }

    /// The same with all of them, whatever one request takes.
    #[must_use]
    pub fn whole(&self, target: Target, tools: &[&Tool]) -> Kept {
        self.kept(key("list", target, tools), || target.render(tools.iter().copied()))
    }

    fn kept(&self, key: Digest, render: impl FnOnce() -> Rendering) -> Kept {
        if let Some(kept) = self.all().get(&key) {
            return kept.clone();
        }
        let rendering = render();
        let size = serde_json::to_string(&rendering.tools).map_or(0, |text| text.len());
        let made = Kept { rendering: Arc::new(rendering), size };
        let mut all = self.all();
        if all.len() >= self.most {
            all.clear();
        }
        all.insert(key, made.clone());
        made
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Kept>> {
        // Nothing is half done in there.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a rendering is made from. Ids and digests hold no line ends, so no two lists run together.
fn key(what: &str, target: Target, tools: &[&Tool]) -> Digest {
    let mut text = format!("{what}\n{}", target.name());
    for tool in tools {
        text.push('\n');
        text.push_str(&tool.id);
        text.push('\n');
        text.push_str(&tool.digest.to_string());
    }
    Digest::of_bytes(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use haft_core::registry::{Entry, Implementation};
    use serde_json::json;

    use super::*;
    use crate::{Dialect, Strictness};

    fn tool(n: usize) -> Tool {
        let contract = serde_json::from_value(json!({
            "toolId": format!("part_{n:02}"), "version": "1.0.0", "description": "A part.",
            "category": "utility", "sideEffects": "read_only", "effect": "read_only",
            "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
            "allowedModes": ["text"], "latencyBudgetMs": 800,
            "parameters": { "type": "object", "additionalProperties": false, "properties": {} },
            "redaction": { "allow": [], "allowArgs": [] },
            "arguments": { "mode": "lenient", "fraction": "refuse" },
        }));
        let mut tool = Tool {
            id: format!("shop__part_{n:02}"),
            digest: Digest::of_bytes(b""),
            parameters: Vec::new(),
            contract: contract.unwrap(),
            summary: String::new(),
            doc: String::new(),
            handler: Implementation::Native,
        };
        tool.digest = Entry::seal(&tool).digest;
        tool
    }

    #[test]
    fn the_same_tools_are_rendered_once_for_each_use() {
        // More than Anthropic takes as strict in one request.
        let tools: Vec<Tool> = (0..30).map(tool).collect();
        let all: Vec<&Tool> = tools.iter().collect();
        let target = Target::new(Dialect::Anthropic, Strictness::Strict);
        let kept = Renderings::keeping(4);
        let (whole, request) = (kept.whole(target, &all), kept.get(target, &all));
        assert_ne!(whole.rendering.tools, request.rendering.tools);
        assert_eq!(whole.size, whole.rendering.tools.to_string().len());
        for again in [kept.whole(target, &all), kept.whole(target, &all)] {
            assert!(Arc::ptr_eq(&whole.rendering, &again.rendering));
        }
        assert!(Arc::ptr_eq(&request.rendering, &kept.get(target, &all).rendering));
        for some in 1..10 {
            let _ = kept.whole(target, all.get(..some).unwrap());
            assert!(kept.all().len() <= 4);
        }
    }
}
