//! Loading a registry file, and remembering which was accepted last.
//!
//! A signature says who built a registry, not that it is the newest: an old one with a hole in it
//! still carries a good signature. So the build time of the last accepted registry is kept beside
//! the configuration, and an older one is refused unless it is pinned. For the same reason a name
//! says nothing about who publishes under it: a namespace stays with the key that signed it first.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_core::registry::{Accepted, Implementation, LoadError, Signature, Trust};
use haft_core::{Digest, Registry};
use serde::Deserialize;

use crate::build::write_whole;

/// Why a registry was not loaded.
#[derive(Debug)]
pub enum AcceptError {
    /// The file, or what is remembered of the last one, could not be read or written.
    Io(PathBuf, io::Error),
    /// It was refused.
    Refused(PathBuf, LoadError),
}

impl std::fmt::Display for AcceptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Refused(path, why) => write!(f, "`{}`: {why} [{}]", path.display(), why.code()),
        }
    }
}

impl std::error::Error for AcceptError {}

/// Marks by signer and namespace: registries of different people or of different tools do not
/// stand in each other's way.
type Marks = BTreeMap<String, Accepted>;

/// Loads the registry at `path`. With a `mark` file, what was accepted before counts: a namespace
/// belongs to whoever signed it first, an older registry of the same signer is refused, and a
/// newer one is remembered. A pinned key or version is somebody's decision and overrides the first.
pub fn load(path: &Path, mut trust: Trust, mark: Option<&Path>) -> Result<Registry, AcceptError> {
    let refused = |why| AcceptError::Refused(path.to_owned(), why);
    let text = read(path)?;
    let Some(mark) = mark else { return Registry::load(&text, &trust).map_err(refused) };
    let mut marks = read_marks(mark)?;
    let head = Head::read(&text);
    let name = format!("{} {}", head.signer(), head.namespace);
    let chosen = trust.key.is_some() || trust.pin.is_some();
    trust.last = trust.last.or_else(|| marks.get(&name).cloned());
    let registry = Registry::load(&text, &trust).map_err(refused)?;
    if !chosen && let Some(publisher) = other_publisher(&marks, &head) {
        let namespace = registry.namespace.to_string();
        let found = head.signature.map(|signature| signature.key.to_string());
        return Err(refused(LoadError::OtherPublisher { namespace, found, publisher }));
    }
    // Without a signature there is nobody whose word a mark could hold on to.
    let signed = head.signature.is_some();
    if signed && marks.get(&name).is_none_or(|last| last.built_at < registry.build.at) {
        let now = Accepted { built_at: registry.build.at.clone(), digest: registry.digest.clone() };
        marks.insert(name, now);
        let text = serde_json::to_string_pretty(&marks).unwrap_or_default();
        write_whole(mark, &text).map_err(|error| AcceptError::Io(mark.to_owned(), error))?;
    }
    Ok(registry)
}

/// What a registry says of itself, before anything about it is proved. One that lies about it does
/// not load.
#[derive(Default, Deserialize)]
struct Head {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    signature: Option<Signature>,
}

impl Head {
    fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    fn signer(&self) -> String {
        self.signature.as_ref().map(|signature| signature.key.to_string()).unwrap_or_default()
    }
}

/// Who else has signed this namespace before, where this signer never has.
fn other_publisher(marks: &Marks, head: &Head) -> Option<String> {
    let mut publishers = marks.keys().filter_map(|name| {
        let (signer, namespace) = name.split_once(' ')?;
        (namespace == head.namespace && !signer.is_empty()).then_some(signer)
    });
    let signer = head.signer();
    let first = publishers.next()?;
    let known = first == signer || publishers.any(|publisher| publisher == signer);
    (!known).then(|| first.to_owned())
}

/// The largest registry that is read.
const MAX_REGISTRY: u64 = 1 << 29;

fn read(path: &Path) -> Result<String, AcceptError> {
    read_limited(path, MAX_REGISTRY).map_err(|error| AcceptError::Io(path.to_owned(), error))
}

/// Reads a text of at most `limit` bytes, from a file or a pipe.
pub fn read_limited(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(limit + 1).read_to_string(&mut text)?;
    match text.len() as u64 > limit {
        true => Err(io::Error::other(format!("more than {limit} bytes"))),
        false => Ok(text),
    }
}

fn read_marks(mark: &Path) -> Result<Marks, AcceptError> {
    match fs::read_to_string(mark) {
        // A mark that cannot be read protects nobody; saying so is better than starting over.
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| AcceptError::Io(mark.to_owned(), io::Error::other(error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Marks::new()),
        Err(error) => Err(AcceptError::Io(mark.to_owned(), error)),
    }
}

/// Holds the handler files of a registry against their digests. Returns how many are not at
/// `folder`, where the toolset would be.
pub fn check_files(registry: &Registry, folder: &Path) -> Result<usize, AcceptError> {
    let mut missing = 0;
    let mut touched = Vec::new();
    for tool in &registry.tools {
        let (Implementation::Wasm { file, digest } | Implementation::Process { file, digest }) =
            &tool.handler
        else {
            continue;
        };
        match fs::read(folder.join(file)) {
            Ok(bytes) if Digest::of_bytes(&bytes) != *digest => touched.push(tool.id.clone()),
            Ok(_) => {}
            Err(_) => missing += 1,
        }
    }
    match touched.is_empty() {
        true => Ok(missing),
        false => Err(AcceptError::Refused(folder.to_owned(), LoadError::Touched(touched))),
    }
}
