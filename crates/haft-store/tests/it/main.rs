//! The stores from outside: one contract for all of them, then what only SQLite has to stand.

#[cfg(test)]
mod agree;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod before;
#[cfg(test)]
mod boots;
#[cfg(test)]
mod calendar;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod files;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod listed;
#[cfg(test)]
mod looked;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod sealing;
#[cfg(test)]
mod still;
#[cfg(test)]
mod tail;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod trail;
