//! `haft kb`

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use haft_core::call::Caller;
use haft_tools::kb::{Base, Found, Import, KbError, Report, Search};
use serde_json::json;

use super::lint::counted;
use crate::assembly::plain;
use crate::bundled;
use crate::cli::kb::{Kb as Options, KbCommand, KbImport, KbSearch};
use crate::config::Kb;
use crate::named;
use crate::output::{Exit, Output, misuse, table};
use crate::source::Place;
use crate::watch::Seen;

/// How often files are looked at while watching.
const EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(at: &Place, options: &Options, out: &mut Output) -> anyhow::Result<Exit> {
    let kb = at.config()?.kb()?;
    match &options.what {
        KbCommand::Import(options) => import(at, &kb, options, out),
        KbCommand::Reindex(options) => {
            let work = Import { sources: kb.sources.clone(), root: kb.root.clone(), anew: true };
            reported(&work.run(&kb.setup)?, options.json, out)
        }
        KbCommand::Stats(options) => stats(&kb, options.json, out),
        KbCommand::Search(options) => search(&kb, options, out),
    }
}

fn import(at: &Place, kb: &Kb, options: &KbImport, out: &mut Output) -> anyhow::Result<Exit> {
    let sources = match options.sources.is_empty() {
        false => options.sources.clone(),
        true => usual(at, kb, out)?,
    };
    let work = Import { sources: sources.clone(), root: kb.root.clone(), anew: false };
    if !options.watch {
        return reported(&work.run(&kb.setup)?, options.json, out);
    }
    if sources.is_empty() {
        bail!("nothing to watch: name files or folders, or set `kb.sources` in haft.toml");
    }
    loop {
        let seen = Seen::of(&sources);
        match work.run(&kb.setup) {
            Ok(report) => {
                reported(&report, options.json, out)?;
            }
            // Another import, or a file that is being replaced: a moment later it is over.
            Err(
                error @ (KbError::Busy(_)
                | KbError::Missing(_)
                | KbError::Model(_)
                | KbError::Disk(..)),
            ) => out.error(&error.to_string()),
            Err(error @ (KbError::Empty(_) | KbError::Question(_) | KbError::Damaged(..))) => {
                return Err(error.into());
            }
        }
        out.note("waiting for a change; end with Ctrl-C");
        while Seen::of(&sources) == seen {
            std::thread::sleep(EVERY);
        }
    }
}

/// What is imported when nothing is named. An empty list is what was imported before.
fn usual(at: &Place, kb: &Kb, out: &Output) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(missing) = kb.sources.iter().find(|source| !source.exists()) {
        bail!("`kb.sources`: there is nothing at `{}`", missing.display());
    }
    if !kb.sources.is_empty() {
        return Ok(kb.sources.clone());
    }
    if Base::new(kb.setup.clone()).stats().is_ok() {
        return Ok(Vec::new());
    }
    let toolset = bundled::or_here(at, None, out)?.toolset().ok();
    let bundled = toolset.map(|toolset| toolset.join("knowledge"));
    Ok(bundled.filter(|folder| folder.is_dir()).into_iter().collect())
}

fn reported(report: &Report, as_json: bool, out: &mut Output) -> anyhow::Result<Exit> {
    if as_json {
        out.json(report)?;
    } else {
        for problem in &report.problems {
            out.note(&plain(&format!("warning: {problem}")));
        }
        if report.more_problems > 0 {
            out.note(&format!("warning: and {} more", report.more_problems));
        }
        if let Some(why) = &report.anew {
            out.note(&plain(&format!("note: everything was read anew: {why}")));
        }
        if report.embedded > 0 {
            let passages = usize::try_from(report.embedded).unwrap_or(usize::MAX);
            out.note(&format!("{} embedded", counted(passages, "passage")));
        }
        out.line(&format!(
            "{}; files: {} new, {} changed, {} removed, {} as before; {:.1} s",
            records(report.records),
            report.added,
            report.changed,
            report.removed,
            report.unchanged,
            report.took_ms as f64 / 1_000.0
        ));
    }
    Ok(if report.problems.is_empty() { Exit::Done } else { Exit::Findings })
}

fn records(number: u64) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), "record")
}

