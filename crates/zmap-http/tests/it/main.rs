//! The map of web servers against one that runs in the test: what is there, what goes wrong, what is asked.

mod campaign;
mod datasets;
mod deadline;
mod far;
mod map;
mod secrets;
mod settings;
mod source;
mod support;
