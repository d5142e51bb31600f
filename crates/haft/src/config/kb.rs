//! `[kb]`: where the knowledge base is kept, what it is made from, and who may read it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
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
    pub(super) fn resolve(
        &self,
        folder: &Path,
        only: Option<String>,
        wrong: &mut Vec<anyhow::Error>,
    ) -> Option<Kb> {
        let path = self.path.clone().unwrap_or_else(|| Path::new(".haft").join("kb"));
        let tenant = self.tenant.clone().or(only);
        let faults = Namespaces::faults(&self.namespaces, tenant.as_deref());
        wrong.extend(faults.iter().map(|why| anyhow!("`kb.namespaces`: {why}")));
        let embed = self.embeddings.as_ref().map(|raw| raw.resolve(folder, wrong));
        let namespaces = Namespaces::new(self.namespaces.clone(), tenant.clone()).ok()?;
        Some(Kb {
            setup: Setup {
                path: folder.join(path),
                language: self.language,
                namespace: self.namespace.clone().unwrap_or_else(|| "studio".to_owned()),
                embed: embed.flatten(),
            },
            sources: self.sources(folder),
            namespaces,
            tenant,
            root: if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            },
        })
    }

    /// The files that it is made from.
    pub(super) fn sources(&self, folder: &Path) -> Vec<PathBuf> {
        self.sources.iter().map(|source| folder.join(source)).collect()
    }
}

impl RawEmbeddings {
    fn resolve(&self, folder: &Path, wrong: &mut Vec<anyhow::Error>) -> Option<Arc<dyn Embed>> {
        let found = match (&self.url, &self.path) {
            (Some(url), None) => self.endpoint(url, wrong),
            (None, Some(path)) => local(&folder.join(path)),
            (Some(_), Some(_)) | (None, None) => Err(anyhow!(
                "`kb.embeddings` needs either `url` and `model` (an endpoint) or `path` (a model's folder)"
            )),
        };
        found.map_err(|why| wrong.push(why)).ok()
    }

    fn endpoint(
        &self,
        url: &str,
        wrong: &mut Vec<anyhow::Error>,
    ) -> anyhow::Result<Arc<dyn Embed>> {
        if self.model.is_none() {
            wrong.push(anyhow!("`kb.embeddings` has a `url` and no `model`"));
        }
        // A key is sent only where its variable was named for this address.
        let key = self.key_env.as_ref().and_then(|name| {
            let key = std::env::var(name).map(|key| key.trim().to_owned()).ok();
            let key = key.filter(|key| !key.is_empty());
            if key.is_none() {
                wrong.push(anyhow!(
                    "`kb.embeddings.key_env`: set the environment variable `{name}`"
                ));
            }
            key
        });
        // Whatever begins with neither is no address, which is said below.
        if self.key_env.is_some() && url.starts_with("http://") && !is_private(url) {
            wrong.push(anyhow!("`kb.embeddings.url` would send the key in the clear; use https"));
        }
        let model = self.model.clone().unwrap_or_default();
        let setup = EndpointSetup { url: url.to_owned(), model, key, dimensions: self.dimensions };
        Ok(Arc::new(Endpoint::new(setup).map_err(|why| anyhow!("`kb.embeddings.url`: {why}"))?))
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
    Err(anyhow!(
        "`kb.embeddings.path` names a model's folder, and this haft was built without the part that runs one; \
         build it with `--features local-model`, or use an endpoint (`url`, `model`)"
    ))
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
