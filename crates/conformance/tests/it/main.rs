//! Runs the suites on this project's plugins, and on deliberately broken ones: the suites must detect these.

mod bench;
mod codecs;
mod data_types;
mod drivers;
mod filters;
mod maps;
mod remote;
