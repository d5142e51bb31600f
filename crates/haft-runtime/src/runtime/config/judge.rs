//! Whether a change makes sense, before it is written.

use std::collections::BTreeSet;

use haft_core::config::{Change, Entry, Kind};
use haft_core::names::{PLAIN_ID, is_plain_id};
use haft_core::nearest;

use super::super::Runtime;
use super::brought::is_own;
use super::drafts::Drafts;
use super::{loaded, names_in, of_tenant, source_of};
use crate::config::{
    Activation, ChangeError, Merged, Purpose, is_counted, merge, parse, read, sheets,
};
use crate::policy::{Problem, Source};
use crate::toolbox::{Directory, Stocks};

impl Runtime {
    /// The warnings of a change that makes sense.
    pub(super) fn judge(
        &self,
        entries: &[Entry],
        change: &Change,
        drafts: &mut Drafts,
    ) -> Result<Vec<Problem>, ChangeError> {
        let (kind, tenant, id) = (change.kind, change.tenant.as_str(), change.id.as_str());
        if self.is_declared(kind, tenant, id) {
            return Err(ChangeError::Declared);
        }
        let before = entries.iter().find(|one| is(one, change));
        match (before, change.from) {
            (None, 0) if change.to.is_some() => well_named(change)?,
            (None, _) => return Err(ChangeError::Missing),
            (Some(before), from) if before.version == from => {}
            (Some(_), _) => return Err(ChangeError::Stale),
        }
        if let Some(body) = &change.to {
            parse(kind, body).map_err(|problem| ChangeError::Invalid(vec![problem]))?;
        }
        let wrong = self.brings(entries, change);
        if !wrong.is_empty() {
            return Err(ChangeError::Invalid(wrong));
        }
        match kind {
            Kind::Key | Kind::Connection => return Ok(Vec::new()),
            Kind::Tenant if change.to.is_none() => return empty(entries, tenant),
            Kind::Activation => self.loosening(before, change)?,
            Kind::Tenant
            | Kind::Agent
            | Kind::Definition
            | Kind::Delegation
            | Kind::Policy
            | Kind::Grant => {}
        }
        self.fits(entries, change, drafts)
    }

    /// What a change would make of everything else.
    fn fits(
        &self,
        entries: &[Entry],
        change: &Change,
        drafts: &mut Drafts,
    ) -> Result<Vec<Problem>, ChangeError> {
        let then = with(entries, change);
        let (now, now_problems) = self.tried(entries, change, drafts);
        let (then, then_problems) = self.tried(&then, change, drafts);
        let gone = change.to.is_none() && is_own(entries, change);
        let unknown = then.absent.difference(&now.absent);
        // Whoever takes a tool away knows that it is gone; what does not compile says so itself.
        let broken = then_problems.iter().any(Problem::is_error);
        let said = |name: &String| gone || (broken && *name == change.id);
        let unknown: Vec<&String> = unknown.filter(|name| !said(name)).collect();
        if !unknown.is_empty() {
            return Err(ChangeError::Invalid(self.no_such_tools(&change.tenant, &unknown)));
        }
        if then.strays.contains(&(change.kind, change.id.clone())) {
            let message = format!("what the {} is about is not there", change.kind.as_str());
            return Err(ChangeError::Invalid(vec![Problem::error("request", message)]));
        }
        // What was wrong before does not keep anybody from mending the rest.
        let new = then_problems.into_iter().filter(|one| !now_problems.contains(one));
        let (errors, warnings): (Vec<_>, Vec<_>) = new.partition(Problem::is_error);
        if errors.is_empty() { Ok(warnings) } else { Err(ChangeError::Invalid(errors)) }
    }

