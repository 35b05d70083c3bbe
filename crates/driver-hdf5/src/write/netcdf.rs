//! Stores a model by netCDF-4's conventions: dimensions, variables and their attributes as HDF5 objects.
//!
//! A dimension is a dimension scale: its coordinate variable, or else a dataset without data. Other variables
//! name their scales in `DIMENSION_LIST`. Each scale names its users in `REFERENCE_LIST`. A variable with the
//! name of a dimension that is not its scale is called `_nc4_non_coord_…`.
//!
//! Source: "netCDF-4 format" in the netCDF documentation; the HDF5 Dimension Scale Specification.

use nczarr_model::{Att, DimId, ErrorKind, GroupId, Model, NcType, Result, Values, Var, VarFill, VarId};

use super::att_order::AttOrders;
use super::bytes::{PutBytes, UNDEFINED};
use super::chunk_index::{self, ChunkExtent};
use super::datatype::{self, NATIVE_BIG};
use super::element;
use super::fixed_text::{FixedText, FixedTexts};
use super::header::{AttributeMessage, DataspaceMessage, DatatypeMessage, HeaderBuilder, LinkMessage, kind};
use super::image::MetadataImage;

/// Prefix of a variable that has the name of a dimension but is not its scale.
pub(crate) const NON_COORDINATE: &str = "_nc4_non_coord_";

/// Attributes that describe dimensions. Users may not set them.
pub(crate) const RESERVED: &[&str] =
    &["CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid"];

/// Attributes of the root group: the software that wrote the file, and the classic model.
pub(crate) const PROPERTIES: &str = "_NCProperties";
pub(crate) const STRICT: &str = "_nc3_strict";

/// A default fill value, which is zeros, is stored for elements of up to this size in bytes.
const LONG_FILL: usize = 32 << 10;

/// Fill times of the fill value message. Readers take a default fill value with the fill time "when
/// allocated" as no-fill.
const FILL_WHEN_ALLOCATED: u8 = 0;
const FILL_NEVER: u8 = 1 << 2;
const FILL_IF_SET: u8 = 2 << 2;

/// A filter as stored.
#[derive(Debug, Clone)]
pub(super) struct StoredFilter {
    pub(super) id: u16,
    pub(super) name: String,
    /// Whether a chunk may be stored without it.
    pub(super) optional: bool,
    pub(super) params: Vec<u32>,
}

/// Where the data of a variable are.
#[derive(Debug)]
pub(super) enum DataPlacement {
    /// In the object header.
    Compact(Vec<u8>),
    /// In one piece at an address; `None` if not allocated.
    Contiguous(Option<u64>),
    /// In chunks, sorted by index.
    Chunked { shape: Vec<u64>, chunks: Vec<(Vec<u64>, ChunkExtent)>, filters: Vec<StoredFilter> },
}

impl DataPlacement {
    /// Whether all elements of a shape are stored.
    fn is_whole(&self, lens: &[u64]) -> bool {
        match self {
            Self::Compact(_) => true,
            Self::Contiguous(address) => address.is_some(),
            Self::Chunked { shape, chunks, .. } => {
                let each = lens.iter().zip(shape).map(|(len, side)| len.div_ceil(*side));
                each.fold(1, u64::saturating_mul) == chunks.len() as u64
            }
        }
    }
}

/// The content of a file's metadata.
pub(super) struct FileMetadata<'m> {
    pub(super) model: &'m Model,
    pub(super) orders: &'m AttOrders,
    pub(super) texts: &'m FixedTexts,
    /// The length of each dimension.
    pub(super) lens: &'m [u64],
    /// Where the data of each variable are.
    pub(super) places: &'m [DataPlacement],
    pub(super) properties: &'m str,
    pub(super) classic_model: bool,
    /// Whether a no-fill variable without data has no records, as in netCDF-C, even if its dimension has
    /// some.
    pub(super) without_unwritten_records: bool,
}

/// Addresses of objects.
#[derive(Debug, Clone, Default)]
struct ObjectAddresses {
    types: Vec<u64>,
    vars: Vec<u64>,
    /// Datasets of dimensions without a variable.
    dims: Vec<u64>,
    heap: Vec<u64>,
}

impl ObjectAddresses {
    fn moved(mut self, by: u64) -> Self {
        for list in [&mut self.types, &mut self.vars, &mut self.dims, &mut self.heap] {
            list.iter_mut().for_each(|address| *address += by);
        }
        self
    }
}

