//! The checks, one file per topic. Each takes what it needs and adds to the findings.

pub(crate) mod condition;
pub(crate) mod contract;
pub(crate) mod docs;
pub(crate) mod gateway;
pub(crate) mod paths;
pub(crate) mod patterns;
pub(crate) mod reach;
pub(crate) mod schema;
pub(crate) mod text;
pub(crate) mod toolset;
