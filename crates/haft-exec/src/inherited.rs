//! What a process has open that its parent did not mean to give it.

use std::collections::HashSet;
use std::os::fd::RawFd;

/// Closes everything but input, output and errors. Ours are closed on their own when a program is started;
/// those of other libraries, and of whoever started haft, may not be.
pub(crate) fn close() {
    let listed = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    let Ok(entries) = listed else { return };
    let open: HashSet<RawFd> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        // The directory's own is closed by now; that it fails is expected.
        let _ = nix::unistd::close(fd);
    }
}
