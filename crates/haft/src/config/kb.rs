//! `[kb]`: where the knowledge base is kept, what it is made from, and who may read it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail};
use haft_tools::kb::Setup;
use haft_tools::kb::access::{Namespace, Namespaces};
use haft_tools::kb::embed::{Embed, Endpoint, EndpointSetup};
use haft_tools::kb::words::Language;
use serde::Deserialize;

/// The section as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawKb {
    path: Option<PathBuf>,
    sources: Vec<PathBuf>,
    namespace: Option<String>,
    language: Language,
    namespaces: Vec<Namespace>,
    tenant: Option<String>,
    embeddings: Option<RawEmbeddings>,
}

/// A model behind an endpoint, or in a folder.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawEmbeddings {
    url: Option<String>,
    model: Option<String>,
    key_env: Option<String>,
    dimensions: Option<u32>,
    path: Option<PathBuf>,
}

/// Every question answered.
pub(crate) struct Kb {
    /// How it is kept.
    pub(crate) setup: Setup,
    /// What is imported when nothing is named.
    pub(crate) sources: Vec<PathBuf>,
    /// Who may read what.
    pub(crate) namespaces: Namespaces,
    /// The tenant that is meant where none is named.
    pub(crate) tenant: Option<String>,
    /// Where names of files begin.
    pub(crate) root: PathBuf,
}

impl RawKb {
    /// `only` is the tenant, where there is one alone.
    pub(super) fn resolve(&self, folder: &Path, only: Option<String>) -> anyhow::Result<Kb> {
        let path = self.path.clone().unwrap_or_else(|| Path::new(".haft").join("kb"));
        let tenant = self.tenant.clone().or(only);
        let namespaces = Namespaces::new(self.namespaces.clone(), tenant.clone())
            .map_err(|why| anyhow!("`kb.namespaces`: {why}"))?;
        let embed = match &self.embeddings {
            Some(raw) => Some(raw.resolve(folder)?),
            None => None,
        };
        Ok(Kb {
            setup: Setup {
                path: folder.join(path),
                language: self.language,
                namespace: self.namespace.clone().unwrap_or_else(|| "studio".to_owned()),
                embed,
            },
            sources: self.sources.iter().map(|source| folder.join(source)).collect(),
            namespaces,
            tenant,
            root: if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            },
        })
    }
}

impl RawEmbeddings {
    fn resolve(&self, folder: &Path) -> anyhow::Result<Arc<dyn Embed>> {
        match (&self.url, &self.path) {
            (Some(url), None) => self.endpoint(url),
            (None, Some(path)) => local(&folder.join(path)),
            (Some(_), Some(_)) | (None, None) => bail!(
                "`kb.embeddings` needs either `url` and `model` (an endpoint) or `path` (a model's folder)"
            ),
        }
    }

    fn endpoint(&self, url: &str) -> anyhow::Result<Arc<dyn Embed>> {
        let Some(model) = self.model.clone() else {
            bail!("`kb.embeddings` has a `url` and no `model`");
        };
        // A key is sent only where its variable was named for this address.
        let key = match &self.key_env {
            None => None,
            Some(name) => match std::env::var(name).map(|key| key.trim().to_owned()) {
                Ok(key) if !key.is_empty() => Some(key),
                Ok(_) | Err(_) => {
                    bail!("`kb.embeddings.key_env`: set the environment variable `{name}`")
                }
            },
        };
        if key.is_some() && !is_private(url) {
            bail!("`kb.embeddings.url` would send the key in the clear; use https");
        }
        let setup = EndpointSetup { url: url.to_owned(), model, key, dimensions: self.dimensions };
        Ok(Arc::new(Endpoint::new(setup).map_err(|why| anyhow!("`kb.embeddings`: {why}"))?))
    }
}

/// Whether nobody on the way can read what is sent.
fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    // A name before an @ would hide where it goes.
    !authority.contains('@') && matches!(host, "127.0.0.1" | "localhost" | "::1")
}

#[cfg(feature = "local-model")]
fn local(path: &Path) -> anyhow::Result<Arc<dyn Embed>> {
    let model = haft_tools::kb::embed::Local::new(path);
    Ok(Arc::new(model.map_err(|why| anyhow!("`kb.embeddings.path`: {why}"))?))
}

#[cfg(not(feature = "local-model"))]
fn local(_: &Path) -> anyhow::Result<Arc<dyn Embed>> {
    bail!(
        "`kb.embeddings.path` names a model's folder, and this haft was built without the part that runs one; \
         build it with `--features local-model`, or use an endpoint (`url`, `model`)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leaves_the_machine_encrypted_only() {
        for (url, expected) in [
            ("https://api.example/v1", true),
            ("http://127.0.0.1:8080/v1", true),
            ("http://localhost/v1", true),
            ("http://[::1]:80/v1", true),
            ("http://api.example/v1", false),
            ("http://localhost.example/v1", false),
            ("http://127.0.0.1@api.example/v1", false),
        ] {
            assert_eq!(is_private(url), expected, "{url}");
        }
    }
}
