//! Tools out, arguments back: against schemas of the SDKs, a public corpus, and generated schemas.

#[cfg(test)]
mod adm;
#[cfg(test)]
mod arguments;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod described;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod names;
mod references;
#[cfg(test)]
mod retold;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod support;
