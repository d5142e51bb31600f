//! A folder without a project has the bundled tools.

use std::fs;
use std::process::Command;

#[test]
fn the_bundled_tools_are_tested_where_there_is_no_project() {
    let name = format!("haft-it-bundled-{}", std::process::id());
    // The target's own folder is below the checkout, which is a project.
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let test = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        let output = command.current_dir(&folder).arg("test").args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, err) = test(&["rank_results", "kb_search"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(err.contains("using the bundled example"), "{err}");
    assert!(out.contains("core__kb_search") || out.contains("kb_search"), "{out}");
    let (code, out, err) = test(&["--toolset", "nowhere"]);
    assert_ne!(code, Some(0), "{out}{err}");
    assert!(!err.contains("bundled"), "{err}");
    fs::write(folder.join("file"), "").unwrap();
    for (named, words) in
        [("file", "`file` is a file, not a toolset"), ("nowhere", "`nowhere` is not a toolset")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        let command = command.current_dir(&folder).args(["lint", "--toolset", named]);
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && err.contains(words), "{err}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
