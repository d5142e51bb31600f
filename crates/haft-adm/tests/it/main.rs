//! The rules of the data model, one topic per file.

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod arguments;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod declarations;
#[cfg(test)]
mod depth;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod results;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod serde_door;
#[cfg(test)]
mod text;
#[cfg(test)]
mod writing;

/// What was said, line by line; empty if nothing was wrong.
#[cfg(test)]
fn said<T>(read: Result<T, haft_adm::Errors>) -> Vec<String> {
    read.map_or_else(|errors| errors.iter().map(ToString::to_string).collect(), |_| Vec::new())
}
