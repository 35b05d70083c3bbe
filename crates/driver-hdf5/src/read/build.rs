//! Builds the netCDF model from the objects of a file.

use nczarr_dispatch::{Fault, Registry};
use nczarr_model::{
    Att, Chunking, Endian, Error, ErrorKind, FilterSpec, GroupId, Model, NcString, NcType, Quantize, Result,
    Values, Var, VarFill, VarId, fill,
};

use super::attributes::StoredAttribute;
use super::datatype::{Datatype, DatatypeClass};
use super::dims::{self, DimensionTable};
use super::file::HdfFile;
use super::messages::{DataLayout, Dataspace};
use super::types::{self, TypeTable};
use super::unsupported;
use super::values::{self, ElementDecoder};
use super::walk::{DatasetStorage, FileDataset, FileTree, Oddities};
use super::widened::BitField;

/// Attributes that netCDF hides.
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

/// Prefix of a variable that has the name of a dimension but is not its coordinate variable.
const NOT_COORDINATE: &str = "_nc4_non_coord_";

/// Makes a [`Quantize`] from its number of digits or bits.
type RoundingMode = fn(u32) -> Quantize;

/// Attributes that record how values were quantized.
const ROUNDED: [(&str, RoundingMode); 3] = [
    ("_QuantizeBitGroomNumberOfSignificantDigits", Quantize::BitGroom),
    ("_QuantizeGranularBitRoundNumberOfSignificantDigits", Quantize::GranularBitRound),
    ("_QuantizeBitRoundNumberOfSignificantBits", Quantize::BitRound),
];

/// The model of a file, and facts about the file that the model does not hold.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    pub(crate) model: Model,
    /// How each variable is stored; `None` if that could not be read.
    pub(crate) stored: Vec<Option<(DatasetStorage, Dataspace)>>,
    pub(crate) faults: Vec<Fault>,
    /// The first item of the file that netCDF does not show. Rewriting all metadata would lose it.
    pub(crate) hidden_content: Option<String>,
    /// The file declares the classic model (`_nc3_strict`).
    pub(crate) classic: bool,
    /// Some dimensions have no name in the file; this driver named them.
    pub(crate) phony_dims: bool,
    /// The first attribute whose HDF5 type netCDF lacks, although its values can be shown.
    pub(crate) converted: Option<String>,
    /// The text of `_NCProperties`.
    pub(crate) properties: Option<String>,
    /// The file has no sign that netCDF wrote it.
    pub(crate) foreign: bool,
    pub(crate) oddities: Oddities,
    /// Attributes of text of a fixed size that netCDF would store in another form.
    pub(crate) texts: Vec<(GroupId, Option<VarId>, StoredText)>,
    /// All attributes that netCDF would store in another form.
    pub(crate) foreign_atts: Vec<(GroupId, Option<VarId>, String)>,
}

/// The character set UTF-8 and padding with zeros, in the form of a string.
const UTF8: u8 = 1 << 4;

/// Whether an attribute has the type and shape that netCDF stores for its values.
fn has_own_form(attribute: &StoredAttribute, values: &Values) -> bool {
    let Ok(ty) = &attribute.ty else { return false };
    let own_type = match ty.class {
        DatatypeClass::Text { form } => form == 0 && matches!(values, Values::Char(_)),
        DatatypeClass::Strings { form } => form == UTF8,
        DatatypeClass::Integer { big_endian, .. } | DatatypeClass::Float { big_endian, .. } => {
            ty.size == 1 || big_endian == cfg!(target_endian = "big")
        }
        _ => true,
    };
    own_type
        && match attribute.space.dims.as_deref() {
            None => values.is_empty(),
            Some([]) => matches!(values, Values::Char(_)),
            Some([_]) => !matches!(values, Values::Char(_)),
            Some(_) => false,
        }
}

/// An attribute of text, as stored.
#[derive(Debug)]
pub(crate) struct StoredText {
    pub(crate) name: String,
    /// Size of a string in bytes.
    pub(crate) size: u32,
    /// The bit field of the datatype: padding and character set.
    pub(crate) form: u8,
    /// The shape; `None` for a null dataspace.
    pub(crate) dims: Option<Vec<u64>>,
    pub(crate) bytes: Vec<u8>,
    /// The values that the model shows.
    pub(crate) values: Values,
}

impl StoredText {
    /// Returns the stored form of an attribute of text.
    fn of(attribute: &StoredAttribute, values: &Values) -> Option<Self> {
        let ty = attribute.ty.as_ref().ok()?;
        let DatatypeClass::Text { form } = ty.class else { return None };
        Some(Self {
            name: attribute.name.clone(),
            size: ty.size,
            form,
            dims: attribute.space.dims.clone(),
            bytes: attribute.bytes.clone(),
            values: values.clone(),
        })
    }
}

