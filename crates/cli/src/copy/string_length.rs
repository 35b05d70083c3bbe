//! Records the maximum length of the strings of a variable.

use std::sync::LazyLock;

use nczarr::dispatch::FormatX;
use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{Edit, ErrorKind, Result, Values, Var, VarId};

use super::define::Definer;
use super::max_length::{BUILT_IN_MAX_LEN, DEFAULT_MAX_LEN, GIVEN_LEN, MAX_LEN};
use super::strings::StringStats;

/// The value that stands for a missing attribute.
pub(super) static NOT_GIVEN: LazyLock<Values> = LazyLock::new(|| Values::Int(vec![0]));

impl Definer<'_> {
    /// Records the maximum string length of a variable, if the target's default is shorter.
    pub(super) fn string_length(&self, id: VarId, var: &Var, new: VarId) -> Result<()> {
        let Some(&StringStats { longest, has_other_bytes, .. }) = self.wanted.texts.get(&id) else {
            return Ok(());
        };
        let to = self.to.info();
        if to.formatx == FormatX::Hdf5 {
            return Ok(());
        }
        // Zarr V3 stores strings of any length, in UTF-8. NCZarr also stores text of a fixed size: if a
        // copied attribute requires it, and for bytes that are not UTF-8.
        let is_said = var.atts.contains_key(MAX_LEN) || self.source.root().atts.contains_key(DEFAULT_MAX_LEN);
        let is_fixed = to.flavour == "nczarr" && (is_said || has_other_bytes);
        let is_v3 = to.formatx == FormatX::NcZarr && to.version == "3";
        if is_v3 && !is_fixed {
            return Ok(());
        }
        let said = |atts: &nczarr_model::Att, name| match atts.get(name).and_then(|values| values.scalar(0)) {
            Some(nczarr_model::Scalar::Int(len)) => usize::try_from(len).ok(),
            _ => None,
        };
        let limit = match said(&var.atts, MAX_LEN) {
            Some(len) => len,
            // For varying length, or another type, the length is the only information.
            None if var.stored_type.is_some() => 0,
            None => said(&self.source.root().atts, DEFAULT_MAX_LEN).unwrap_or(BUILT_IN_MAX_LEN),
        };
        // Only an explicit length gives V3 text of a fixed size.
        let needs_length = is_v3 && has_other_bytes && !var.atts.contains_key(MAX_LEN);
        if longest <= limit && limit > 0 && !needs_length {
            return Ok(());
        }
        let len = i32::try_from(longest.max(1)).map_err(|error| {
            ErrorKind::VarSize.context(format!("a string of {longest} bytes")).caused_by(error)
        })?;
        let group = self.place(var.group)?.group;
        let put = |name, values: &Values| {
            self.to.edit(&Edit::PutAtt { group, var: Some(new), name, values }).map(drop)
        };
        if self.from.info().formatx == FormatX::Hdf5 && !var.atts.contains_key(GIVEN_LEN) {
            put(GIVEN_LEN, var.atts.get(MAX_LEN).unwrap_or(&NOT_GIVEN))?;
        }
        put(MAX_LEN, &Values::Int(vec![len]))
    }
}
