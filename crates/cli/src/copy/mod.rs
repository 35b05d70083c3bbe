//! `ncz copy`: a dataset in another place, format or layout.
//!
//! The copy first defines all objects (`define`), then moves the data of each variable block by block
//! (`data`), so memory stays bounded. Comparing the result with the source afterwards finds the losses
//! (`compare`). They are reported, or fail a strict copy. The work happens beside the target
//! (`destination`): an existing dataset stays until the copy is finished. A failed copy leaves only state
//! that a later one can resume (`resumable`).

mod args;
mod as_nccopy;
mod attributes;
mod block;
mod byte_size;
mod compare;
mod data;
mod define;
mod defined;
pub mod destination;
mod dry_run;
mod error;
mod fingerprint;
mod fit;
mod job;
pub mod kind;
mod loss_report;
mod lossless_check;
mod max_length;
mod names;
mod pass_through;
mod plan;
mod portions;
mod progress;
pub mod resumable;
mod run;
mod select;
mod source_kind;
mod sparse;
pub mod spec;
mod stage;
mod storage_layout;
mod string_length;
mod strings;
#[cfg(test)]
mod table;
mod threads;
mod tiles;
mod var;

pub use args::CopyArgs;
pub use run::run;