fn stats(kb: &Kb, as_json: bool, out: &mut Output) -> anyhow::Result<Exit> {
    let stats = Base::new(kb.setup.clone()).stats()?;
    if as_json {
        out.json(&stats)?;
        return Ok(Exit::Done);
    }
    out.line(&format!(
        "{} from {}, {:.1} MB, language {}",
        records(stats.records),
        counted(stats.files, "file"),
        stats.bytes as f64 / 1e6,
        stats.language.as_str()
    ));
    if let Some(vectors) = &stats.vectors {
        out.line(&plain(&format!(
            "vectors of {}, {} numbers each, by {}",
            counted(vectors.passages, "passage"),
            vectors.dimensions,
            vectors.model
        )));
    }
    let rows = |what: &str, counts: std::collections::BTreeMap<String, u64>| -> Vec<Vec<String>> {
        counts
            .into_iter()
            .map(|(name, count)| vec![what.to_owned(), plain(&name), count.to_string()])
            .collect()
    };
    let mut all = rows("namespace", stats.namespaces);
    all.extend(rows("type", stats.types));
    out.line(&table(&["", "", "records"], &all));
    for source in &stats.sources {
        out.line(&format!("from {}", plain(source)));
    }
    for problem in &stats.problems {
        out.note(&plain(&format!("warning: {problem}")));
    }
    Ok(Exit::Done)
}

fn search(kb: &Kb, options: &KbSearch, out: &mut Output) -> anyhow::Result<Exit> {
    let mut namespaces = None;
    if let Some(actor) = &options.actor {
        let tenant = options.tenant.as_ref().or(kb.tenant.as_ref());
        let mut caller = Caller::agent(tenant.map_or("default", String::as_str), "default");
        caller.actor = named::principal(actor, "--as")?;
        namespaces = match &options.namespace {
            None => kb.namespaces.readable(&caller).namespaces(),
            Some(name) => Some(kb.namespaces.named(name, &caller)),
        };
        if namespaces.as_ref().is_some_and(Vec::is_empty) {
            bail!("`{}` may read nothing there; see `kb.namespaces` in haft.toml", plain(actor));
        }
    } else if let Some(name) = &options.namespace {
        namespaces = Some(vec![name.clone()]);
    }
    let search = Search {
        query: options.query.join(" "),
        namespaces,
        kind: options.kind.clone(),
        tags: options.tags.clone(),
        since: time("--since", options.since.as_deref())?,
        until: time("--until", options.until.as_deref())?,
        limit: options.limit.into(),
        snippets: true,
    };
    let found = Base::new(kb.setup.clone()).search(&search)?;
    show(&found, options.json, out)
}

fn time(option: &str, text: Option<&str>) -> anyhow::Result<Option<jiff::Timestamp>> {
    let read = |text: &str| {
        haft_tools::kb::record::moment(text).ok_or_else(|| {
            misuse(format!(
                "{option}: `{}` is no time; write 2026-01-31 or 2026-01-31T14:05:00Z",
                plain(text)
            ))
        })
    };
    text.map(read).transpose()
}

fn show(found: &Found, as_json: bool, out: &mut Output) -> anyhow::Result<Exit> {
    if as_json {
        let results: Vec<_> = found
            .hits
            .iter()
            .map(|hit| json!({ "score": hit.score, "snippet": hit.snippet, "record": hit.record }))
            .collect();
        let took = found.took.as_secs_f64() * 1_000.0;
        out.json(&json!({ "results": results, "total": found.total, "query_time_ms": took }))?;
        return Ok(Exit::Done);
    }
    for hit in &found.hits {
        let record = &hit.record;
        out.line(&plain(&format!(
            "{:.2}  {}  {} ({})",
            hit.score, record.id, record.title, record.namespace
        )));
        if let Some(snippet) = hit.snippet.as_ref().filter(|snippet| !snippet.is_empty()) {
            out.line(&plain(&format!("      {snippet}")));
        }
    }
    if let Some(why) = &found.degraded {
        out.note(&plain(&format!("warning: searched by words alone: {why}")));
    }
    out.note(&format!(
        "{} of {} in {:.1} ms",
        found.hits.len(),
        found.total,
        found.took.as_secs_f64() * 1_000.0
    ));
    Ok(Exit::Done)
}