/// Returns the variable that is a dimension's scale.
pub(super) fn scale(model: &Model, dim: DimId) -> Option<VarId> {
    let here = model.dim(dim).ok()?;
    let &id = model.group(here.group).ok()?.vars.get(&here.name)?;
    (model.var(id).ok()?.dims.first() == Some(&dim)).then_some(id)
}

fn is_scale(model: &Model, id: VarId, var: &Var) -> bool {
    var.dims.first().is_some_and(|&dim| scale(model, dim) == Some(id))
}

impl FileMetadata<'_> {
    /// Builds the stored metadata. `place` returns their address for a length in bytes. Returns the bytes,
    /// their address, and the address of the root group.
    ///
    /// # Errors
    /// `NC_EBADTYPE` or the like for content that HDF5 cannot hold.
    pub(super) fn build(&self, place: impl FnOnce(u64) -> u64) -> Result<(Vec<u8>, u64, u64)> {
        let unknown = ObjectAddresses {
            types: vec![0; self.model.user_types().len()],
            vars: vec![0; self.model.vars().len()],
            dims: vec![0; self.model.dims().len()],
            heap: Vec::new(),
        };
        let (first, found, _) = self.make(0, &unknown)?;
        let base = place(first.len() as u64);
        let (bytes, again, root) = self.make(base, &found.moved(base))?;
        debug_assert_eq!(bytes.len(), first.len());
        debug_assert_eq!(again.vars.len(), self.model.vars().len());
        Ok((bytes, base, root))
    }

    fn make(&self, base: u64, known: &ObjectAddresses) -> Result<(Vec<u8>, ObjectAddresses, u64)> {
        let image = MetadataImage::new(base, known.heap.clone());
        let found = ObjectAddresses { heap: Vec::new(), ..known.clone() };
        let mut maker = MetadataBuilder { metadata: self, known, found, image };
        for (id, ty) in self.model.user_types() {
            let describe = || datatype::describe(self.model, NcType::User(id), NATIVE_BIG);
            let described = describe().map_err(|error| error.at(&ty.name))?;
            let mut header = HeaderBuilder::default();
            header.put_datatype(&DatatypeMessage::Own(described));
            header.put_attributes(&mut maker.image, &[])?;
            maker.found.types[id.index()] =
                header.finish(&mut maker.image).map_err(|error| error.at(&ty.name))?;
        }
        let root = maker.group(GroupId::ROOT)?;
        let MetadataBuilder { mut found, image, .. } = maker;
        let (bytes, heap) = image.finish();
        found.heap = heap;
        Ok((bytes, found, root))
    }
}

struct MetadataBuilder<'m> {
    metadata: &'m FileMetadata<'m>,
    known: &'m ObjectAddresses,
    found: ObjectAddresses,
    image: MetadataImage,
}

fn integers(name: &str, values: &[i32]) -> Result<AttributeMessage> {
    Ok(AttributeMessage {
        name: name.to_owned(),
        datatype: DatatypeMessage::Own(datatype::atomic(NcType::Int, false)?),
        space: DataspaceMessage::list(values.len()),
        data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    })
}

fn integer(name: &str, value: i32) -> Result<AttributeMessage> {
    Ok(AttributeMessage { space: DataspaceMessage::Scalar, ..integers(name, &[value])? })
}

/// Makes a text attribute of fixed length. `ended`: with a final zero.
fn text(name: &str, value: &[u8], ended: bool) -> Result<AttributeMessage> {
    let mut data = value.to_vec();
    data.extend(ended.then_some(0));
    let space = if data.is_empty() { DataspaceMessage::Null } else { DataspaceMessage::Scalar };
    let datatype = DatatypeMessage::Own(datatype::text(data.len().max(1))?);
    Ok(AttributeMessage { name: name.to_owned(), datatype, space, data })
}

