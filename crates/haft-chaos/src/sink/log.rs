//! The sink's log: what it did, on disk before it answers. Those who wait share one sync.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot};

/// One line: something that the sink did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `act`, or `mismatch` when a provider key came with something else.
    pub(crate) kind: String,
    pub(crate) tool: String,
    pub(crate) item: String,
    /// The call that asked for it.
    pub(crate) call: String,
    pub(crate) provider: String,
    pub(crate) receipt: u64,
}

impl Entry {
    pub(crate) fn new(
        kind: &str,
        tool: &str,
        item: &str,
        call: &str,
        provider: &str,
        receipt: u64,
    ) -> Self {
        Self {
            kind: kind.to_owned(),
            tool: tool.to_owned(),
            item: item.to_owned(),
            call: call.to_owned(),
            provider: provider.to_owned(),
            receipt,
        }
    }

    fn line(&self) -> String {
        let Self { kind, tool, item, call, provider, receipt } = self;
        format!("{kind} {tool} {item} {call} {provider} {receipt}\n")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut next = || words.next();
        let (kind, tool, item, call, provider) = (next()?, next()?, next()?, next()?, next()?);
        Some(Self::new(kind, tool, item, call, provider, next()?.parse().ok()?))
    }
}

type Waiting = (Entry, oneshot::Sender<()>);

/// A log that is appended to.
pub(crate) struct Log(mpsc::UnboundedSender<Waiting>);

impl Log {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("`{}` cannot be written", path.display()))?;
        let (queue, waiting) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("sink-log".to_owned())
            .spawn(move || append(file, waiting))?;
        Ok(Self(queue))
    }

    /// Returns when the entry is on disk; `false` when it cannot be.
    pub(crate) async fn write(&self, entry: Entry) -> bool {
        let (done, wait) = oneshot::channel();
        self.0.send((entry, done)).is_ok() && wait.await.is_ok()
    }

    /// Reads a whole log.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
        let file = File::open(path).with_context(|| format!("`{}`", path.display()))?;
        let mut entries = Vec::new();
        for line in BufReader::new(file).lines() {
            let line = line?;
            entries.push(Entry::parse(&line).with_context(|| format!("not an entry: {line}"))?);
        }
        Ok(entries)
    }
}

fn append(mut file: File, mut waiting: mpsc::UnboundedReceiver<Waiting>) {
    let mut group = Vec::new();
    while waiting.blocking_recv_many(&mut group, 1_024) > 0 {
        let text: String = group.iter().map(|(entry, _)| entry.line()).collect();
        // A sink that cannot count is of no use: whoever waits is not answered, and the run says so.
        if file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        for (_, done) in group.drain(..) {
            let _ = done.send(());
        }
    }
}
