//! The driver on maps in memory.

mod support;
mod write;