/// Builds the model. `as_netcdf_c`: variables of types that netCDF lacks are left out.
///
/// # Errors
/// `NC_EHDFERR` if the file is damaged; errors of the model about names.
pub(crate) fn build(
    file: &HdfFile,
    registry: &Registry,
    mut tree: FileTree,
    as_netcdf_c: bool,
) -> Result<LoadedFile> {
    let mut model = Model::new();
    for group in tree.groups.iter().skip(1) {
        let parent = GroupId(group.parent.unwrap_or(0) as u32);
        model.add_group(parent, &group.name)?;
    }
    let mut types = TypeTable::define(&mut tree, &mut model)?;
    let mut dims = DimensionTable::find(file, &tree);
    tree.faults.append(&mut dims.faults);
    let ids = dims.define(&mut model)?;
    let root = &tree.groups[0].attributes;
    let text = |name: &str| root.iter().find(|attribute| attribute.name == name);
    let classic = text("_nc3_strict").is_some();
    let properties = text("_NCProperties").map(|found| dims::text(file, found));
    let properties = properties.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // netCDF-C uses the same rule.
    let datasets =
        tree.groups.iter().flat_map(|group| &group.datasets).flat_map(|dataset| &dataset.attributes);
    let foreign =
        properties.is_none() && datasets.filter(|found| HIDDEN.contains(&&*found.name)).nth(1).is_none();
    let unshown = tree.hidden_content.pop().or_else(|| unsupported::of(file, &tree, &dims));
    let FileTree { groups, faults, oddities, .. } = tree;
    let mut builder = ModelBuilder {
        file,
        registry,
        model,
        types: &mut types,
        stored: Vec::new(),
        faults,
        converted: None,
        as_netcdf_c,
        untyped: None,
        texts: Vec::new(),
        foreign_atts: Vec::new(),
    };
    for (number, group) in groups.into_iter().enumerate() {
        let id = GroupId(number as u32);
        for (place, dataset) in group.datasets.into_iter().enumerate() {
            let Some(own) = dims.of(number, place) else { continue };
            let own = own.iter().map(|&dim| ids[dim]).collect();
            builder.var(id, own, dataset);
        }
        let path = builder.model.group_path(id)?;
        let (atts, problem) = builder.atts(&path, (id, None), group.attributes, None);
        builder.faults.extend(problem.map(|error| Fault::damaged(&path, format_args!("{error:#}"))));
        builder.model.group_mut(id)?.atts = atts;
    }
    let ModelBuilder { model, stored, faults, converted, untyped, texts, foreign_atts, .. } = builder;
    let made_up = dims.has_phony();
    Ok(LoadedFile {
        model,
        stored,
        faults,
        hidden_content: unshown.or(untyped).or(types.text_field),
        classic,
        phony_dims: made_up,
        converted,
        properties,
        foreign,
        oddities,
        texts,
        foreign_atts,
    })
}

struct ModelBuilder<'f> {
    file: &'f HdfFile,
    registry: &'f Registry,
    model: Model,
    types: &'f mut TypeTable,
    stored: Vec<Option<(DatasetStorage, Dataspace)>>,
    faults: Vec<Fault>,
    converted: Option<String>,
    /// Variables of types that netCDF lacks are left out.
    as_netcdf_c: bool,
    /// The first such variable.
    untyped: Option<String>,
    texts: Vec<(GroupId, Option<VarId>, StoredText)>,
    foreign_atts: Vec<(GroupId, Option<VarId>, String)>,
}

