#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = haft_build::import::functions(text);
    let _ = haft_build::import::adm(text);
    let _ = haft_build::import::openapi(text, haft_build::import::Given::default());
});
