//! The driver on maps in memory.

mod annotated;
mod array_document;
mod bad_documents;
mod concurrent_writers;
mod create;
mod damaged_types;
mod filters;
mod foreign_types;
mod legacy_styles;
mod node_names;
mod non_utf8_text;
mod plain_zarr;
mod real_files;
mod redefine;
mod rename;
mod samples;
mod support;
mod user_types;
mod version3;
