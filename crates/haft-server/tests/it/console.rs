//! The console, as raw HTTP and in a real browser.

mod browser;
mod cdp;
mod made_for;
mod others;
mod pages;
mod settings;
mod signing;
mod touched;
pub(crate) mod world;
