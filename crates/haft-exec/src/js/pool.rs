//! The children: kept warm, lent to one call at a time, replaced when they are spent.
//!
//! A keeper thread starts them and waits for those that end. It lives as long as the pool, which
//! the children must not outlive.

use std::collections::VecDeque;
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use haft_core::Digest;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::frame::End;
use super::worker::Worker;
use super::{Isolation, Settings};

/// How long a child may take until it is ready again: it loads a handler ahead.
pub(super) const TIDYING: Duration = Duration::from_secs(2);

pub(super) struct Pool {
    settings: Settings,
    state: Mutex<State>,
    keeper: Sender<Order>,
}

#[derive(Default)]
struct State {
    /// Not lent, longest first: the others may still put their engine back.
    idle: VecDeque<Worker>,
    waiting: VecDeque<oneshot::Sender<Result<Lease, String>>>,
    /// Idle, lent or being started.
    alive: usize,
    isolation: Isolation,
}

impl State {
    fn next_idle(&mut self, digest: Option<&Digest>) -> Option<Worker> {
        let known = digest
            .and_then(|digest| self.idle.iter().position(|worker| worker.knows(digest)))
            .unwrap_or(0);
        self.idle.remove(known)
    }
}

enum Order {
    Start,
    Reap(Child),
}

impl Pool {
    pub(super) fn start(settings: Settings) -> Arc<Self> {
        let (keeper, orders) = mpsc::channel();
        let warm = settings.warm.min(settings.most.max(1));
        let state = Mutex::new(State { alive: warm, ..State::default() });
        let pool = Arc::new(Self { settings: settings.clone(), state, keeper });
        let weak = Arc::downgrade(&pool);
        let thread = thread::Builder::new().name("haft-js".to_owned());
        // Without the thread every order fails, and callers are told so.
        drop(thread.spawn(move || keep(&orders, &weak, &settings)));
        for _ in 0..warm {
            pool.order_start(&mut pool.state.lock());
        }
        pool
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn isolation(&self) -> Isolation {
        self.state.lock().isolation.clone()
    }

    /// A child for one call that nobody has to wait for; if it can be, one that knows the source and so
    /// may have loaded it already. One that has died meanwhile cannot be written to, and the call goes to
    /// another.
    pub(super) fn take_idle(self: &Arc<Self>, digest: Option<&Digest>) -> Option<Lease> {
        let worker = self.state.lock().next_idle(digest)?;
        Some(Lease::fresh(self, worker))
    }

    /// The same, waited for where all are busy.
    pub(super) async fn take(self: &Arc<Self>, digest: Option<&Digest>) -> Result<Lease, String> {
        let waits = {
            let mut state = self.state.lock();
            if let Some(worker) = state.next_idle(digest) {
                return Ok(Lease::fresh(self, worker));
            }
            let (tell, waits) = oneshot::channel();
            state.waiting.push_back(tell);
            self.grow(&mut state);
            waits
        };
        waits.await.unwrap_or_else(|_| Err("the pool has ended".to_owned()))
    }

    /// Gives a ready child to who waits longest, or keeps it.
    fn arrived(self: &Arc<Self>, mut worker: Worker) {
        let mut state = self.state.lock();
        while let Some(waits) = state.waiting.pop_front() {
            match waits.send(Ok(Lease::fresh(self, worker))) {
                Ok(()) => return,
                Err(Ok(mut lease)) => match lease.worker.take() {
                    Some(back) => worker = back,
                    None => return,
                },
                Err(Err(_)) => return,
            }
        }
        state.idle.push_back(worker);
    }

    /// Ends a child and starts another where one is missed.
    fn discard(&self, worker: Worker) {
        let mut state = self.state.lock();
        self.reap(&mut state, worker);
        if !state.waiting.is_empty() || state.alive < self.settings.warm {
            self.grow(&mut state);
        }
    }

    /// Ends the idle children that do not come to an end with what a handler left.
    fn discard_stuck(&self) {
        let stuck: VecDeque<Worker> = {
            let idle = &mut self.state.lock().idle;
            let (stuck, fit) = idle.drain(..).partition(|worker| worker.is_stuck(TIDYING));
            *idle = fit;
            stuck
        };
        for worker in stuck {
            self.discard(worker);
        }
    }

    fn reap(&self, state: &mut State, worker: Worker) {
        state.alive = state.alive.saturating_sub(1);
        if let Some(child) = worker.kill() {
            drop(self.keeper.send(Order::Reap(child)));
        }
    }

    fn grow(&self, state: &mut State) {
        if state.alive < self.settings.most.max(1) {
            state.alive += 1;
            self.order_start(state);
        }
    }

    fn order_start(&self, state: &mut State) {
        if self.keeper.send(Order::Start).is_err() {
            failed(state, "its thread could not be started");
        }
    }
}

/// Every idle child ends with the pool; lent ones end with their leases.
impl Drop for Pool {
    fn drop(&mut self) {
        for worker in self.state.get_mut().idle.drain(..) {
            if let Some(child) = worker.kill() {
                drop(self.keeper.send(Order::Reap(child)));
            }
        }
    }
}

fn keep(orders: &Receiver<Order>, pool: &Weak<Pool>, settings: &Settings) {
    loop {
        match orders.recv_timeout(TIDYING) {
            Ok(Order::Start) => {
                if pool.strong_count() == 0 {
                    continue;
                }
                let started = Worker::start(settings);
                let Some(pool) = pool.upgrade() else { continue };
                match started {
                    Ok((worker, isolation)) => {
                        pool.state.lock().isolation = isolation;
                        pool.arrived(worker);
                    }
                    Err(why) => failed(&mut pool.state.lock(), &why),
                }
            }
            Ok(Order::Reap(mut child)) => drop(child.wait()),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(pool) = pool.upgrade() {
                    pool.discard_stuck();
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// No child came. Whoever waits is told; the next call tries again.
fn failed(state: &mut State, why: &str) {
    state.alive = state.alive.saturating_sub(1);
    // Those that are there will come back to the others.
    if state.alive == 0 {
        for waits in state.waiting.drain(..) {
            drop(waits.send(Err(why.to_owned())));
        }
    }
}

/// A child lent to one call. Dropped before the call was sent, the child goes back; dropped while
/// the handler runs, it is killed.
pub(super) struct Lease {
    pool: Arc<Pool>,
    worker: Option<Worker>,
    begun: bool,
}

impl Lease {
    fn fresh(pool: &Arc<Pool>, worker: Worker) -> Self {
        Self { pool: pool.clone(), worker: Some(worker), begun: false }
    }

    /// The child, not yet used.
    pub(super) fn worker(&mut self) -> Option<&mut Worker> {
        self.worker.as_mut()
    }

    /// The child, to be used from now on.
    pub(super) fn begin(&mut self) -> Option<&mut Worker> {
        self.begun = true;
        self.worker.as_mut()
    }

    /// Gives the child back, to be called again: at once where it is ready for that, and otherwise
    /// as soon as it is. A call does not wait here for that: it lies in the pipe until the
    /// child comes to it.
    pub(super) fn back(mut self, end: End, ready: bool) {
        let Some(mut worker) = self.worker.take() else { return };
        worker.calls += 1;
        if end == End::OutOfMemory || worker.is_spent(&self.pool.settings) {
            return self.pool.discard(worker);
        }
        worker.tidying = (!ready).then(Instant::now);
        self.pool.arrived(worker);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            if self.begun {
                self.pool.discard(worker);
            } else {
                self.pool.arrived(worker);
            }
        }
    }
}
