//! The one path, stage by stage and fault by fault.

mod alike;
mod confirm;
mod desk;
mod edges;
mod effects;
mod faults;
pub(crate) mod faulty;
mod gate;
mod hide;
mod once;
mod parts;
mod races;
mod recall;
mod saga;
mod sessions;
mod storm;
mod words;
pub(crate) mod world;
