//! Functions for whole datasets.

pub mod create;
mod flags;
mod hdf5_hints;
pub mod inquire;
pub mod lifecycle;
mod memory;
pub mod mode;
pub mod open;
mod parallel;
mod path;
mod process;
mod settings;

pub use settings::cache as cache_settings;
use settings::options;
