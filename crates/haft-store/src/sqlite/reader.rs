//! The threads that read: off the async threads, and never in the writer's way.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use haft_core::port::StoreError;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::sealing::Seals;
use super::still::Reading;
use crate::tables::Res;
use crate::vault::Ring;

type Query = Box<dyn FnOnce(&Seals<'_>) + Send>;

/// How many read at once what calls wait for, and how many what people look at.
const READERS: usize = 2;

/// How many may wait for a reader.
const WAITING: usize = 256;

/// Lists and figures may take long where there are many calls, and no call waits for them.
pub(super) struct Readers {
    calls: Lane,
    looks: Lane,
}

impl Readers {
    pub(super) fn start(path: &Path, busy: Duration, ring: &Arc<Ring>) -> Res<Self> {
        let lane = || Lane::start(path, busy, ring);
        Ok(Self { calls: lane()?, looks: lane()? })
    }

    /// What is found by its name, on the way of a call.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Seals<'_>) -> Res<T> + Send + 'static,
    ) -> Res<T> {
        self.calls.ask(query).await
    }

    /// What may be much.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Seals<'_>) -> Res<T> + Send + 'static,
    ) -> Res<T> {
        self.looks.ask(query).await
    }
}

/// Readers that share a queue.
struct Lane {
    queue: Option<mpsc::Sender<Query>>,
    threads: Vec<JoinHandle<()>>,
}

impl Lane {
    fn start(path: &Path, busy: Duration, ring: &Arc<Ring>) -> Res<Self> {
        let (queue, queries) = mpsc::channel::<Query>(WAITING);
        let queries = Arc::new(Mutex::new(queries));
        let mut threads = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let mut reading = Reading::open(path, busy)?;
            let (queries, ring) = (Arc::clone(&queries), Arc::clone(ring));
            let path = path.to_owned();
            let thread = thread::Builder::new().name("haft-store-read".to_owned());
            let spawned = thread.spawn(move || {
                loop {
                    // Whoever waits for a query holds the lock; the others wait for the lock.
                    let query = queries.lock().blocking_recv();
                    let Some(query) = query else { return };
                    reading.look_again(&path, busy);
                    query(&Seals::new(&reading.conn, &ring));
                }
            });
            threads.push(spawned.map_err(|error| {
                StoreError::Unavailable(format!("no thread to read with: {error}"))
            })?);
        }
        Ok(Self { queue: Some(queue), threads })
    }

    async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Seals<'_>) -> Res<T> + Send + 'static,
    ) -> Res<T> {
        let gone = || StoreError::Unavailable("the store is closed".to_owned());
        let (answer, wait) = oneshot::channel();
        let query: Query = Box::new(move |conn| {
            // Whoever asked may have gone while it waited.
            if !answer.is_closed() {
                let _ = answer.send(query(conn));
            }
        });
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(query).await.map_err(|_| gone())?;
        wait.await.map_err(|_| gone())?
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A connection that cannot write.
pub(super) fn open(path: &Path, busy: Duration) -> Res<Connection> {
    Reading::open(path, busy).map(|reading| reading.conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_call_waits_for_what_people_look_at() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        drop(Connection::open(&path).unwrap());
        let readers =
            Readers::start(&path, Duration::from_secs(1), &Arc::new(Ring::default())).unwrap();
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let ends = Arc::new(Mutex::new(ends));
        let look = || {
            let (begun, ends) = (begun.clone(), Arc::clone(&ends));
            readers.look(move |_| {
                begun.send(()).unwrap();
                let _ = ends.lock().recv();
                Ok(())
            })
        };
        let asked = async {
            for _ in 0..READERS {
                begins.recv().unwrap();
            }
            let found = readers.ask(|_| Ok(1)).await;
            drop(end);
            found
        };
        let (one, other, found) = tokio::join!(look(), look(), asked);
        assert_eq!((one, other, found), (Ok(()), Ok(()), Ok(1)));
    }
}
