//! `[[policies]]`: rules of one tenant, beside the common ones of `[policy]`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, bail};
use haft_runtime::config::PolicyText;
use haft_runtime::toolbox::TenantPolicy;
use serde::Deserialize;

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPolicy {
    id: String,
    tenant: Option<String>,
    description: Option<String>,
    /// Files.
    #[serde(default)]
    cedar: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    approve: Vec<String>,
}

/// Reads the files that are named. `home` is the tenant of those that name none.
pub(super) fn resolve(
    raw: Vec<RawPolicy>,
    home: &str,
    folder: &Path,
) -> anyhow::Result<Vec<TenantPolicy>> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for one in raw {
        let tenant = one.tenant.unwrap_or_else(|| home.to_owned());
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let begins = one.id.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || one.id.len() > 64 || !one.id.chars().all(plain) {
            bail!("`policies`: an id has 1 to 64 of `a-z A-Z 0-9 . _ -`, a letter or digit first");
        }
        if !seen.insert((tenant.clone(), one.id.clone())) {
            bail!("`policies`: `{}` of `{tenant}` is there twice", one.id);
        }
        let mut cedar = String::new();
        for file in &one.cedar {
            let text = std::fs::read_to_string(folder.join(file));
            let named = || format!("`policies`, `{}`: `{file}` cannot be read", one.id);
            cedar.push_str(&text.with_context(named)?);
            cedar.push('\n');
        }
        let (description, allow, deny) = (one.description, one.allow, one.deny);
        let text = PolicyText { description, cedar, allow, deny, approve: one.approve };
        all.push(TenantPolicy { tenant, id: one.id, text });
    }
    Ok(all)
}
