//! The driver from outside: the conformance suite, several at once, growth, redefinition, memory, and what is
//! refused.

mod at_once;
mod conformance_suite;
mod growing;
mod memory;
mod places;
mod redefining;
mod refused;
mod support;
