//! The tools that tenants bring along: put beside the registry, and judged before they are written.

use std::collections::BTreeMap;

use haft_core::config::{Change, Entry, Kind};
use haft_core::{Registry, Tool};
use serde_json::Value;

use super::super::{Runtime, Shelves};
use crate::config::{Purpose, Sheet, naming, sheets};
use crate::policy::Problem;

impl Runtime {
    /// Puts what tenants bring along beside the registry in use. Says what is wrong with it.
    pub(super) fn bring(&self, entries: &[Entry]) -> Vec<Problem> {
        let office = &self.inner.office;
        let all = sheets(&office.declared, entries, None);
        office.workshop.tidy(&all);
        let before = self.inner.shelves.load_full();
        let mut problems = Vec::new();
        let mut brought = BTreeMap::new();
        for (tenant, sheets) in &all {
            let place =
                |id: &str, pointer: &str| format!("definition `{id}` of `{tenant}`{pointer}");
            let (tools, found) = self.made(Purpose::Use, &before, tenant, sheets, &place);
            // What is only not good was said when it was written.
            problems.extend(found.into_iter().filter(Problem::is_error));
            brought.insert(tenant.clone(), tools);
        }
        self.inner.shelves.rcu(|now| {
            let mut now = Shelves::clone(now);
            now.bring(brought.clone().into_iter());
            now
        });
        problems
    }

    /// The tools of one tenant.
    pub(super) fn made(
        &self,
        purpose: Purpose,
        shelves: &Shelves,
        tenant: &str,
        sheets: &[Sheet],
        place: &dyn Fn(&str, &str) -> String,
    ) -> (Registry, Vec<Problem>) {
        let common = (&*shelves.current.registry, &shelves.current.stock);
        self.inner.office.workshop.registry(purpose, tenant, sheets, common, place)
    }

    /// Compiles what is new in what somebody sends, where it keeps nobody waiting. What is judged
    /// next finds it done.
    pub(super) async fn try_out(&self, change: &Change) {
        let Some(body) = change.to.clone().filter(|_| change.kind == Kind::Definition) else {
            return;
        };
        if body.to_string().len() > self.inner.settings.max_definition_bytes {
            return;
        }
        let (kind, tenant, id) = (change.kind, change.tenant.clone(), change.id.clone());
        let (version, changed_at_ms, changed_by) = (0, 0, change.by.clone());
        let entry = Entry { kind, tenant, id, version, body, changed_at_ms, changed_by };
        let Some(sheet) = Sheet::read(&entry) else { return };
        self.aside(Purpose::Trial, vec![(entry.tenant, sheet)]).await;
    }

    /// The same for what the store holds and this process has not seen.
    pub(super) async fn prepare(&self, entries: &[Entry]) {
        let all = sheets(&self.inner.office.declared, entries, None);
        let each = all.into_iter().flat_map(|(tenant, sheets)| {
            sheets.into_iter().map(move |sheet| (tenant.clone(), sheet))
        });
        self.aside(Purpose::Use, each.collect()).await;
    }

    async fn aside(&self, purpose: Purpose, mut sheets: Vec<(String, Sheet)>) {
        let workshop = &self.inner.office.workshop;
        sheets.retain(|(tenant, sheet)| workshop.is_new(tenant, sheet));
        if sheets.is_empty() {
            return;
        }
        let inner = self.inner.clone();
        let made = tokio::task::spawn_blocking(move || {
            for (tenant, sheet) in &sheets {
                inner.office.workshop.made(purpose, tenant, sheet);
            }
        });
        // One that broke off is made where it is needed.
        let _ = made.await;
    }

    /// The tool that a sheet makes.
    pub(crate) fn compiled(&self, sheet: &Sheet) -> Option<Tool> {
        self.inner.office.workshop.tool(sheet)
    }

