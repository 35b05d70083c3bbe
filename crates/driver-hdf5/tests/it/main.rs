//! Tests of the driver's public interface.

mod conformance_suite;
mod damaged;
mod misfits;
mod support;
mod writing;
