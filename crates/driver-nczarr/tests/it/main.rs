//! The driver on maps in memory.

mod annotated;
mod create;
mod files;
mod filters;
mod foreign_types;
mod hostile;
mod known;
mod latin;
mod node_names;
mod odd_types;
mod older;
mod plain;
mod redefine;
mod rename;
mod samples;
mod support;
mod together;
mod user_types;
mod version3;