impl MetadataBuilder<'_> {
    fn group(&mut self, id: GroupId) -> Result<u64> {
        let metadata = self.metadata;
        let model = metadata.model;
        let group = model.group(id)?;
        let mut links = Vec::new();
        let mut link = |name: String, address: u64| links.push(LinkMessage { name, address });
        for (name, ty) in &group.types {
            link(name.clone(), self.found.types[ty.index()]);
        }
        for (name, &dim) in &group.dims {
            if scale(model, dim).is_none() {
                let address = self.dimension(dim).map_err(|error| error.at(name))?;
                self.found.dims[dim.index()] = address;
                link(name.clone(), address);
            }
        }
        for (name, &var) in &group.vars {
            let address = self.variable(var).map_err(|error| error.at(name))?;
            self.found.vars[var.index()] = address;
            let other = group.dims.get(name).is_some_and(|&dim| scale(model, dim) != Some(var));
            link(if other { format!("{NON_COORDINATE}{name}") } else { name.clone() }, address);
        }
        for (name, &inner) in &group.groups {
            link(name.clone(), self.group(inner)?);
        }
        let mut attributes = Vec::new();
        if id == GroupId::ROOT && !metadata.properties.is_empty() {
            attributes.push(text(PROPERTIES, metadata.properties.as_bytes(), false)?);
        }
        self.attributes(id, None, &group.atts, &mut attributes)?;
        if id == GroupId::ROOT && metadata.classic_model {
            attributes.push(integer(STRICT, 1)?);
        }
        let mut header = HeaderBuilder::default();
        header.put_links(&mut self.image, &links)?;
        header.put_attributes(&mut self.image, &attributes)?;
        header.finish(&mut self.image)
    }

    /// Appends the user's attributes.
    fn attributes(
        &mut self,
        group: GroupId,
        var: Option<VarId>,
        atts: &Att,
        out: &mut Vec<AttributeMessage>,
    ) -> Result<()> {
        for (name, values) in self.metadata.orders.sorted(group, var, atts) {
            let kept = self.metadata.texts.attribute(group, var, name, values);
            let made = kept.and_then(|kept| kept.map_or_else(|| self.attribute(name, values), Ok));
            out.push(made.map_err(|error| error.at(name))?);
        }
        Ok(())
    }

    fn attribute(&mut self, name: &str, values: &Values) -> Result<AttributeMessage> {
        if let Values::Char(value) = values {
            return text(name, value, false);
        }
        let model = self.metadata.model;
        let datatype = self.datatype(values.nc_type(), false)?;
        let (data, count) = element::values(model, values, false, &mut self.image)?;
        Ok(AttributeMessage { name: name.to_owned(), datatype, space: DataspaceMessage::list(count), data })
    }

    fn datatype(&self, ty: NcType, big: bool) -> Result<DatatypeMessage> {
        Ok(match ty {
            NcType::User(id) => DatatypeMessage::Named(self.found.types[id.index()]),
            _ => DatatypeMessage::Own(datatype::atomic(ty, big)?),
        })
    }

    /// Returns the address of a dimension's scale.
    fn scale_address(&self, dim: DimId) -> u64 {
        match scale(self.metadata.model, dim) {
            Some(var) => self.known.vars[var.index()],
            None => self.known.dims[dim.index()],
        }
    }

    /// Writes a dimension without a variable.
    fn dimension(&mut self, id: DimId) -> Result<u64> {
        let dim = self.metadata.model.dim(id)?;
        let len = self.metadata.lens[id.index()];
        let mut header = HeaderBuilder::default();
        let most = if dim.unlimited { UNDEFINED } else { len };
        header.put(kind::DATASPACE, &DataspaceMessage::Simple(vec![(len, most)]).message());
        header.put_datatype(&DatatypeMessage::Own(datatype::atomic(NcType::Float, true)?));
        // The dataset never has data.
        let chunked = u8::from(dim.unlimited);
        header.put_constant(kind::FILL_VALUE, &[3, 10 | chunked]);
        let place = if dim.unlimited {
            DataPlacement::Chunked { shape: vec![1], chunks: Vec::new(), filters: Vec::new() }
        } else {
            DataPlacement::Contiguous(None)
        };
        self.layout(&mut header, &place, len.saturating_mul(4), 4)?;
        let name = format!("This is a netCDF dimension but not a netCDF variable.{len:>10}");
        let attributes = self.scale_attributes(id, &name)?;
        header.put_attributes(&mut self.image, &attributes)?;
        header.finish(&mut self.image)
    }

    /// Returns the attributes that make a dataset the scale of a dimension.
    fn scale_attributes(&mut self, id: DimId, name: &str) -> Result<Vec<AttributeMessage>> {
        let model = self.metadata.model;
        let mut attributes = vec![
            text("CLASS", b"DIMENSION_SCALE", true)?,
            text("NAME", name.as_bytes(), true)?,
            integer("_Netcdf4Dimid", id.index() as i32)?,
        ];
        let mut data = Vec::new();
        for (user, var) in model.vars() {
            if is_scale(model, user, var) {
                continue;
            }
            for (axis, _) in var.dims.iter().enumerate().filter(|&(_, &dim)| dim == id) {
                data.u64(self.known.vars[user.index()]);
                data.u32(axis as u32);
                data.u32(0);
            }
        }
        if !data.is_empty() {
            attributes.push(AttributeMessage {
                name: "REFERENCE_LIST".to_owned(),
                datatype: DatatypeMessage::Own(datatype::back_reference()?),
                space: DataspaceMessage::list(data.len() / datatype::BACK_REFERENCE),
                data,
            });
        }
        Ok(attributes)
    }

    fn variable(&mut self, id: VarId) -> Result<u64> {
        let metadata = self.metadata;
        let model = metadata.model;
        let var = model.var(id)?;
        let place = &metadata.places[id.index()];
        let mut space = Vec::with_capacity(var.dims.len());
        let has_no_records = metadata.without_unwritten_records
            && var.fill == VarFill::NoFill
            && !is_scale(model, id, var)
            && matches!(place, DataPlacement::Chunked { chunks, .. } if chunks.is_empty());
        for &dim in &var.dims {
            let len = metadata.lens[dim.index()];
            space.push(match model.dim(dim)?.unlimited {
                true => (if has_no_records { 0 } else { len }, UNDEFINED),
                false => (len, len),
            });
        }
        let lens: Vec<u64> = space.iter().map(|&(len, _)| len).collect();
        let count = space.iter().fold(1_u64, |count, &(len, _)| count.saturating_mul(len));
        let space = if space.is_empty() { DataspaceMessage::Scalar } else { DataspaceMessage::Simple(space) };
        let big = is_big(var);
        let text = metadata.texts.of_var(id);
        let item = item_size(model, var, text)?;
        let mut header = HeaderBuilder::default();
        header.put(kind::DATASPACE, &space.message());
        header.put_datatype(&match text {
            Some(text) => text.message()?,
            None => self.datatype(var.xtype, big)?,
        });
        let whole = place.is_whole(&lens);
        let fill = self.fill(var, text, item, place, whole)?;
        header.put_constant(kind::FILL_VALUE, &fill);
        self.layout(&mut header, place, count.saturating_mul(item as u64), item)?;
        let mut attributes = Vec::new();
        match var.dims.first() {
            Some(&dim) if scale(model, dim) == Some(id) => {
                attributes = self.scale_attributes(dim, &var.name)?
            }
            Some(_) => attributes.push(self.dimension_list(&var.dims)?),
            None => {}
        }
        if !var.dims.is_empty() {
            let ids: Vec<i32> = var.dims.iter().map(|dim| dim.index() as i32).collect();
            attributes.push(integers("_Netcdf4Coordinates", &ids)?);
        }
        self.attributes(var.group, Some(id), &var.atts, &mut attributes)?;
        if let Some((name, values)) = var.quantize.map(nczarr_chunkio::quantize_attribute)
            && var.atts.get(name) != Some(&values)
        {
            attributes.push(self.attribute(name, &values)?);
        }
        header.put_attributes(&mut self.image, &attributes)?;
        header.finish(&mut self.image)
    }

    fn dimension_list(&mut self, dims: &[DimId]) -> Result<AttributeMessage> {
        let mut data = Vec::new();
        for &dim in dims {
            let address = self.scale_address(dim).to_le_bytes();
            self.image.pointer(&mut data, 1, &address);
        }
        Ok(AttributeMessage {
            name: "DIMENSION_LIST".to_owned(),
            datatype: DatatypeMessage::Own(datatype::references()),
            space: DataspaceMessage::list(dims.len()),
            data,
        })
    }

    /// Returns the fill value message, so that other readers see the same values where nothing is stored.
    /// Without a fill value these are zeros, the default of HDF5. HDF5 may skip filling only if all data are
    /// stored.
    fn fill(
        &mut self,
        var: &Var,
        text: Option<FixedText>,
        item: usize,
        place: &DataPlacement,
        whole: bool,
    ) -> Result<Vec<u8>> {
        // Allocation time: early, late, incremental.
        let taken = match place {
            DataPlacement::Compact(_) => 1,
            DataPlacement::Contiguous(_) => 2,
            DataPlacement::Chunked { .. } => 3,
        };
        let model = self.metadata.model;
        let is_fixed = text.is_some() || model.is_fixed(var.xtype)?;
        // HDF5 does not allow data of variable length that are never filled.
        if var.fill == VarFill::NoFill {
            let when = if whole && is_fixed { FILL_NEVER } else { FILL_WHEN_ALLOCATED };
            return Ok(vec![3, taken | when]);
        }
        let value = fill_bytes(model, var, text, item, &mut self.image)?;
        // Zeros are the default. HDF5 up to 1.10 cannot read absent chunks of variable-length elements with a
        // fill value.
        if var.fill_value().is_none() && (value.len() > LONG_FILL || !is_fixed) {
            return Ok(vec![3, taken | FILL_IF_SET]);
        }
        let mut out = vec![3, taken | FILL_IF_SET | 1 << 5];
        out.u32(value.len() as u32);
        out.extend(value);
        Ok(out)
    }

    /// Appends the layout message and the filter message.
    fn layout(
        &mut self,
        header: &mut HeaderBuilder,
        place: &DataPlacement,
        bytes: u64,
        item: usize,
    ) -> Result<()> {
        match place {
            DataPlacement::Compact(data) => {
                let mut out = vec![3, 0];
                out.u16(data.len() as u16);
                out.extend_from_slice(data);
                header.put(kind::LAYOUT, &out);
            }
            DataPlacement::Contiguous(address) => {
                let mut out = vec![3, 1];
                out.u64(address.unwrap_or(UNDEFINED));
                out.u64(bytes);
                header.put(kind::LAYOUT, &out);
            }
            DataPlacement::Chunked { shape, chunks, filters } => {
                let chunks: Vec<(&[u64], ChunkExtent)> =
                    chunks.iter().map(|(index, found)| (&**index, *found)).collect();
                let index = chunk_index::put(&mut self.image, &chunks, shape, item);
                let mut out = vec![3, 2, shape.len() as u8 + 1];
                out.u64(index);
                for &side in shape.iter().chain(&[item as u64]) {
                    let too_long =
                        |_| ErrorKind::BadChunk.context(format!("a chunk length of {side} is too large"));
                    out.u32(u32::try_from(side).map_err(too_long)?);
                }
                header.put(kind::LAYOUT, &out);
                if !filters.is_empty() {
                    header.put_constant(kind::FILTERS, &pipeline(filters));
                }
            }
        }
        Ok(())
    }
}

