//! Functions for whole datasets.

mod create;
mod flags;
mod inquire;
mod lifecycle;
mod mode;
mod open;
mod path;
mod settings;

pub use settings::cache as cache_settings;
