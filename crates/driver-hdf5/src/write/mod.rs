//! Writing: new files and existing files (`reopen`).
//!
//! Metadata are a tree of small structures, each made by its own module: `header`, `datatype`, `dense`,
//! `heap`, `chunk_index`, `superblock`. `netcdf` combines them into an `image` by netCDF-4's conventions. The
//! chunk engine writes data at once, to free space (`file`, `chunks`, `contiguous`, `vlen`, `fixed_text`,
//! `nul_check`). `commit` writes the metadata that lead to them.

mod admit;
mod att_order;
mod bytes;
mod chunk_index;
mod chunks;
mod commit;
mod committed;
mod contiguous;
mod create;
mod dataset;
mod datatype;
mod dense;
mod element;
mod file;
mod fixed_text;
mod header;
mod heap;
mod image;
mod netcdf;
mod nul_check;
mod plan;
mod reopen;
mod superblock;
mod var;
mod vlen;

#[cfg(test)]
mod interrupted;

pub(crate) use create::{create, create_in_memory};
pub(crate) use reopen::{open, open_bytes, open_in_memory};
