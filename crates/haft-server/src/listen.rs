//! Listening: connections with deadlines and a cap, and a shutdown that lets work finish.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::door::{Door, Limits};

/// How long open requests and begun effects are waited for when the server is told to stop.
const DRAIN: Duration = Duration::from_secs(25);

/// Serves until `stop` resolves; then takes no more connections, finishes what has begun, and
/// returns how many effects were still running when time was up.
pub async fn serve(
    listener: TcpListener,
    door: Arc<Door>,
    stop: impl Future<Output = ()> + Send,
) -> usize {
    let app = crate::router(door.clone());
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(door.limits.connections));
    let builder = builder(&door.limits);
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &room) => {
                let Some((stream, permit)) = accepted else { continue };
                let (io, app) = (TokioIo::new(stream), TowerToHyperService::new(app.clone()));
                let connection = builder.serve_connection_with_upgrades(io, app).into_owned();
                let watched = open.watch(connection);
                tokio::spawn(async move {
                    // A connection that breaks is the client's affair.
                    let _ = watched.await;
                    drop(permit);
                });
            }
        }
    }
    drop(listener);
    door.stop();
    let _ = tokio::time::timeout(DRAIN, open.shutdown()).await;
    door.runtime.drain(DRAIN).await
}

type Accepted = (tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit);

/// The next connection, once there is room for one.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Small answers must not wait for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(_) => {
            // Out of file descriptors, say: wait for some to be given back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// HTTP/1.1 alone: what HTTP/2 would bring in speed, its floods would cost.
fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(64 << 10);
    builder
}
