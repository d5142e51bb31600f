//! Logs: one line per event, with names and figures and never with what redaction strips.
//!
//! Whoever reads them may be slow or gone: lines wait in a bounded queue, and what does not fit is
//! dropped and counted. No request waits for a log.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};

use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectChanged, Finished, Observe, Started};
use haft_runtime::redact::is_hidden;

/// Says which effects of processes that are gone may have happened.
pub fn unknown(left: &[EffectRecord]) {
    if left.is_empty() {
        return;
    }
    let calls: Vec<&str> = left.iter().map(|one| one.effect.call.as_str()).collect();
    tracing::warn!(event = "effects_unknown", effects = left.len(), calls = calls.join(" "));
}

/// Says that nothing can be written to the store, and why.
pub fn only_read(why: &str) {
    tracing::warn!(event = "store_only_read", why);
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
pub struct Lines {
    to: SyncSender<Vec<u8>>,
    coloured: bool,
}

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
        Ok(Self { to: send, coloured: false })
    }

    /// Whether the lines have colours, which are left in them.
    #[must_use]
    pub fn coloured(self, coloured: bool) -> Self {
        Self { coloured, ..self }
    }
}

/// The most bytes of a line. Nothing of ours is as long.
const LONGEST: usize = 16 << 10;

/// An event's line as one line, whatever words of others are in it: what would begin another, or is not
/// seen, is written as its code, which is also how JSON writes it.
fn one_line(line: &[u8], coloured: bool) -> Vec<u8> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    if text.len() <= LONGEST && text.iter().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return line.to_vec();
    }
    let text = String::from_utf8_lossy(text);
    let mut told = String::with_capacity(text.len() + 16);
    for (at, letter) in text.char_indices() {
        if told.len() > LONGEST {
            return too_long(&told, text.len());
        }
        let colour = || coloured && text.get(at..).is_some_and(is_colour);
        match is_hidden(letter) && !colour() {
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                told.push_str(&format!("\\u{unit:04x}"));
            }),
            false => told.push(letter),
        }
    }
    told.push('\n');
    told.into_bytes()
}

/// Whether a text begins with a colour, and not with anything else that a terminal does.
fn is_colour(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return false };
    let end = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    end.starts_with('m')
}

/// A line that was cut; as JSON it says so instead, and is JSON still.
fn too_long(begun: &str, bytes: usize) -> Vec<u8> {
    let line = match begun.starts_with('{') {
        true => format!("{{\"level\":\"WARN\",\"event\":\"line_too_long\",\"bytes\":{bytes}}}\n"),
        false => format!("{begun}… ({bytes} bytes)\n"),
    };
    line.into_bytes()
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.to.try_send(one_line(line, self.coloured)).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A panic is a line like any other: where it was, and nothing of what it says, since that can hold
/// whatever was at hand.
pub fn panics() {
    std::panic::set_hook(Box::new(|panicked| {
        let at = panicked.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        tracing::error!(event = "panicked", at, thread);
    }));
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
            tool_name = finished.tool.unwrap_or(crate::metrics::NO_TOOL),
            status = finished.status(),
            error = finished.error.map(|kind| kind.as_str()),
            cause = finished.cause,
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

    /// Everything that was written, once the writer's thread is done with it.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of two events: one that says this in every way in which a word gets into a line, and
    /// one that comes after.
    fn logged(how: How, said: &str) -> Vec<String> {
        written(how, || {
            tracing::warn!(event = "told", why = %said, text = said, debug = ?said, "{said}");
        })
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum How {
        Json,
        Text,
    }

    /// Everything that is logged meanwhile, and a last line.
    fn written(how: How, tell: impl FnOnce()) -> Vec<String> {
        let page = Page::default();
        let lines = Lines::to(page.clone()).unwrap();
        let log = tracing_subscriber::fmt().with_target(false).with_writer(move || lines.clone());
        let tell = || {
            tell();
            tracing::warn!(event = "last");
        };
        let log: Box<dyn tracing::Subscriber + Send + Sync> = match how {
            How::Json => Box::new(log.json().flatten_event(true).finish()),
            How::Text => Box::new(log.with_ansi(false).compact().finish()),
        };
        tracing::subscriber::with_default(log, tell);
        for _ in 0..10_000 {
            let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
            if text.ends_with('\n') && text.lines().last().is_some_and(|one| one.contains("last")) {
                return text.lines().map(str::to_owned).collect();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("the last line does not come");
    }

    #[test]
    fn an_event_is_one_line_whatever_words_are_in_it() {
        let hostile =
            "ok\r\nFAKE event=\"granted\"\u{1b}[2J\u{2028}FAKE\u{2029}\u{85}\u{9b}31m\u{202e}x\0";
        for how in [How::Json, How::Text] {
            let lines = logged(how, hostile);
            assert_eq!(lines.len(), 2, "{lines:#?}");
            let odd = |c: char| c.is_control() || "\u{2028}\u{2029}\u{202e}".contains(c);
            assert!(!lines[0].contains(odd), "{lines:#?}");
            assert!(lines[0].contains("FAKE"), "it is told: {lines:#?}");
            let long = logged(how, &"x".repeat(1 << 20));
            assert_eq!(long.len(), 2);
            assert!(long[0].len() < 2 * LONGEST, "{} bytes", long[0].len());
            for line in lines.iter().chain(&long).filter(|_| how == How::Json) {
                serde_json::from_str::<serde_json::Value>(line).expect(line);
            }
        }
        assert_eq!(
            logged(How::Json, hostile)[0].matches("\\u2028").count(),
            3,
            "as JSON writes it"
        );
    }

    #[test]
    fn colours_stay_where_there_are_any_and_nothing_else_that_a_terminal_does() {
        let line = "\u{1b}[33m WARN\u{1b}[0m why=\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}\n";
        let told = |coloured| String::from_utf8(one_line(line.as_bytes(), coloured)).unwrap();
        let rest = "why=\\u001b[2J\\u001b]0;x\\u0007\\u001b\n";
        assert_eq!(told(true), format!("\u{1b}[33m WARN\u{1b}[0m {rest}"));
        assert_eq!(told(false), format!("\\u001b[33m WARN\\u001b[0m {rest}"));
    }

    #[test]
    fn a_panic_is_one_line_that_says_where_and_not_what() {
        let before = std::panic::take_hook();
        panics();
        let lines = written(How::Json, || {
            let secret = "canary\nFAKE";
            assert!(std::panic::catch_unwind(|| panic!("it was {secret}")).is_err());
        });
        std::panic::set_hook(before);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("panicked") && lines[0].contains("logs.rs:"), "{lines:?}");
        assert!(!lines[0].contains("canary"), "{lines:?}");
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
