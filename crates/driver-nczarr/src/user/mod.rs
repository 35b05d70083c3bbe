//! User-defined types in NCZarr, V2 and V3.
//!
//! Groups define types in `_nczarr_group` (`definitions`); arrays and attributes refer to them by full names.
//! `encoding` chooses a storage that readers without NCZarr support can open: enums as integers, opaque types
//! as raw bytes, compounds as records, vlens as `vlen-bytes`. `present` gives a loaded array its type;
//! `attributes` converts attributes.
//!
//! Source: `docs/nczarr-types.md`.

mod attributes;
mod codec;
mod definitions;
mod encoding;
pub(crate) mod names;
mod present;

pub(crate) use attributes::{check as check_att, write as write_att};
pub(crate) use definitions::{MAX_MEMBERS, define, write as write_defs};
pub(crate) use encoding::{ElementEncoding, MAX_SIZE};
pub(crate) use names::{find, is_typed, name_of, typed_atts};
pub(crate) use present::{new_encoding, present, present_atts, stored_fill};
