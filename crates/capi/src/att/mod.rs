//! Attributes.

mod get;
mod inquire;
mod put;
