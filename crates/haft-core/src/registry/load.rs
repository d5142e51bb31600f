//! Reading a registry that somebody else may have touched.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Build, FORMAT, Implementation, PublicKey, Registry, Signature, Tool};
use super::{digest_of, statement, version_of, whole_digest};
use crate::Digest;
use crate::digest::canonical;
use crate::names::{Namespace, canonical_id};

/// What a reader demands of a registry. The default demands only that it is intact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The one version or digest that is accepted.
    pub pin: Option<Pin>,
    /// The key that must have signed it.
    pub key: Option<PublicKey>,
    /// What was accepted last: nothing older is, nor something else of the same instant. A pin
    /// overrides it, because whoever writes a pin chooses a version knowingly.
    pub last: Option<Accepted>,
}

/// The registry that was accepted last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepted {
    /// When it was built, in RFC 3339 and UTC.
    pub built_at: String,
    /// What it was.
    pub digest: Digest,
}

impl Accepted {
    /// Whether a registry is this one, or newer.
    fn admits(&self, registry: &Registry) -> bool {
        // Both are RFC 3339 in UTC with whole seconds, which sorts as text.
        match registry.build.at.cmp(&self.built_at) {
            Ordering::Greater => true,
            Ordering::Equal => registry.digest == self.digest,
            Ordering::Less => false,
        }
    }
}

/// A registry named exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// By its version, eight digits of the digest.
    Version(String),
    /// By the whole digest.
    Digest(Digest),
}

/// Why a registry was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// Not JSON, or not the shape of a registry.
    Malformed(String),
    /// Written in a layout that this version does not know.
    Format(u64),
    /// These tools' contents do not match their digests.
    Touched(Vec<String>),
    /// Two tools have one id, or they are out of order.
    Order(String),
    /// The tools are intact, but the registry's own digest or version is not theirs.
    Recomputed,
    /// A key is pinned, and there is no signature.
    Unsigned,
    /// The signature is not by the pinned key.
    WrongKey {
        /// Who signed.
        found: String,
        /// Who should have.
        expected: String,
    },
    /// The signature does not cover this content and build time.
    BadSignature,
    /// Another registry is pinned.
    NotPinned {
        /// What is there.
        found: String,
        /// What is pinned.
        expected: String,
    },
    /// Older than one that was accepted before.
    Older {
        /// When it was built.
        found: String,
        /// What was accepted last.
        accepted: String,
    },
    /// The namespace was accepted from somebody else before.
    OtherPublisher {
        /// The namespace.
        namespace: String,
        /// Who signed this one; nobody where absent.
        found: Option<String>,
        /// Who signed it before.
        publisher: String,
    },
}

impl LoadError {
    /// The stable code whose page explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::Order(_) => "H701",
            Self::Format(_) => "H702",
            Self::Touched(_) => "H703",
            Self::Recomputed => "H704",
            Self::Unsigned | Self::WrongKey { .. } | Self::BadSignature => "H705",
            Self::NotPinned { .. } => "H706",
            Self::Older { .. } => "H707",
            Self::OtherPublisher { .. } => "H708",
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "this is not a registry: {why}"),
            Self::Format(found) => write!(
                f,
                "registry format {found} is not known here (this haft reads {FORMAT}); build it \
                 again or update haft"
            ),
            Self::Touched(tools) => write!(
                f,
                "the content of {} does not match its digest: the registry was changed after it \
                 was built; build it again from its sources",
                tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
            ),
            Self::Order(tool) => write!(f, "tool `{tool}` is listed twice or out of order"),
            Self::Recomputed => f.write_str(
                "the registry's digest or version does not belong to its tools: tools were added, \
                 removed or exchanged after it was built",
            ),
            Self::Unsigned => f.write_str(
                "the registry is not signed, but a key is pinned; build it with \
                 `haft build --sign KEY`",
            ),
            Self::WrongKey { found, expected } => {
                write!(f, "the registry is signed by `{found}`, but `{expected}` is pinned")
            }
            Self::BadSignature => {
                f.write_str("the signature does not belong to this registry and its build time")
            }
            Self::NotPinned { found, expected } => write!(
                f,
                "the registry is `{found}`, but `{expected}` is pinned; pin the new one if you \
                 mean to use it"
            ),
            Self::Older { found, accepted } => write!(
                f,
                "the registry was built at {found}, not after the one accepted last ({accepted}); \
                 to go back on purpose, pin its version"
            ),
            Self::OtherPublisher { namespace, found, publisher } => write!(
                f,
                "`{namespace}` was accepted as signed by `{publisher}`, and this registry is {}; \
                 if it has really changed hands, look at `haft diff` and pin the new key in \
                 `haft.toml`",
                match found {
                    Some(key) => format!("signed by `{key}`"),
                    None => "not signed".to_owned(),
                }
            ),
        }
    }
}

impl std::error::Error for LoadError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    build: Build,
    digest: Digest,
    #[serde(rename = "format")]
    _format: u64,
    namespace: Namespace,
    prompts: BTreeMap<String, String>,
    #[serde(default)]
    signature: Option<Signature>,
    tools: Vec<Value>,
    version: String,
}

