//! The driver from outside.

mod conformance_suite;
mod damaged;
mod misfits;
mod support;
mod writing;
