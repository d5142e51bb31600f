//! A child that runs handlers, as a program of its own: for tests and for programs that cannot call
//! [`haft_exec::js::serve_if_asked`] themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_exec::js::serve_if_asked();
    // Started by hand there is nobody to serve.
    ExitCode::from(2)
}