impl Registry {
    /// Reads and verifies a registry file.
    pub fn load(text: &str, trust: &Trust) -> Result<Self, LoadError> {
        let value = haft_adm::strict::parse(
            text,
            haft_adm::strict::Limits::default().with_bytes(usize::MAX).with_values(usize::MAX),
        )
        .map_err(|error| LoadError::Malformed(error.to_string()))?;
        check_format(&value)?;
        let is_canonical = canonical(&value) == text.trim_end_matches('\n');
        let file: File =
            serde_json::from_value(value).map_err(|e| LoadError::Malformed(e.to_string()))?;
        let (File { build, digest, namespace, prompts, signature, version, .. }, tools) =
            verify_tools(file)?;
        check_order(&tools)?;
        let pairs = tools.iter().map(|tool| (tool.id.as_str(), &tool.digest));
        let real = whole_digest(&namespace, &prompts, pairs);
        if real != digest || version != version_of(&real) {
            return Err(LoadError::Recomputed);
        }
        check_content(&namespace, &tools, &build)?;
        // Two texts with one canonical form, say a number that rounds to another, have one digest;
        // only the canonical one is a registry.
        if !is_canonical {
            return Err(LoadError::Malformed("it is not in canonical form; build it again".into()));
        }
        let registry = Self { version, digest, namespace, prompts, tools, build };
        trust.check(&registry, signature.as_ref())?;
        Ok(registry)
    }
}

/// Before anything else, so that a newer layout is not reported as a broken one.
fn check_format(value: &Value) -> Result<(), LoadError> {
    match value.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => Ok(()),
        Some(other) => Err(LoadError::Format(other)),
        None => Err(LoadError::Malformed("it has no `format`".into())),
    }
}

fn verify_tools(mut file: File) -> Result<(File, Vec<Tool>), LoadError> {
    let mut touched = Vec::new();
    let mut tools = Vec::with_capacity(file.tools.len());
    for mut entry in std::mem::take(&mut file.tools) {
        let name = entry.get("id").and_then(Value::as_str).unwrap_or("(no id)").to_owned();
        let claimed = entry.get("digest").cloned();
        let real = digest_of(&mut entry);
        if claimed != Some(Value::String(real.to_string())) {
            touched.push(name);
            continue;
        }
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("digest".into(), Value::String(real.to_string()));
        }
        let tool: Tool = serde_json::from_value(entry)
            .map_err(|why| LoadError::Malformed(format!("tool `{name}`: {why}")))?;
        tools.push(tool);
    }
    if touched.is_empty() { Ok((file, tools)) } else { Err(LoadError::Touched(touched)) }
}

/// What digests cannot say: that the parts of an entry belong together.
fn check_content(namespace: &Namespace, tools: &[Tool], build: &Build) -> Result<(), LoadError> {
    let wrong = |why: String| Err(LoadError::Malformed(why));
    for tool in tools {
        let id = canonical_id(namespace, &tool.contract.tool_id);
        if id.as_ref() != Ok(&tool.id) {
            return wrong(format!("tool `{}` does not belong to `{namespace}`", tool.id));
        }
        if let Implementation::Js { digest, source } = &tool.handler
            && Digest::of_bytes(source.as_bytes()) != *digest
        {
            return wrong(format!("the handler of `{}` does not match its digest", tool.id));
        }
    }
    if is_instant(&build.at) { Ok(()) } else { wrong(format!("`{}` is not a time", build.at)) }
}

/// RFC 3339 in UTC and whole seconds, which is what sorts as text.
fn is_instant(text: &str) -> bool {
    text.len() == 20
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            19 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}

fn check_order(tools: &[Tool]) -> Result<(), LoadError> {
    for (before, after) in tools.iter().zip(tools.iter().skip(1)) {
        if before.id >= after.id {
            return Err(LoadError::Order(after.id.clone()));
        }
    }
    Ok(())
}

impl Trust {
    fn check(&self, registry: &Registry, signature: Option<&Signature>) -> Result<(), LoadError> {
        if let Some(expected) = self.key {
            let signature = signature.ok_or(LoadError::Unsigned)?;
            if signature.key != expected {
                return Err(LoadError::WrongKey {
                    found: signature.key.to_string(),
                    expected: expected.to_string(),
                });
            }
        }
        // A signature that is there must be right, whether or not a key is pinned.
        if let Some(signature) = signature {
            let stated = statement(&registry.version, &registry.digest, &registry.build);
            if !signature.covers(&stated) {
                return Err(LoadError::BadSignature);
            }
        }
        match (&self.pin, &self.last) {
            (Some(pin), _) => pin.check(registry),
            (None, Some(last)) if !last.admits(registry) => Err(LoadError::Older {
                found: registry.build.at.clone(),
                accepted: last.built_at.clone(),
            }),
            (None, _) => Ok(()),
        }
    }
}

impl Pin {
    fn check(&self, registry: &Registry) -> Result<(), LoadError> {
        let (found, expected) = match self {
            Self::Version(version) => (registry.version.clone(), version.clone()),
            Self::Digest(digest) => (registry.digest.to_string(), digest.to_string()),
        };
        if found == expected { Ok(()) } else { Err(LoadError::NotPinned { found, expected }) }
    }
}
