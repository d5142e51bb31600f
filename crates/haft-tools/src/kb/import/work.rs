//! What an import has to do, and doing it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use haft_core::Digest;
use tantivy::IndexWriter;

use super::super::base::KbError;
use super::super::folder::{self, Commit, Setup};
use super::super::manifest::{Entry, Manifest};
use super::super::read::{self, Problem};
use super::super::record::Record;
use super::before::Before;
use super::taken::Taken;
use super::vectors::Making;
use super::{Report, walk};

/// So many problems of one file are kept and shown.
const MAX_PROBLEMS: usize = 100;
/// A writer's memory, per thread.
const HEAP: usize = 64 << 20;
/// Below so many bytes one thread is enough.
const SMALL: u64 = 4 << 20;

/// A file that may have changed.
struct File {
    path: PathBuf,
    name: String,
    inside: String,
    source: String,
    digest: Digest,
    bytes: u64,
}

pub(super) struct Work {
    before: Before,
    after: Manifest,
    /// Files to read.
    read: Vec<File>,
    /// Names of files whose records go.
    gone: Vec<String>,
    report: Report,
}

impl Work {
    pub(super) fn plan(
        setup: &Setup,
        before: Before,
        walked: walk::Walked,
    ) -> Result<Self, KbError> {
        let walk::Walked { sources, forgotten, files } = walked;
        let mut work = Self {
            after: before.manifest.clone(),
            before,
            read: Vec::new(),
            gone: Vec::new(),
            report: Report::default(),
        };
        for source in &sources {
            if !work.after.sources.contains(source) {
                work.after.sources.push(source.clone());
            }
        }
        work.after.sources.retain(|source| !forgotten.contains(source));
        let known = &work.before.manifest.files;
        let there: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        for (name, entry) in known {
            if sources.contains(&entry.source) && !there.contains(name.as_str()) {
                work.gone.push(name.clone());
                work.after.files.remove(name);
                work.report.removed += 1;
            }
        }
        for file in files {
            let (digest, bytes) =
                walk::digest(&file.path).map_err(|error| KbError::disk(&file.path, error))?;
            // The namespace of records that name none is a part of what they are.
            let digest =
                Digest::of_bytes(format!("{}\n{}", setup.namespace, digest.hex()).as_bytes());
            match known.get(&file.name) {
                Some(entry) if entry.digest == digest && !entry.again => {
                    work.report.unchanged += 1;
                    continue;
                }
                Some(_) => {
                    work.report.changed += 1;
                    work.gone.push(file.name.clone());
                }
                None => work.report.added += 1,
            }
            let walk::Named { path, name, inside, source } = file;
            work.read.push(File { path, name, inside, source, digest, bytes });
        }
        Ok(work)
    }

    pub(super) fn is_needed(&self) -> bool {
        self.before.is_new || !self.read.is_empty() || !self.gone.is_empty()
    }

    pub(super) fn write(&mut self, setup: &Setup) -> Result<(), KbError> {
        let folder = self.before.folder.clone();
        let wrong = |error| KbError::engine(&folder, error);
        let mut writer = self.writer()?;
        let mut taken = Taken::new(&self.before, &self.gone)?;
        for name in &self.gone {
            writer.delete_term(self.before.fields.of_file(name));
        }
        let mut making = self.making(setup, &taken)?;
        if let Err(error) = self.read(setup, &writer, &mut taken, making.as_mut()) {
            making.into_iter().for_each(|making| making.leave(&setup.path));
            return Err(error);
        }
        let name = self.after.save(&folder, self.before.manifest_name.as_deref())?;
        let vectors = match making {
            Some(making) => {
                self.report.embedded = making.asked;
                let name = next_name(self.before.vectors_name.as_deref());
                making.save(&folder, &name)?;
                Some(name)
            }
            None => None,
        };
        let commit = Commit::new(setup, name.clone(), vectors.clone());
        let payload = serde_json::to_string(&commit).unwrap_or_default();
        let mut prepared = writer.prepare_commit().map_err(wrong)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(wrong)?;
        writer.wait_merging_threads().map_err(wrong)?;
        let keep: Vec<&str> = std::iter::once(name.as_str()).chain(vectors.as_deref()).collect();
        Manifest::sweep(&folder, &keep);
        if self.before.is_new {
            folder::put_in_force(&setup.path, &folder)?;
        }
        Making::tidy(&setup.path);
        Ok(())
    }

