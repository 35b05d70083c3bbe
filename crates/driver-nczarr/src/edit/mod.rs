//! Edits of a dataset before they are stored.
//!
//! * `admit` decides whether the format can hold an edit.
//! * `plan` chooses the layout of a new variable; `parallel_layouts` does so for many variables at once.

pub(crate) mod admit;
pub(crate) mod parallel_layouts;
pub(crate) mod plan;
