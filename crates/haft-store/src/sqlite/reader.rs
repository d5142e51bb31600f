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

/// How many read at once.
const READERS: usize = 2;

/// How many may wait for a reader.
const WAITING: usize = 256;

pub(super) struct Readers {
    queue: Option<mpsc::Sender<Query>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(path: &Path, busy: Duration, ring: &Arc<Ring>) -> Res<Self> {
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

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Seals<'_>) -> Res<T> + Send + 'static,
    ) -> Res<T> {
        let gone = || StoreError::Unavailable("the store is closed".to_owned());
        let (answer, wait) = oneshot::channel();
        let query: Query = Box::new(move |conn| {
            let _ = answer.send(query(conn));
        });
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(query).await.map_err(|_| gone())?;
        wait.await.map_err(|_| gone())?
    }
}

impl Drop for Readers {
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
