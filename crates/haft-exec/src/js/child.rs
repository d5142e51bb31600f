//! The child's side: takes one call after the other, each in an engine that is thrown away.
//!
//! The engine for the next call is made ready while nobody waits. Runtime and realm are new for
//! every call, so there is nothing that one call could leave for another: no globals, no
//! prototypes, no modules, no jobs.

mod compile;
mod jail;
mod realm;
mod wire;

use std::process::exit;

use self::compile::Library;
use self::realm::Realm;
use self::wire::Wire;
use super::frame::{FromChild, ToChild};

/// Serves the pool until it hangs up. `memory` is the engine's limit in bytes.
pub(super) fn serve(memory: u64) -> ! {
    let mut isolation = jail::enter(memory);
    drop(std::env::set_current_dir("/"));
    let wire = Wire::new();
    let limit = usize::try_from(memory).unwrap_or(usize::MAX);
    let Ok(mut library) = Library::new(limit) else { exit(3) };
    // The first engine of a process loads what the later ones share: the time zone, say.
    let Ok(first) = Realm::new(&library, limit) else { exit(3) };
    drop(first);
    jail::seal(&mut isolation);
    let mut ready = serde_json::to_string(&isolation).unwrap_or_default();
    loop {
        let Ok(realm) = Realm::new(&library, limit) else { exit(3) };
        // A child that cannot reach its pool has nothing more to do.
        let Ok(()) = wire.send(&FromChild::Ready(std::mem::take(&mut ready))) else { exit(0) };
        let Ok(ToChild::Call(call)) = wire.receive() else { exit(0) };
        let done = realm.run(&mut library, &call, &wire);
        let Ok(()) = wire.send(&done) else { exit(0) };
    }
}
