#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(tool) = haft_adm::Tool::parse(text) {
        let written = serde_json_text(&tool);
        assert_eq!(haft_adm::Tool::parse(&written).unwrap(), tool);
    }
    let _ = haft_adm::FunctionCall::parse(text);
    let _ = haft_adm::ToolResult::parse(text);
});

fn serde_json_text(tool: &haft_adm::Tool) -> String {
    haft_core::digest::canonical(&serde_json::to_value(tool).unwrap())
}
