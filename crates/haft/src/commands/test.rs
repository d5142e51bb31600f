//! `haft test`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail};
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

pub(crate) fn run(at: &Place, options: &Test, out: &mut Output) -> anyhow::Result<Exit> {
    let toolset = bundled::or_here(at, None, out)?.toolset()?;
    if !options.watch {
        return once(&toolset, options, out);
    }
    loop {
        let seen = newest(&toolset);
        match once(&toolset, options, out) {
            Ok(_) => {}
            // What is half written now is whole a moment later.
            Err(error) => out.error(&format!("{error:#}")),
        }
        out.note("waiting for a change; end with Ctrl-C");
        while newest(&toolset) == seen {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// The time of the last change of any file of a toolset, and how many there are.
fn newest(toolset: &Path) -> (Option<SystemTime>, usize) {
    let mut newest = (None, 0);
    let mut folders = vec![toolset.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.metadata() {
                Ok(_) if hidden => {}
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => newest = (newest.0.max(meta.modified().ok()), newest.1 + 1),
                Err(_) => {}
            }
        }
    }
    newest
}

struct Counts {
    passed: usize,
    failed: usize,
    without: Vec<String>,
    /// Their handlers are not part of this program.
    elsewhere: Vec<String>,
}

fn once(toolset: &Path, options: &Test, out: &mut Output) -> anyhow::Result<Exit> {
    let registry = compiled(toolset, out)?;
    let start = Instant::now();
    let mut counts = Counts { passed: 0, failed: 0, without: Vec::new(), elsewhere: Vec::new() };
    let (mut results, mut excluded) = (Vec::new(), 0);
    block_on(async {
        let executors: Arc<dyn Execute> =
            Arc::new(executors(&registry, toolset.join(".haft/run"), Some(toolset.to_path_buf())));
        for tool in chosen(&registry, options)? {
            let Some(file) = test_file(toolset, tool)? else {
                counts.without.push(tool.contract.tool_id.clone());
                continue;
            };
            if !executors.can_run(tool) {
                counts.elsewhere.push(tool.contract.tool_id.clone());
                continue;
            }
            let (meant, left_out): (Vec<_>, Vec<_>) =
                file.tests.iter().partition(|case| wanted(case, options));
            excluded += left_out.len();
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
        out.json(&json!({ "passed": counts.passed, "failed": counts.failed, "withoutTests": counts.without, "notRun": counts.elsewhere, "tests": results }))?;
    } else {
        summary(&counts, start, out);
    }
    if let (0, Some(filter)) = (counts.passed + counts.failed, &options.filter)
        && excluded > 0
    {
        let tests = counted(excluded, "test");
        let named = plain(filter);
        let why = format!("--filter: no name of a test contains `{named}`; {tests} left out");
        return Err(misuse(why));
    }
    if counts.passed + counts.failed == 0 {
        bail!("no tests were run; write a tests.json beside a tool's schema.json");
    }
    Ok(if counts.failed == 0 { Exit::Done } else { Exit::Findings })
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
    let Counts { passed, failed, without, elsewhere } = counts;
    out.line(&format!(
        "\n{passed} passed, {failed} failed in {:.1} s",
        start.elapsed().as_secs_f64()
    ));
    if !without.is_empty() {
        out.note(&format!("without tests: {}", without.join(", ")));
    }
    if !elsewhere.is_empty() {
        out.note(&format!("not run, since nothing here runs them: {}", elsewhere.join(", ")));
    }
}
