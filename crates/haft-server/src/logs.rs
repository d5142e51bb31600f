//! Logs: one line per event, with names and figures and never with what redaction strips.
//!
//! Whoever reads them may be slow or gone: lines wait in a bounded queue, and what does not fit is
//! dropped and counted. No request waits for a log.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};

use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectChanged, Finished, Observe, Started};

/// Says which effects of processes that are gone may have happened.
pub fn unknown(left: &[EffectRecord]) {
    if left.is_empty() {
        return;
    }
    let calls: Vec<&str> = left.iter().map(|one| one.effect.call.as_str()).collect();
    tracing::warn!(event = "effects_unknown", effects = left.len(), calls = calls.join(" "));
}

/// Says whose effects are refused, because the audit trail was touched.
pub fn touched(tenants: &[(String, String)]) {
    for (tenant, why) in tenants {
        tracing::warn!(event = "effects_refused", tenant_id = tenant, why = why);
    }
}

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// How many lines were dropped because nobody took them.
pub fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// How many lines wait.
const WAITING: usize = 8_192;

/// A place for lines that never makes anybody wait.
#[derive(Clone)]
pub struct Lines(SyncSender<Vec<u8>>);

impl Lines {
    /// Lines that a thread of their own writes.
    ///
    /// # Errors
    ///
    /// There is no thread to be had.
    pub fn to(mut place: impl Write + Send + 'static) -> io::Result<Self> {
        let (send, lines) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let thread = std::thread::Builder::new().name("haft-log".to_owned());
        thread.spawn(move || {
            let mut write = |line: &[u8]| {
                if place.write_all(line).and_then(|()| place.flush()).is_err() {
                    DROPPED.fetch_add(1, Ordering::Relaxed);
                }
            };
            while let Ok(line) = lines.recv() {
                write(&line);
            }
        })?;
        Ok(Self(send))
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.try_send(line.to_vec()).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line when a tool is begun and when a call ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Observe for Log {
    fn started(&self, started: &Started<'_>) {
        tracing::info!(
            event = "tool_execution_started",
            tenant_id = started.tenant,
            agent_id = started.agent,
            tool_name = started.tool,
            side_effect_policy = started.class.as_str(),
            call = started.call,
        );
    }

    fn finished(&self, finished: &Finished<'_>) {
        tracing::info!(
            event = "tool_execution_completed",
            tenant_id = finished.tenant,
            agent_id = finished.agent,
            tool_name = finished.tool,
            status = finished.status(),
            error = finished.error.map(|kind| kind.as_str()),
            stage = finished.stage.as_str(),
            cached = finished.cached,
            attempts = finished.attempts,
            execution_time_ms = finished.took.as_secs_f64() * 1000.0,
            call = finished.call,
        );
    }

    fn effect_changed(&self, changed: &EffectChanged<'_>) {
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    event = "effect_changed",
                    tenant_id = changed.tenant,
                    agent_id = changed.agent,
                    tool_name = changed.tool,
                    state = changed.state.as_str(),
                    by = changed.by,
                    call = changed.call,
                )
            };
        }
        match changed.state {
            // Somebody has to look.
            State::Unknown | State::Stuck => line!(warn),
            State::Started
            | State::Succeeded
            | State::Failed
            | State::Happened
            | State::NotHappened
            | State::Compensating
            | State::Compensated => line!(info),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A reader that takes nothing until it is let go.
    struct Held(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_takes_nothing_costs_lines_and_no_time() {
        let (go, held) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut lines = Lines::to(Held(held, seen.clone())).unwrap();
        let before = dropped();
        for _ in 0..WAITING + 100 {
            assert_eq!(lines.write(b"line\n").unwrap(), 5);
        }
        // One is in the reader's hands at most; the queue holds the rest.
        let lost = dropped() - before;
        assert!((99..=100).contains(&lost), "{lost}");
        drop(go);
        let mut tries = 0;
        while seen.lock().unwrap().len() < 5 * WAITING {
            tries += 1;
            assert!(tries < 1_000, "the rest is not written");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
