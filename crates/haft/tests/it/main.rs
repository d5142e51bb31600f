//! The binary, run as people run it.

#[cfg(test)]
mod declared;
#[cfg(test)]
mod project;
#[cfg(test)]
mod server;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod words;
