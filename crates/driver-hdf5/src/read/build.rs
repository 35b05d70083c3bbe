//! What a file holds → the model that netCDF shows of it.

use nczarr_dispatch::{Fault, Registry};
use nczarr_model::{
    Att, Chunking, Endian, Error, ErrorKind, FilterSpec, GroupId, Model, NcString, NcType, Quantize, Result, Values,
    Var, VarFill, fill,
};

use super::attributes::Attribute;
use super::datatype::{Class, Datatype};
use super::dims::{self, Dims};
use super::file::Hdf;
use super::messages::{Layout, Space};
use super::partial::Bits;
use super::types::{self, Types};
use super::unshown;
use super::values::{self, Decoder};
use super::walk::{Dataset, Stored, Tree};

/// Attributes that are not shown.
pub(super) const HIDDEN: &[&str] = &[
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
    "_NCProperties",
];

/// Before the name of a variable that has the name of a dimension and is not its coordinate.
const NOT_COORDINATE: &str = "_nc4_non_coord_";

/// How far a way of rounding goes, given its number of digits or bits.
type Way = fn(u32) -> Quantize;

/// Attributes that tell how values were rounded.
const ROUNDED: [(&str, Way); 3] = [
    ("_QuantizeBitGroomNumberOfSignificantDigits", Quantize::BitGroom),
    ("_QuantizeGranularBitRoundNumberOfSignificantDigits", Quantize::GranularBitRound),
    ("_QuantizeBitRoundNumberOfSignificantBits", Quantize::BitRound),
];

/// What was made of a file.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) model: Model,
    /// How each variable is stored; `None` if that is what is wrong with it.
    pub(crate) stored: Vec<Option<(Stored, Space)>>,
    pub(crate) faults: Vec<Fault>,
    /// Something that netCDF does not show and the model has not: who writes all metadata anew would lose it.
    pub(crate) unshown: Option<String>,
    /// The dataset has only what the classic model has.
    pub(crate) classic: bool,
    /// Some dimensions are nobody's but ours.
    pub(crate) made_up: bool,
    /// An attribute of a type that netCDF has not, though it shows the values.
    pub(crate) converted: Option<String>,
    /// The text of `_NCProperties`.
    pub(crate) properties: Option<String>,
    /// Nothing tells that netCDF made it.
    pub(crate) foreign: bool,
}

/// Builds the model.
///
/// # Errors
/// `NC_EHDFERR` if the file is damaged; what the model says of names.
pub(crate) fn build(file: &Hdf, registry: &Registry, mut tree: Tree) -> Result<Built> {
    let mut model = Model::new();
    for group in tree.groups.iter().skip(1) {
        let parent = GroupId(group.parent.unwrap_or(0) as u32);
        model.add_group(parent, &group.name)?;
    }
    let mut types = Types::define(&mut tree, &mut model)?;
    let mut dims = Dims::find(file, &tree);
    tree.faults.append(&mut dims.faults);
    let ids = dims.define(&mut model)?;
    let root = &tree.groups[0].attributes;
    let text = |name: &str| root.iter().find(|attribute| attribute.name == name);
    let classic = text("_nc3_strict").is_some();
    let properties = text("_NCProperties").map(|found| dims::text(file, found));
    let properties = properties.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // So netCDF-C tells it.
    let datasets = tree.groups.iter().flat_map(|group| &group.datasets).flat_map(|dataset| &dataset.attributes);
    let foreign = properties.is_none() && datasets.filter(|found| HIDDEN.contains(&&*found.name)).nth(1).is_none();
    let unshown = tree.unshown.pop().or_else(|| unshown::of(file, &tree, &dims));
    let Tree { groups, faults, .. } = tree;
    let mut builder = Builder { file, registry, model, types: &mut types, stored: Vec::new(), faults, converted: None };
    for (number, group) in groups.into_iter().enumerate() {
        let id = GroupId(number as u32);
        for (place, dataset) in group.datasets.into_iter().enumerate() {
            let Some(own) = dims.of(number, place) else { continue };
            let own = own.iter().map(|&dim| ids[dim]).collect();
            builder.var(id, own, dataset);
        }
        let path = builder.model.group_path(id)?;
        let (atts, problem) = builder.atts(&path, group.attributes, None);
        builder.faults.extend(problem.map(|error| Fault::damaged(&path, format_args!("{error:#}"))));
        builder.model.group_mut(id)?.atts = atts;
    }
    let Builder { model, stored, faults, converted, .. } = builder;
    let made_up = dims.has_made_up();
    Ok(Built { model, stored, faults, unshown, classic, made_up, converted, properties, foreign })
}

struct Builder<'f> {
    file: &'f Hdf,
    registry: &'f Registry,
    model: Model,
    types: &'f mut Types,
    stored: Vec<Option<(Stored, Space)>>,
    faults: Vec<Fault>,
    converted: Option<String>,
}

