//! Tables of paths, URLs and fragments, and properties of any string.

mod create;
mod fragments;
mod locations;
mod places;
mod properties;
