//! Handlers run for real: functions in this process, JavaScript in real children.

#![expect(
    clippy::disallowed_methods,
    reason = "these are the executors' own tests: they make the jobs that otherwise the path makes"
)]

#[cfg(test)]
mod ahead;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod context;
#[cfg(test)]
mod dispatch;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod native;
#[cfg(test)]
mod nested;
#[cfg(test)]
mod pool;
#[cfg(test)]
mod process;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod residue;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod studio;
