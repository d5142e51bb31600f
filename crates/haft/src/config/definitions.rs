//! `[definitions]`: what tenants may bring along, and the folders of what is declared of it.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use haft_exec::http::Range;
use haft_runtime::Settings;
use haft_runtime::toolbox::{Definition, Tenant};
use serde::Deserialize;
use serde_json::Value;

use crate::output::in_words;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawDefinitions {
    max_tools: Option<usize>,
    max_bytes: Option<usize>,
    max_runtime_ms: Option<u64>,
    allow: Vec<String>,
}

impl RawDefinitions {
    /// Puts the numbers into the settings, and gives the addresses that tenants' tools may reach
    /// although they are not public.
    pub(super) fn resolve(
        self,
        settings: &mut Settings,
        wrong: &mut Vec<anyhow::Error>,
    ) -> Vec<Range> {
        settings.max_own_tools = self.max_tools.unwrap_or(settings.max_own_tools);
        settings.max_definition_bytes = self.max_bytes.unwrap_or(settings.max_definition_bytes);
        let most = haft_core::contract::Limits::LONGEST_RUNTIME_MS;
        super::at_most("definitions", &[("max_runtime_ms", self.max_runtime_ms, most)], wrong);
        match self.max_runtime_ms {
            Some(0) => wrong
                .push(anyhow!("`definitions.max_runtime_ms`: nothing could be called; 1 or more")),
            Some(ms) => settings.max_own_runtime = Duration::from_millis(ms),
            None => {}
        }
        if settings.max_definition_bytes > haft_core::config::MAX_ENTRY_BYTES {
            let most = haft_core::config::MAX_ENTRY_BYTES;
            wrong.push(anyhow!(
                "`definitions.max_bytes`: an entry of the store has {most} bytes at most"
            ));
        }
        super::ranges("definitions.allow", &self.allow, wrong)
    }
}

/// Reads the folders of tools that are declared with one.
pub(super) fn folders(tenants: &mut [Tenant], beside: &Path, wrong: &mut Vec<anyhow::Error>) {
    for tenant in tenants {
        for one in &mut tenant.definitions {
            let Some(folder) = one.folder.take() else { continue };
            let place = format!("`tenants.definitions`, `{}` of tenant `{}`", one.tool, tenant.id);
            if one.contract.is_some() || one.summary.is_some() || one.doc.is_some() {
                wrong.push(anyhow!(
                    "{place}: contract and documents stand in `folder`; leave the others out"
                ));
                continue;
            }
            let mut faults = Vec::new();
            read(one, &beside.join(&folder), &mut faults);
            wrong.extend(faults.iter().map(|why| anyhow!("{place}: `{folder}`: {why}")));
        }
    }
}

fn read(definition: &mut Definition, folder: &Path, wrong: &mut Vec<String>) {
    let mut text = |name: &str| match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => Some(text.replace("\r\n", "\n")),
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                wrong.push(format!("`{name}` cannot be read: {}", in_words(&error)));
            } else if name == "schema.json" {
                wrong.push("it has no `schema.json`".to_owned());
            }
            None
        }
    };
    let contract = text("schema.json");
    definition.summary = text("doc_summary.md");
    definition.doc = text("doc.md");
    // A folder that is not there has no contract, which is said.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("handler") {
            wrong.push(format!(
                "`{name}` would be run: tenants bring along HTTP requests alone; add the tool to \
                 the toolset"
            ));
        }
    }
    match contract.as_deref().map(strict) {
        Some(Ok(contract)) => definition.contract = Some(contract),
        Some(Err(why)) => wrong.push(why),
        None => {}
    }
}

/// Read as the compiler reads contracts: no key twice, nothing rounded.
fn strict(text: &str) -> Result<Value, String> {
    haft_adm::strict::parse(text, haft_adm::strict::Limits::default()).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("`schema.json`: {}", all.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a definition of a tenant, read beside the bundled tools.
    fn read(said: &str) -> Result<Tenant, String> {
        let text = format!("id = \"acme\"\n[[definitions]]\ntool = \"crm__x\"\n{said}");
        let tenant: Tenant = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        let mut tenants = vec![tenant];
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../toolsets/studio/tools");
        let mut wrong = Vec::new();
        folders(&mut tenants, &beside, &mut wrong);
        match wrong.first() {
            Some(error) => Err(format!("{error:#}")),
            None => Ok(tenants.remove(0)),
        }
    }

    #[test]
    fn a_folder_stands_for_contract_and_documents() {
        let tenant = read("folder = \"get-current-time\"").unwrap();
        let one = &tenant.definitions[0];
        let said = one.contract.as_ref().and_then(|contract| contract.get("toolId"));
        assert_eq!(said.and_then(Value::as_str), Some("get_current_time"));
        assert!(one.is_own() && one.folder.is_none());
        assert!(one.summary.is_some() && one.doc.as_ref().is_some_and(|doc| doc.contains("## ")));
        let inline = read("summary = \"s\"\n[definitions.contract]\ntoolId = \"x\"").unwrap();
        assert_eq!(inline.definitions[0].contract, Some(serde_json::json!({"toolId": "x"})));
    }

    #[test]
    fn a_folder_that_is_none_says_why() {
        for (said, why) in [
            ("folder = \"nowhere\"", "it has no `schema.json`"),
            ("folder = \"kb-search\"", "`handler.js` would be run"),
            ("folder = \"kb-search\"\ndoc = \"x\"", "leave the others out"),
            ("folders = \"kb-search\"", "unknown field `folders`"),
        ] {
            let refused = read(said).unwrap_err();
            assert!(refused.contains(why), "{said}: {refused}");
        }
    }

    #[test]
    fn numbers_and_ranges_are_checked() {
        let resolve = |text: &str| {
            let raw: RawDefinitions = toml::from_str(text).unwrap();
            let (mut settings, mut wrong) = (Settings::default(), Vec::new());
            let found = raw.resolve(&mut settings, &mut wrong);
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            (found.len(), settings.max_own_tools, wrong.join("; "))
        };
        assert_eq!(resolve(""), (0, 100, String::new()));
        assert_eq!(resolve("max_tools = 3\nallow = [\"10.0.0.0/8\"]"), (1, 3, String::new()));
        let said = resolve("allow = [\"ten\", \"x\"]\nmax_runtime_ms = 0\nmax_bytes = 9999999").2;
        for (name, often) in [("definitions.allow", 2), ("max_runtime_ms", 1), ("max_bytes", 1)] {
            assert_eq!(said.matches(name).count(), often, "{said}");
        }
    }
}