impl ModelBuilder<'_> {
    /// Adds a variable. Damage to the variable becomes its `problem`.
    fn var(&mut self, group: GroupId, dims: Vec<nczarr_model::DimId>, dataset: FileDataset) {
        let FileDataset { name, attributes, space, stored, other, .. } = dataset;
        let name = name.strip_prefix(NOT_COORDINATE).unwrap_or(&name).to_owned();
        let path = self.model.fqn(group, &name).unwrap_or_else(|_| name.clone());
        // A variable that is left out closes the file for writing, so its number does not matter.
        let id = VarId(self.stored.len() as u32);
        let (atts, problem) = self.atts(&path, (group, Some(id)), attributes, other.as_deref());
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
            Err(error) if self.as_netcdf_c && error.kind() == ErrorKind::BadTypId => {
                self.untyped.get_or_insert(format!("variable {path:?}: {error:#}"));
                self.faults.push(Fault::left_out(path, format_args!("{error:#}")));
                return;
            }
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

    fn describe(&mut self, var: &mut Var, stored: &DatasetStorage, space: &Dataspace) -> Result<()> {
        var.xtype = self.types.of_dataset(&stored.ty, &mut self.model)?;
        var.endian = match base(&stored.ty).class {
            DatatypeClass::Integer { big_endian, .. } | DatatypeClass::Float { big_endian, .. } => {
                if big_endian {
                    Endian::Big
                } else {
                    Endian::Little
                }
            }
            _ => Endian::Native,
        };
        if let DatatypeClass::Float { half: Some(_), .. } = stored.ty.class {
            var.stored_type = Some(stored.ty.name());
        }
        var.fill = self.fill(var.xtype, stored)?;
        var.chunking = match &stored.layout {
            DataLayout::Compact(_) => Chunking::Compact,
            DataLayout::Chunked { shape, .. } => {
                let rank = space.dims.as_ref().map_or(0, Vec::len);
                if shape.len() != rank {
                    return Err(super::cursor::damaged(format!(
                        "layout: chunk shape {shape:?} does not match the rank (expected {rank} dimensions)"
                    )));
                }
                Chunking::Chunked(shape.clone())
            }
            // A virtual dataset has no chunking of its own, so a copy uses the default.
            DataLayout::Virtual(..) => Chunking::Default,
            _ => Chunking::Contiguous,
        };
        for filter in &stored.filters {
            let class = self.registry.filter_by_id(filter.id);
            // The stored parameters may include some that the filter derives itself. Only the user's are
            // shown.
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
        if let DataLayout::Other(what) = stored.layout {
            return Err(ErrorKind::Storage.context(format!("unsupported data layout: {what}")));
        }
        Ok(())
    }

    fn fill(&self, xtype: NcType, stored: &DatasetStorage) -> Result<VarFill> {
        if stored.fill.none {
            return Ok(VarFill::NoFill);
        }
        let value = match stored.value() {
            Some(bytes) => ElementDecoder::new(stored.other.as_deref().unwrap_or(self.file))
                .values(&stored.ty, xtype, bytes)?,
            // The default fill value of HDF5 is zero bytes. Only numbers can take it as an ordinary value.
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

    /// Converts the attributes that netCDF shows.
    ///
    /// Returns also the error of the first damaged attribute. An attribute of a type that netCDF lacks is
    /// left out and reported as a fault.
    fn atts(
        &mut self,
        owner: &str,
        (group, var): (GroupId, Option<VarId>),
        attributes: Vec<StoredAttribute>,
        other: Option<&HdfFile>,
    ) -> (Att, Option<Error>) {
        let (mut atts, mut problem) = (Att::default(), None);
        for attribute in attributes {
            if HIDDEN.contains(&&*attribute.name) {
                continue;
            }
            match self.values(&attribute, other) {
                Ok(values) => {
                    if let Ok(ty) = &attribute.ty
                        && BitField::of(ty).is_some()
                    {
                        let what = || {
                            format!("attribute {:?} of {owner:?} has the type {}", attribute.name, ty.name())
                        };
                        self.converted.get_or_insert_with(what);
                    }
                    if !has_own_form(&attribute, &values) {
                        let text = StoredText::of(&attribute, &values);
                        self.texts.extend(text.map(|text| (group, var, text)));
                        self.foreign_atts.push((group, var, attribute.name.clone()));
                    }
                    atts.insert(attribute.name, values);
                }
                Err(error) if error.kind() == ErrorKind::BadTypId => {
                    self.faults.push(Fault::left_out(
                        format_args!("{owner}:{}", attribute.name),
                        format_args!("{error:#}"),
                    ));
                }
                Err(error) => {
                    let error = error.at(format_args!("attribute {:?} of {owner:?}", attribute.name));
                    problem = problem.or(Some(error));
                }
            }
        }
        (atts, problem)
    }

    fn values(&mut self, attribute: &StoredAttribute, other: Option<&HdfFile>) -> Result<Values> {
        let StoredAttribute { ty, space, bytes, .. } = attribute;
        let ty = ty.as_ref().map_err(Clone::clone)?;
        if matches!(ty.class, DatatypeClass::Text { .. }) {
            return Ok(match &space.dims {
                Some(dims) if !dims.is_empty() => Values::String(
                    bytes.chunks_exact(ty.size as usize).map(values::text).collect::<Vec<NcString>>(),
                ),
                _ => Values::Char(bytes.clone()),
            });
        }
        let nc_type = self.types.widened_type(ty, &mut self.model)?;
        if bytes.is_empty() {
            return Ok(types::nothing(nc_type));
        }
        ElementDecoder::new(other.unwrap_or(self.file)).values(ty, nc_type, bytes)
    }
}

/// Returns the number type of an enumeration, or `ty` itself.
fn base(ty: &Datatype) -> &Datatype {
    match &ty.class {
        DatatypeClass::Enum { base, .. } => base,
        _ => ty,
    }
}
