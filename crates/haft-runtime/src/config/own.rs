//! Tools that tenants bring along: read out of definitions, compiled, and held against all others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use haft_core::config::{Entry, Kind};
use haft_core::names::SEPARATOR;
use haft_core::port::{Define, Draft, Flaw};
use haft_core::{Digest, Registry, Tool};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::bodies;
use super::declared::Declared;
use crate::policy::Problem;
use crate::toolbox::{Definition, Stock};

/// The first part of namespaces that are not for tenants: ours, and those of gateways.
const RESERVED: [&str; 4] = ["haft", "mcp", "composio", "grid"];

/// What was written down of one tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) id: String,
    contract: Value,
    summary: Option<String>,
    doc: Option<String>,
}

impl Sheet {
    fn of(definition: &Definition) -> Option<Self> {
        Some(Self {
            id: definition.tool.clone(),
            contract: definition.contract.clone()?,
            summary: definition.summary.clone(),
            doc: definition.doc.clone(),
        })
    }

    /// What an entry says, where it is about a tool that the tenant brings along.
    pub(crate) fn read(entry: &Entry) -> Option<Self> {
        entry.body.get("contract").filter(|_| entry.kind == Kind::Definition)?;
        // One that cannot be read is reported where it is merged.
        let said: bodies::Definition = bodies::read(entry).ok()?;
        let (contract, summary, doc) = (said.contract?, said.summary, said.doc);
        Some(Self { id: entry.id.clone(), contract, summary, doc })
    }
}

/// Everything that tenants bring along, declared and stored; of one tenant where one is named.
pub(crate) fn sheets(
    declared: &Declared,
    entries: &[Entry],
    only: Option<&str>,
) -> BTreeMap<String, Vec<Sheet>> {
    let meant = |tenant: &str| only.is_none_or(|only| only == tenant);
    let mut all: BTreeMap<String, Vec<Sheet>> = BTreeMap::new();
    for tenant in declared.records.tenants.iter().filter(|one| meant(&one.id)) {
        for sheet in tenant.definitions.iter().filter_map(Sheet::of) {
            all.entry(tenant.id.clone()).or_default().push(sheet);
        }
    }
    for entry in entries.iter().filter(|one| meant(&one.tenant)) {
        let Some(sheet) = Sheet::read(entry) else { continue };
        let theirs = all.entry(entry.tenant.clone()).or_default();
        if !theirs.iter().any(|one| one.id == sheet.id) {
            theirs.push(sheet);
        }
    }
    all
}

pub(crate) type Made = (Option<Arc<Tool>>, Arc<[Flaw]>);

/// Compiles sheets, and remembers what came of those that are in force. What is only tried is
/// compiled and forgotten: drafts that are refused would pile up.
#[derive(Default)]
pub(crate) struct Workshop {
    define: Option<Arc<dyn Define>>,
    made: Mutex<HashMap<(String, String), (Sheet, Made)>>,
    /// What was tried last: most often it is in force a moment later.
    tried: Mutex<Option<(Sheet, Made)>>,
}

/// What sheets are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They are in force.
    Use,
    /// Somebody wants to know what would come of them.
    Trial,
}

impl Workshop {
    pub(crate) fn new(define: Option<Arc<dyn Define>>) -> Self {
        Self { define, made: Mutex::default(), tried: Mutex::default() }
    }

    /// The tools of one tenant as a registry, beside the tools that everybody has; and what is wrong.
    /// A tool with something wrong is left out, and takes no other with it.
    pub(crate) fn registry(
        &self,
        purpose: Purpose,
        tenant: &str,
        sheets: &[Sheet],
        common: (&Registry, &Stock),
        place: &dyn Fn(&str, &str) -> String,
    ) -> (Registry, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(sheets.len());
        for sheet in sheets {
            let (tool, flaws) = self.made(purpose, tenant, sheet);
            problems.extend(flaws.iter().map(|flaw| said(flaw, &place(&sheet.id, &flaw.pointer))));
            let Some(tool) = tool else { continue };
            let others = tools.iter().map(|one| one.id.as_str());
            match clash(&tool.id, common.1, others) {
                Some(problem) => problems.push(Problem { file: place(&tool.id, ""), ..problem }),
                None => tools.push(tool),
            }
        }
        problems.extend(self.relations(&tools, common.1, place));
        tools.sort_by(|one, other| one.id.cmp(&other.id));
        (together(&tools, common.0), problems)
    }

