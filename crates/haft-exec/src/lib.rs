//! Running a handler: native functions, and JavaScript in a sandbox that can be killed.
