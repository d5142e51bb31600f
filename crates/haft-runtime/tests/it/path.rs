//! The one path, stage by stage and fault by fault.

mod confirm;
mod effects;
mod gate;
mod once;
mod sessions;
pub(crate) mod world;
