//! The driver from outside.

mod conformance_suite;
mod support;
mod writing;
