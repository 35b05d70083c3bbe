//! The suites on what this project ships, and on things made wrong on purpose: those must be found out.

mod bench;
mod drivers;
mod filters;
mod maps;
mod remote;