    /// Forgets what no sheet speaks of any more.
    pub(crate) fn tidy(&self, all: &BTreeMap<String, Vec<Sheet>>) {
        let known: BTreeSet<(&str, &str)> = all
            .iter()
            .flat_map(|(tenant, sheets)| {
                sheets.iter().map(|one| (tenant.as_str(), one.id.as_str()))
            })
            .collect();
        self.made.lock().retain(|(tenant, id), _| known.contains(&(tenant.as_str(), id.as_str())));
    }

    /// The tool that a sheet makes, where it makes one.
    pub(crate) fn tool(&self, sheet: &Sheet) -> Option<Tool> {
        self.compile(sheet).0.as_deref().cloned()
    }

    /// Whether it would have to be compiled.
    pub(crate) fn is_new(&self, tenant: &str, sheet: &Sheet) -> bool {
        let key = (tenant.to_owned(), sheet.id.clone());
        self.made.lock().get(&key).is_none_or(|(from, _)| from != sheet)
    }

    /// What comes of a sheet, from what was made before or anew.
    pub(crate) fn made(&self, purpose: Purpose, tenant: &str, sheet: &Sheet) -> Made {
        let key = (tenant.to_owned(), sheet.id.clone());
        if let Some((from, made)) = self.made.lock().get(&key)
            && from == sheet
        {
            return made.clone();
        }
        let tried = self.tried.lock().take_if(|(from, _)| from == sheet);
        let made = tried.map_or_else(|| self.compile(sheet), |(_, made)| made);
        let kept = (sheet.clone(), made.clone());
        match purpose {
            Purpose::Use => {
                self.made.lock().insert(key, kept);
            }
            Purpose::Trial => *self.tried.lock() = Some(kept),
        }
        made
    }

    fn compile(&self, sheet: &Sheet) -> Made {
        let Some(define) = &self.define else {
            let flaw = Flaw {
                is_error: true,
                pointer: "/contract".into(),
                code: "H120",
                message: "this program has nothing that compiles contracts".into(),
                help: Some("add the tool to the toolset".into()),
            };
            return (None, [flaw].into());
        };
        let draft = Draft {
            id: &sheet.id,
            contract: &sheet.contract,
            summary: sheet.summary.as_deref(),
            doc: sheet.doc.as_deref(),
        };
        let (tool, flaws) = define.define(&draft);
        (tool.map(Arc::new), flaws.into())
    }

    /// What tools say about each other, and about those that everybody has.
    fn relations(
        &self,
        tools: &[Arc<Tool>],
        common: &Stock,
        place: &dyn Fn(&str, &str) -> String,
    ) -> Vec<Problem> {
        let Some(define) = &self.define else { return Vec::new() };
        let mut problems = Vec::new();
        for tool in tools {
            let mentioned = mentioned(tool);
            if mentioned.is_empty() {
                continue;
            }
            let named = |one: &Tool| {
                mentioned.iter().any(|name| *name == one.id || *name == one.contract.tool_id)
            };
            let own = tools.iter().map(|one| &**one).filter(|one| named(one));
            let theirs = common.tools().iter().map(|one| &*one.tool).filter(|one| named(one));
            let others: Vec<&Tool> = own.chain(theirs).collect();
            let flaws = define.relate(tool, &others);
            problems.extend(flaws.iter().map(|flaw| said(flaw, &place(&tool.id, &flaw.pointer))));
        }
        problems
    }
}

/// The tools that a contract speaks of.
fn mentioned(tool: &Tool) -> Vec<&str> {
    let contract = &tool.contract;
    let undo = contract.compensation.as_ref().map(|one| one.tool.as_str());
    let probe = contract.probe.as_ref().map(|one| one.tool.as_str());
    let later = contract.deprecated.as_ref().and_then(|one| one.replacement.as_deref());
    [undo, probe, later].into_iter().flatten().collect()
}

