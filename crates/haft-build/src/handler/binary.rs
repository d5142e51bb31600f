//! Handlers that are no source: WebAssembly components and executables.

use std::path::Path;

use crate::code;
use crate::diagnostic::{At, File, Findings};

/// Checks a `.wasm` file for what it claims to be, and anything else for being executable.
pub(crate) fn check(name: &str, path: &Path, bytes: &[u8], findings: &mut Findings) {
    if name.ends_with(".wasm") {
        wasm(name, bytes, findings);
    } else {
        process(name, path, bytes, findings);
    }
}

/// `\0asm`, then the version and the layer in two bytes each: a component is 13 on layer 1, a
/// plain module is version 1 on layer 0.
fn wasm(name: &str, bytes: &[u8], findings: &mut Findings) {
    let wrong = match bytes {
        [0, b'a', b's', b'm', 13, 0, 1, 0, ..] => return,
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => "is a WebAssembly module, not a component".into(),
        [0, b'a', b's', b'm', version, _, layer, _, ..] => {
            format!("has WebAssembly version {version} on layer {layer}; 13 on layer 1 is run")
        }
        [0, b'a', b's', b'm', ..] => "ends inside of its WebAssembly header".to_owned(),
        _ => "is not WebAssembly".to_owned(),
    };
    findings
        .add(&code::NOT_WASM, At::Whole(File::Named(name.to_owned())), format!("`{name}` {wrong}"))
        .help("build a component: `cargo build --target wasm32-wasip2`");
}

fn process(name: &str, path: &Path, bytes: &[u8], findings: &mut Findings) {
    let at = || At::Whole(File::Named(name.to_owned()));
    if !has_executable_bit(path) {
        findings
            .add(&code::NOT_EXECUTABLE, at(), format!("`{name}` may not be executed"))
            .help(format!("allow it: `chmod +x {name}`"));
    }
    if let Some(why) = not_startable(bytes) {
        findings
            .add(&code::NOT_EXECUTABLE, at(), format!("`{name}` {why}"))
            .help("begin a script with its interpreter, `#!/usr/bin/env python3`, say");
    }
}

fn not_startable(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [] => Some("is empty"),
        [0x7f, b'E', b'L', b'F', ..] => None,
        [b'#', b'!', rest @ ..] => {
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            match line.trim_ascii() {
                [b'/', ..] if line.ends_with(b"\r") => {
                    Some("ends its first line with CR LF, which becomes part of the interpreter")
                }
                [b'/', ..] => None,
                _ => Some("does not name its interpreter by an absolute path"),
            }
        }
        _ => Some("is neither an ELF program nor a script with an interpreter line"),
    }
}

#[cfg(unix)]
fn has_executable_bit(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // A file that cannot be asked about was reported when it was read.
    path.metadata().map_or(true, |data| data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn has_executable_bit(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_bytes(name: &str, bytes: &[u8], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        let mut findings = Findings::default();
        check(name, &path, bytes, &mut findings);
        let found: Vec<_> = findings.list().iter().map(|one| one.message.as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_components_pass_for_webassembly() {
        check_bytes("handler.wasm", b"\0asm\x0d\0\x01\0rest", &[]);
        check_bytes(
            "handler.wasm",
            b"\0asm\x01\0\0\0",
            &["`handler.wasm` is a WebAssembly module, not a component"],
        );
        check_bytes(
            "handler.wasm",
            b"\0asm\x0c\0\x01\0",
            &["`handler.wasm` has WebAssembly version 12 on layer 1; 13 on layer 1 is run"],
        );
        let cut = ["`handler.wasm` ends inside of its WebAssembly header"];
        check_bytes("handler.wasm", b"\0asm\x0d", &cut);
        check_bytes("handler.wasm", b"", &["`handler.wasm` is not WebAssembly"]);
        check_bytes("handler.wasm", b"\x7fELF....", &["`handler.wasm` is not WebAssembly"]);
    }

    #[test]
    fn an_executable_says_what_runs_it() {
        check_bytes("handler", b"\x7fELF\x02", &[]);
        check_bytes("handler", b"#!/usr/bin/env python3\nprint()\n", &[]);
        check_bytes("handler", b"#! /bin/sh\n", &[]);
        check_bytes("handler", b"", &["`handler` is empty"]);
        check_bytes(
            "handler",
            b"print()\n",
            &["`handler` is neither an ELF program nor a script with an interpreter line"],
        );
        check_bytes(
            "handler",
            b"#!python3\n",
            &["`handler` does not name its interpreter by an absolute path"],
        );
        check_bytes(
            "handler",
            b"#!/bin/sh\r\n",
            &["`handler` ends its first line with CR LF, which becomes part of the interpreter"],
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_executable_bit_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("handler");
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        let mut findings = Findings::default();
        check("handler", &path, b"#!/bin/sh\n", &mut findings);
        let [found] = findings.list() else { panic!("{findings:?}") };
        assert_eq!(found.code.id, "H410");
        assert_eq!(found.message, "`handler` may not be executed");
        assert_eq!(found.help.as_deref(), Some("allow it: `chmod +x handler`"));
    }
}
