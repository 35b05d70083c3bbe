//! The driver from outside: the conformance suite, growth, redefinition, memory, and what is refused.

mod conformance_suite;
mod growing;
mod memory;
mod redefining;
mod refused;
mod support;
