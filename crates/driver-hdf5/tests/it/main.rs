//! The driver from outside.

mod support;
mod writing;
