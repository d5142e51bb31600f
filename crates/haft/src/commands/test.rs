//! `haft test`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use haft_core::contract::SideEffects;
use haft_core::port::Execute;
use haft_core::registry::Implementation;
use haft_core::{Registry, Tool, nearest};
use haft_runtime::trial::{self, Test as Case, TestFile};
use haft_store::Memory;
use serde_json::{Value, json};

use super::lint::counted;
use crate::assembly::{block_on, executors, plain};
use crate::bundled;
use crate::cli::Test;
use crate::output::{Exit, Output, misuse};
use crate::source::{Place, compiled};
use crate::watch::Seen;

pub(crate) fn run(at: &Place, options: &Test, out: &mut Output) -> anyhow::Result<Exit> {
    let toolset = bundled::or_here(at, None, out)?.toolset()?;
    if !options.watch {
        return once(&toolset, options, out);
    }
    loop {
        let seen = Seen::of(&[&toolset]);
        match once(&toolset, options, out) {
            Ok(_) => {}
            // What is half written now is whole a moment later.
            Err(error) => out.error(&format!("{error:#}")),
        }
        out.note("waiting for a change; end with Ctrl-C");
        while Seen::of(&[&toolset]) == seen {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    without: Vec<String>,
    left: Vec<Left>,
}

/// A tool whose tests are not run.
struct Left {
    tool: String,
    tests: usize,
    why: Unrun,
}

/// Why a tool's tests are not run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unrun {
    /// Its handler is not part of this program.
    Elsewhere,
    /// It writes, and its handler is a program: stubs do not hold it, so it would do so in earnest.
    InEarnest,
}

impl Unrun {
    const ALL: [Self; 2] = [Self::Elsewhere, Self::InEarnest];

    fn of(tool: &Tool, executors: &dyn Execute, options: &Test) -> Option<Self> {
        let writes = tool.contract.side_effects == SideEffects::Writes;
        match &tool.handler {
            _ if !executors.can_run(tool) => Some(Self::Elsewhere),
            Implementation::Process { .. } if writes && !options.run_programs => {
                Some(Self::InEarnest)
            }
            Implementation::Process { .. }
            | Implementation::Js { .. }
            | Implementation::Wasm { .. }
            | Implementation::Native
            | Implementation::Gateway
            | Implementation::Unbound => None,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Elsewhere => "nothing here runs them (gateways, functions of other programs)",
            Self::InEarnest => "their handlers are programs that write, and would do so in earnest",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Elsewhere => "`haft call <tool> --dry-run` says what a call would meet",
            Self::InEarnest => {
                "`--run-programs` runs them: nobody is asked for approval and nothing is recorded, so \
                 only where nothing real can be reached"
            }
        }
    }
}

fn once(toolset: &Path, options: &Test, out: &mut Output) -> anyhow::Result<Exit> {
    let registry = compiled(toolset, out)?;
    let start = Instant::now();
    let mut counts = Counts::default();
    let (mut results, mut excluded) = (Vec::new(), 0);
    block_on(async {
        let executors: Arc<dyn Execute> =
            Arc::new(executors(&registry, toolset.join(".haft/run"), Some(toolset.to_path_buf())));
        for tool in chosen(&registry, options)? {
            let Some(file) = test_file(toolset, tool)? else {
                counts.without.push(tool.contract.tool_id.clone());
                continue;
            };
            let (meant, left_out): (Vec<_>, Vec<_>) =
                file.tests.iter().partition(|case| wanted(case, options));
            excluded += left_out.len();
            if let Some(why) = Unrun::of(tool, &*executors, options) {
                let tool = tool.contract.tool_id.clone();
                let left = Left { tool, tests: meant.len(), why };
                counts.left.extend((!meant.is_empty()).then_some(left));
                continue;
            }
            for case in meant {
                let result =
                    one(&registry, tool, case, executors.clone(), &mut counts, options, out)
                        .await?;
                results.push(result);
            }
        }
        Ok(())
    })?;
    if options.json {
        out.json(&counts.report(results))?;
    } else {
        summary(&counts, start, out);
    }
    counts.exit(options, excluded)
}

impl Counts {
    fn report(&self, tests: Vec<Value>) -> Value {
        let left = |one: &Left| {
            let Left { tool, tests, why } = one;
            json!({ "tool": tool, "tests": tests, "why": why.in_words(), "help": why.help() })
        };
        let left: Vec<Value> = self.left.iter().map(left).collect();
        json!({
            "passed": self.passed,
            "failed": self.failed,
            "withoutTests": self.without,
            "notRun": left,
            "tests": tests,
        })
    }

    /// Where nothing ran, nothing was shown to work.
    fn exit(&self, options: &Test, excluded: usize) -> anyhow::Result<Exit> {
        let ran = self.passed + self.failed;
        match (&options.filter, self.left.first()) {
            _ if ran > 0 => Ok(if self.failed == 0 { Exit::Done } else { Exit::Findings }),
            (_, Some(first)) => bail!("no tests were run; {}", first.why.help()),
            (Some(filter), None) if excluded > 0 => {
                let (named, tests) = (plain(filter), counted(excluded, "test"));
                let why = format!("no name of a test contains `{named}`; {tests} left out");
                Err(misuse(format!("--filter: {why}")))
            }
            (_, None) => {
                bail!("no tests were run; write a tests.json beside a tool's schema.json")
            }
        }
    }
}

fn chosen<'r>(registry: &'r Registry, options: &Test) -> anyhow::Result<Vec<&'r Tool>> {
    if options.tools.is_empty() {
        return Ok(registry.tools.iter().collect());
    }
    options
        .tools
        .iter()
        .map(|name| registry.find(name).ok_or_else(|| missing(registry, name)))
        .collect()
}