/// Why an id cannot stand beside the others.
fn clash<'a>(
    id: &str,
    common: &Stock,
    mut others: impl Iterator<Item = &'a str>,
) -> Option<Problem> {
    let wrong = |message: String| Problem::error("", message).help("define it under another id");
    if let Some(other) = common.alike(id) {
        return Some(wrong(match other.tool.id == id {
            true => format!("`{id}` is a tool that everybody has; a definition cannot replace it"),
            false => format!("`{id}` cannot be told apart from `{}`", other.tool.id),
        }));
    }
    let other = others.find(|other| other.eq_ignore_ascii_case(id))?;
    Some(wrong(format!("`{id}` cannot be told apart from `{other}`")))
}

/// What is wrong with the name of a tool that is to be written, beside what is wrong with it for ever:
/// a toolset that gains a tool later must not take the tenant's away.
pub(crate) fn naming(id: &str, registries: &[&Registry], common: &Stock) -> Option<Problem> {
    let (namespace, own) = id.rsplit_once(SEPARATOR)?;
    let first = namespace.split(SEPARATOR).next().unwrap_or_default();
    let mut taken = registries.iter().map(|one| one.namespace.as_str());
    if RESERVED.iter().any(|one| first.eq_ignore_ascii_case(one))
        || taken.any(|one| one.eq_ignore_ascii_case(namespace))
    {
        let message = format!("the namespace `{namespace}` is not for tools of a tenant");
        let help = format!("use one of your own: `acme__{own}`");
        return Some(Problem::error("", message).help(help));
    }
    let mut all = common.tools().iter();
    let other = all.find(|one| one.tool.contract.tool_id.eq_ignore_ascii_case(own))?;
    let message = format!(
        "`{own}` is the short name of `{}`, so neither could be called by it",
        other.tool.id
    );
    Some(Problem::error("", message).help("give it another `toolId`, and an id that ends in it"))
}

fn said(flaw: &Flaw, place: &str) -> Problem {
    let message = format!("{} [{}]", flaw.message, flaw.code);
    let problem = match flaw.is_error {
        true => Problem::error(place, message),
        false => Problem::warning(place, message),
    };
    match &flaw.help {
        Some(help) => problem.help(help.clone()),
        None => problem,
    }
}

/// Tools as a registry of their own. Its version stands for exactly these.
fn together(tools: &[Arc<Tool>], common: &Registry) -> Registry {
    let ids: Vec<Value> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!(ids));
    let version = digest.hex().get(..16).unwrap_or_default().to_owned();
    Registry {
        version,
        digest,
        namespace: common.namespace.clone(),
        prompts: BTreeMap::new(),
        tools: tools.iter().map(|tool| Tool::clone(tool)).collect(),
        build: common.build.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(n: usize) -> Sheet {
        let contract = json!({ "toolId": format!("t{n}") });
        Sheet { id: format!("crm__t{n}"), contract, summary: None, doc: None }
    }

    #[test]
    fn of_what_is_tried_only_the_last_is_remembered() {
        let workshop = Workshop::new(None);
        for n in 0..100 {
            workshop.made(Purpose::Trial, "acme", &sheet(n));
        }
        assert_eq!(workshop.made.lock().len(), 0);
        assert_eq!(workshop.tried.lock().as_ref().map(|(sheet, _)| sheet.clone()), Some(sheet(99)));
        // Once it is in force it is remembered as such.
        let (_, flaws) = workshop.made(Purpose::Trial, "acme", &sheet(99));
        let (_, same) = workshop.made(Purpose::Use, "acme", &sheet(99));
        assert!(Arc::ptr_eq(&flaws, &same), "it is not compiled again");
        assert!(workshop.tried.lock().is_none() && !workshop.is_new("acme", &sheet(99)));
        workshop.tidy(&BTreeMap::new());
        assert_eq!(workshop.made.lock().len(), 0);
    }
}
