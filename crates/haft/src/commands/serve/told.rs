//! Being told to stop.
//!
//! Signals are heard on a thread that does nothing else, with a runtime of its own: native code that holds
//! every thread of the server's runtime keeps neither the signal from being heard nor the process from
//! ending when its time is up.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::ending;
use crate::assembly::FEW_THREADS;
use crate::signals::Signals;

/// What the signals say.
pub(in crate::commands) struct Told {
    time: Arc<OnceLock<Duration>>,
    first: oneshot::Receiver<()>,
    second: oneshot::Receiver<()>,
}

impl Told {
    /// From now on there may be something to finish first, for which there is so much time. Gives what ends
    /// when the process is told to stop, and what ends when it is told so again: then it does not wait for
    /// anything, and effects that are under way stay on record as started.
    pub(in crate::commands) fn serving(
        self,
        time: Duration,
    ) -> (impl Future<Output = ()>, impl Future<Output = ()>) {
        // Nobody else sets it: whoever has called this has given it away.
        let _ = self.time.set(time);
        (heard(self.first), heard(self.second))
    }
}

/// Listens from the first moment: where nothing does, the first process of a container does not hear a
/// signal at all. Not to be called from within a runtime.
///
/// Until it serves, to be told is to end at once. Whoever opens a large store for the first time after an
/// upgrade may do so for minutes, and what is half done then is undone by the next start, as after a loss
/// of power.
///
/// One listener hears all signals. With one for each, a second signal that comes before the second
/// listener has noticed the first would be taken for the first.
pub(in crate::commands) fn listen() -> anyhow::Result<Told> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _within = runtime.enter();
        Signals::listen()?
    };
    let ((first, told), (second, again)) = (oneshot::channel(), oneshot::channel());
    let time = Arc::new(OnceLock::new());
    let hear = hear(signals, Arc::clone(&time), first, second);
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(hear)).context(FEW_THREADS)?;
    Ok(Told { time, first: told, second: again })
}

/// Tells of two signals, and ends the process when its time is up after the first.
async fn hear(
    mut signals: Signals,
    time: Arc<OnceLock<Duration>>,
    first: oneshot::Sender<()>,
    second: oneshot::Sender<()>,
) {
    signals.next().await;
    let Some(time) = time.get() else {
        // Without a word: it might have to wait for whoever reads them, and nobody is owed one.
        std::process::exit(0);
    };
    let mut up = pin!(tokio::time::sleep(*time));
    // Whoever is gone need not be told.
    let _ = first.send(());
    tokio::select! {
        () = signals.next() => {
            let _ = second.send(());
            up.await;
        }
        () = &mut up => {}
    }
    ending::end();
}

async fn heard(told: oneshot::Receiver<()>) {
    // The listener ends with the process, and then there is nothing to stop.
    let _ = told.await;
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};
    use std::sync::Barrier;
    use std::time::Instant;

    use super::*;
    use crate::assembly::{THREADS, block_on};
    use crate::output::Exit;

    const HOLD: &str = "HAFT_HOLD_EVERY_THREAD";
    const ALONE: &str =
        "commands::serve::told::tests::a_signal_is_heard_although_every_thread_is_held";

    /// Serves, with native code on every thread of the runtime that does not let go, and says when it has
    /// them all.
    fn held() -> anyhow::Result<()> {
        let told = listen()?;
        block_on(async move {
            let (told, _again) = told.serving(Duration::ZERO);
            let all = Arc::new(Barrier::new(THREADS + 1));
            for _ in 0..THREADS {
                let all = Arc::clone(&all);
                tokio::spawn(async move {
                    all.wait();
                    loop {
                        thread::park();
                    }
                });
            }
            all.wait();
            writeln!(std::io::stdout(), "\nheld")?;
            told.await;
            pending().await
        })
    }

    /// Its end, for which nobody waits for ever.
    fn ended(child: &mut Child) -> Option<i32> {
        let latest = Instant::now() + Duration::from_secs(60);
        while Instant::now() < latest {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        None
    }

    /// This test again, alone in a process of its own.
    #[test]
    fn a_signal_is_heard_although_every_thread_is_held() {
        if std::env::var_os(HOLD).is_some() {
            held().unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", ALONE, "--nocapture"])
            .env(HOLD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        assert!(said.lines().any(|line| line.unwrap() == "held"), "it ended before");
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(ended(&mut child), Some(Exit::Findings.code().into()));
    }
}
