//! A project in a folder of its own, and the command in it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

pub(crate) struct Project {
    pub(crate) folder: PathBuf,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }
}

impl Project {
    /// Two tools, `greet` and `order`, and a rule against one kind of order.
    pub(crate) fn new() -> Self {
        Self::at(PathBuf::from(env!("CARGO_TARGET_TMPDIR")))
    }

    /// The same in a folder below this one.
    pub(crate) fn at(folder: PathBuf) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("haft-it-{}-{number}", std::process::id());
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let project = Self { folder };
        project.write("toolset.toml", "namespace = \"shop\"\n");
        project.write(
            "haft.toml",
            "toolset = \".\"\n[policy]\nallow = [\"shop__*\"]\ncedar = [\"rules.cedar\"]\n\
             [server]\nlog = \"json\"\n",
        );
        project.write(
            "rules.cedar",
            "@id(\"no-shouting\")\n@description(\"shouting is for people\")\n\
             forbid(principal, action == Haft::Action::\"shop__order\", resource)\n\
             when { context.arguments.message == \"HEY\" };\n\
             @id(\"not-for-eve\")\n\
             forbid(principal == Haft::User::\"eve\", action, resource);\n",
        );
        assert_eq!(project.run(&["new", "greet"]).code, 0);
        assert_eq!(project.run(&["new", "order", "--category", "action"]).code, 0);
        project
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    /// Changes a document, so that the registry is another.
    pub(crate) fn change_tools(&self) {
        let file = "tools/greet/doc_summary.md";
        self.write(file, &format!("{} Counts words.\n", self.read(file).trim_end()));
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.current_dir(&self.folder);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command().args(arguments).output().unwrap())
    }

    /// The same by somebody for whom rights hold, as they do not for root.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_without_power(&self, arguments: &[&str]) -> Said {
        use std::os::unix::fs::MetadataExt as _;
        let mut command = self.command();
        if fs::metadata(&self.folder).unwrap().uid() == 0 {
            command = Command::new("setpriv");
            command.current_dir(&self.folder);
            let powers = "-dac_override,-dac_read_search";
            command.args(["--bounding-set", powers, "--inh-caps", powers]);
            command.arg(env!("CARGO_BIN_EXE_haft"));
        }
        Said::of(command.args(arguments).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn fed(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let said = self.run(arguments);
        let value = serde_json::from_str(&said.out);
        (said.code, value.unwrap_or_else(|_| panic!("not JSON: {said:?}")))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
