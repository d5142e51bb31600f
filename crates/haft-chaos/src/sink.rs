//! A provider on loopback that performs effects, counts them in a log of its own, and behaves badly
//! in every way that a provider can.

mod log;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::dice;
pub(crate) use log::{Entry, Log};

/// What the sink does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    ActAndAnswer,
    ActAndDrop,
    ActAndFail,
    ActAndAnswerHalf,
    ActAndHang,
    DropBefore,
    /// A definite no: nothing was done.
    Decline,
}

impl Manner {
    /// Follows from the item and from how often it was asked for before.
    fn of(tool: &str, item: &str, attempt: u64) -> Self {
        match dice::permille(&[tool, item, &attempt.to_string()]) {
            0..20 => Self::DropBefore,
            20..35 => Self::Decline,
            35..47 => Self::ActAndDrop,
            47..59 => Self::ActAndFail,
            59..71 => Self::ActAndAnswerHalf,
            71..73 => Self::ActAndHang,
            _ => Self::ActAndAnswer,
        }
    }
}

/// What the sink remembers.
#[derive(Default)]
struct Memory {
    attempts: HashMap<String, u64>,
    /// By provider key, where the sink deduplicates: what it was for, and its receipt.
    by_key: HashMap<String, (String, u64)>,
    /// By tool and item: the receipt of what was done, or is being done.
    done: HashMap<String, u64>,
    receipts: u64,
}

/// Serves until its standard input ends.
pub(crate) fn serve(log: &Path) -> anyhow::Result<()> {
    let log = Arc::new(Log::open(log)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port on loopback")?;
        let mut out = std::io::stdout();
        writeln!(out, "{}", listener.local_addr()?.port())?;
        out.flush()?;
        let memory = Arc::new(Mutex::new(Memory::default()));
        let accept = async {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let _ = stream.set_nodelay(true);
                let (memory, log) = (memory.clone(), log.clone());
                // A connection that breaks is the victim's end, not the sink's.
                tokio::spawn(async move { talk(stream, &memory, &log).await });
            }
        };
        let mut input = tokio::io::stdin();
        let mut byte = [0];
        tokio::select! {
            () = accept => {}
            _ = input.read(&mut byte) => {}
        }
        Ok(())
    })
}

async fn talk(stream: TcpStream, memory: &Mutex<Memory>, log: &Log) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    let mut line = String::new();
    loop {
        line.clear();
        // A line without its end was cut off by a kill: nothing was asked.
        if lines.read_line(&mut line).await? == 0 || !line.ends_with('\n') {
            return Ok(());
        }
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        match *words.as_slice() {
            ["act", tool, item, call, provider] => {
                match act(memory, log, [tool, item, call, provider]).await {
                    Some(answer) if answer.ends_with('\n') => {
                        write.write_all(answer.as_bytes()).await?;
                    }
                    Some(answer) => return write.write_all(answer.as_bytes()).await,
                    None => return Ok(()),
                }
            }
            ["probe", tool, item] => {
                let done = memory.lock().done.contains_key(&format!("{tool} {item}"));
                write.write_all(if done { b"yes\n" } else { b"none\n" }).await?;
            }
            _ => return Ok(()),
        }
    }
}

/// Performs one request in its manner. No answer: the connection is dropped.
async fn act(memory: &Mutex<Memory>, log: &Log, words: [&str; 4]) -> Option<String> {
    let [tool, item, call, provider] = words;
    let (manner, receipt, entry) = {
        let mut memory = memory.lock();
        let attempt = memory.attempts.entry(format!("{tool} {item}")).or_default();
        *attempt += 1;
        let manner = Manner::of(tool, item, *attempt);
        if matches!(manner, Manner::DropBefore) {
            return None;
        }
        if matches!(manner, Manner::Decline) {
            return Some("no\n".to_owned());
        }
        let (receipt, entry) = perform(&mut memory, tool, item, call, provider);
        (manner, receipt, entry)
    };
    if let Some(entry) = entry
        && !log.write(entry).await
    {
        return None;
    }
    match manner {
        Manner::ActAndAnswer => Some(format!("ok {receipt} {item}\n")),
        Manner::ActAndFail => Some("error\n".to_owned()),
        Manner::ActAndAnswerHalf => Some(format!("ok {receipt}")),
        Manner::ActAndHang => std::future::pending().await,
        Manner::ActAndDrop | Manner::DropBefore | Manner::Decline => None,
    }
}

/// Does it, unless it only looks or the provider key was seen. Returns what to write down.
fn perform(
    memory: &mut Memory,
    tool: &str,
    item: &str,
    call: &str,
    provider: &str,
) -> (u64, Option<Entry>) {
    let what = format!("{tool} {item}");
    if tool == "look" {
        return (0, None);
    }
    let deduplicates = matches!(tool, "put" | "unbook");
    if deduplicates && let Some((first, receipt)) = memory.by_key.get(provider) {
        let entry = (*first != what).then(|| Entry::new("mismatch", tool, item, call, provider, 0));
        return (*receipt, entry);
    }
    memory.receipts += 1;
    let receipt = memory.receipts;
    memory.done.insert(what.clone(), receipt);
    if deduplicates {
        memory.by_key.insert(provider.to_owned(), (what, receipt));
    }
    (receipt, Some(Entry::new("act", tool, item, call, provider, receipt)))
}
