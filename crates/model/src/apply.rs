//! [`Model::apply`]: the rules of the data model for every [`Edit`] of dimensions, variables, groups and
//! attributes.
//!
//! Each edit is checked completely before anything changes. The driver checks the rules of its format, and
//! whether data exist. The attribute `_FillValue` and the variable's fill hold one value, and change
//! together.
//!
//! Source: the rules and error codes of netCDF-C.

use std::borrow::Cow;
use std::mem;

use crate::name::{normalize, position};
use crate::{
    Att, Chunking, Defined, DimId, Edit, Error, ErrorKind, FillMode, FilterSpec, GroupId, Model, Named,
    NcType, Quantize, Result, Values, Var, VarFill, VarId,
};

/// The attribute that holds a variable's fill value.
pub const FILL_VALUE: &str = "_FillValue";

/// The most dimensions a variable may have (`NC_MAX_VAR_DIMS`).
pub const MAX_VAR_DIMS: usize = 1024;

/// The initial capacity for attributes: most objects have no more.
const FEW: usize = 4;

impl Model {
    /// Applies one edit; on an error nothing has changed.
    ///
    /// Names are normalised to NFC. A rename keeps the position in the order of definition.
    ///
    /// # Errors
    /// The netCDF code of the violated rule.
    pub fn apply(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        match *edit {
            Edit::DefDim { group, name, len } => self.def_dim(group, name, len),
            Edit::RenameDim { dim, name } => self.rename_dim(dim, name),
            Edit::DefVar { group, name, xtype, dims } => self.def_var(group, name, xtype, dims),
            Edit::RenameVar { var, name } => self.rename_var(var, name),
            Edit::DefGroup { parent, name } => Ok(Defined::Group(self.add_group(parent, &normalize(name)?)?)),
            Edit::RenameGroup { group, name } => self.rename_group(group, name),
            Edit::PutAtt { group, var, name, values } => {
                self.take_att(group, var, name, &mut values.clone()).map(|()| Defined::Nothing)
            }
            Edit::RenameAtt { group, var, name, to } => self.rename_att(group, var, name, to),
            Edit::DelAtt { group, var, name } => self.del_att(group, var, name),
            Edit::SetFill { mode } => {
                self.fill_mode = mode;
                Ok(Defined::Nothing)
            }
            Edit::DefVarFill { var, no_fill, value } => self.def_var_fill(var, no_fill, value),
            Edit::DefVarUnwritten { var, value } => self.def_var_unwritten(var, value),
            Edit::DefVarChunking { var, chunking } => self.def_var_chunking(var, chunking),
            Edit::DefVarShards { var, shards } => self.def_var_shards(var, shards),
            Edit::DefVarEndian { var, endian } => {
                self.var_mut(var)?.endian = endian;
                Ok(Defined::Nothing)
            }
            Edit::DefVarFilter { var, filter } => self.def_var_filter(var, filter),
            Edit::DefVarFilters { var, filters } => self.def_var_filters(var, filters),
            Edit::DefVarQuantize { var, quantize } => self.def_var_quantize(var, quantize),
            Edit::DefCompound { group, name, size } => self.def_compound(group, name, size),
            Edit::InsertField { ty, name, offset, field, shape } => {
                self.insert_field(ty, name, offset, field, shape)
            }
            Edit::DefVlen { group, name, base } => self.def_vlen(group, name, base),
            Edit::DefEnum { group, name, base } => self.def_enum(group, name, base),
            Edit::InsertEnum { ty, name, value } => self.insert_enum(ty, name, value),
            Edit::DefOpaque { group, name, size } => self.def_opaque(group, name, size),
        }
    }

    fn def_dim(&mut self, group: GroupId, name: &str, len: Option<u64>) -> Result<Defined> {
        let name = normalize(name)?;
        let len = len.unwrap_or(0);
        if i64::try_from(len).is_err() {
            return Err(ErrorKind::DimSize.context(format!("dimension {name:?}: length {len}")));
        }
        Ok(Defined::Dim(self.add_dim(group, &*name, len, len == 0)?))
    }

