//! What callers make up does not forge lines, nor speak to the terminal.

use crate::project::Project;

#[test]
fn one_call_is_one_line_whatever_it_is_called() {
    let project = Project::new();
    let forged = "gr\u{1b}[2Jeet\r\nFAKE\u{2028}\u{9b}31m\u{202e}x";
    let long = "x".repeat(100_000);
    for name in [forged, &long] {
        let said = project.run(&["call", name, "--args", "{}", "--id", forged]);
        assert_eq!(said.code, 1, "{said:?}");
        for text in [&said.out, &said.err] {
            assert!(!text.contains(['\u{1b}', '\r', '\u{2028}', '\u{9b}', '\u{202e}']), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{text:?}");
            assert!(text.len() < 2_000, "{} bytes", text.len());
        }
    }
    let listed = project.run(&["calls"]);
    assert_eq!(listed.out.lines().count(), 3, "a head and two calls: {listed:?}");
    assert!(!listed.out.contains(['\u{1b}', '\r', '\u{2028}', '\u{9b}', '\u{202e}']), "{listed:?}");
    assert!(listed.out.len() < 2_000, "{} bytes", listed.out.len());
}
