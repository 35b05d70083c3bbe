//! Locates the data of a variable ([`VarLocation`]), checks their size against the dimensions, and opens the
//! array that reads them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_chunkio::{
    ArrayDim, ArraySpec, BeyondEnd, ChunkedArray, DimOrder, ElementLayout as Stored, FlatArray, FlatSpec,
};
use nczarr_codec::Filter;
use nczarr_dispatch::{Options, Registry, VarData};
use nczarr_model::{ErrorKind, Result, Values};

use crate::chunks::ElementChunks;
use crate::directory::tag;
use crate::element::{ChunkedElement, CompressedElement, Element};
use crate::file::Hdf4File;
use crate::linked_blocks::{ElementExtents, ElementStore};
use crate::number::NumberType;
use crate::sd::{DataLocation, ScientificDataset};

/// The place of data, before all dimension lengths are known.
#[derive(Debug)]
pub(crate) struct UncheckedLocation {
    number: NumberType,
    /// Bytes for one index of the first dimension.
    row: u64,
    how: StorageKind,
    fill: Option<Values>,
}

#[derive(Debug)]
enum StorageKind {
    Absent,
    Pieces(ElementExtents),
    /// A part of a contiguous element, from this byte on.
    Part(ElementExtents, u64),
    Compressed(CompressedElement),
    Chunked(ChunkedElement),
}

impl UncheckedLocation {
    /// Locates the data of a dataset. `lens`: the known lengths of its dimensions.
    ///
    /// # Errors
    /// The reason why the place cannot be found.
    pub(crate) fn find(file: &Hdf4File, set: &ScientificDataset, lens: &[Option<u64>]) -> Result<Self> {
        let number = set.number.clone()?;
        let how = match set.data {
            DataLocation::Absent => StorageKind::Absent,
            // The group names an element that the first write would create.
            DataLocation::Element(at) if !file.directory.declares(tag::SD, at) => StorageKind::Absent,
            DataLocation::Element(at) => match file.element(tag::SD, at)? {
                None => StorageKind::Absent,
                Some(Element::Pieces(pieces)) if pieces.len() == 0 => StorageKind::Absent,
                Some(Element::Pieces(pieces)) => StorageKind::Pieces(pieces),
                Some(Element::Compressed(element)) if element.len == 0 => StorageKind::Absent,
                Some(Element::Compressed(element)) => StorageKind::Compressed(element),
                Some(Element::Chunked(element)) => StorageKind::Chunked(element),
            },
            DataLocation::Scale(at, from) => StorageKind::Part(file.pieces(tag::SDS, at)?, from),
        };
        let sizes = lens.iter().skip(1).map(|len| len.unwrap_or(0));
        let row = sizes.chain([number.size() as u64]).try_fold(1u64, u64::checked_mul);
        let row = row.ok_or_else(|| ErrorKind::VarSize.context(format!("shape {lens:?} is too large")))?;
        let own = set.atts.iter().find(|(name, value)| {
            name == nczarr_model::FILL_VALUE && value.nc_type() == number.ty && value.len() == 1
        });
        let fill = own.map(|(_, value)| value.clone()).or_else(|| number.default_fill());
        Ok(Self { number, row, how, fill })
    }

    /// Returns the number of records for which there are data, if the data determine it.
    pub(crate) fn records(&self) -> Option<u64> {
        match &self.how {
            StorageKind::Absent => None,
            StorageKind::Pieces(pieces) | StorageKind::Part(pieces, _) => pieces.len().checked_div(self.row),
            StorageKind::Compressed(element) => element.len.checked_div(self.row),
            StorageKind::Chunked(element) => element.dims.first().map(|dim| dim.0),
        }
    }
}

/// The place of a variable's data.
#[derive(Debug)]
pub(crate) struct VarLocation {
    place: UncheckedLocation,
    shape: Vec<u64>,
}

impl VarLocation {
    /// Checks the data against the shape.
    ///
    /// # Errors
    /// `NC_EVARMETA` if the size of the data does not match.
    pub(crate) fn new(place: UncheckedLocation, shape: &[u64]) -> Result<Self> {
        let item = place.number.size() as u64;
        let bytes = shape.iter().try_fold(item, |bytes, &len| bytes.checked_mul(len));
        let bytes = bytes.ok_or_else(|| {
            ErrorKind::VarSize.context(format!("shape {shape:?} with elements of {item} bytes is too large"))
        })?;
        let found = match &place.how {
            StorageKind::Absent => bytes,
            StorageKind::Pieces(pieces) => pieces.len(),
            StorageKind::Part(pieces, from) => pieces.len().saturating_sub(*from).min(bytes),
            StorageKind::Compressed(element) => element.len,
            StorageKind::Chunked(element) => {
                let dims: Vec<_> = element.dims.iter().map(|dim| dim.0).collect();
                if dims != shape || u64::from(element.item) != item {
                    let what = format!(
                        "the chunks do not match (expected shape {shape:?} with elements of {item} bytes, found {dims:?} with {})",
                        element.item
                    );
                    return Err(ErrorKind::VarMeta.context(what));
                }
                bytes
            }
        };
        if found != bytes {
            let what =
                format!("the data do not match dimensions and type (expected {bytes} bytes, found {found})");
            return Err(ErrorKind::VarMeta.context(what));
        }
        Ok(Self { place, shape: shape.to_vec() })
    }

