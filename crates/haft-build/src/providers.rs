//! What providers cannot say of a toolset, before anyone asks them to.

use std::collections::BTreeMap;

use haft_core::Tool;
use haft_core::names::id_of_folder;
use haft_wire::tools::profile::Profile;
use haft_wire::{Fate, Target};

use crate::build::Checked;
use crate::code;
use crate::diagnostic::{Diagnostic, File, Findings, Texts};
use crate::toolset::{TOOLS, Toolset};

/// Everything in the tools' parameters that these targets are told otherwise than a contract says
/// it, or not at all; one finding for each place and keyword. What is changed on the way out and
/// undone on the way back is no finding, nor is a keyword that `portability.allow` lists, nor one
/// that rules nothing out.
#[must_use]
pub fn check(checked: &Checked, targets: &[Target]) -> Vec<Diagnostic> {
    let Some(toolset) = &checked.toolset else { return Vec::new() };
    let targets = distinct(targets);
    let folders = toolset.folders().map(|(folders, _)| folders).unwrap_or_default();
    let tools = checked.entries.iter().filter_map(|entry| serde_json::from_str(&entry.json).ok());
    tools
        .flat_map(|tool: Tool| {
            let mine = |folder: &&String| id_of_folder(folder) == tool.contract.tool_id;
            let folder = folders.iter().find(mine).cloned().unwrap_or_default();
            let place = format!("{TOOLS}/{folder}");
            findings(&tool, &targets).locate(&place, &[], &Contract::read(toolset, &place))
        })
        .collect()
}

/// Targets that can say the same are one.
fn distinct(targets: &[Target]) -> Vec<Target> {
    let mut distinct: Vec<Target> = Vec::new();
    for target in targets {
        let same = |known: &Target| std::ptr::eq(Profile::of(*known), Profile::of(*target));
        if !distinct.iter().any(same) {
            distinct.push(*target);
        }
    }
    distinct
}

fn findings(tool: &Tool, targets: &[Target]) -> Findings {
    let mut losses: BTreeMap<(String, String), Vec<(String, Fate)>> = BTreeMap::new();
    let mut out = Findings::default();
    for target in targets {
        let rendering = target.render([tool]);
        for loss in rendering.report.into_iter().filter(|loss| loss.fate.is_loss()) {
            // Nobody can do anything about an API that describes no results.
            let idle = loss.pointer.starts_with("/output") || is_remark(&loss.keyword);
            if !idle && !is_accepted(tool, &loss.keyword) {
                let told = losses.entry((loss.pointer, loss.keyword)).or_default();
                told.push((target.name(), loss.fate));
            }
        }
        for left_out in rendering.quarantined {
            let message =
                format!("`{}` cannot be shown this tool: {}", target.name(), left_out.reason);
            out.contract(&code::LEFT_OUT, left_out.pointer, message)
                .help("the other tools are shown; say this part in a plainer way");
        }
    }
    for ((pointer, keyword), told) in losses {
        let each: Vec<String> =
            told.iter().map(|(name, fate)| format!("`{name}` ({})", fate.as_str())).collect();
        let message = format!("`{keyword}` is not said as it stands to {}", each.join(", "));
        let worst = told.iter().map(|(_, fate)| *fate).max().unwrap_or(Fate::Changed);
        let is_key = pointer.ends_with(&format!("/{keyword}"));
        let finding = match is_key {
            true => out.contract_key(&code::UNSAID, pointer, message),
            false => out.contract(&code::UNSAID, pointer, message),
        };
        finding.help(advice(worst));
    }
    out
}

/// Keywords that rule nothing out: a default or an example that moves into the description is told
/// as well there, and a title is for people.
fn is_remark(keyword: &str) -> bool {
    matches!(
        keyword,
        "default"
            | "examples"
            | "title"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "$schema"
    )
}

fn is_accepted(tool: &Tool, keyword: &str) -> bool {
    let portability = tool.contract.portability.as_ref();
    portability.is_some_and(|portability| portability.allow.iter().any(|word| word == keyword))
}

fn advice(worst: Fate) -> &'static str {
    match worst {
        Fate::Changed | Fate::Described => {
            "the model is told in the description; calls are checked against the contract all the same"
        }
        Fate::Approximated | Fate::Dropped => {
            "the model is told less than the contract demands; say it in the description as well"
        }
    }
}

/// The contract's text, for places.
struct Contract(Option<String>);

impl Contract {
    fn read(toolset: &Toolset, place: &str) -> Self {
        Self(std::fs::read_to_string(toolset.root.join(place).join(File::Contract.name())).ok())
    }
}

impl Texts for Contract {
    fn text(&self, file: &File) -> Option<&str> {
        match file {
            File::Contract => self.0.as_deref(),
            File::Folder | File::Summary | File::Doc | File::Tests | File::Named(_) => None,
        }
    }
}
