//! Checks edits against the rules of the classic formats, before anything changes.

use nczarr_model::{Chunking, Edit, Endian, Error, ErrorKind, Model, NcType, Result};

use crate::dataset::ClassicDataset;
use crate::kind::CdfVersion;

impl ClassicDataset {
    /// Checks that this format supports an edit.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only; otherwise the code of the violated rule.
    pub(crate) fn check(&self, edit: &Edit<'_>) -> Result<()> {
        if !self.shared.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        check(self.shared.kind, &self.shared.model.snapshot(), edit)
    }
}

fn check(kind: CdfVersion, model: &Model, edit: &Edit<'_>) -> Result<()> {
    match *edit {
        Edit::RenameDim { .. }
        | Edit::RenameVar { .. }
        | Edit::RenameAtt { .. }
        | Edit::DelAtt { .. }
        | Edit::SetFill { .. }
        | Edit::DefVarFill { .. }
        | Edit::DefVarQuantize { quantize: None, .. }
        | Edit::DefVarShards { shards: None, .. }
        | Edit::DefVarEndian { endian: Endian::Native | Endian::Big, .. }
        | Edit::DefVarChunking { chunking: Chunking::Default | Chunking::Contiguous, .. } => Ok(()),
        Edit::DefDim { name, len, .. } => def_dim(kind, model, name, len.unwrap_or(0)),
        Edit::DefVar { name, xtype, dims, .. } => {
            check_type(kind, xtype).map_err(|error| error.at(format_args!("variable {name:?}")))?;
            let later = dims.iter().skip(1).filter_map(|&dim| model.dim(dim).ok()).find(|dim| dim.unlimited);
            match later {
                Some(dim) => Err(ErrorKind::UnlimPos.context(format!(
                    "variable {name:?}: the unlimited dimension {:?} must be the first",
                    dim.name
                ))),
                None => Ok(()),
            }
        }
        Edit::PutAtt { name, values, .. } => {
            check_type(kind, values.nc_type()).map_err(|error| error.at(format_args!("attribute {name:?}")))
        }
        Edit::DefVarUnwritten { .. } => Err(enhanced("a fill value beside the attribute _FillValue")),
        Edit::DefGroup { name, .. } => Err(enhanced(&format!("group {name:?}"))),
        Edit::RenameGroup { .. } => Err(enhanced("renaming a group")),
        Edit::DefVarFilters { filters: [], .. } => Ok(()),
        Edit::DefVarFilter { .. } | Edit::DefVarFilters { .. } => Err(enhanced("a filter")),
        Edit::DefVarChunking { .. } => Err(enhanced("a chunk shape")),
        Edit::DefVarShards { .. } => Err(enhanced("shards")),
        Edit::DefVarEndian { .. } => Err(enhanced("a byte order other than big-endian")),
        Edit::DefVarQuantize { .. } => Err(enhanced("rounding")),
        Edit::DefCompound { name, .. }
        | Edit::DefVlen { name, .. }
        | Edit::DefEnum { name, .. }
        | Edit::DefOpaque { name, .. } => Err(enhanced(&format!("type {name:?}"))),
        Edit::InsertField { .. } | Edit::InsertEnum { .. } => Err(enhanced("a user-defined type")),
        _ => Err(ErrorKind::NotNc4.context("the classic formats do not support this edit")),
    }
}

fn enhanced(what: &str) -> Error {
    ErrorKind::NotNc4.context(format!("{what}: not supported by the classic formats"))
}

fn def_dim(kind: CdfVersion, model: &Model, name: &str, len: u64) -> Result<()> {
    if len > kind.largest() {
        let what = format!("dimension {name:?}: too long (expected at most {}, found {len})", kind.largest());
        return Err(ErrorKind::DimSize.context(what));
    }
    match model.dims().find(|(_, dim)| dim.unlimited) {
        Some((_, other)) if len == 0 => {
            let what = format!("dimension {name:?}: a second unlimited dimension beside {:?}", other.name);
            Err(ErrorKind::Unlimit.context(what))
        }
        _ => Ok(()),
    }
}

fn check_type(kind: CdfVersion, ty: NcType) -> Result<()> {
    if kind.has(ty) {
        Ok(())
    } else {
        Err(ErrorKind::BadType.context(format!("{} has no type {}", kind.format().name(), ty.name())))
    }
}
