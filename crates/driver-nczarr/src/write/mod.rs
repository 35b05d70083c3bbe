//! Storing of metadata.
//!
//! * `commit` decides which nodes are stored, and in what order; `store` writes their `documents`.
//!   `committed` records them.
//! * `render` makes the documents from the model.
//! * `merge` merges them with those of other writers: `merge_attributes`, `merge_lists`, `length_merge`, and
//!   `merge_v3` for V3.
//! * `joined` checks documents that several processes store for the same node.
//! * `rename` and `rename_dims` store renames, so that the dataset opens at every intermediate state.
//! * `reserve` reserves indices of an unlimited dimension: it raises each `stored_length` in place.
//! * `consolidated` writes consolidated metadata, and `remove_consolidated` removes it.

pub(crate) mod commit;
pub(crate) mod committed;
pub(crate) mod consolidated;
pub(crate) mod documents;
pub(crate) mod joined;
pub(crate) mod length_merge;
pub(crate) mod merge;
pub(crate) mod merge_attributes;
pub(crate) mod merge_lists;
pub(crate) mod merge_v3;
pub(crate) mod remove_consolidated;
pub(crate) mod rename;
pub(crate) mod rename_dims;
pub(crate) mod render;
pub(crate) mod reserve;
pub(crate) mod store;
pub(crate) mod stored_length;
pub(crate) mod threads;