/// The tool that was perhaps meant.
fn missing(registry: &Registry, name: &str) -> anyhow::Error {
    let names: Vec<&str> = registry
        .tools
        .iter()
        .map(|tool| match name.contains("__") {
            true => tool.id.as_str(),
            false => tool.contract.tool_id.as_str(),
        })
        .collect();
    let meant = match nearest::find(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`haft show` lists them".to_owned(),
    };
    misuse(format!("there is no tool `{}`; {meant}", plain(name)))
}

fn wanted(case: &Case, options: &Test) -> bool {
    options.filter.as_ref().is_none_or(|filter| case.name.contains(filter.as_str()))
}

fn test_file(toolset: &Path, tool: &Tool) -> anyhow::Result<Option<TestFile>> {
    let named = |folder: String| toolset.join("tools").join(folder).join("tests.json");
    let file: PathBuf = named(tool.contract.tool_id.replace('_', "-"));
    let file = if file.exists() { file } else { named(tool.contract.tool_id.clone()) };
    // Without a handler there is nothing to test yet.
    if !file.exists() || matches!(tool.handler, Implementation::Unbound) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("`{}` cannot be read", file.display()))?;
    let tests = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is not a file of tests", file.display()))?;
    Ok(Some(tests))
}

async fn one(
    registry: &Registry,
    tool: &Tool,
    case: &Case,
    executors: Arc<dyn Execute>,
    counts: &mut Counts,
    options: &Test,
    out: &mut Output,
) -> anyhow::Result<Value> {
    let name = format!("{}: {}", tool.contract.tool_id, case.name);
    let verdict = trial::run(registry, &tool.id, case, Arc::new(Memory::new()), executors).await;
    let problems: Vec<String> = match &verdict {
        Ok(verdict) => verdict.differences.iter().map(ToString::to_string).collect(),
        Err(why) => vec![why.clone()],
    };
    let passed = problems.is_empty();
    if passed {
        counts.passed += 1;
    } else {
        counts.failed += 1;
    }
    if !options.json {
        let name = plain(&name);
        out.line(&format!("{} {name}", if passed { "ok    " } else { "FAILED" }));
        for problem in &problems {
            out.line(&format!("         {}", plain(problem)));
        }
        if let (false, Ok(verdict)) = (passed, &verdict)
            && let Err(error) = &verdict.envelope.result
            && let Some(source) = &error.source
        {
            out.line(&format!("         the handler: {source}"));
        }
    }
    Ok(json!({ "tool": tool.id, "name": case.name, "passed": passed, "problems": problems }))
}

fn summary(counts: &Counts, start: Instant, out: &mut Output) {
    let Counts { passed, failed, without, left } = counts;
    let unrun: usize = left.iter().map(|one| one.tests).sum();
    let unrun = if unrun > 0 { format!(", {unrun} not run") } else { String::new() };
    let took = start.elapsed().as_secs_f64();
    out.line(&format!("\n{passed} passed, {failed} failed{unrun} in {took:.1} s"));
    if !without.is_empty() {
        out.note(&format!("without tests: {}", without.join(", ")));
    }
    for why in Unrun::ALL {
        let of = left.iter().filter(|one| one.why == why);
        let tools: Vec<&str> = of.map(|one| one.tool.as_str()).collect();
        if !tools.is_empty() {
            out.note(&format!("not run, since {}: {}", why.in_words(), tools.join(", ")));
            out.note(&format!("  help: {}", why.help()));
        }
    }
}
