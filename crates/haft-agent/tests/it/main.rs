//! The loop from outside: a scripted provider on loopback, a runtime with tools that count.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod described;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod key;
#[cfg(test)]
mod offer;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod theirs;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod world;
