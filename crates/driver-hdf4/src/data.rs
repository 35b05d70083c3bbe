//! Where the data of a variable are ([`Here`]), whether they can be what the dimensions say, and the array that reads them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkedArray, Element as Stored, FlatArray, FlatSpec, Order, Short};
use nczarr_dispatch::{Filter, Options, Registry, VarData};
use nczarr_model::{ErrorKind, Result, Values};

use crate::chunks::Chunks;
use crate::directory::tag;
use crate::element::{Chunked, Compressed, Element};
use crate::file::HdfFile;
use crate::linked::{Laid, Pieces};
use crate::number::Number;
use crate::sd::{Data, Set};

/// Where data are, before it is known how long each dimension is.
#[derive(Debug)]
pub(crate) struct Place {
    number: Number,
    /// Bytes of all that is behind one index of the first dimension.
    row: u64,
    how: How,
    fill: Option<Values>,
}

#[derive(Debug)]
enum How {
    Absent,
    Pieces(Pieces),
    /// A part of an element in one piece, from this byte on.
    Part(Pieces, u64),
    Compressed(Compressed),
    Chunked(Chunked),
}

impl Place {
    /// Where the data of a dataset are. `lens`: its dimensions, as far as they say how long they are.
    ///
    /// # Errors
    /// Why there is no telling.
    pub(crate) fn find(file: &HdfFile, set: &Set, lens: &[Option<u64>]) -> Result<Self> {
        let number = set.number.clone()?;
        let how = match set.data {
            Data::Absent => How::Absent,
            // The group names an element that comes to be with the first write.
            Data::Element(at) if !file.directory.declares(tag::SD, at) => How::Absent,
            Data::Element(at) => match file.element(tag::SD, at)? {
                None => How::Absent,
                Some(Element::Pieces(pieces)) if pieces.len() == 0 => How::Absent,
                Some(Element::Pieces(pieces)) => How::Pieces(pieces),
                Some(Element::Compressed(element)) if element.len == 0 => How::Absent,
                Some(Element::Compressed(element)) => How::Compressed(element),
                Some(Element::Chunked(element)) => How::Chunked(element),
            },
            Data::Scale(at, from) => How::Part(file.pieces(tag::SDS, at)?, from),
        };
        let sizes = lens.iter().skip(1).map(|len| len.unwrap_or(0));
        let row = sizes.chain([number.size() as u64]).try_fold(1u64, u64::checked_mul);
        let row = row.ok_or_else(|| ErrorKind::VarSize.context(format!("{lens:?} elements")))?;
        let own = set
            .atts
            .iter()
            .find(|(name, value)| name == nczarr_model::FILL_VALUE && value.nc_type() == number.ty && value.len() == 1);
        let fill = own.map(|(_, value)| value.clone()).or_else(|| number.default_fill());
        Ok(Self { number, row, how, fill })
    }

    /// How many indices of the first dimension there are data for, if that is to be told by the data.
    pub(crate) fn records(&self) -> Option<u64> {
        match &self.how {
            How::Absent => None,
            How::Pieces(pieces) | How::Part(pieces, _) => pieces.len().checked_div(self.row),
            How::Compressed(element) => element.len.checked_div(self.row),
            How::Chunked(element) => element.dims.first().map(|dim| dim.0),
        }
    }
}

/// Where the data of a variable are.
#[derive(Debug)]
pub(crate) struct Here {
    place: Place,
    shape: Vec<u64>,
}

impl Here {
    /// # Errors
    /// `NC_EVARMETA` if what is stored is not what the dimensions say.
    pub(crate) fn new(place: Place, shape: &[u64]) -> Result<Self> {
        let item = place.number.size() as u64;
        let bytes = shape.iter().try_fold(item, |bytes, &len| bytes.checked_mul(len));
        let bytes = bytes.ok_or_else(|| ErrorKind::VarSize.context(format!("{shape:?} elements of {item} bytes")))?;
        let found = match &place.how {
            How::Absent => bytes,
            How::Pieces(pieces) => pieces.len(),
            How::Part(pieces, from) => pieces.len().saturating_sub(*from).min(bytes),
            How::Compressed(element) => element.len,
            How::Chunked(element) => {
                let dims: Vec<_> = element.dims.iter().map(|dim| dim.0).collect();
                if dims != shape || u64::from(element.item) != item {
                    let what = format!(
                        "its dimensions and type make {shape:?} elements of {item} bytes, its chunks {dims:?} of {}",
                        element.item
                    );
                    return Err(ErrorKind::VarMeta.context(what));
                }
                bytes
            }
        };
        if found != bytes {
            let what = format!("its dimensions and type make {bytes} bytes, the file has {found}");
            return Err(ErrorKind::VarMeta.context(what));
        }
        Ok(Self { place, shape: shape.to_vec() })
    }

