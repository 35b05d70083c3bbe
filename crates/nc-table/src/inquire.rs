//! Inquiries that the model answers: groups, dimensions and variables.

use std::fmt::Write as _;

use nczarr_model::{
    Chunking, DimId, Endian, ErrorKind, FilterSpec, GroupId, Model, NcType, Quantize, Result, VarFill, VarId,
};

use nczarr_dispatch::{Dataset, Format, FormatX};

/// The numbers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupInquiry {
    /// The number of its dimensions.
    pub ndims: usize,
    /// The number of its variables.
    pub nvars: usize,
    /// The number of its attributes.
    pub natts: usize,
    /// Its first unlimited dimension.
    pub unlimdim: Option<DimId>,
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimInquiry {
    /// Its name.
    pub name: String,
    /// Its current length.
    pub len: u64,
    /// Whether writes may extend it.
    pub unlimited: bool,
}

/// Type and length of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttInquiry {
    /// The type.
    pub ty: NcType,
    /// The number of values.
    pub len: usize,
}

/// All properties of a variable, except attribute values.
#[derive(Debug, Clone, PartialEq)]
pub struct VarInquiry {
    /// Its name.
    pub name: String,
    /// Its type.
    pub xtype: NcType,
    /// Its dimensions, slowest first.
    pub dims: Vec<DimId>,
    /// The number of its attributes.
    pub natts: usize,
    /// Whether it has the shuffle filter.
    pub shuffle: bool,
    /// The deflate level, if it has that filter.
    pub deflate: Option<u32>,
    /// Whether it has a checksum.
    pub fletcher32: bool,
    /// The defined layout, or the one that the format chose; [`Chunking::Default`] if it is unknown.
    pub chunking: Chunking,
    /// The shape of its shards in elements, if it has shards.
    pub shards: Option<Vec<u64>>,
    /// The value of unwritten elements.
    pub fill: VarFill,
    /// Its byte order.
    pub endian: Endian,
    /// All its filters in the order of encoding.
    pub filters: Vec<FilterSpec>,
    /// Its quantization.
    pub quantize: Option<Quantize>,
}

pub(crate) fn format_extended<D: Dataset + ?Sized>(dataset: &D) -> (FormatX, u32) {
    const WRITE: u32 = 0x1;
    const CDF5: u32 = 0x20;
    const CLASSIC_MODEL: u32 = 0x100;
    const OFFSET_64: u32 = 0x200;
    const NETCDF4: u32 = 0x1000;
    let info = dataset.info();
    let mode = match info.format {
        Format::Classic => 0,
        Format::Offset64 => OFFSET_64,
        Format::Cdf5 => CDF5,
        Format::NetCdf4 => NETCDF4,
        Format::NetCdf4Classic => NETCDF4 | CLASSIC_MODEL,
    };
    (info.formatx, if info.writable { mode | WRITE } else { mode })
}

pub(crate) fn group(model: &Model, id: GroupId) -> Result<GroupInquiry> {
    let group = model.group(id)?;
    Ok(GroupInquiry {
        ndims: group.dims.len(),
        nvars: group.vars.len(),
        natts: group.atts.len(),
        unlimdim: unlimited(model, id)?.first().copied(),
    })
}

pub(crate) fn group_id(model: &Model, group: GroupId, name: &str) -> Result<GroupId> {
    let known = model.group(group)?.groups.keys();
    model.find_group(group, name).ok_or_else(|| missing(ErrorKind::NoGrp, "group", name, known))
}

pub(crate) fn dim_id(model: &Model, group: GroupId, name: &str) -> Result<DimId> {
    let known = model.group(group)?.dims.keys();
    model.find_dim(group, name).ok_or_else(|| missing(ErrorKind::BadDim, "dimension", name, known))
}

pub(crate) fn var_id(model: &Model, group: GroupId, name: &str) -> Result<VarId> {
    let known = model.group(group)?.vars.keys();
    model.find_var(group, name).ok_or_else(|| missing(ErrorKind::NotVar, "variable", name, known))
}

fn missing<'k>(
    kind: ErrorKind,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'k String>,
) -> nczarr_model::Error {
    let known: Vec<_> = known.map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    kind.context(format!("no {what} {name:?}; the group has: {known}"))
}

pub(crate) fn dim(model: &Model, id: DimId) -> Result<DimInquiry> {
    let dim = model.dim(id)?;
    Ok(DimInquiry { name: dim.name.clone(), len: dim.len(), unlimited: dim.unlimited })
}

pub(crate) fn unlimited(model: &Model, group: GroupId) -> Result<Vec<DimId>> {
    let mut found = Vec::new();
    for &id in model.group(group)?.dims.values() {
        if model.dim(id)?.unlimited {
            found.push(id);
        }
    }
    Ok(found)
}

pub(crate) fn dims(model: &Model, group: GroupId, include_parents: bool) -> Result<Vec<DimId>> {
    let mut here = model.group(group)?;
    let mut dims: Vec<_> = here.dims.values().copied().collect();
    while let Some(parent) = here.parent.filter(|_| include_parents) {
        here = model.group(parent)?;
        dims.extend(here.dims.values());
    }
    dims.sort_unstable();
    Ok(dims)
}

pub(crate) fn show<D: Dataset + ?Sized>(dataset: &D) -> String {
    let (model, info) = (dataset.model().snapshot(), dataset.info());
    let mut text = format!("driver {}, flavour {} {}\n", info.driver, info.flavour, info.version);
    // Writing to a `String` never fails.
    for (id, group) in model.groups() {
        let _ = writeln!(
            text,
            "group {}: {} attributes",
            model.fqn(id, "").unwrap_or_default(),
            group.atts.len()
        );
        for dim in group.dims.values().filter_map(|&dim| model.dim(dim).ok()) {
            let unlimited = if dim.unlimited { ", unlimited" } else { "" };
            let _ = writeln!(text, "  dimension {}: {}{unlimited}", dim.name, dim.len());
        }
        for (name, &ty) in &group.types {
            let _ = writeln!(text, "  type {name}: {:?}", model.user_type(ty).map(|ty| &ty.class));
        }
        for var in group.vars.values().filter_map(|&var| model.var(var).ok()) {
            let dims: Vec<_> =
                var.dims.iter().filter_map(|&dim| model.dim(dim).ok()).map(|dim| dim.name.as_str()).collect();
            let filters: Vec<_> = var.filters.iter().map(|filter| filter.name.as_str()).collect();
            let _ = writeln!(
                text,
                "  variable {} {}({}): {:?}, filters [{}], {} attributes",
                var.xtype.name(),
                var.name,
                dims.join(", "),
                var.chunking,
                filters.join(", "),
                var.atts.len()
            );
        }
    }
    text
}
