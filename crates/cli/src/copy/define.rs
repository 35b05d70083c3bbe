//! Defining in the target what the source has: groups, types, dimensions, variables, attributes.

use std::collections::HashMap;
use std::sync::Arc;

use model::{
    Chunking, Defined, DimId, Edit, Endian, ErrorKind, FILL_VALUE, GroupId, Model, NcType, Result, TypeClass, TypeId,
    UserType, Values, Var, VarFill, VarId,
};
use nczarr::dispatch::{Dataset, Format, NcDispatch as _};

use super::spec::Layout;

/// The attribute that says how long the strings of a variable may be, where they are stored with a fixed length.
pub const MAX_LEN: &str = "_nczarr_maxstrlen";
/// The attribute of the root that says so for variables that do not.
const DEFAULT_MAX_LEN: &str = "_nczarr_default_maxstrlen";
/// How long they may be if nothing says so.
const BUILT_IN_MAX_LEN: usize = 128;

/// The default fill of a double as netCDF-C writes it to NCZarr.
const ROUNDED_DEFAULT: f64 = 9.96921e36;

/// What became of the objects of the source.
pub struct Copied {
    /// The variables, by their ids in the source.
    pub vars: Vec<VarId>,
    /// The dimensions, by their ids in the source.
    pub dims: Vec<DimId>,
    /// The types, by their ids in the source.
    types: Vec<TypeId>,
    /// The groups, by their ids in the source.
    groups: Vec<GroupId>,
}

impl Copied {
    /// The target's type that stands for one of the source's.
    pub fn ty(&self, ty: NcType) -> Result<NcType> {
        let NcType::User(id) = ty else { return Ok(ty) };
        let new = self.types.get(id.index());
        new.map(|&id| NcType::User(id)).ok_or_else(|| ErrorKind::BadTypId.context(format!("{id:?}")))
    }

    fn group(&self, id: GroupId) -> Result<GroupId> {
        self.groups.get(id.index()).copied().ok_or_else(|| ErrorKind::BadGrpId.context(format!("{id:?}")))
    }

    fn values(&self, values: &Values) -> Result<Values> {
        Ok(match (values, self.ty(values.nc_type())?) {
            (Values::User(_, bytes), NcType::User(id)) => Values::User(id, bytes.clone()),
            (values, _) => values.clone(),
        })
    }
}

/// Defines everything, and ends define mode. `lengths` are those of the longest string of each string variable.
///
/// # Errors
/// What the target cannot hold.
pub fn all(from: &dyn Dataset, to: &dyn Dataset, layout: &Layout, lengths: &HashMap<VarId, usize>) -> Result<Copied> {
    let source = from.model().snapshot();
    let mut work = Work {
        from,
        to,
        source: Arc::clone(&source),
        layout,
        lengths,
        copied: Copied { vars: Vec::new(), dims: Vec::new(), types: Vec::new(), groups: vec![GroupId::ROOT] },
    };
    for (id, group) in source.groups().skip(1) {
        let parent = work.copied.group(group.parent.unwrap_or(GroupId::ROOT))?;
        let new = to.def_grp(parent, &group.name).map_err(|error| error.at(path(&source, id, "")))?;
        work.copied.groups.push(new);
    }
    for (_, dim) in source.dims() {
        let group = work.copied.group(dim.group)?;
        let len = (!dim.unlimited).then(|| dim.len());
        let new = to.def_dim(group, &dim.name, len).map_err(|error| error.at(path(&source, dim.group, &dim.name)))?;
        work.copied.dims.push(new);
    }
    for (_, ty) in source.user_types() {
        let new = work.user_type(ty).map_err(|error| error.at(path(&source, ty.group, &ty.name)))?;
        work.copied.types.push(new);
    }
    for (id, group) in source.groups() {
        work.atts(id, None, &group.atts).map_err(|error| error.at(path(&source, id, "")))?;
    }
    for (id, var) in source.vars() {
        let new = work.var(id, var).map_err(|error| error.at(path(&source, var.group, &var.name)))?;
        work.copied.vars.push(new);
    }
    if to.model().is_defining() {
        // Room that the writer left is there for those who will add something.
        let room = from.spacing();
        to._enddef(room.h_minfree, room.v_align, room.v_minfree, room.r_align)?;
    }
    Ok(work.copied)
}

fn path(model: &Model, group: GroupId, name: &str) -> String {
    model.fqn(group, name).unwrap_or_default()
}

struct Work<'a> {
    from: &'a dyn Dataset,
    to: &'a dyn Dataset,
    source: Arc<Model>,
    layout: &'a Layout,
    lengths: &'a HashMap<VarId, usize>,
    copied: Copied,
}

