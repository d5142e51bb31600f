//! The child's side: takes one call after the other, each in an engine that is thrown away.
//!
//! The engines for the next calls are made while nobody waits. Runtime and realm are new for every
//! call, so there is nothing that one call could leave for another: no globals, no prototypes, no
//! modules, no jobs.

mod compile;
mod jail;
mod prelude;
mod reach;
mod realm;
mod stock;
mod wire;

use std::process::exit;

use self::stock::Stock;
use self::wire::Wire;
use super::frame::FromChild;

/// Serves the pool until it hangs up. `memory` is the engine's limit in bytes.
pub(super) fn serve(memory: u64) -> ! {
    let mut isolation = jail::enter(memory);
    drop(std::env::set_current_dir("/"));
    let wire = Wire::new();
    let limit = usize::try_from(memory).unwrap_or(usize::MAX);
    let Ok(mut stock) = Stock::new(limit, wire.clone()) else { exit(3) };
    jail::seal(&mut isolation);
    let Ok(_) = stock.fill() else { exit(3) };
    let ready = serde_json::to_string(&isolation).unwrap_or_default();
    // A child that cannot reach its pool has nothing more to do.
    let Ok(()) = wire.send(&FromChild::Ready(ready)) else { exit(0) };
    loop {
        while wire.is_quiet() {
            match stock.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => exit(3),
            }
        }
        let Ok(call) = wire.next_call() else { exit(0) };
        let Ok((end, json, spent)) = stock.run(&call) else { exit(3) };
        let ready = stock.is_ready();
        let Ok(()) = wire.send(&FromChild::Done { end, json, ready }) else { exit(0) };
        drop(spent);
        if !ready {
            let Ok(_) = stock.fill() else { exit(3) };
            let Ok(()) = wire.send(&FromChild::Ready(String::new())) else { exit(0) };
        }
    }
}
