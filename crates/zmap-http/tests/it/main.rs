//! The map of web servers against one that runs in the test: what is there, what goes wrong, what is asked.

mod campaign;
mod datasets;
mod deadline;
mod far;
mod identity;
mod login;
mod map;
mod proxy;
mod secrets;
mod settings;
mod source;
mod support;
mod unlisted;