    /// Whether nothing is stored.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.place.how, How::Absent)
    }

    /// The chunks, if it is in chunks.
    pub(crate) fn chunk_shape(&self) -> Option<Vec<u64>> {
        match &self.place.how {
            How::Chunked(element) => Some(element.dims.iter().map(|dim| dim.1).collect()),
            _ => None,
        }
    }

    /// What reads it.
    ///
    /// # Errors
    /// `NC_EHDFERR` for a list of chunks that makes no sense; what the registry says of a filter, and the engine of sizes.
    pub(crate) fn array(
        &self,
        name: String,
        file: &Arc<HdfFile>,
        registry: &Registry,
        options: &Options,
    ) -> Result<Arc<dyn VarData>> {
        let number = self.place.number;
        let dims = || self.shape.iter().map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false });
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
                short: Short::Error,
            })?))
        };
        let laid = |pieces: &Pieces| Arc::new(Laid { store: Arc::clone(&file.store), pieces: pieces.clone() });
        let (chunk_shape, chunks, coding, fill) = match &self.place.how {
            How::Pieces(pieces) => {
                return match pieces.whole() {
                    Some(begin) => flat(Arc::clone(&file.store) as Arc<_>, begin),
                    None => flat(laid(pieces), 0),
                };
            }
            How::Part(pieces, from) => return flat(laid(pieces), *from),
            How::Absent => (modest(&self.shape), Chunks::none(file), None, self.place.fill.clone()),
            How::Compressed(element) => {
                // As one chunk, which has elements.
                let whole = self.shape.iter().map(|&len| len.max(1)).collect();
                (whole, Chunks::one(file, self.shape.len(), element.number), Some(element.coding), None)
            }
            How::Chunked(element) => {
                let fill = fill_of(element, number).or_else(|| self.place.fill.clone());
                let shape = self.chunk_shape().unwrap_or_default();
                (shape, Chunks::listed(file, element, &self.shape)?, element.coding, fill)
            }
        };
        let filters =
            coding.map(|coding| coding.filter(number, registry)).transpose()?.flatten().into_iter().collect::<Vec<_>>();
        check_room(&chunk_shape, number, &filters, file)?;
        Ok(Arc::new(ChunkedArray::new(ArraySpec {
            name,
            dims: dims().collect(),
            chunk_shape,
            element: Stored::Number { ty: number.ty, big_endian: number.big_endian },
            order: Order::C,
            filters,
            fill,
            shards: Vec::new(),
            store: Arc::new(chunks),
            options: options.clone(),
            writable: false,
        })?))
    }
}

/// What a chunk holds that is not there.
fn fill_of(element: &Chunked, number: Number) -> Option<Values> {
    (element.fill.len() == number.size()).then(|| number.values(element.fill.clone()).ok()).flatten()
}

/// A chunk of an array of which nothing is stored: no more than a mebi of elements.
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

/// No coding here makes more than so many bytes of one.
const MOST: u64 = 1 << 12;

/// Chunks that decode to more than the whole file can be are damaged: no memory is taken for them.
fn check_room(chunk: &[u64], number: Number, filters: &[Box<dyn Filter>], file: &HdfFile) -> Result<()> {
    let bytes = chunk.iter().try_fold(number.size() as u64, |bytes, &len| bytes.checked_mul(len));
    let most = file.store.len().saturating_mul(if filters.is_empty() { 1 } else { MOST });
    match bytes {
        Some(bytes) if bytes <= most.max(8 << 20) => Ok(()),
        _ => Err(ErrorKind::BadChunk
            .context(format!("chunks of {chunk:?} elements in a file of {} bytes", file.store.len()))),
    }
}
