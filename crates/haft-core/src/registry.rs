//! The registry: every tool of a toolset, with proof that nobody touched it.
//!
//! A registry is canonical JSON. Each tool carries the digest of its own content, the registry's
//! digest is taken over the tools' digests, and its version is that digest's first eight digits.
//! Build time, commit and signature stand outside of the digest: they say how it came about, not
//! what it is.

mod load;
mod sign;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::{Digest, canonical};
use crate::names::Namespace;
use crate::{Contract, Parameter};

pub use load::{Accepted, LoadError, Pin, Trust};
pub use sign::{KeyError, PublicKey, Signature, SigningKey};

/// The layout of registry files that this version reads and writes.
pub const FORMAT: u64 = 1;

/// A loaded, verified registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Registry {
    /// `1.0.<8 hex>` of the digest.
    pub version: String,
    /// Over everything that a session could notice.
    pub digest: Digest,
    /// Whose tools these are.
    pub namespace: Namespace,
    /// Prompt texts by name: `core`, `voice`, `text`.
    pub prompts: BTreeMap<String, String>,
    /// The tools, sorted by id.
    pub tools: Vec<Tool>,
    /// How it came about.
    pub build: Build,
}

/// One tool of a registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `<namespace>__<toolId>`.
    pub id: String,
    /// Over all other fields.
    pub digest: Digest,
    /// What it promises.
    pub contract: Contract,
    /// The typed view of its parameters.
    pub parameters: Vec<Parameter>,
    /// What is always in the prompt.
    pub summary: String,
    /// The full document.
    pub doc: String,
    /// What runs it.
    pub handler: Implementation,
}

/// What runs a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Implementation {
    /// A JavaScript module, carried whole.
    Js {
        /// Over its bytes, with line endings as LF.
        digest: Digest,
        /// The module.
        source: String,
    },
    /// A WebAssembly component beside the contract.
    Wasm {
        /// Relative to the toolset.
        file: String,
        /// Over its bytes.
        digest: Digest,
    },
    /// An executable beside the contract.
    Process {
        /// Relative to the toolset.
        file: String,
        /// Over its bytes.
        digest: Digest,
    },
    /// A Rust function; the contract names its crate, version and revision.
    Native,
    /// The contract's gateway.
    Gateway,
    /// Nothing yet.
    Unbound,
}

impl Implementation {
    /// The word used in tables.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Js { .. } => "js",
            Self::Wasm { .. } => "wasm",
            Self::Process { .. } => "process",
            Self::Native => "native",
            Self::Gateway => "gateway",
            Self::Unbound => "unbound",
        }
    }
}

/// How a registry came about. Not part of its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// When, in RFC 3339 and UTC.
    pub at: String,
    /// The compiler: `haft 0.1.0`.
    pub by: String,
    /// The commit that the toolset was at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A tool's entry as it stands in a registry file: canonical JSON, its id and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `<namespace>__<toolId>`.
    pub id: String,
    /// The digest inside.
    pub digest: Digest,
    /// The canonical JSON of a [`Tool`].
    pub json: String,
}

impl Entry {
    /// Seals a tool: computes its digest and writes it canonically.
    /// The digest that the tool came with is not looked at.
    #[must_use]
    pub fn seal(tool: &Tool) -> Self {
        // Canonical JSON composes: the members are written once, in the order of their names, and
        // the digest is put between the first and the rest.
        let contract = format!("{{\"contract\":{}", written(&tool.contract));
        let rest = format!(
            ",\"doc\":{},\"handler\":{},\"id\":{},\"parameters\":{},\"summary\":{}}}",
            written(&tool.doc),
            written(&tool.handler),
            written(&tool.id),
            written(&tool.parameters),
            written(&tool.summary),
        );
        let digest = Digest::of_bytes(format!("{contract}{rest}").as_bytes());
        let json = format!("{contract},\"digest\":\"{digest}\"{rest}");
        Self { id: tool.id.clone(), digest, json }
    }
}

impl Entry {
    /// Whether the text is what the digest was taken over.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let member = format!(",\"digest\":\"{}\"", self.digest);
        let sealed = self.json.replacen(&member, "", 1);
        Digest::of_bytes(sealed.as_bytes()) == self.digest
    }
}