    /// Everything of the change's tenant together, and all that is wrong with it.
    fn tried(
        &self,
        entries: &[Entry],
        change: &Change,
        drafts: &mut Drafts,
    ) -> (Merged, Vec<Problem>) {
        let shelves = self.inner.shelves.load_full();
        let declared = self.declared();
        let tenant = change.tenant.as_str();
        let mut problems = Vec::new();
        let brought = sheets(declared, entries, Some(tenant)).remove(tenant).map(|sheets| {
            let place = |id: &str, pointer: &str| match (id == change.id, pointer) {
                (true, "") => "request".to_owned(),
                (true, pointer) => pointer.to_owned(),
                (false, pointer) => format!("definition `{id}`{pointer}"),
            };
            let (tools, found) = self.made(Purpose::Trial, &shelves, tenant, &sheets, &place);
            problems.extend(found);
            tools
        });
        let common = &shelves.current.stock;
        let own = brought.as_ref().map(|tools| common.beside(tools, tenant));
        let stocks = Stocks::common(common);
        let stocks = own.iter().fold(stocks, |stocks, own| stocks.with(tenant, own));
        let mut merged = merge(declared, entries, &stocks, Some(tenant));
        problems.append(&mut merged.problems);
        let records = of_tenant(&merged.records, tenant);
        let usual = self.inner.settings.limits();
        match Directory::load_with(&records, &stocks, "request", &merged.absent, &usual) {
            Ok(directory) => problems.extend(directory.warnings().iter().cloned()),
            Err(found) => problems.extend(found),
        }
        if let Some(common) = declared.source.as_ref().filter(|_| is_rule(change.kind)) {
            let own = merged.rules.get(tenant).map(Vec::as_slice).unwrap_or_default();
            let source = source_of(common, &merged.records, tenant, own);
            let mut registries = loaded(&shelves);
            registries.extend(brought.as_ref());
            let elsewhere = names_in(common, &shelves.elsewhere());
            let found = match drafts.load(&source, &registries, &elsewhere) {
                Ok(policy) => policy.warnings().to_vec(),
                Err(found) => found,
            };
            problems.extend(found.into_iter().map(|problem| asked_for(problem, common)));
        }
        (merged, problems)
    }

    fn no_such_tools(&self, tenant: &str, names: &[&String]) -> Vec<Problem> {
        let shelves = self.inner.shelves.load();
        let say = |name: &&String| {
            let ids = shelves.stock(tenant).tools().iter().map(|one| one.tool.id.as_str());
            let problem = Problem::error("request", format!("there is no tool `{name}`"));
            match nearest::find(name, ids) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            }
        };
        names.iter().map(say).collect()
    }

    /// Looser rules are somebody's decision, and that somebody is whoever makes the change.
    fn loosening(&self, before: Option<&Entry>, change: &Change) -> Result<(), ChangeError> {
        let Some(body) = &change.to else { return Ok(()) };
        let said: Activation = serde_json::from_value(body.clone()).map_err(|why| {
            ChangeError::Invalid(vec![Problem::error("request", why.to_string())])
        })?;
        let earlier = before.and_then(|entry| read::<Activation>(entry).ok());
        let kept = earlier.is_some_and(|earlier| {
            earlier.overrides == said.overrides && earlier.approved_by == said.approved_by
        });
        if said.approved_by.as_ref().is_some_and(|who| *who != change.by) && !kept {
            let message = "nobody can approve in somebody else's name";
            return Err(ChangeError::Invalid(vec![Problem::error("request", message)]));
        }
        let shelves = self.inner.shelves.load();
        let stock = shelves.stock(&change.tenant);
        let tool = change.id.rsplit_once('/').and_then(|(_, tool)| stock.get(tool));
        let usual = self.inner.settings.limits();
        let looser = tool.map(|one| said.overrides.loosened(&one.tool.contract, &usual));
        match looser.unwrap_or_default() {
            looser if looser.is_empty() || said.approved_by.is_some() => Ok(()),
            looser => Err(ChangeError::Looser(looser.into_iter().map(str::to_owned).collect())),
        }
    }
}

/// Rules of a tenant stand among those of the installation. Where the files of these are is nothing that
/// a tenant is told: what is wrong with the whole is wrong with what was asked for.
fn asked_for(problem: Problem, common: &Source) -> Problem {
    let in_file = problem.file == common.file;
    if in_file || common.cedar.iter().any(|text| text.file == problem.file) {
        return Problem { file: "request".into(), line: None, ..problem };
    }
    problem
}

