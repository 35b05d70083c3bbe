//! The border between C and Rust. Only this folder contains `unsafe` code.
//!
//! The types of `pointer` are the arguments of exported functions. They have the layout of C pointers, and
//! their methods are safe because the C interface states the contract: a pointer is null or valid for the
//! documented number of elements during the call.

pub mod dispatch_table;
pub mod exit;
#[macro_use]
mod export;
pub mod globals;
pub mod lent_memory;
pub mod memory;
pub mod plugin_list;
pub mod pointer;
pub mod user_memory;

pub use export::guard;