/// Canonical JSON of one of our own structures. Writing them cannot fail; were it to, the empty
/// text would be refused on loading.
fn written(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}

/// The digest of an entry, which is over everything but itself.
fn digest_of(entry: &mut Value) -> Digest {
    if let Some(fields) = entry.as_object_mut() {
        fields.shift_remove("digest");
    }
    Digest::of_json(entry)
}

/// What a registry file is put together from.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// Whose tools these are.
    pub namespace: &'a Namespace,
    /// Prompt texts by name.
    pub prompts: &'a BTreeMap<String, String>,
    /// The sealed tools, sorted by id.
    pub entries: &'a [Entry],
}

impl Parts<'_> {
    /// The digest of the whole.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let tools = self.entries.iter().map(|entry| (entry.id.as_str(), &entry.digest));
        whole_digest(self.namespace, self.prompts, tools)
    }

    /// The registry file, ending in a newline.
    ///
    /// Canonical JSON composes, so the sealed entries are copied as they are: an incremental build
    /// does not write 3,000 tools anew because one changed.
    #[must_use]
    pub fn write(&self, build: &Build, key: Option<&SigningKey>) -> String {
        let digest = self.digest();
        let version = version_of(&digest);
        let signature = key.map(|key| key.sign(&statement(&version, &digest, build)));
        let size: usize = self.entries.iter().map(|entry| entry.json.len() + 1).sum();
        let mut text = String::with_capacity(size + 1024);
        text.push_str("{\"build\":");
        text.push_str(&canonical(&json!(build)));
        text.push_str(",\"digest\":");
        text.push_str(&canonical(&json!(digest)));
        text.push_str(&format!(",\"format\":{FORMAT},\"namespace\":"));
        text.push_str(&canonical(&json!(self.namespace)));
        text.push_str(",\"prompts\":");
        text.push_str(&canonical(&json!(self.prompts)));
        if let Some(signature) = signature {
            text.push_str(",\"signature\":");
            text.push_str(&canonical(&json!(signature)));
        }
        text.push_str(",\"tools\":[");
        for (at, entry) in self.entries.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&entry.json);
        }
        text.push_str("],\"version\":");
        text.push_str(&canonical(&json!(version)));
        text.push_str("}\n");
        text
    }
}

/// Over namespace, prompts and tools; lists and objects of JSON keep the parts apart, so no two
/// contents run together to the same bytes.
fn whole_digest<'a>(
    namespace: &Namespace,
    prompts: &BTreeMap<String, String>,
    tools: impl Iterator<Item = (&'a str, &'a Digest)>,
) -> Digest {
    let tools: Vec<Value> = tools.map(|(id, digest)| json!([id, digest])).collect();
    Digest::of_json(&json!({
        "format": FORMAT,
        "namespace": namespace,
        "prompts": prompts,
        "tools": tools,
    }))
}

/// The version that people see.
#[must_use]
pub fn version_of(digest: &Digest) -> String {
    format!("1.0.{}", digest.short())
}

/// Whether a registry can have this version.
///
/// ```
/// use haft_core::registry::is_version;
/// assert!(is_version("1.0.4f1c02aa") && !is_version("1.0.0"));
/// ```
#[must_use]
pub fn is_version(text: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.strip_prefix("1.0.").is_some_and(|short| short.len() == 8 && short.bytes().all(digit))
}

/// What a signature covers: the content, and how it came about, so that an older registry of the
/// same signer cannot pass for the current one.
fn statement(version: &str, digest: &Digest, build: &Build) -> String {
    canonical(&json!({ "build": build, "digest": digest, "version": version }))
}

impl Registry {
    /// Finds a tool by canonical id, or by its own id where that is unambiguous.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tool> {
        let short = |tool: &&Tool| tool.contract.tool_id == name;
        self.tools.iter().find(|tool| tool.id == name).or_else(|| {
            let mut found = self.tools.iter().filter(short);
            found.next().filter(|_| found.next().is_none())
        })
    }
}
