//! From a path or URL to a [`Target`]: scheme, path, fragment, modes.
//!
//! [`parse`] reads what was typed, without opening anything and without knowing which drivers and maps are there:
//! words it does not know stay in [`Target::modes`], schemes it does not know become [`Scheme::Other`], and the
//! registry decides about both. [`infer_create, names_a_file`] says what a new dataset at a target is to be.
#![forbid(unsafe_code)]

mod create;
mod fragment;
mod parse;
mod rules;
mod target;

pub use create::{CreatePlan, infer_create, names_a_file};
pub use fragment::{is_known_mode, known_keys, known_modes};
pub use parse::parse;
pub use target::{Scheme, Target};
