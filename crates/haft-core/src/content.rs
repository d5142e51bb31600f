//! Answers that are more than data: pictures, sound, documents, links.
//!
//! A tool's answer is JSON. One that has something to show puts it into the member `$content`, a
//! list of blocks; whatever stands beside it is data as always. So such an answer is checked, limited,
//! made safe, recorded and repeated like any other, and each dialect shows of it what it can.
//!
//! ```
//! use haft_core::content::{Content, Contents};
//! use serde_json::json;
//!
//! let answer = Contents::new(vec![Content::text("a red dot"), Content::image("image/png", b"\x89PNG")]);
//! let data = serde_json::to_value(&answer).unwrap();
//! assert_eq!(data["$content"][1], json!({"type": "image", "mimeType": "image/png", "data": "iVBORw=="}));
//! assert_eq!(Contents::of(&data), Some(answer));
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The member of an answer that holds its blocks.
pub const MEMBER: &str = "$content";

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// What kind, `image/png` say.
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
    /// Sound.
    Audio {
        /// What kind, `audio/wav` say.
        mime_type: String,
        /// Its bytes in base64.
        data: String,
    },
    /// A document that comes along.
    Resource {
        /// The document.
        resource: Document,
    },
    /// A document that can be read where it is.
    ResourceLink {
        /// Where.
        uri: String,
        /// What it is called.
        name: String,
        /// What kind it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}

/// A document: words, or bytes in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Its address.
    pub uri: String,
    /// What kind it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

impl Document {
    /// A document of words.
    #[must_use]
    pub fn text(uri: &str, mime_type: &str, text: impl Into<String>) -> Self {
        let (uri, mime_type) = (uri.to_owned(), Some(mime_type.to_owned()));
        Self { uri, mime_type, text: Some(text.into()), blob: None }
    }

    /// A document of bytes.
    #[must_use]
    pub fn bytes(uri: &str, mime_type: &str, bytes: &[u8]) -> Self {
        let (uri, mime_type) = (uri.to_owned(), Some(mime_type.to_owned()));
        Self { uri, mime_type, text: None, blob: Some(BASE64.encode(bytes)) }
    }
}

impl Content {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture.
    #[must_use]
    pub fn image(mime_type: &str, bytes: &[u8]) -> Self {
        Self::Image { mime_type: mime_type.to_owned(), data: BASE64.encode(bytes) }
    }

    /// Sound.
    #[must_use]
    pub fn audio(mime_type: &str, bytes: &[u8]) -> Self {
        Self::Audio { mime_type: mime_type.to_owned(), data: BASE64.encode(bytes) }
    }

    /// A document that comes along.
    #[must_use]
    pub fn document(resource: Document) -> Self {
        Self::Resource { resource }
    }

    /// For readers of text: the words, and of everything else what it is and how large.
    #[must_use]
    pub fn in_words(&self) -> String {
        let bytes = |data: &str| data.len() / 4 * 3;
        match self {
            Self::Text { text } => text.clone(),
            Self::Image { mime_type, data } => {
                format!("[a picture, {mime_type}, about {} bytes]", bytes(data))
            }
            Self::Audio { mime_type, data } => {
                format!("[sound, {mime_type}, about {} bytes]", bytes(data))
            }
            Self::Resource { resource } => match &resource.text {
                Some(text) => format!("{}:\n{text}", resource.uri),
                None => format!("[a document, {}]", resource.uri),
            },
            Self::ResourceLink { uri, name, .. } => format!("[{name}: {uri}]"),
        }
    }
}

/// An answer with something to show, and what else it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What is shown, in order.
    pub blocks: Vec<Content>,
    /// What stands beside it.
    pub data: Map<String, Value>,
}

impl Contents {
    /// Blocks and nothing else.
    #[must_use]
    pub fn new(blocks: Vec<Content>) -> Self {
        Self { blocks, data: Map::new() }
    }

    /// What an answer has to show; none where its blocks are not blocks.
    #[must_use]
    pub fn of(answer: &Value) -> Option<Self> {
        let answer = answer.as_object()?;
        let blocks = Vec::<Content>::deserialize(answer.get(MEMBER)?).ok()?;
        let rest = answer.iter().filter(|(name, _)| *name != MEMBER);
        Some(Self { blocks, data: rest.map(|(k, v)| (k.clone(), v.clone())).collect() })
    }
}

impl Serialize for Contents {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = to.serialize_map(Some(self.data.len() + 1))?;
        map.serialize_entry(MEMBER, &self.blocks)?;
        for (name, value) in &self.data {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
