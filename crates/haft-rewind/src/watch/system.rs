//! What the system does for a watch: pages are closed and opened, and a signal says who wrote.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use libc::{c_int, c_void, sigaction, siginfo_t};

use super::watched_here;

/// The code of a signal for a page that is there and may not be touched so. The binding has no name for
/// it.
const SEGV_ACCERR: c_int = 2;

/// Whoever was told of such signals before; absent until we are.
static BEFORE: OnceLock<Option<sigaction>> = OnceLock::new();

pub(super) fn page_bytes() -> usize {
    // SAFETY: a question.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

/// Lets pages be written to, or only be read; false where the system refuses.
///
/// # Safety
///
/// They are whole pages of a region, and whoever writes to them while they are closed comes to the handler
/// below and is let through.
pub(super) unsafe fn protect(start: *mut u8, length: usize, writable: bool) -> bool {
    let how = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    // SAFETY: the caller says so.
    unsafe { libc::mprotect(start.cast(), length, how) == 0 }
}

/// Whether the processor's interruptions come to us. From the first time on they do, for good.
pub(super) fn watches() -> bool {
    let before = BEFORE.get_or_init(|| {
        let mut before = MaybeUninit::<sigaction>::uninit();
        // SAFETY: the system fills in what it is asked for.
        unsafe {
            let asked = libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr());
            (asked == 0).then(|| before.assume_init())
        }
    });
    static LISTENS: OnceLock<bool> = OnceLock::new();
    before.is_some()
        && *LISTENS.get_or_init(|| {
            // SAFETY: all zero is a valid one, with nothing blocked. The handler has the signature
            // that the flag says it has. It does little, and can be run on any stack.
            unsafe {
                let mut ours = MaybeUninit::<sigaction>::zeroed().assume_init();
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = interrupted;
                ours.sa_sigaction = handler as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigaction(libc::SIGSEGV, &raw const ours, ptr::null_mut()) == 0
            }
        })
}

/// Somebody touched what he may not touch. If it is a closed page of the region that this thread
/// watches, it is opened, and he tries again.
extern "C" fn interrupted(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system hands over what it knows of the signal. What is watched is there as long as
    // this thread's pointer to it is set, and all that is changed in it is atomic.
    let opened = unsafe {
        let address = (*info).si_addr().addr();
        (*info).si_code == SEGV_ACCERR
            && watched_here().as_ref().is_some_and(|pages| pages.open_page_of(address))
    };
    if !opened {
        pass_on(signal, info, context);
    }
}

/// Not ours: what would have been without us.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().copied().flatten();
    match before.filter(|before| ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction)) {
        Some(before) => {
            // SAFETY: it was given to the system as such a handler, whose flag says what it takes;
            // one that takes less does not see the rest.
            unsafe {
                type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                let handler: Handler = std::mem::transmute(before.sa_sigaction);
                handler(signal, info, context);
            }
        }
        None => {
            // SAFETY: what was touched is touched again, and ends the process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