    /// Reads all files that have to be, and makes the vectors of their records.
    fn read(
        &mut self,
        setup: &Setup,
        writer: &IndexWriter,
        taken: &mut Taken,
        mut making: Option<&mut Making>,
    ) -> Result<(), KbError> {
        for file in std::mem::take(&mut self.read) {
            let entry = self.one(setup, writer, (taken, making.as_deref_mut()), &file)?;
            self.report.written += entry.records;
            self.after.files.insert(file.name, entry);
        }
        making.map_or(Ok(()), Making::ask)
    }

    fn writer(&self) -> Result<IndexWriter, KbError> {
        let bytes: u64 = self.read.iter().map(|file| file.bytes).sum();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if bytes < SMALL { 1 } else { cores.min(4) };
        let writer = self.before.index.writer_with_num_threads(threads, threads * HEAP);
        writer.map_err(|error| KbError::engine(&self.before.folder, error))
    }

    /// Reads one file into the index.
    fn one(
        &self,
        setup: &Setup,
        writer: &IndexWriter,
        (taken, mut making): (&mut Taken, Option<&mut Making>),
        file: &File,
    ) -> Result<Entry, KbError> {
        let mut entry = Entry {
            digest: file.digest.clone(),
            source: file.source.clone(),
            records: 0,
            problems: Vec::new(),
            more: 0,
            again: false,
        };
        let mut failed = None;
        let names = (file.name.as_str(), file.inside.as_str());
        let report = |entry: &mut Entry, line, what| match entry.problems.len() < MAX_PROBLEMS {
            true => entry.problems.push(Problem { file: file.name.clone(), line, what }),
            false => entry.more += 1,
        };
        let done = read::file(&file.path, names, &setup.namespace, &mut |item| match item {
            Ok((line, record)) if failed.is_none() => match taken.take(&record) {
                Ok(Some(key)) => {
                    match self.add(writer, (&record, key), &file.name, making.as_deref_mut()) {
                        Ok(()) => entry.records += 1,
                        Err(error) => failed = Some(error),
                    }
                }
                Ok(None) => {
                    entry.again = true;
                    let what = format!(
                        "the id `{}` is given already; ids are unique across files",
                        record.id
                    );
                    report(&mut entry, line, what);
                }
                Err(error) => failed = Some(error),
            },
            Ok(_) => {}
            Err((line, what)) => report(&mut entry, line, what),
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match done {
            Ok(()) => Ok(entry),
            // It was there a moment ago: what was read of it counts, and it is read again next time.
            Err(error) => {
                entry.again = true;
                report(&mut entry, 0, format!("cannot be read: {error}"));
                Ok(entry)
            }
        }
    }

    fn add(
        &self,
        writer: &IndexWriter,
        (record, key): (&Record, u64),
        file: &str,
        making: Option<&mut Making>,
    ) -> Result<(), KbError> {
        let folder = &self.before.folder;
        let document = self.before.fields.document(record, key, file);
        let document =
            document.map_err(|_| KbError::damaged(folder, "a record cannot be written"))?;
        writer.add_document(document).map_err(|error| KbError::engine(folder, error))?;
        making.map_or(Ok(()), |making| making.add(record))
    }

    /// The vectors that stay, ready for more.
    fn making(&mut self, setup: &Setup, taken: &Taken) -> Result<Option<Making>, KbError> {
        let Some(embed) = &setup.embed else { return Ok(None) };
        let before = std::mem::take(&mut self.before.vectors);
        let goes = taken.goes()?;
        let is_new = self.before.is_new;
        let stays = |key| !is_new && !goes.contains(&key);
        Ok(Some(Making::new(embed.clone(), &setup.path, before, stays)))
    }

    pub(super) fn report(self, took: Duration) -> Report {
        let mut report = self.report;
        report.anew = self.before.why;
        report.records = self.after.files.values().map(|entry| entry.records).sum();
        for entry in self.after.files.into_values() {
            report.problems.extend(entry.problems);
            report.more_problems += entry.more;
        }
        report.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        report
    }
}

fn next_name(before: Option<&str>) -> String {
    let number = before
        .and_then(|name| name.strip_prefix("vectors-")?.strip_suffix(".bin")?.parse::<u64>().ok());
    format!("vectors-{}.bin", number.map_or(1, |number| number.wrapping_add(1)))
}
