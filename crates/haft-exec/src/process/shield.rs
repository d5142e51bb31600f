//! A handler cannot end whoever ends it.
//!
//! Its keeper is a process like any other of the same user, and whoever kills it frees what the handler
//! has started. So the handler, and all that it starts, is refused every signal that is meant for its
//! keeper or for haft, every limit of another process, and to debug anybody. That it cannot join their groups is its
//! session's doing.
//!
//! A filter sees numbers. The keeper has one, since it has one thread; haft has as many as threads, which
//! come and go, and of which the filter knows the first.

use std::collections::BTreeSet;

use nix::unistd::{Pid, getpgid};
use seccompiler::Error;

use crate::filter::{self, Condition, Len, Op, Rule, Rules};

/// `kill(-1)` means everybody.
const EVERYBODY: i32 = -1;

/// Have a file send its signals to somebody: `fcntl`, and the same of `ioctl`.
const SET_OWNER: [i32; 2] = [libc::F_SETOWN, 15];
const SET_OWNER_OF: [i32; 2] = [0x8901, 0x8902];

/// Refuses what could end these processes, from now on.
pub(super) fn raise(guarded: &[Pid]) -> Result<(), Error> {
    // Whoever leads their group has started them, and may take them along.
    let groups = guarded.iter().filter_map(|id| getpgid(Some(*id)).ok());
    let all = guarded.iter().copied().chain(groups).map(Pid::as_raw);
    // What is in another namespace has no number here, and 0 is one's own group.
    filter::refuse(rules(&all.filter(|id| *id > 0).collect())?)
}

fn rules(guarded: &BTreeSet<i32>) -> Result<Rules, Error> {
    // Whoever means a group says its number as a negative one.
    let all = guarded.iter().flat_map(|id| [*id, -id]).chain([EVERYBODY]);
    let all: BTreeSet<i32> = all.collect();
    let mut rules = Rules::new();
    let mut refuse = |call, which: Vec<Rule>| {
        rules.extend(numbers(call).into_iter().map(|number| (number, which.clone())));
    };
    for call in [
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        refuse(call, where_any(0, Op::Eq, &all)?);
    }
    // These name whom they mean second.
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        refuse(call, where_any(1, Op::Eq, &all)?);
    }
    // Whoever is debugged stands still, and its memory is the debugger's. A program that means its own
    // children does without, too: the numbers of haft's threads are not known.
    for call in [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
    ] {
        refuse(call, Vec::new());
    }
    // Its own limits are those of 0.
    refuse(libc::SYS_prlimit64, where_any(0, Op::Ne, &[0])?);
    refuse(libc::SYS_fcntl, where_any(1, Op::Eq, &SET_OWNER)?);
    refuse(libc::SYS_ioctl, where_any(1, Op::Eq, &SET_OWNER_OF)?);
    // It takes an open folder of `/proc` as well, of which nobody can tell whose it is. Programs that
    // cannot use it use `kill`.
    refuse(libc::SYS_pidfd_send_signal, Vec::new());
    Ok(rules)
}

/// Where an argument compares so with any of these. The kernel looks at its lower half alone.
fn where_any<'n>(
    argument: u8,
    op: Op,
    values: impl IntoIterator<Item = &'n i32>,
) -> Result<Vec<Rule>, Error> {
    let rule = |value: &i32| {
        let value = u64::from(value.cast_unsigned());
        Ok(Rule::new(vec![Condition::new(argument, Len::Dword, op.clone(), value)?])?)
    };
    values.into_iter().map(rule).collect()
}

/// What a system call is known by. Kernels may take those of x86-64 under the numbers of x32 as well.
#[cfg(target_arch = "x86_64")]
fn numbers(call: i64) -> Vec<i64> {
    let short = match call {
        libc::SYS_ioctl => 514,
        libc::SYS_ptrace => 521,
        libc::SYS_process_vm_readv => 539,
        libc::SYS_process_vm_writev => 540,
        libc::SYS_rt_sigqueueinfo => 524,
        libc::SYS_rt_tgsigqueueinfo => 536,
        other => other,
    };
    vec![call, call | X32, short | X32]
}

#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

#[cfg(not(target_arch = "x86_64"))]
fn numbers(call: i64) -> Vec<i64> {
    vec![call]
}
