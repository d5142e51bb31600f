//! The child's side: takes one call after the other, each in an engine that has not seen another.
//!
//! All memory of an engine lies in one place and is put back as it was when the engine was made
//! (`haft-rewind`), as soon as an answer is sent. So there is nothing that one call could leave for
//! another: no globals, no prototypes, no modules, no jobs.

mod compile;
mod jail;
mod make;
mod outside;
mod prelude;
mod reach;
mod realm;
mod stock;
mod wire;

use std::process::exit;

use self::outside::Outside;
use self::stock::{IMAGE_BYTES, Stock, region_bytes};
use self::wire::Wire;
use super::frame::FromChild;

/// Serves the pool until it hangs up. `memory` is the engine's limit in bytes.
pub(super) fn serve(memory: u64) -> ! {
    let mut isolation = jail::enter(region_bytes(memory).saturating_add(IMAGE_BYTES));
    drop(std::env::set_current_dir("/"));
    let wire = Wire::new();
    let Ok(mut stock) = Stock::new(memory, Outside::new(wire.clone())) else { exit(3) };
    jail::seal(&mut isolation);
    let ready = serde_json::to_string(&isolation).unwrap_or_default();
    // A child that cannot reach its pool has nothing more to do.
    let Ok(()) = wire.send(&FromChild::Ready(ready)) else { exit(0) };
    loop {
        let Ok(call) = wire.next_call() else { exit(0) };
        let (end, json) = stock.run(&call);
        let ready = stock.is_ready();
        let Ok(()) = wire.send(&FromChild::Done { end, json, ready }) else { exit(0) };
        stock.tidy();
        if !ready {
            // This runs code of a handler. Who sends a call meanwhile knows that it is not begun.
            stock.fill();
            let Ok(()) = wire.send(&FromChild::Ready(String::new())) else { exit(0) };
        }
    }
}
