//! Files beside a database, which are opened only where they are files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens what has to be a file. Whoever opens a pipe waits for somebody at its other end, and a device
/// gives and takes what it likes: neither is waited for, and what was opened is looked at, not its name.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    }
    let other = || {
        let why = "it is a folder, a pipe or a device, and has to be a file; move it away";
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    match options.open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(other()),
        Err(_) if fs::metadata(path).is_ok_and(|about| !about.is_file()) => Err(other()),
        Err(error) => Err(error),
    }
}

/// All of such a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
