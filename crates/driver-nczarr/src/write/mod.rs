//! Storing of metadata.
//!
//! * `commit` decides which nodes are stored, and in what order; `store` writes their documents.
//! * `render` makes the documents from the model. `merge` and `merge_v3` merge them with those of other
//!   writers.
//! * `rename` and `rename_dims` store renames, so that the dataset opens at every intermediate state.
//! * `consolidated` writes consolidated metadata, and `remove_consolidated` removes it.

pub(crate) mod commit;
pub(crate) mod consolidated;
pub(crate) mod merge;
pub(crate) mod merge_v3;
pub(crate) mod remove_consolidated;
pub(crate) mod rename;
pub(crate) mod rename_dims;
pub(crate) mod render;
pub(crate) mod store;
