//! Writing: new files, and files that are there (`reopen`).
//!
//! Metadata are a tree of small structures, each made by a module of its own (`header`, `datatype`, `dense`, `heap`,
//! `chunk_index`, `superblock`), by the conventions in `netcdf`, into one `image`. Data are written as they come, by the
//! chunk engine, to where nothing is (`file`, `chunks`, `extent`, `strings`, `text`); `commit` writes the metadata that lead there.

mod admit;
mod bytes;
mod chunk_index;
mod chunks;
mod commit;
mod create;
mod dataset;
mod datatype;
mod dense;
mod element;
mod extent;
mod file;
mod header;
mod heap;
mod image;
mod netcdf;
mod plan;
mod reopen;
mod strings;
mod superblock;
mod text;
mod var;

#[cfg(test)]
mod stopped;

pub(crate) use create::{create, create_in_memory};
pub(crate) use reopen::{open, open_bytes, open_in_memory};
