//! A conversation on a terminal: what is shown, what is typed, and Ctrl-C.

use std::collections::VecDeque;
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use haft_agent::{Approve, Cancel, Decision, Event, Question};
use haft_core::Principal;
use haft_core::port::Boxed;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use crate::assembly::plain;
use crate::output::Output;

/// The longest line of arguments that is shown.
const MOST_SHOWN: usize = 120;

/// So many lines are kept that nobody has asked for yet.
const MOST_LINES: usize = 1_024;

/// A line, and when it was typed.
type Line = (Instant, String);

/// Lines that a person types, and when. Read on a thread of its own, which nobody waits for at the
/// end.
#[derive(Clone)]
pub(super) struct Lines(Arc<Mutex<Typed>>);

struct Typed {
    from: mpsc::Receiver<Line>,
    /// Typed before a question came up, and meant for the next turn.
    kept: VecDeque<Line>,
}

impl Lines {
    pub(super) fn read() -> Self {
        let (to, from) = mpsc::channel(MOST_LINES);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if to.blocking_send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self::of(from)
    }

    fn of(from: mpsc::Receiver<Line>) -> Self {
        Self(Arc::new(Mutex::new(Typed { from, kept: VecDeque::new() })))
    }

    /// The next thing that is said; none at the end. An empty line that was typed before `asked` says
    /// nothing: who leaves does so when it is their turn.
    pub(super) async fn next(&self, asked: Instant) -> Option<Line> {
        let mut lines = self.0.lock().await;
        loop {
            let line = match lines.kept.pop_front() {
                Some(line) => line,
                None => lines.from.recv().await?,
            };
            if line.0 > asked || !line.1.trim().is_empty() {
                return Some(line);
            }
        }
    }

    /// The next line that was typed after an instant: what was typed before a question was asked is
    /// no answer to it, and stays for the next turn.
    async fn next_after(&self, instant: Instant) -> Option<String> {
        let mut lines = self.0.lock().await;
        while lines.kept.len() < MOST_LINES {
            match lines.from.recv().await? {
                (typed, line) if typed > instant => return Some(line),
                earlier => lines.kept.push_back(earlier),
            }
        }
        None
    }
}

/// Shows that it is the person's turn.
pub(super) fn prompt() {
    // Nobody is left to ask when standard error is gone.
    let _ = write!(std::io::stderr().lock(), "> ");
    let _ = std::io::stderr().flush();
}

/// Shows again what was typed in the middle of an answer, now that it is said.
pub(super) fn repeat(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(line));
}

/// Ctrl-C once calls the turn off, twice leaves.
pub(super) async fn interrupts(cancel: Cancel) {
    let mut times = 0;
    while tokio::signal::ctrl_c().await.is_ok() {
        times += 1;
        if times > 1 {
            // As a shell counts a program that was interrupted. What has begun is on record.
            std::process::exit(130);
        }
        cancel.cancel();
        let note =
            "\ncalling it off; what has begun is finished first (Ctrl-C again leaves at once)";
        let _ = writeln!(std::io::stderr().lock(), "{note}");
    }
}

/// Whoever sits at the terminal.
pub(super) struct Person {
    who: Principal,
    lines: Option<Lines>,
}

impl Person {
    pub(super) fn new(who: Principal, lines: Option<Lines>) -> Self {
        Self { who, lines }
    }

    async fn answer(&self, question: &Question) -> Decision {
        let Some(lines) = &self.lines else { return Decision::Later };
        let mut text = format!("\n{} asks: {}\n", question.tool, plain(&question.preview));
        for suspicious in &question.suspicious {
            text.push_str(&format!("  look twice: {}\n", plain(suspicious)));
        }
        text.push_str(&format!("  with {}\n", plain(&question.arguments.to_string())));
        loop {
            let _ = write!(std::io::stderr().lock(), "{text}Do it? [yes/no] ");
            let _ = std::io::stderr().flush();
            let Some(line) = lines.next_after(Instant::now()).await else { return Decision::Later };
            match line.trim().to_lowercase().as_str() {
                "yes" | "y" => return Decision::Approve,
                "no" | "n" => return Decision::Decline,
                _ => text = "Please answer yes or no. ".to_owned(),
            }
        }
    }
}

