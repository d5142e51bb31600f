//! What only the store in memory does: records that nobody looks at make room for newer ones.

use haft_core::port::{CallFilter, Journal as _};
use haft_store::Memory;

use crate::bed::call_record;

#[tokio::test]
async fn the_newest_records_wait_and_the_others_are_counted() {
    let store = Memory::new();
    for n in 0..5_000 {
        store.record(call_record(&format!("c{n}"), "a", 1).into());
    }
    assert_eq!(store.dropped(), 5_000 - 1_024);
    let filter = CallFilter { tenant: "acme".into(), limit: 1, ..CallFilter::default() };
    assert_eq!(&*store.calls(filter).await.unwrap()[0].call, "c4999");
    // Whoever has looked has them all from then on: what was written is no longer waiting.
    for n in 5_000..6_000 {
        store.record(call_record(&format!("c{n}"), "a", 1).into());
    }
    assert_eq!(store.dropped(), 5_000 - 1_024);
}
