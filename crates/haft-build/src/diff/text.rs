//! The report for people.

use haft_core::contract::Effect;

use super::bump::Made;
use super::change::{Change, Impact};
use super::tool::ToolDiff;
use super::{Diff, Listed};

pub(super) fn render(diff: &Diff) -> String {
    let versions = format!("registry {} → {}", diff.old, diff.new);
    if diff.is_empty() {
        // The versions may still differ: what another compiler derives from a contract counts.
        return format!("{versions}: nothing changed\n");
    }
    let mut lines = vec![versions];
    lines.extend(diff.changes.iter().map(line));
    section(&mut lines, "look at these:", look_at(diff));
    for tool in &diff.changed {
        let mut details: Vec<String> = tool.changes.iter().map(line).collect();
        details.extend(debt(tool).map(|debt| format!("  it {debt}")));
        if details.is_empty() {
            details.push("  only the version changed".to_owned());
        }
        let versions = format!("{} → {}", tool.old_version, tool.new_version);
        section(&mut lines, &format!("{} {versions}", tool.id), details);
    }
    section(&mut lines, "added:", diff.added.iter().map(listed).collect());
    section(&mut lines, "removed:", diff.removed.iter().map(listed).collect());
    section(&mut lines, &summary(diff), Vec::new());
    let mut text = lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

/// A heading and its lines, apart from what came before. A heading that announces lines is left
/// out when there are none.
fn section(lines: &mut Vec<String>, heading: &str, inside: Vec<String>) {
    if !heading.ends_with(':') || !inside.is_empty() {
        lines.push(String::new());
        lines.push(heading.to_owned());
        lines.extend(inside);
    }
}

fn line(change: &Change) -> String {
    format!("  {:<10}  {}", change.impact.as_str(), change.what)
}

fn listed(tool: &Listed) -> String {
    format!("  {} {} ({})", tool.id, tool.version, tool.effect.as_str())
}

/// What makes a tool able to do more, wherever it stands below.
fn look_at(diff: &Diff) -> Vec<String> {
    let changes = diff.changed.iter().flat_map(|tool| {
        let marked = tool.changes.iter().filter(|change| change.review);
        marked.map(|change| format!("  {}: {}", tool.id, change.what))
    });
    let acting = diff.added.iter().filter(|tool| tool.effect > Effect::ReadOnly);
    let added = acting.map(|tool| format!("  {}: new, with `{}`", tool.id, tool.effect.as_str()));
    changes.chain(added).collect()
}

/// What a tool's version still owes.
fn debt(tool: &ToolDiff) -> Option<String> {
    let step = format!("{} → {}", tool.old_version, tool.new_version);
    match tool.made {
        _ if tool.paid => None,
        Made::Backwards => Some(format!("goes backwards ({step})")),
        Made::None => {
            Some(format!("owes a {} bump (still {})", tool.owes.as_str(), tool.new_version))
        }
        Made::Patch | Made::Minor | Made::Major => {
            Some(format!("owes a {} bump ({step} is too small)", tool.owes.as_str()))
        }
    }
}

fn summary(diff: &Diff) -> String {
    let counts = [
        (diff.added.len(), "added"),
        (diff.removed.len(), "removed"),
        (diff.changed.len(), "changed"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    let tools = if counts.is_empty() { "no tool changed".to_owned() } else { counts.join(", ") };
    let breaking = diff.removed.len()
        + diff.all_changes().filter(|change| change.impact == Impact::Breaking).count();
    let breaking = match breaking {
        0 => "nothing breaks".to_owned(),
        1 => "1 breaking change".to_owned(),
        count => format!("{count} breaking changes"),
    };
    let debts =
        diff.changed.iter().filter_map(|tool| Some(format!("; {} {}", tool.id, debt(tool)?)));
    format!("{tools}: {breaking}{}", debts.collect::<String>())
}

/// Names come out of contracts that others wrote. A report is read in terminals, where some
/// characters move the cursor or turn text around.
fn visible(line: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
    let hides = |c: char| c.is_control() || turns(c) || hidden(c);
    line.chars().fold(String::with_capacity(line.len()), |mut text, c| {
        if hides(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
        text
    })
}
