//! N-bit (HDF5 filter 5): stores only the significant bits of each number, without gaps.
//!
//! * HDF5 parameters: their count, whether the chunk is stored unfiltered, the elements of a chunk, the type.
//!   A type is: 1, size, order (1: big-endian), precision, offset; or 2, size of an array, element type; or
//!   3, size of a compound, member count, offset and type of each member; or 4, size: bytes stored as they
//!   are
//! * Zarr: no codec
//! * Stored: the bits of each number, most significant first. Other bits decode as zero.
//!
//! Source: HDF5's reference manual, `H5Pset_nbit`; its user guide, "N-bit filter"; the behaviour of HDF5.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{Error, ErrorKind, Result};

use super::bits::PackedBits;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(5),
    ..FilterInfo::new("nbit", "stores the significant bits of numbers; HDF5 files only, cannot encode")
};

/// Most levels of nested types.
const DEPTH: u32 = 32;

/// The class of the n-bit filter.
pub struct NbitClass;

inventory::submit! { FilterPlugin(&NbitClass) }

impl FilterClass for NbitClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let wrong = |what| ErrorKind::Inval.context(format!("nbit: {what}, found {params:?}"));
        let [_, as_it_is, elements, types @ ..] = params else {
            return Err(wrong("expected the type of elements in its parameters"));
        };
        let mut rest = types.iter().copied();
        let kind = match *as_it_is {
            0 => Some(NbitType::next(&mut rest, DEPTH).map_err(wrong)?),
            _ => None,
        };
        Ok(Box::new(Nbit { params: params.into(), kind, elements: *elements as usize }))
    }

    fn parse_json(&self, codec: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        super::no_codec(INFO.name, codec)
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn can_encode(&self) -> bool {
        false
    }
}

#[derive(Debug, Clone)]
struct Nbit {
    params: Box<[u32]>,
    /// `None`: chunks are stored unfiltered.
    kind: Option<NbitType>,
    /// Elements of a chunk.
    elements: usize,
}

/// The type of an element.
#[derive(Debug, Clone)]
enum NbitType {
    /// A number.
    Bits {
        size: usize,
        big_endian: bool,
        precision: usize,
        offset: usize,
    },
    /// Bytes that are stored as they are.
    Bytes(usize),
    Array {
        size: usize,
        base: Box<NbitType>,
    },
    /// Members with their offsets.
    Compound {
        size: usize,
        members: Vec<(usize, NbitType)>,
    },
}

type Params<'a> = std::iter::Copied<std::slice::Iter<'a, u32>>;

impl NbitType {
    fn size(&self) -> usize {
        match *self {
            Self::Bits { size, .. }
            | Self::Bytes(size)
            | Self::Array { size, .. }
            | Self::Compound { size, .. } => size,
        }
    }

    /// Parses the type in the next parameters.
    fn next(rest: &mut Params<'_>, depth: u32) -> std::result::Result<Self, &'static str> {
        let depth = depth.checked_sub(1).ok_or("expected fewer nested types")?;
        let mut number = || rest.next().map(|number| number as usize).ok_or("expected more parameters");
        let (class, size) = (number()?, number()?);
        if size == 0 {
            return Err("expected types of at least a byte");
        }
        Ok(match class {
            1 => {
                let (order, precision, offset) = (number()?, number()?, number()?);
                let bits = size.checked_mul(8).ok_or("expected smaller types")?;
                if order > 1 || precision == 0 || precision > bits || offset > bits - precision {
                    return Err("expected a precision and an offset that the size has room for");
                }
                Self::Bits { size, big_endian: order == 1, precision, offset }
            }
            2 => {
                let base = Self::next(rest, depth)?;
                if !size.is_multiple_of(base.size()) {
                    return Err("expected an array of whole elements");
                }
                Self::Array { size, base: Box::new(base) }
            }
            3 => {
                let (count, mut members, mut used) = (number()?, Vec::new(), 0usize);
                for _ in 0..count {
                    let offset = rest.next().ok_or("expected more members")? as usize;
                    let member = Self::next(rest, depth)?;
                    used = used.saturating_add(member.size());
                    if used > size || offset.checked_add(member.size()).is_none_or(|end| end > size) {
                        return Err("expected members within their compound");
                    }
                    members.push((offset, member));
                }
                Self::Compound { size, members }
            }
            4 => Self::Bytes(size),
            _ => return Err("expected types of the classes 1 to 4"),
        })
    }

    /// Decodes one element into zeroed bytes; `None` if there are too few bits.
    fn decode(&self, bits: &mut PackedBits<'_>, element: &mut [u8]) -> Option<()> {
        match self {
            Self::Bits { size, big_endian, precision, offset } => {
                let end = offset + precision;
                // From the most significant byte on.
                for byte in (offset / 8..end.div_ceil(8)).rev() {
                    let (low, high) = ((8 * byte).max(*offset), (8 * byte + 8).min(end));
                    let value = bits.take((high - low) as u32)? << (low - 8 * byte);
                    let place = if *big_endian { size - 1 - byte } else { byte };
                    element[place] = value as u8;
                }
            }
            Self::Bytes(_) => {
                for byte in element {
                    *byte = bits.take(8)? as u8;
                }
            }
            Self::Array { base, .. } => {
                for part in element.chunks_exact_mut(base.size()) {
                    base.decode(bits, part)?;
                }
            }
            Self::Compound { members, .. } => {
                for (offset, member) in members {
                    member.decode(bits, &mut element[*offset..offset + member.size()])?;
                }
            }
        }
        Some(())
    }
}

fn damaged(what: String) -> Error {
    ErrorKind::Filter.context(format!("nbit: {what}"))
}

impl Filter for Nbit {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.params)
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        let Some(kind) = &self.kind else { return Ok(()) };
        if (kind.size(), self.elements) == (chunk.item_size, chunk.elements) {
            Ok(())
        } else {
            Err(damaged(format!(
                "its parameters are for {} elements of {} bytes, a chunk has {} of {}",
                self.elements,
                kind.size(),
                chunk.elements,
                chunk.item_size
            )))
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, _: &[u8], _: &mut OutBuf<'_>) -> Result<()> {
        Err(super::only_read(INFO.name))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let Some(kind) = &self.kind else { return dst.put(src) };
        let bytes = self.elements.checked_mul(kind.size());
        let bytes =
            bytes.ok_or_else(|| damaged(format!("{} elements of {} bytes", self.elements, kind.size())))?;
        let mut bits = PackedBits::new(src);
        for element in dst.put_zeros(bytes)?.chunks_exact_mut(kind.size()) {
            kind.decode(&mut bits, element).ok_or_else(|| {
                damaged(format!("{} bytes end before {} elements", src.len(), self.elements))
            })?;
        }
        Ok(())
    }
}