/// Whether a variable is stored big-endian.
pub(super) fn is_big(var: &Var) -> bool {
    match var.endian {
        nczarr_model::Endian::Native => NATIVE_BIG,
        nczarr_model::Endian::Little => false,
        nczarr_model::Endian::Big => true,
    }
}

/// Returns the size of a stored element of a variable in bytes.
pub(super) fn item_size(model: &Model, var: &Var, text: Option<FixedText>) -> Result<usize> {
    text.map_or_else(|| datatype::stored_size(model, var.xtype), |text| Ok(text.size))
}

/// Returns the stored form of an unwritten element.
pub(super) fn fill_bytes(
    model: &Model,
    var: &Var,
    text: Option<FixedText>,
    item: usize,
    heap: &mut dyn element::HeapWriter,
) -> Result<Vec<u8>> {
    match (var.fill_value(), text) {
        (value, Some(text)) => text.fill_bytes(value),
        (Some(value), None) => Ok(element::values(model, &value, is_big(var), heap)?.0),
        (None, None) => Ok(vec![0; item]),
    }
}

fn pipeline(filters: &[StoredFilter]) -> Vec<u8> {
    let mut out = vec![2, filters.len() as u8];
    for filter in filters {
        out.u16(filter.id);
        let named = filter.id >= 256;
        if named {
            out.u16(filter.name.len() as u16 + 1);
        }
        out.u16(u16::from(filter.optional));
        out.u16(filter.params.len() as u16);
        if named {
            out.extend_from_slice(filter.name.as_bytes());
            out.u8(0);
        }
        filter.params.iter().for_each(|&param| out.u32(param));
    }
    out
}
