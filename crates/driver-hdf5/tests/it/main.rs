//! Tests of the driver's public interface.

mod conformance_suite;
mod damaged;
mod fixed_text;
mod misfits;
mod support;
mod writing;