/// Whether rules have to be read anew for it. They look at the arguments of what tenants bring along, too.
pub(super) fn is_rule(kind: Kind) -> bool {
    matches!(kind, Kind::Policy | Kind::Delegation | Kind::Grant | Kind::Definition)
}

fn is(entry: &Entry, change: &Change) -> bool {
    entry.kind == change.kind && entry.tenant == change.tenant && entry.id == change.id
}

/// The entries as they would be.
fn with(entries: &[Entry], change: &Change) -> Vec<Entry> {
    let mut then: Vec<Entry> = entries.iter().filter(|one| !is(one, change)).cloned().collect();
    then.extend(change.to.as_ref().map(|body| Entry {
        kind: change.kind,
        tenant: change.tenant.clone(),
        id: change.id.clone(),
        version: change.from + 1,
        body: body.clone(),
        changed_at_ms: 0,
        changed_by: change.by.clone(),
    }));
    then.sort_by(|a, b| (a.kind, &a.tenant, &a.id).cmp(&(b.kind, &b.tenant, &b.id)));
    then
}

/// A tenant goes when nothing of it is left. Keys that were revoked stay on the list, and open nothing.
fn empty(entries: &[Entry], tenant: &str) -> Result<Vec<Problem>, ChangeError> {
    let is_over = |one: &Entry| {
        one.kind == Kind::Key && one.body.get("revoked_at_ms").is_some_and(|at| !at.is_null())
    };
    let left = entries.iter().filter(|one| one.tenant == tenant && one.kind != Kind::Tenant);
    let left = left.filter(|one| !is_over(one));
    let kinds: BTreeSet<&str> = left.map(|one| one.kind.as_str()).collect();
    match kinds.is_empty() {
        true => Ok(Vec::new()),
        false => Err(ChangeError::NotEmpty(
            kinds.iter().map(|kind| format!("its {kind} entries")).collect::<Vec<_>>().join(", "),
        )),
    }
}

const COUNTED_ID: &str = "ids that begin with `declared-` are those of what `haft.toml` declares; \
                          choose another";

/// Names that people choose are plain, so that they can stand in addresses, records and commands.
fn well_named(change: &Change) -> Result<(), ChangeError> {
    let wrong = |message: &str| {
        Err(ChangeError::Invalid(vec![Problem::error("request", message.to_owned())]))
    };
    match change.kind {
        Kind::Tenant | Kind::Agent | Kind::Policy | Kind::Delegation | Kind::Grant => {
            if !is_plain_id(&change.id) {
                return wrong(PLAIN_ID);
            }
            let by_place = matches!(change.kind, Kind::Delegation | Kind::Grant);
            if by_place && is_counted(&change.id) {
                return wrong(COUNTED_ID);
            }
            if change.kind == Kind::Tenant && change.tenant != change.id {
                return wrong("a tenant belongs to itself");
            }
            Ok(())
        }
        Kind::Definition | Kind::Activation | Kind::Key | Kind::Connection => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_core::Principal;
    use haft_exec::Executors;
    use haft_store::Memory;
    use serde_json::{Value, json};

    use super::*;
    use crate::toolbox::Records;

    #[tokio::test]
    async fn where_the_files_of_the_installation_are_is_not_told_to_a_tenant() {
        let registry = crate::guide::registry().unwrap().clone();
        let source = Source { file: "/srv/secret/haft.toml".into(), ..Source::default() };
        let runtime =
            Runtime::builder(registry, Arc::new(Memory::new()), Arc::new(Executors::new()))
                .records(Records::of_one("ours", "helper"))
                .source(source)
                .build()
                .unwrap();
        let change = |id: &str, body: Value| {
            let (tenant, id, by) = ("ours".to_owned(), id.to_owned(), Principal::user("boss"));
            Change { kind: Kind::Policy, tenant, id, from: 0, to: Some(body), by }
        };
        let warned = runtime.change(change("one", json!({"allow": ["mcp__hub__*"]}))).await;
        let said: Vec<_> = warned.unwrap().warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["request: allow: `mcp__hub__*` fits no tool that is known now"]);
        let refused = runtime.change(change("two", json!({"deny": ["a**b["]}))).await.unwrap_err();
        assert!(refused.to_string().starts_with("request: deny"), "{refused}");
    }
}