    /// Checks a rename of a dimension, variable or group. Other edits pass.
    ///
    /// # Errors
    /// As [`Model::apply`], which then accepts the edit.
    pub fn check_rename(&self, edit: &Edit<'_>) -> Result<()> {
        match *edit {
            Edit::RenameDim { dim, name } => self.new_dim_name(dim, name).map(drop),
            Edit::RenameVar { var, name } => self.new_var_name(var, name).map(drop),
            Edit::RenameGroup { group, name } => self.new_group_name(group, name).map(drop),
            _ => Ok(()),
        }
    }

    fn new_dim_name<'n>(&self, id: DimId, name: &'n str) -> Result<Cow<'n, str>> {
        let name = normalize(name)?;
        let dim = self.dim(id)?;
        let old = &dim.name;
        if *old != name && self.group(dim.group)?.dims.contains_key(&*name) {
            return Err(
                ErrorKind::NameInUse.context(format!("dimension {old:?}: the name {name:?} is in use"))
            );
        }
        Ok(name)
    }

    fn rename_dim(&mut self, id: DimId, name: &str) -> Result<Defined> {
        let name = self.new_dim_name(id, name)?.into_owned();
        let group = self.dim(id)?.group;
        let old = mem::replace(&mut self.dim_mut(id)?.name, name.clone());
        rename_key(&mut self.group_mut(group)?.dims, &old, name);
        self.renamed();
        Ok(Defined::Nothing)
    }

    fn def_var(&mut self, group: GroupId, name: &str, xtype: NcType, dims: &[DimId]) -> Result<Defined> {
        let name = normalize(name)?;
        self.check_type(xtype)?;
        if dims.len() > MAX_VAR_DIMS {
            let what = format!(
                "variable {name:?}: too many dimensions (expected at most {MAX_VAR_DIMS}, found {})",
                dims.len()
            );
            return Err(ErrorKind::MaxDims.context(what));
        }
        // Dimensions of any group are allowed; those outside the ancestors are stored with their full name.
        for &dim in dims {
            self.dim(dim).map_err(|error| error.at(&name))?;
        }
        let fill = match self.fill_mode {
            FillMode::Fill => VarFill::Default,
            FillMode::NoFill => VarFill::NoFill,
        };
        let var = Var { name: name.into_owned(), group, xtype, dims: dims.to_vec(), fill, ..Var::default() };
        Ok(Defined::Var(self.add_var(var)?))
    }

    fn new_var_name<'n>(&self, id: VarId, name: &'n str) -> Result<Cow<'n, str>> {
        let name = normalize(name)?;
        let var = self.var(id)?;
        if var.name != name {
            self.check_object_name(var.group, &name)?;
        }
        Ok(name)
    }

    fn rename_var(&mut self, id: VarId, name: &str) -> Result<Defined> {
        let name = self.new_var_name(id, name)?.into_owned();
        let var = self.var_mut(id)?;
        let group = var.group;
        let old = mem::replace(&mut var.name, name.clone());
        rename_key(&mut self.group_mut(group)?.vars, &old, name);
        self.renamed();
        Ok(Defined::Nothing)
    }

    /// Returns the new name, and the parent group.
    fn new_group_name<'n>(&self, id: GroupId, name: &'n str) -> Result<(Cow<'n, str>, GroupId)> {
        let name = normalize(name)?;
        let group = self.group(id)?;
        let Some(parent) = group.parent else {
            return Err(ErrorKind::BadGrpId.context("the root group cannot be renamed"));
        };
        if group.name != name {
            self.check_object_name(parent, &name)?;
        }
        Ok((name, parent))
    }

    fn rename_group(&mut self, id: GroupId, name: &str) -> Result<Defined> {
        let (name, parent) = self.new_group_name(id, name)?;
        let name = name.into_owned();
        let old = mem::replace(&mut self.group_mut(id)?.name, name.clone());
        rename_key(&mut self.group_mut(parent)?.groups, &old, name);
        self.renamed();
        Ok(Defined::Nothing)
    }

    fn atts_mut(&mut self, group: GroupId, var: Option<VarId>) -> Result<&mut Att> {
        match var {
            Some(var) => Ok(&mut self.var_mut(var)?.atts),
            None => Ok(&mut self.group_mut(group)?.atts),
        }
    }

    /// Updates the fill of `var` from its attribute `_FillValue`. A no-fill variable remains one.
    fn attribute_to_fill(&mut self, var: Option<VarId>) -> Result<()> {
        if let Some(var) = var {
            let var = self.var_mut(var)?;
            if var.fill != VarFill::NoFill {
                var.fill = fill_from_attribute(&var.atts);
            }
        }
        Ok(())
    }

    /// As [`Model::apply`] of [`Edit::PutAtt`], but moves the values instead of copying them.
    ///
    /// # Errors
    /// As [`Model::apply`]; `values` is unchanged then.
    pub fn take_att(
        &mut self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        values: &mut Values,
    ) -> Result<()> {
        let name = normalize(name)?;
        self.atts(group, var)?;
        self.check_values(values).map_err(|error| error.at(&name))?;
        let fills = name == FILL_VALUE;
        if let (true, Some(var)) = (fills, var) {
            self.check_fill(var, values)?;
        }
        let atts = self.atts_mut(group, var)?;
        if atts.is_empty() {
            atts.reserve_exact(FEW);
        }
        atts.insert(name.into_owned(), mem::replace(values, Values::Byte(Vec::new())));
        if fills {
            self.attribute_to_fill(var)?;
        }
        Ok(())
    }

    fn rename_att(&mut self, group: GroupId, var: Option<VarId>, name: &str, to: &str) -> Result<Defined> {
        let to = normalize(to)?;
        let atts = self.atts(group, var)?;
        let Some((old, values)) = position(atts, name).and_then(|at| atts.get_index(at)) else {
            return Err(self.no_att(group, var, name));
        };
        if *old == to {
            return Ok(Defined::Nothing);
        }
        if atts.contains_key(&*to) {
            return Err(ErrorKind::NameInUse.context(format!("attribute {old:?}: the name {to:?} is in use")));
        }
        let old = old.clone();
        let fills = old == FILL_VALUE || to == FILL_VALUE;
        if let (true, Some(var)) = (to == FILL_VALUE, var) {
            self.check_fill(var, values)?;
        }
        rename_key(self.atts_mut(group, var)?, &old, to.into_owned());
        if fills {
            self.attribute_to_fill(var)?;
        }
        Ok(Defined::Nothing)
    }

    fn del_att(&mut self, group: GroupId, var: Option<VarId>, name: &str) -> Result<Defined> {
        let Some(at) = position(self.atts(group, var)?, name) else {
            return Err(self.no_att(group, var, name));
        };
        let removed = self.atts_mut(group, var)?.shift_remove_index(at);
        if removed.is_some_and(|(name, _)| name == FILL_VALUE) {
            self.attribute_to_fill(var)?;
        }
        Ok(Defined::Nothing)
    }

    /// Checks that a fill value has the variable's type and is one element.
    fn check_fill(&self, id: VarId, value: &Values) -> Result<()> {
        let var = self.var(id)?;
        let bad = |kind: ErrorKind, what: String| Err(self.about(id, kind, &format!("fill value: {what}")));
        if value.nc_type() != var.xtype {
            let (found, wanted) = (value.nc_type().name(), var.xtype.name());
            return bad(ErrorKind::BadType, format!("wrong type (expected {wanted}, found {found})"));
        }
        self.check_values(value)
            .map_err(|error| error.at("fill value").at(self.var_path(id).unwrap_or_default()))?;
        match self.count(value)? {
            1 => Ok(()),
            count => bad(ErrorKind::Inval, format!("{count} values")),
        }
    }

    /// Checks that values of a user-defined type are whole elements in the right form.
    fn check_values(&self, values: &Values) -> Result<()> {
        let ty = values.nc_type();
        if ty.is_atomic() {
            return Ok(());
        }
        self.check_type(ty)?;
        match values {
            Values::User(_, bytes) if self.is_fixed(ty)? => {
                let size = self.fixed_size(ty)?;
                if bytes.len().is_multiple_of(size) {
                    Ok(())
                } else {
                    let what =
                        format!("{} bytes are not a whole number of elements of {size} bytes", bytes.len());
                    Err(ErrorKind::Inval.context(what))
                }
            }
            Values::Packed(_, list) if !self.is_fixed(ty)? => {
                list.iter().try_for_each(|element| self.check_packed(ty, element.as_bytes()))
            }
            _ => Err(ErrorKind::BadType.context(format!("{}: values in the wrong form", self.type_name(ty)))),
        }
    }

    /// Returns an error about a variable.
    fn about(&self, id: VarId, kind: ErrorKind, what: &str) -> Error {
        kind.context(what).at(self.var_path(id).unwrap_or_default())
    }

    fn def_var_fill(&mut self, id: VarId, no_fill: bool, value: Option<&Values>) -> Result<Defined> {
        match value.filter(|_| !no_fill) {
            Some(value) => {
                self.check_fill(id, value)?;
                let var = self.var_mut(id)?;
                var.fill = VarFill::Value(value.clone());
                var.atts.insert(FILL_VALUE.to_owned(), value.clone());
            }
            // The mode of writing does not affect the missing value, so the attribute remains.
            None => {
                let var = self.var_mut(id)?;
                var.fill = if no_fill { VarFill::NoFill } else { fill_from_attribute(&var.atts) };
            }
        }
        Ok(Defined::Nothing)
    }

    fn def_var_unwritten(&mut self, id: VarId, value: &Values) -> Result<Defined> {
        self.check_fill(id, value)?;
        self.var_mut(id)?.fill = VarFill::Value(value.clone());
        Ok(Defined::Nothing)
    }

    fn def_var_chunking(&mut self, id: VarId, chunking: &Chunking) -> Result<Defined> {
        let var = self.var(id)?;
        match chunking {
            Chunking::Default => {}
            Chunking::Chunked(_) if var.dims.is_empty() => {
                return Err(self.about(id, ErrorKind::Inval, "a scalar has no chunks"));
            }
            Chunking::Chunked(shape) => self.check_chunks(id, shape)?,
            Chunking::Contiguous | Chunking::Compact => {
                for &dim in &var.dims {
                    let dim = self.dim(dim)?;
                    if dim.unlimited {
                        let what = format!("cannot be contiguous along the unlimited dimension {}", dim.name);
                        return Err(self.about(id, ErrorKind::Inval, &what));
                    }
                }
            }
        }
        if let Some(shards) = &var.shards {
            self.check_shards(id, shards, chunking)?;
        }
        self.var_mut(id)?.chunking = chunking.clone();
        Ok(Defined::Nothing)
    }

    fn def_var_shards(&mut self, id: VarId, shards: Option<&[u64]>) -> Result<Defined> {
        if let Some(shards) = shards {
            self.check_shards(id, shards, &self.var(id)?.chunking)?;
        }
        self.var_mut(id)?.shards = shards.map(<[u64]>::to_vec);
        Ok(Defined::Nothing)
    }

    /// Checks that a shard is a whole number of chunks along each dimension, if the chunk shape is known. It
    /// may exceed the variable.
    fn check_shards(&self, id: VarId, shards: &[u64], chunking: &Chunking) -> Result<()> {
        let var = self.var(id)?;
        let bad = |kind: ErrorKind, what: String| Err(self.about(id, kind, &what));
        if var.dims.is_empty() {
            return bad(ErrorKind::Inval, "a scalar has no shards".to_owned());
        }
        if shards.len() != var.dims.len() {
            return bad(
                ErrorKind::BadChunk,
                format!("shard shape {shards:?} for {} dimensions", var.dims.len()),
            );
        }
        if let Some(bad_shard) = shards.iter().position(|&shard| shard == 0 || i64::try_from(shard).is_err())
        {
            let dim = self.dim(var.dims[bad_shard])?;
            let shard = shards[bad_shard];
            return bad(ErrorKind::BadChunk, format!("shard length {shard} along dimension {}", dim.name));
        }
        match chunking {
            Chunking::Default => Ok(()),
            Chunking::Contiguous | Chunking::Compact => {
                bad(ErrorKind::Inval, "a contiguous variable has no shards".to_owned())
            }
            Chunking::Chunked(chunks) => {
                if shards.iter().zip(chunks).all(|(shard, chunk)| shard % chunk.max(&1) == 0) {
                    Ok(())
                } else {
                    bad(
                        ErrorKind::BadChunk,
                        format!("shard shape {shards:?} is not a whole number of chunks of shape {chunks:?}"),
                    )
                }
            }
        }
    }

    fn check_chunks(&self, id: VarId, shape: &[u64]) -> Result<()> {
        let var = self.var(id)?;
        let bad = |what: String| Err(self.about(id, ErrorKind::BadChunk, &what));
        if shape.len() != var.dims.len() {
            return bad(format!("chunk shape {shape:?} for {} dimensions", var.dims.len()));
        }
        for (&chunk, &dim) in shape.iter().zip(&var.dims) {
            let dim = self.dim(dim)?;
            // For a fixed dimension of length 0 any chunk length is accepted.
            if chunk == 0 || (!dim.unlimited && !dim.is_empty() && chunk > dim.len()) {
                return bad(format!(
                    "chunk length {chunk} along dimension {} of length {}",
                    dim.name,
                    dim.len()
                ));
            }
        }
        let item = self.type_size(var.xtype)?.unwrap_or(1) as u64;
        match shape.iter().try_fold(item, |product, &chunk| product.checked_mul(chunk)) {
            Some(bytes) if i64::try_from(bytes).is_ok() => Ok(()),
            _ => bad(format!("chunk shape {shape:?} has too many bytes")),
        }
    }

    fn check_filters(&self, id: VarId, filters: &[FilterSpec]) -> Result<()> {
        if self.var(id)?.dims.is_empty() && !filters.is_empty() {
            return Err(self.about(id, ErrorKind::Inval, "a scalar has no filters"));
        }
        if filters.iter().any(|filter| filter.hdf5_id.is_none() && filter.name.is_empty()) {
            Err(self.about(id, ErrorKind::Inval, "a filter without id and name"))
        } else {
            Ok(())
        }
    }

    fn def_var_filters(&mut self, id: VarId, filters: &[FilterSpec]) -> Result<Defined> {
        self.check_filters(id, filters)?;
        self.var_mut(id)?.filters = filters.to_vec();
        Ok(Defined::Nothing)
    }

    fn def_var_filter(&mut self, id: VarId, filter: &FilterSpec) -> Result<Defined> {
        self.check_filters(id, std::slice::from_ref(filter))?;
        let var = self.var(id)?;
        let same = |have: &FilterSpec| {
            (have.hdf5_id.is_some() && have.hdf5_id == filter.hdf5_id)
                || (!have.name.is_empty() && have.name == filter.name)
        };
        let place = var.filters.iter().position(same);
        let filters = &mut self.var_mut(id)?.filters;
        match place.and_then(|place| filters.get_mut(place)) {
            Some(have) => *have = filter.clone(),
            None => filters.push(filter.clone()),
        }
        Ok(Defined::Nothing)
    }

    fn def_var_quantize(&mut self, id: VarId, quantize: Option<Quantize>) -> Result<Defined> {
        let var = self.var(id)?;
        if let Some(quantize) = quantize {
            let (digits, bits) = match var.xtype {
                NcType::Float => (6, 23),
                NcType::Double => (15, 52),
                other => {
                    let what =
                        format!("type {} cannot be quantized (expected float or double)", other.name());
                    return Err(self.about(id, ErrorKind::Inval, &what));
                }
            };
            let (given, limit, unit) = match quantize {
                Quantize::BitGroom(given) | Quantize::GranularBitRound(given) => (given, digits, "digits"),
                Quantize::BitRound(given) => (given, bits, "bits"),
            };
            if given == 0 || given > limit {
                let what = format!("{given} significant {unit}: out of range (expected 1 to {limit})");
                return Err(self.about(id, ErrorKind::Inval, &what));
            }
        }
        self.var_mut(id)?.quantize = quantize;
        Ok(Defined::Nothing)
    }
}

/// Renames an entry in place. `to` is not in the table, or equals `from`.
fn fill_from_attribute(atts: &Att) -> VarFill {
    match atts.get(FILL_VALUE) {
        Some(value) => VarFill::Value(value.clone()),
        None => VarFill::Default,
    }
}

fn rename_key<T>(table: &mut Named<T>, from: &str, to: String) {
    if let Some(place) = table.get_index_of(from) {
        // Only a name at another position is refused.
        let _ = table.replace_index(place, to);
    }
}
