//! The driver from outside: the conformance suite, and files byte by byte.

mod conformance_suite;
mod support;
