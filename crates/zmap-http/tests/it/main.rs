//! The HTTP map with a server in the test process: content, faults, request counts.

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
