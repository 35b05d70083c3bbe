//! The driver from outside.

mod conformance_suite;
mod damaged;
mod support;
mod writing;