    /// Whether nothing is stored.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.place.how, StorageKind::Absent)
    }

    /// Returns the chunk shape, if it is chunked.
    pub(crate) fn chunk_shape(&self) -> Option<Vec<u64>> {
        match &self.place.how {
            StorageKind::Chunked(element) => Some(element.dims.iter().map(|dim| dim.1).collect()),
            _ => None,
        }
    }

    /// Opens the array that reads the data.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the chunk table is invalid; errors of the registry about filters; errors of the chunk
    /// engine about sizes.
    pub(crate) fn array(
        &self,
        name: String,
        file: &Arc<Hdf4File>,
        registry: &Registry,
        options: &Options,
    ) -> Result<Arc<dyn VarData>> {
        let number = self.place.number;
        let dims = || {
            self.shape.iter().map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false })
        };
        let flat = |store: Arc<dyn nczarr_chunkio::ByteStore>, begin: u64| -> Result<Arc<dyn VarData>> {
            Ok(Arc::new(FlatArray::new(FlatSpec {
                name: name.clone(),
                dims: dims().collect(),
                ty: number.ty,
                big_endian: number.big_endian,
                begin,
                record: None,
                store,
                options: options.clone(),
                writable: false,
                beyond_end: BeyondEnd::Error,
            })?))
        };
        let laid = |pieces: &ElementExtents| {
            Arc::new(ElementStore { store: Arc::clone(&file.store), pieces: pieces.clone() })
        };
        let (chunk_shape, chunks, coding, fill) = match &self.place.how {
            StorageKind::Pieces(pieces) => {
                return match pieces.whole() {
                    Some(begin) => flat(Arc::clone(&file.store) as Arc<_>, begin),
                    None => flat(laid(pieces), 0),
                };
            }
            StorageKind::Part(pieces, from) => return flat(laid(pieces), *from),
            StorageKind::Absent => {
                (modest(&self.shape), ElementChunks::none(file), None, self.place.fill.clone())
            }
            StorageKind::Compressed(element) => {
                // One chunk for the whole array. A chunk is never empty.
                let whole = self.shape.iter().map(|&len| len.max(1)).collect();
                (
                    whole,
                    ElementChunks::one(file, self.shape.len(), element.number),
                    Some(element.coding),
                    None,
                )
            }
            StorageKind::Chunked(element) => {
                let fill = fill_of(element, number).or_else(|| self.place.fill.clone());
                let shape = self.chunk_shape().unwrap_or_default();
                (shape, ElementChunks::listed(file, element, &self.shape)?, element.coding, fill)
            }
        };
        let filters = coding
            .map(|coding| coding.filter(number, registry))
            .transpose()?
            .flatten()
            .into_iter()
            .collect::<Vec<_>>();
        check_room(&chunk_shape, number, &filters, file)?;
        Ok(Arc::new(ChunkedArray::new(ArraySpec {
            name,
            dims: dims().collect(),
            chunk_shape,
            element: Stored::Number { ty: number.ty, big_endian: number.big_endian },
            order: DimOrder::C,
            filters,
            fill,
            shards: Vec::new(),
            store: Arc::new(chunks),
            options: options.clone(),
            writable: false,
        })?))
    }
}

/// Returns the fill value of absent chunks.
fn fill_of(element: &ChunkedElement, number: NumberType) -> Option<Values> {
    (element.fill.len() == number.size()).then(|| number.values(element.fill.clone()).ok()).flatten()
}

/// Returns a chunk shape of at most 2^20 elements, for an array without stored data.
fn modest(shape: &[u64]) -> Vec<u64> {
    let mut room = 1 << 20;
    let mut chunk: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&len| {
            let part = len.clamp(1, room);
            room /= part;
            part
        })
        .collect();
    chunk.reverse();
    chunk
}

/// Largest expansion factor of these compressions.
const MOST: u64 = 1 << 12;

/// Refuses chunks that decode to more than the whole file could hold. So a damaged file cannot claim memory.
fn check_room(chunk: &[u64], number: NumberType, filters: &[Box<dyn Filter>], file: &Hdf4File) -> Result<()> {
    let bytes = chunk.iter().try_fold(number.size() as u64, |bytes, &len| bytes.checked_mul(len));
    let most = file.store.len().saturating_mul(if filters.is_empty() { 1 } else { MOST });
    match bytes {
        Some(bytes) if bytes <= most.max(8 << 20) => Ok(()),
        _ => Err(ErrorKind::BadChunk
            .context(format!("chunk shape {chunk:?} is too large for a file of {} bytes", file.store.len()))),
    }
}
