//! Attributes.

pub mod get;
pub mod inquire;
pub mod put;
mod reserved;