impl Builder<'_> {
    /// Adds a variable. Damage to it is its own problem.
    fn var(&mut self, group: GroupId, dims: Vec<nczarr_model::DimId>, dataset: Dataset) {
        let Dataset { name, attributes, space, stored, other, .. } = dataset;
        let name = name.strip_prefix(NOT_COORDINATE).unwrap_or(&name).to_owned();
        let path = self.model.fqn(group, &name).unwrap_or_else(|_| name.clone());
        let (atts, problem) = self.atts(&path, attributes, other.as_deref());
        let mut var = Var { name, group, dims, atts, xtype: NcType::Byte, ..Var::default() };
        let stored = stored.and_then(|stored| {
            let described = self.describe(&mut var, &stored, &space);
            if described.is_err() {
                var.stored_type = Some(stored.ty.name());
            }
            described?;
            Ok(stored)
        });
        let stored = match problem.map_or(stored, Err) {
            Ok(stored) => Some((stored, space)),
            Err(error) => {
                var.problem = Some(error.at(&var.name));
                None
            }
        };
        match self.model.add_var(var) {
            Ok(_) => self.stored.push(stored),
            Err(error) => self.faults.push(Fault::left_out(path, format_args!("{error:#}"))),
        }
    }

    fn describe(&mut self, var: &mut Var, stored: &Stored, space: &Space) -> Result<()> {
        var.xtype = self.types.of_dataset(&stored.ty, &mut self.model)?;
        var.endian = match base(&stored.ty).class {
            Class::Integer { big_endian, .. } | Class::Float { big_endian, .. } => match big_endian {
                true => Endian::Big,
                false => Endian::Little,
            },
            _ => Endian::Native,
        };
        if let Class::Float { half: Some(_), .. } = stored.ty.class {
            var.stored_type = Some(stored.ty.name());
        }
        var.fill = self.fill(var.xtype, stored)?;
        var.chunking = match &stored.layout {
            Layout::Compact(_) => Chunking::Compact,
            Layout::Chunked { shape, .. } => {
                let rank = space.dims.as_ref().map_or(0, Vec::len);
                if shape.len() != rank {
                    return Err(super::cursor::bad(format!("chunks of {shape:?} for {rank} dimensions")));
                }
                Chunking::Chunked(shape.clone())
            }
            // Nothing is in one piece there, and a copy lies as it would if nobody had said anything.
            Layout::Virtual(..) => Chunking::Default,
            _ => Chunking::Contiguous,
        };
        for filter in &stored.filters {
            let class = self.registry.filter_by_id(filter.id);
            // What stands in the file beside the visible parameters is of the filter's own making.
            let params = class.as_ref().ok().and_then(|class| class.parse_hdf5(&filter.params).ok());
            let params = params.map(|filter| filter.params().into_owned());
            let params = params.filter(|params| params.len() < filter.params.len());
            var.filters.push(FilterSpec {
                hdf5_id: Some(filter.id),
                name: class.map_or_else(|_| filter.name.clone(), |class| class.info().name.to_owned()),
                params: params.unwrap_or_else(|| filter.params.clone()),
                codec: None,
            });
        }
        for (name, way) in ROUNDED {
            if let Some(Values::Int(kept)) = var.atts.get(name)
                && let [kept] = kept[..]
            {
                var.quantize = Some(way(kept.max(0) as u32));
            }
        }
        if let Layout::Other(what) = stored.layout {
            return Err(ErrorKind::Storage.context(format!("its data are {what}, which are not read")));
        }
        Ok(())
    }

    fn fill(&self, xtype: NcType, stored: &Stored) -> Result<VarFill> {
        if stored.fill.none {
            return Ok(VarFill::NoFill);
        }
        let value = match stored.value() {
            Some(bytes) => {
                Decoder::new(stored.other.as_deref().unwrap_or(self.file)).values(&stored.ty, xtype, bytes)?
            }
            // HDF5's default is zeros: a value like others for numbers, and that of no value for all else.
            None => match xtype.size().and_then(|size| Values::from_native_bytes(xtype, &vec![0; size])) {
                Some(zero) => zero,
                None => return Ok(VarFill::Default),
            },
        };
        Ok(match fill::default(xtype) {
            Some(default) if default == value => VarFill::Default,
            _ => VarFill::Value(value),
        })
    }

    /// The attributes that are shown, and what is wrong with the first that is damaged: it is not absent. One of a type that
    /// netCDF has not is left out, and told.
    fn atts(&mut self, owner: &str, attributes: Vec<Attribute>, other: Option<&Hdf>) -> (Att, Option<Error>) {
        let (mut atts, mut problem) = (Att::default(), None);
        for attribute in attributes {
            if HIDDEN.contains(&&*attribute.name) {
                continue;
            }
            match self.values(&attribute, other) {
                Ok(values) => {
                    if let Ok(ty) = &attribute.ty
                        && Bits::of(ty).is_some()
                    {
                        let what =
                            || format!("attribute {:?} of {owner:?} is of the type {}", attribute.name, ty.name());
                        self.converted.get_or_insert_with(what);
                    }
                    atts.insert(attribute.name, values);
                }
                Err(error) if error.kind() == ErrorKind::BadTypId => {
                    self.faults
                        .push(Fault::left_out(format_args!("{owner}:{}", attribute.name), format_args!("{error:#}")));
                }
                Err(error) => {
                    let error = error.at(format_args!("attribute {:?} of {owner:?}", attribute.name));
                    problem = problem.or(Some(error));
                }
            }
        }
        (atts, problem)
    }

    fn values(&mut self, attribute: &Attribute, other: Option<&Hdf>) -> Result<Values> {
        let Attribute { ty, space, bytes, .. } = attribute;
        let ty = ty.as_ref().map_err(Clone::clone)?;
        if matches!(ty.class, Class::Text) {
            return Ok(match &space.dims {
                Some(dims) if !dims.is_empty() => {
                    Values::String(bytes.chunks_exact(ty.size as usize).map(values::text).collect::<Vec<NcString>>())
                }
                _ => Values::Char(bytes.clone()),
            });
        }
        let nc_type = self.types.shown(ty, &mut self.model)?;
        if bytes.is_empty() {
            return Ok(types::nothing(nc_type));
        }
        Decoder::new(other.unwrap_or(self.file)).values(ty, nc_type, bytes)
    }
}

/// What numbers a type holds, if it is of numbers.
fn base(ty: &Datatype) -> &Datatype {
    match &ty.class {
        Class::Enum { base, .. } => base,
        _ => ty,
    }
}
