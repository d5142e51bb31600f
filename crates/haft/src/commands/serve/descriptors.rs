//! How many files and connections the process may have open at once.

use haft_server::Limits;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::output::Output;

/// So many are left for the store, the index, sandboxes and requests to others.
const FOR_THE_REST: u64 = 512;

/// Raises the limit as far as the system lets us, and takes no more connections than leave files for
/// the rest: a connection too many waits, whereas a file too many fails a call.
pub(super) fn within(mut limits: Limits, out: &Output) -> Limits {
    let Some(open) = raised() else { return limits };
    let room = connections(open);
    if room < limits.connections {
        out.note(&format!(
            "at most {open} files may be open here, so {room} connections are taken at once \
             instead of {}; raise the limit (`ulimit -n`) or lower `server.max_connections`",
            limits.connections
        ));
        limits.connections = room;
    }
    limits
}

fn raised() -> Option<u64> {
    let (now, most) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if now < most && setrlimit(Resource::RLIMIT_NOFILE, most, most).is_ok() {
        return Some(most);
    }
    Some(now)
}

fn connections(open: u64) -> usize {
    let room = open.saturating_sub(FOR_THE_REST.min(open / 2)).max(1);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_rest() {
        for (open, room) in [(0, 1), (64, 32), (1_024, 512), (65_536, 65_024)] {
            assert_eq!(connections(open), room, "{open}");
        }
    }
}
