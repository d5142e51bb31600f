//! Keeping the store in order while the server runs.

use std::sync::Arc;

use haft_core::port::StoreError;

use crate::door::Door;

/// Takes over the effects of processes that are gone, and forgets what is due, from time to time
/// until it is dropped. What could not be done is tried again the next time.
pub(crate) async fn keep(door: Arc<Door>) {
    loop {
        tokio::time::sleep(door.limits.tend).await;
        if let Err(error) = once(&door).await {
            tracing::warn!(event = "store_not_tended", why = %error);
        }
    }
}

async fn once(door: &Door) -> Result<(), StoreError> {
    crate::logs::unknown(&door.runtime.tend().await?);
    let went = door.runtime.forget().await?;
    door.metrics.forgot(&went);
    if went.anything() {
        tracing::info!(
            event = "records_forgotten",
            calls = went.calls,
            entries = went.entries,
            confirmations = went.confirmations,
            sessions = went.sessions,
        );
    }
    Ok(())
}
