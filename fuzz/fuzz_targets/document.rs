#![no_main]
use haft_build::build::{Reuse, check};
use haft_core::contract::Category;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = tempfile::tempdir().unwrap();
    haft_build::scaffold::create(folder.path(), "echo", Category::Utility).unwrap();
    for file in ["doc.md", "handler.js"] {
        std::fs::write(folder.path().join("tools/echo").join(file), text).unwrap();
    }
    check(folder.path(), Reuse::Nothing, &|_, _| {}).unwrap();
});
