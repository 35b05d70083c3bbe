//! Tables and properties of the model: edits, names, slabs, mapped access and conversion. Slow versions check
//! the results.

mod apply;
mod convert;
mod lookup;
mod mapped;
mod names;
mod packed;
mod renames;
mod sample;
mod slab;
