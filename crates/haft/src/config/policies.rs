//! `[[policies]]`: rules of one tenant, beside the common ones of `[policy]`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use haft_core::names::{PLAIN_ID, is_plain_id};
use haft_runtime::config::PolicyText;
use haft_runtime::toolbox::TenantPolicy;
use serde::Deserialize;

use crate::output::in_words;

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
    wrong: &mut Vec<anyhow::Error>,
) -> Vec<TenantPolicy> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for one in raw {
        let tenant = one.tenant.unwrap_or_else(|| home.to_owned());
        if !is_plain_id(&one.id) {
            wrong.push(anyhow!("`policies`, `{}`: {PLAIN_ID}", one.id));
        }
        if !seen.insert((tenant.clone(), one.id.clone())) {
            wrong.push(anyhow!("`policies`, `{}`: it is there twice for `{tenant}`", one.id));
        }
        let mut cedar = String::new();
        for file in &one.cedar {
            let text = std::fs::read_to_string(folder.join(file));
            match text {
                Ok(text) => cedar.push_str(&format!("{text}\n")),
                Err(why) => wrong.push(anyhow!(
                    "`policies`, `{}`: `{file}` cannot be read: {}",
                    one.id,
                    in_words(&why)
                )),
            }
        }
        let (description, allow, deny) = (one.description, one.allow, one.deny);
        let text = PolicyText { description, cedar, allow, deny, approve: one.approve };
        all.push(TenantPolicy { tenant, id: one.id, text });
    }
    all
}
