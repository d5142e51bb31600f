//! The server as a client meets it: real sockets, raw HTTP.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod client;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod console;
#[cfg(test)]
mod descriptors;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod events;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod heads;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod lasting;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_lines;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod overload;
#[cfg(test)]
mod own;
#[cfg(test)]
mod patience;
#[cfg(test)]
mod people;
#[cfg(test)]
mod progress;
mod refused;
#[cfg(test)]
mod revoked;
#[cfg(test)]
mod said;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod socket;
#[cfg(test)]
mod tending;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod traces;
