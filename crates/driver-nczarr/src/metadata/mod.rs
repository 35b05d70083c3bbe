//! Metadata documents: conversion between stored JSON and typed terms. No I/O.
//!
//! * `json`: a tree that keeps the text of numbers.
//! * `types`: stored types, and their netCDF types.
//! * `attributes`: JSON and typed values.
//! * `codecs`: descriptions of codecs, and element codecs of this format.
//! * `v2` and `v3`: the documents of both versions of Zarr; `members` checks their members.
//! * `variable`: a variable under construction, and the rules for reading it.
//! * `paths` and `renamed_groups`: keys in messages, and references to groups that were renamed.

pub(crate) mod attributes;
pub(crate) mod base64;
pub(crate) mod codecs;
pub(crate) mod json;
pub(crate) mod members;
pub(crate) mod parallel;
pub(crate) mod paths;
pub(crate) mod renamed_groups;
pub(crate) mod types;
pub(crate) mod v2;
pub(crate) mod v3;
pub(crate) mod variable;
