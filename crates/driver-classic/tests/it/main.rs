//! Tests of the driver through its public interface: conformance, concurrency, growth, redefinition, memory
//! and refusals.

mod at_once;
mod conformance_suite;
mod growing;
mod memory;
mod places;
mod redefining;
mod refused;
mod support;
