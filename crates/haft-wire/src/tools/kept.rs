//! Renderings that were made before.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{Digest, Tool};

use super::{Rendering, Target};

/// So many renderings are kept.
const MOST: usize = 64;

/// A rendering for one request, and the size of its JSON.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The tools, as [one request takes them](Rendering::for_request).
    pub rendering: Arc<Rendering>,
    /// Bytes of JSON.
    pub size: usize,
}

/// Renderings by what they are made from: the target, and the ids and digests of the tools. So one is
/// good for as long as the same contracts are shown, whatever registry they came in.
#[derive(Default)]
pub struct Renderings(Mutex<HashMap<Digest, Kept>>);

impl fmt::Debug for Renderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renderings")
    }
}

impl Renderings {
    /// The tools in a target's words, in the order in which they are given.
    #[must_use]
    pub fn get(&self, target: Target, tools: &[&Tool]) -> Kept {
        let key = key(target, tools);
        if let Some(kept) = self.all().get(&key) {
            return kept.clone();
        }
        let rendering = target.render(tools.iter().copied()).for_request();
        let size = serde_json::to_string(&rendering.tools).map_or(0, |text| text.len());
        let made = Kept { rendering: Arc::new(rendering), size };
        let mut all = self.all();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, made.clone());
        made
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Kept>> {
        // Nothing is half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a rendering is made from. Ids and digests hold no line ends, so no two lists run together.
pub(crate) fn key(target: Target, tools: &[&Tool]) -> Digest {
    let mut text = target.name();
    for tool in tools {
        text.push('\n');
        text.push_str(&tool.id);
        text.push('\n');
        text.push_str(&tool.digest.to_string());
    }
    Digest::of_bytes(text.as_bytes())
}
