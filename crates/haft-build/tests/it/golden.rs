//! What crosses a boundary, as files to read in review.

use haft_build::diagnostic::render::{Colour, Show, github, json, sarif, text};
use haft_core::contract::{Category, Mode};
use serde_json::{Value, json};

use crate::workshop::Workshop;

/// A toolset with one mistake of most kinds.
fn broken() -> Workshop {
    let workshop = Workshop::new();
    workshop.add("send", Category::Action);
    workshop.patch(
        "send",
        json!({
            "category": "acton",
            "sideEfects": "none",
            "parameters": {"properties": {"müßig": {"type": "string", "pattern": "(?=x)"}}}
        }),
    );
    workshop.replace("tools/echo/doc.md", "\"two words\"", "7");
    workshop.remove("tools/echo/doc_summary.md");
    workshop
}

#[test]
fn diagnostics_for_people() {
    let workshop = broken();
    let shown = text(&workshop.check().diagnostics, workshop.root(), "", Show::Some, Colour::No);
    insta::assert_snapshot!(shown);
}

#[test]
fn diagnostics_for_github() {
    insta::assert_snapshot!(github(&broken().check().diagnostics, "toolsets/mine/"));
}

#[test]
fn diagnostics_for_scripts() {
    insta::assert_json_snapshot!(json(&broken().check().diagnostics));
}

#[test]
fn diagnostics_as_sarif() {
    let mut log = sarif(&broken().check().diagnostics, "toolsets/mine/");
    for rule in log["runs"][0]["tool"]["driver"]["rules"].as_array_mut().unwrap() {
        rule["help"] = json!("(the page)");
        rule["shortDescription"] = json!("(its title)");
    }
    log["runs"][0]["tool"]["driver"]["version"] = json!("(the version)");
    insta::assert_json_snapshot!(log);
}

#[test]
fn a_registry() {
    let text = Workshop::new().check().write(None).unwrap();
    let mut registry: Value = serde_json::from_str(&text).unwrap();
    registry["build"] = json!("(how it came about)");
    insta::assert_json_snapshot!(registry);
}

#[test]
fn a_prompt() {
    let workshop = Workshop::new();
    workshop.add("find", Category::Retrieval);
    workshop.write("core.md", "# Policy\n\nBe kind.\n");
    workshop.write("toolset.toml", "namespace = \"core\"\n[prompts]\ncore = \"core.md\"\n");
    let registry = workshop.check().registry().unwrap();
    insta::assert_snapshot!(haft_build::prompt::compose(&registry, Mode::Voice));
}
