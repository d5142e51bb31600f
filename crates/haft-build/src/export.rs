//! Registries as plain definitions. Providers' own formats are `haft-wire`'s.

mod json_schema;

#[cfg(test)]
pub(crate) mod tests;

pub use json_schema::json_schema;
