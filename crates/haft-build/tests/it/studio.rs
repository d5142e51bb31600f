//! The bundled toolset is what we tell others to imitate.

use std::path::Path;

use haft_build::build::{Reuse, check};
use haft_build::prompt::compose;
use haft_core::contract::Mode;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../toolsets/studio"))
}

#[test]
fn it_has_every_standard_tool_and_no_warning() {
    let checked = check(root(), Reuse::Nothing, &|_, _| {}).unwrap();
    let lines: Vec<String> = checked.diagnostics.iter().map(|d| d.one_line()).collect();
    assert_eq!(lines, Vec::<String>::new());
    let registry = checked.registry().unwrap();
    for tool in [
        "ignore_user",
        "end_voice_session",
        "kb_search",
        "kb_get",
        "linkedin_lookup",
        "calendar_propose_event",
        "calendar_create_event",
        "calendar_cancel_event",
        "image_draft_prompt",
        "image_generate",
        "extract_contacts",
        "rank_results",
        "format_datetime",
        "get_current_time",
        "send_image",
    ] {
        assert!(registry.find(tool).is_some(), "{tool}");
    }
}

#[test]
fn the_prompt_of_a_mode_offers_the_tools_of_that_mode() {
    let registry = check(root(), Reuse::Nothing, &|_, _| {}).unwrap().registry().unwrap();
    let (text, voice) = (compose(&registry, Mode::Text), compose(&registry, Mode::Voice));
    for prompt in [&text, &voice] {
        assert!(prompt.contains(&format!("# Available Tools (v{})", registry.version)));
        assert!(prompt.contains("**core__kb_search** (retrieval): "));
        assert!(!prompt.contains("## Failure Modes"), "full documents come on demand");
    }
    assert!(
        text.contains("core__calendar_create_event")
            && !voice.contains("**core__calendar_create_event")
    );
    assert!(
        voice.contains("core__end_voice_session") && !text.contains("**core__end_voice_session")
    );
}
