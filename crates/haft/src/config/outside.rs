//! `[http]`, `[connections]` and `[images]`: calls to the outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use haft_exec::http::{self, Settings};
use haft_exec::images;
use haft_store::vault::KeyPlace;
use serde::Deserialize;

use super::accounts::{self, Declared, RawAccount};
use crate::output::in_words;

/// The variable that a key is looked for in where the file does not say.
const KEY_ENV: &str = "HAFT_CONNECTIONS_KEY";

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawHttp {
    allow: Vec<String>,
    connect_ms: Option<u64>,
    max_response_bytes: Option<u64>,
    roots: Vec<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawConnections {
    key_env: Option<String>,
    key_file: Option<PathBuf>,
    accounts: Vec<RawAccount>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawImages {
    url: Option<String>,
    model: Option<String>,
    folder: Option<PathBuf>,
    public_url: Option<String>,
}

/// Every question answered.
#[derive(Default)]
pub(crate) struct Outside {
    /// How requests are made.
    pub(crate) http: Settings,
    /// Where images are had, and kept.
    pub(crate) images: images::Settings,
    /// Connections that are declared.
    pub(crate) accounts: Vec<Declared>,
    key_env: Option<String>,
    key_file: Option<PathBuf>,
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").field("key_file", &self.key_file).finish_non_exhaustive()
    }
}

pub(super) fn resolve(
    http: RawHttp,
    connections: RawConnections,
    images: RawImages,
    (home, folder): (&str, &Path),
    wrong: &mut Vec<anyhow::Error>,
) -> Outside {
    let mut settings = Settings::default();
    settings.allow.extend(super::ranges("http.allow", &http.allow, wrong));
    settings.connect = http.connect_ms.map_or(settings.connect, Duration::from_millis);
    settings.response_bytes = http.max_response_bytes.unwrap_or(settings.response_bytes);
    for file in &http.roots {
        match roots(&folder.join(file)) {
            Ok(found) => settings.roots.extend(found),
            Err(why) => wrong.push(why),
        }
    }
    let numbers =
        [("connect_ms", http.connect_ms), ("max_response_bytes", http.max_response_bytes)];
    super::none_of("http", &numbers, wrong);
    for (name, url) in [("url", &images.url), ("public_url", &images.public_url)] {
        if let Some(url) = url.as_deref().filter(|url| !super::mcp::is_base(url)) {
            wrong.push(anyhow!(
                "`images.{name}`: `{url}` must be an address, `https://images.example.com/v1` say"
            ));
        }
    }
    let mut drawn = images::Settings::default();
    drawn.url = images.url.unwrap_or(drawn.url);
    drawn.model = images.model.unwrap_or(drawn.model);
    drawn.folder =
        images.folder.map_or_else(|| folder.join(".haft/images"), |own| folder.join(own));
    drawn.public_url = images.public_url;
    Outside {
        http: settings,
        images: drawn,
        accounts: accounts::resolve(connections.accounts, home, folder, wrong),
        key_env: connections.key_env,
        key_file: connections.key_file.map(|file| folder.join(file)),
    }
}

/// The certificates in a file.
fn roots(path: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let pem = std::fs::read(path).map_err(|why| {
        anyhow!("`http.roots`: `{}` cannot be read: {}", path.display(), in_words(&why))
    })?;
    http::certificates(&pem).map_err(|why| anyhow!("`http.roots`: `{}`: {why}", path.display()))
}

impl Outside {
    /// The named variable or file; else the usual variable where it is set; else a file beside the
    /// database.
    pub(crate) fn key_place(&self, database: &Path) -> KeyPlace {
        match (&self.key_env, &self.key_file) {
            (Some(name), _) => KeyPlace::Env(name.clone()),
            (None, Some(file)) => KeyPlace::Named(file.clone()),
            (None, None) if std::env::var_os(KEY_ENV).is_some() => {
                KeyPlace::Env(KEY_ENV.to_owned())
            }
            (None, None) => {
                let folder = database.parent().map(Path::to_path_buf).unwrap_or_default();
                KeyPlace::File(folder.join("connections.key"))
            }
        }
    }
}
