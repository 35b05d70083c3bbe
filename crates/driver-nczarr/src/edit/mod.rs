//! Edits of a dataset before they are stored.
//!
//! * `admission` lets an edit pass or rejects it; `edit_check` has the rules.
//! * `plan` chooses the layout of a new variable; `parallel_layouts` does so for many variables at once.
//! * `stored_type` defines a variable by the stored type of another dataset.

pub(crate) mod admission;
pub(crate) mod edit_check;
pub(crate) mod parallel_layouts;
pub(crate) mod plan;
pub(crate) mod stored_type;
