//! The runtime from outside.

#[cfg(test)]
mod arguments;
#[cfg(test)]
mod config;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod dialects;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod one_way;
#[cfg(test)]
mod own;
#[cfg(test)]
mod path;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod recall;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod successors;
#[cfg(test)]
mod toolbox;
