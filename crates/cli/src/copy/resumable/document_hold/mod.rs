//! [`DocumentHold`]: a map that holds documents back until everything else is stored.
//!
//! Drivers recognise a dataset of many objects by its documents (`.zgroup`, `zarr.json` …). This map keeps
//! written documents in memory until [`DocumentHold::publish`] stores them, the root's last. *Invariant:*
//! before that, the storage contains chunks only, which no reader takes for a dataset. A resumed copy defines
//! everything anew and finds the chunks in place.
//!
//! Documents already in the storage, from a copy that stopped while it published, are hidden.

mod batch;
mod document_batch;
mod hold;
mod layer;

pub use hold::{DocumentHold, clear};