    /// What is wrong with a definition of a tool that the tenant brings along, before it is compiled.
    pub(super) fn brings(&self, entries: &[Entry], change: &Change) -> Vec<Problem> {
        let Some(body) = change.to.as_ref().filter(|_| change.kind == Kind::Definition) else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        let mut wrong = |pointer: &str, message: String, help: &str| {
            problems.push(Problem::error(pointer, message).help(help));
        };
        if !says(body, "contract") {
            if is_own(entries, change) {
                let message =
                    format!("`{}` is this tenant's own, and would have no contract", change.id);
                wrong(
                    "/contract",
                    message,
                    "send its contract with what is to change, or remove it",
                );
            }
            for pointer in ["summary", "doc"].iter().filter(|name| says(body, name)) {
                let message = "only a definition with a `contract` has documents".to_owned();
                wrong(&format!("/{pointer}"), message, "leave it out");
            }
            return problems;
        }
        if says(body, "version") {
            let message = "the version of a tool of one's own stands in its contract".to_owned();
            wrong("/version", message, "leave it out");
        }
        if body.get("source").and_then(Value::as_str) == Some("discovered") {
            let message = "what one brings along was not discovered".to_owned();
            wrong("/source", message, "leave it out");
        }
        self.limits(entries, change, body, &mut wrong);
        let shelves = self.inner.shelves.load();
        let registries: Vec<&Registry> =
            shelves.by_version.values().map(|one| &*one.registry).collect();
        let named = naming(&change.id, &registries, &shelves.current.stock);
        problems.extend(named.map(|problem| Problem { file: "request".into(), ..problem }));
        problems
    }

    /// Says so where a tool that was just brought along is of no use to anybody yet.
    pub(super) fn unused(&self, entry: &Entry) -> Option<Problem> {
        let sheet = Sheet::read(entry)?;
        let enabled = entry.body.get("enabled").and_then(Value::as_bool) != Some(false);
        let agents = self.agents(&entry.tenant).into_iter().filter(|_| enabled);
        let mut states = agents.map(|agent| self.tool_state(&entry.tenant, &agent, &sheet.id));
        let first = states.next()?;
        if first.available || states.any(|state| state.available) {
            return None;
        }
        let why = first.why.map_or("it is not there", |why| why.in_words());
        let message = format!("no agent can use `{}` yet: {why}", sheet.id);
        Some(Problem::warning("request", message).help(first.enable.unwrap_or_default()))
    }

    fn limits(
        &self,
        entries: &[Entry],
        change: &Change,
        body: &Value,
        wrong: &mut dyn FnMut(&str, String, &str),
    ) {
        let settings = &self.inner.settings;
        let size = body.to_string().len();
        let most = settings.max_definition_bytes;
        if size > most {
            let message = format!("the definition has {size} bytes; at most {most} are taken");
            wrong(
                "request",
                message,
                "say it in less, or raise `definitions.max_bytes` in haft.toml",
            );
        }
        let all = sheets(self.declared(), entries, Some(&change.tenant));
        let others = all.values().flatten().filter(|one| one.id != change.id).count();
        let most = settings.max_own_tools;
        if others >= most {
            let message =
                format!("this tenant has {others} tools of its own; at most {most} are taken");
            wrong("request", message, "remove one, or raise `definitions.max_tools` in haft.toml");
        }
    }
}

/// Whether a body says something: nothing is as good as left out.
fn says(body: &Value, name: &str) -> bool {
    body.get(name).is_some_and(|value| !value.is_null())
}

/// Whether what a change is about is a tool that the tenant brings along, as things are now.
pub(super) fn is_own(entries: &[Entry], change: &Change) -> bool {
    let its = |one: &&Entry| {
        (one.kind, &one.tenant, &one.id) == (Kind::Definition, &change.tenant, &change.id)
    };
    let said = entries.iter().find(its);
    change.kind == Kind::Definition && said.is_some_and(|entry| says(&entry.body, "contract"))
}
