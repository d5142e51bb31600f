//! The runtime from outside.

#[cfg(test)]
mod path;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod toolbox;
