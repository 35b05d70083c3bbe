//! The map against the S3 server in this process: the guarantees of a map, requests counted, secrets looked for.

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
mod suite;
mod wire;
mod writers;
