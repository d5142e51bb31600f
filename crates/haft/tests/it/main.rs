//! The binary, run as people run it.

#[cfg(test)]
mod bundled;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod declared;
#[cfg(test)]
mod fresh;
#[cfg(test)]
mod hops;
#[cfg(test)]
mod import;
#[cfg(unix)]
#[cfg(test)]
mod left;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod memory;
#[cfg(unix)]
#[cfg(test)]
mod piped;
#[cfg(unix)]
#[cfg(test)]
mod programs;
#[cfg(test)]
mod project;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod scarce;
#[cfg(test)]
mod server;
#[cfg(test)]
mod service;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod still;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod twice;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod words;
