//! Tools out, arguments back: against schemas of the SDKs, a public corpus, and generated schemas.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod names;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod support;