impl Approve for Person {
    fn principal(&self) -> &Principal {
        &self.who
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Boxed<'a, Decision> {
        Box::pin(self.answer(question))
    }
}

/// What the conversation looks like.
pub(super) struct Screen<'a> {
    out: &'a mut Output,
    json: bool,
    reasoning: bool,
    /// Whether the line that the answer is on has been begun.
    begun: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(out: &'a mut Output, json: bool, reasoning: bool) -> Self {
        Self { out, json, reasoning, begun: false }
    }

    pub(super) fn show(&mut self, event: &Event) {
        if self.json {
            let line = serde_json::to_string(event).unwrap_or_default();
            self.out.line(&plain(&line));
            let _ = std::io::stdout().flush();
            return;
        }
        match event {
            Event::Text { delta } | Event::Refusal { delta } => self.text(delta),
            Event::Reasoning { delta } if self.reasoning => {
                let _ = write!(std::io::stderr().lock(), "{}", plain(delta));
            }
            Event::ToolCallStart { tool, arguments, .. } => {
                self.aside(&format!("→ {tool} {}", short(arguments)));
            }
            Event::ToolCallResult { tool, error, message, cached, duration_ms, .. } => {
                let again = if *cached { ", answered from the record" } else { "" };
                let end = match (error, message) {
                    (Some(kind), Some(message)) => format!("[{kind}] {}", plain(message)),
                    (Some(kind), None) => format!("[{kind}]"),
                    (None, _) => format!("done in {duration_ms:.0} ms{again}"),
                };
                self.aside(&format!("← {tool} {end}"));
            }
            Event::Retry { after_ms, why, .. } => {
                self.aside(&format!("{}; trying again in {after_ms} ms", plain(why)));
            }
            Event::Message { text } => self.aside(&format!("(you: {})", plain(text))),
            Event::ConfirmationRequested { .. }
            | Event::ConfirmationDecided { .. }
            | Event::Reasoning { .. }
            | Event::ModelRequest { .. }
            | Event::ModelAnswer { .. }
            | Event::Done(_) => {}
        }
    }

    fn text(&mut self, delta: &str) {
        self.out.result(&plain(delta));
        // As it comes: a line that is not ended would wait.
        let _ = std::io::stdout().flush();
        self.begun = !delta.ends_with('\n');
    }

    /// Something beside the answer, on a line of its own.
    fn aside(&mut self, text: &str) {
        self.finish();
        self.out.note(text);
    }

    /// Ends the line that the answer is on.
    pub(super) fn finish(&mut self) {
        if self.begun {
            self.out.result("\n");
            let _ = std::io::stdout().flush();
            self.begun = false;
        }
    }
}

fn short(arguments: &Value) -> String {
    let text = plain(&arguments.to_string());
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn typed(lines: &[(Instant, &str)]) -> Lines {
        let (to, from) = mpsc::channel(MOST_LINES);
        for (at, line) in lines {
            to.try_send((*at, (*line).to_owned())).unwrap();
        }
        Lines::of(from)
    }

    #[tokio::test]
    async fn what_was_typed_before_a_question_is_said_after_it() {
        let asked = Instant::now();
        let (before, after) = (asked - Duration::from_secs(1), asked + Duration::from_secs(1));
        let lines = typed(&[
            (before, "and a chair"),
            (before, "in red"),
            (after, "yes"),
            (after, "thanks"),
        ]);
        assert_eq!(lines.next_after(asked).await.as_deref(), Some("yes"));
        let mut said = Vec::new();
        while let Some((_, line)) = lines.next(asked).await {
            said.push(line);
        }
        assert_eq!(said, ["and a chair", "in red", "thanks"]);
    }

    #[tokio::test]
    async fn an_empty_line_leaves_only_when_it_is_ones_turn() {
        let asked = Instant::now();
        let (before, after) = (asked - Duration::from_secs(1), asked + Duration::from_secs(1));
        let lines = typed(&[(before, ""), (before, "one"), (before, " "), (after, "")]);
        assert_eq!(lines.next(asked).await.unwrap().1, "one");
        assert_eq!(lines.next(asked).await.unwrap().1, "");
        assert!(lines.next(asked).await.is_none());
    }
}
