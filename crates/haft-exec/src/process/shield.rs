//! A handler cannot end whoever ends it.
//!
//! Its keeper is a process like any other of the same user, and whoever kills it frees what the handler
//! has started. So the handler, and all that it starts, is refused every signal and every limit that
//! is meant for its keeper or for haft.

use seccompiler::Error;

use crate::filter::{self, Condition, Len, Op, Rule, Rules};

/// `kill(-1)` means everybody.
const EVERYBODY: i32 = -1;

/// Refuses what could end these processes, from now on.
pub(super) fn raise(guarded: &[i32]) -> Result<(), Error> {
    filter::refuse(rules(guarded)?)
}

fn rules(guarded: &[i32]) -> Result<Rules, Error> {
    // Whoever means a group says its number as a negative one.
    let all: Vec<i32> = guarded.iter().flat_map(|id| [*id, -id]).chain([EVERYBODY]).collect();
    let mut rules = Rules::new();
    for call in [
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_prlimit64,
    ] {
        rules.insert(call, all.iter().map(|id| first_is(*id)).collect::<Result<_, Error>>()?);
    }
    // It takes an open folder of `/proc` as well, of which nobody can tell whose it is. Programs that
    // cannot use it use `kill`.
    rules.insert(libc::SYS_pidfd_send_signal, Vec::new());
    Ok(rules)
}

/// Where the first argument is this number. The kernel looks at its lower half alone.
fn first_is(id: i32) -> Result<Rule, Error> {
    let condition = Condition::new(0, Len::Dword, Op::Eq, u64::from(id.cast_unsigned()))?;
    Ok(Rule::new(vec![condition])?)
}
