//! The map with the S3 server in this process: guarantees of a map, request counts, leaked secrets.

mod campaign;
mod common;
mod conditions;
mod datasets;
mod deadline;
mod encrypted;
mod endpoint;
mod parts;
mod payer;
mod proxy;
mod secrets;
mod source;
mod stopped;
mod suite;
mod wire;
mod writers;
