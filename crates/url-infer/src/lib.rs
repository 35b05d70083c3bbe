//! Parses a path or URL into a [`Target`]: scheme, path, fragment, modes.
//!
//! [`Place`] is a path, which is never parsed, or a URL. [`parse`] opens nothing and does not know which
//! drivers and maps exist. Unknown words stay in [`Target::modes`], and unknown schemes become
//! [`Scheme::Other`]; the registry decides about both.
//! [`infer_create`] and [`names_a_file`] decide the kind of a new dataset.
#![forbid(unsafe_code)]

mod create;
mod fragment;
mod parse;
mod place;
mod rules;
mod target;

pub use create::{CreatePlan, infer_create, names_a_file, names_a_format};
pub use fragment::{is_known_mode, known_keys, known_modes};
pub use parse::parse;
pub use place::Place;
pub use target::{Scheme, Target};
