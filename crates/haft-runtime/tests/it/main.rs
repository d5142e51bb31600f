//! What haft-runtime promises, seen from outside.

#[cfg(test)]
mod arguments;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod redaction;