impl Work<'_> {
    fn user_type(&self, user: &UserType) -> Result<TypeId> {
        let (group, name) = (self.copied.group(user.group)?, user.name.as_str());
        let made = match &user.class {
            TypeClass::Compound { size, .. } => self.to.edit(&Edit::DefCompound { group, name, size: *size })?,
            TypeClass::Enum { base, .. } => self.to.edit(&Edit::DefEnum { group, name, base: *base })?,
            TypeClass::Opaque { size } => self.to.edit(&Edit::DefOpaque { group, name, size: *size })?,
            TypeClass::Vlen { base } => self.to.edit(&Edit::DefVlen { group, name, base: self.copied.ty(*base)? })?,
        };
        let Defined::Type(ty) = made else {
            return Err(ErrorKind::Internal.context(format!("{made:?} in place of a type")));
        };
        match &user.class {
            TypeClass::Compound { fields, .. } => {
                for field in fields {
                    self.to.edit(&Edit::InsertField {
                        ty,
                        name: &field.name,
                        offset: field.offset,
                        field: self.copied.ty(field.ty)?,
                        shape: &field.shape,
                    })?;
                }
            }
            TypeClass::Enum { members, .. } => {
                for member in members {
                    self.to.edit(&Edit::InsertEnum { ty, name: &member.name, value: member.value })?;
                }
            }
            TypeClass::Opaque { .. } | TypeClass::Vlen { .. } => {}
        }
        Ok(ty)
    }

    fn atts(&self, group: GroupId, var: Option<VarId>, atts: &model::Att) -> Result<()> {
        let group = self.copied.group(group)?;
        for (name, values) in atts {
            let values = self.copied.values(values)?;
            let edit = Edit::PutAtt { group, var, name, values: &values };
            self.to.edit(&edit).map_err(|error| error.at(format_args!("attribute {name:?}")))?;
        }
        Ok(())
    }

    fn var(&self, id: VarId, var: &Var) -> Result<VarId> {
        let dims: Vec<DimId> = var.dims.iter().map(|dim| self.copied.dims[dim.index()]).collect();
        let new = self.to.def_var(self.copied.group(var.group)?, &var.name, self.copied.ty(var.xtype)?, &dims)?;
        if matches!(self.to.info().format, Format::NetCdf4 | Format::NetCdf4Classic) {
            self.layout(id, var, new)?;
        }
        // Quantization is not defined anew: the values are rounded already, and an attribute says so.
        self.atts(var.group, Some(new), &var.atts)?;
        self.string_length(id, var, new)?;
        match &var.fill {
            // Its default, rounded to six digits by who wrote it; the target has the exact one.
            VarFill::Value(value) if *value == Values::Double(vec![ROUNDED_DEFAULT]) => {}
            VarFill::Value(value) if !var.atts.contains_key(FILL_VALUE) => {
                self.to.def_var_fill(new, false, Some(&self.copied.values(value)?))?;
            }
            VarFill::NoFill => self.to.def_var_fill(new, true, None)?,
            VarFill::Value(_) | VarFill::Default => {}
        }
        Ok(new)
    }

    fn layout(&self, id: VarId, var: &Var, new: VarId) -> Result<()> {
        // A scalar has neither chunks nor filters.
        if !var.dims.is_empty() {
            let shape = self.source.shape(id)?;
            let stored = match &var.chunking {
                Chunking::Chunked(chunks) => Some(chunks.clone()),
                Chunking::Default => self.from.data(id)?.chunk_shape(),
                Chunking::Contiguous | Chunking::Compact => None,
            }
            .filter(|chunks| chunks.len() == shape.len());
            let asked = self.layout.chunks(id, &var.dims, stored.as_ref().unwrap_or(&shape));
            match asked.or(stored) {
                Some(chunks) => {
                    self.to.def_var_chunking(new, &Chunking::Chunked(self.fitting(&var.dims, chunks)?))?;
                }
                None => self.to.def_var_chunking(new, &var.chunking)?,
            }
            for filter in self.layout.filters(id).unwrap_or(&var.filters) {
                let what = || format!("filter {}", filter.name);
                self.to.def_var_filter_spec(new, filter).map_err(|error| error.at(what()))?;
            }
        }
        if var.endian != Endian::Native {
            self.to.def_var_endian(new, var.endian)?;
        }
        Ok(())
    }

    /// A chunk shape that is nowhere 0, nor longer than a fixed dimension.
    fn fitting(&self, dims: &[DimId], mut chunks: Vec<u64>) -> Result<Vec<u64>> {
        for (chunk, &dim) in chunks.iter_mut().zip(dims) {
            let dim = self.source.dim(dim)?;
            let most = if dim.unlimited || dim.is_empty() { u64::MAX } else { dim.len() };
            *chunk = (*chunk).clamp(1, most);
        }
        Ok(chunks)
    }

    /// Says how long the strings of a variable are, where the target would otherwise take them for shorter.
    fn string_length(&self, id: VarId, var: &Var, new: VarId) -> Result<()> {
        let Some(&longest) = self.lengths.get(&id) else { return Ok(()) };
        let said = |atts: &model::Att, name| match atts.get(name).and_then(|values| values.scalar(0)) {
            Some(model::Scalar::Int(len)) => usize::try_from(len).ok(),
            _ => None,
        };
        let limit = match said(&var.atts, MAX_LEN) {
            Some(len) => len,
            // Stored with a varying length, or as something else: what they are long is all there is to know.
            None if var.stored_type.is_some() => 0,
            None => said(&self.source.root().atts, DEFAULT_MAX_LEN).unwrap_or(BUILT_IN_MAX_LEN),
        };
        if longest <= limit && limit > 0 {
            return Ok(());
        }
        let len = i32::try_from(longest.max(1))
            .map_err(|error| ErrorKind::VarSize.context(format!("a string of {longest} bytes")).caused_by(error))?;
        let values = Values::Int(vec![len]);
        let group = self.copied.group(var.group)?;
        self.to.edit(&Edit::PutAtt { group, var: Some(new), name: MAX_LEN, values: &values }).map(drop)
    }
}
