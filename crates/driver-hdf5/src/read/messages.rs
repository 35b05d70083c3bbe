//! The messages of a dataset: dataspace, layout, filters, fill value.

use nczarr_model::Result;

use super::cursor::{Cursor, UNDEFINED, bad};
use super::external::Stretch;
use super::file::Hdf;
use super::header::{Found, Header, kind};
use super::shared;

/// The shape of a dataset or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Space {
    /// `None`: there are no elements at all.
    pub(crate) dims: Option<Vec<u64>>,
    /// The most that they can be; [`UNDEFINED`]: there is no limit.
    pub(crate) most: Vec<u64>,
    /// Of a virtual dataset: how many numbered sources each of its mappings has; nothing if all of them have an end.
    pub(crate) blocks: Vec<u64>,
}

impl Space {
    pub(crate) fn parse(file: &Hdf, bytes: &[u8]) -> Result<Self> {
        let mut at = Cursor::new(bytes, "dataspace");
        let (version, rank, flags) = (at.version(2)?, at.u8()?, at.u8()?);
        let class = at.u8()?;
        at.skip(if version < 2 { 4 } else { 0 })?;
        if rank > 32 {
            return Err(bad(format!("dataspace: {rank} dimensions")));
        }
        let mut lens = || (0..rank).map(|_| at.address(file.lengths)).collect::<Result<Vec<_>>>();
        let dims = lens()?;
        let most = if flags & 1 != 0 { lens()? } else { dims.clone() };
        if dims.contains(&UNDEFINED) || dims.iter().zip(&most).any(|(dim, most)| dim > most) {
            return Err(bad(format!("dataspace: {dims:?} of at most {most:?}")));
        }
        let null = version == 2 && class == 2;
        Ok(Self { dims: (!null).then_some(dims), most, blocks: Vec::new() })
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> Result<u64> {
        let Some(dims) = &self.dims else { return Ok(0) };
        let len = dims.iter().try_fold(1u64, |len, &dim| len.checked_mul(dim));
        len.ok_or_else(|| bad(format!("dataspace: {dims:?}")))
    }
}

/// How the chunks of a dataset are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    /// A B-tree of the first version.
    Tree1,
    /// There is one chunk; its length and the filters that were left out, if there are filters.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
    /// A B-tree of the second version.
    Tree2,
}

/// Where the data of a dataset are.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// In the header.
    Compact(Vec<u8>),
    /// In one piece of that length at an address, which may be undefined.
    Contiguous(u64, Option<u64>),
    /// In chunks.
    Chunked {
        /// In elements.
        shape: Vec<u64>,
        index: Index,
        /// Of the index; [`UNDEFINED`] if there are no chunks.
        address: u64,
        /// Bytes of a chunk's length, where it is stored.
        length_bytes: u8,
        /// Whether filters are left out of chunks at the edge.
        plain_edges: bool,
    },
    /// In other files.
    External(Vec<Stretch>),
    /// In other datasets: the collection of the global heap with the mappings, and which object of it they are.
    Virtual(u64, u32),
    /// Nobody knows where.
    Other(&'static str),
}

impl Layout {
    pub(crate) fn parse(file: &Hdf, bytes: &[u8]) -> Result<Self> {
        let mut at = Cursor::new(bytes, "layout");
        let version = at.version(5)?;
        if version < 3 {
            let (rank, class) = (at.u8()?, at.u8()?);
            at.skip(5)?;
            let address = if class == 0 { UNDEFINED } else { at.address(file.offsets)? };
            let dims = (0..rank).map(|_| Ok(at.u32()?.into())).collect::<Result<Vec<u64>>>()?;
            return Ok(match class {
                0 => {
                    let len = at.u32()?;
                    Self::Compact(at.bytes(len as usize)?.to_vec())
                }
                1 => Self::Contiguous(address, None),
                2 => Self::chunked(dims, Index::Tree1, address, 4, false)?,
                _ => Self::Other("of an unknown class"),
            });
        }
        Ok(match at.u8()? {
            0 => {
                let len = at.u16()?;
                Self::Compact(at.bytes(len.into())?.to_vec())
            }
            1 => Self::Contiguous(at.address(file.offsets)?, Some(at.uint(file.lengths)?)),
            2 if version == 3 => {
                let rank = at.u8()?;
                let address = at.address(file.offsets)?;
                let dims = (0..rank).map(|_| Ok(at.u32()?.into())).collect::<Result<Vec<u64>>>()?;
                Self::chunked(dims, Index::Tree1, address, 4, false)?
            }
            2 => {
                let (flags, rank, width) = (at.u8()?, at.u8()?, at.u8()?);
                if !(1..=8).contains(&width) {
                    return Err(bad(format!("layout: lengths of {width} bytes")));
                }
                let dims = (0..rank).map(|_| at.uint(width)).collect::<Result<Vec<u64>>>()?;
                let index = match at.u8()? {
                    1 if flags & 2 != 0 => Index::Single(Some((at.uint(file.lengths)?, at.u32()?))),
                    1 => Index::Single(None),
                    2 => Index::Implicit,
                    3 => {
                        at.skip(1)?;
                        Index::FixedArray
                    }
                    4 => {
                        at.skip(5)?;
                        Index::ExtensibleArray
                    }
                    5 => {
                        at.skip(6)?;
                        Index::Tree2
                    }
                    other => return Err(bad(format!("layout: a chunk index of type {other}"))),
                };
                let bytes = dims.iter().try_fold(1u64, |bytes, &dim| bytes.checked_mul(dim)).unwrap_or(u64::MAX);
                let length_bytes = match version {
                    4 => (1 + (bytes.max(1).ilog2() + 8) / 8).min(8) as u8,
                    _ => file.lengths,
                };
                Self::chunked(dims, index, at.address(file.offsets)?, length_bytes, flags & 1 != 0)?
            }
            3 if version > 3 => Self::Virtual(at.address(file.offsets)?, at.u32()?),
            _ => Self::Other("of an unknown class"),
        })
    }

    /// `dims` has the size of an element at its end.
    fn chunked(mut dims: Vec<u64>, index: Index, address: u64, length_bytes: u8, plain_edges: bool) -> Result<Self> {
        if dims.len() < 2 || dims.contains(&0) {
            return Err(bad(format!("layout: chunks of {dims:?}")));
        }
        dims.pop();
        Ok(Self::Chunked { shape: dims, index, address, length_bytes, plain_edges })
    }
}

/// One filter of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterMessage {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) params: Vec<u32>,
}

/// The filters of a dataset, in the order of encoding.
///
/// # Errors
/// `NC_EHDFERR` if the message is damaged.
pub(crate) fn pipeline(file: &Hdf, message: Found<'_>) -> Result<Vec<FilterMessage>> {
    let bytes = shared::resolve(file, kind::PIPELINE, message)?;
    let mut at = Cursor::new(&bytes, "filter pipeline");
    let version = at.version(2)?;
    let count = at.u8()?;
    at.skip(if version == 1 { 6 } else { 0 })?;
    let mut filters = Vec::new();
    for _ in 0..count {
        let id = at.u16()?;
        let name_len = if version == 1 || id >= 256 { at.u16()? } else { 0 };
        let (_flags, count) = (at.u16()?, at.u16()?);
        let name = at.bytes(name_len.into())?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let params = (0..count).map(|_| at.u32()).collect::<Result<Vec<_>>>()?;
        at.skip(if version == 1 && count % 2 == 1 { 4 } else { 0 })?;
        filters.push(FilterMessage { id: id.into(), name: String::from_utf8_lossy(name).into_owned(), params });
    }
    Ok(filters)
}

/// The value of unwritten elements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Fill {
    /// The value that somebody set: the bytes of an element. `None`: zeros.
    pub(crate) value: Option<Vec<u8>>,
    /// Nobody set a value, and it is a no-fill variable of netCDF: HDF5 fills nothing, or, where not all was written, with
    /// zeros when space is allocated. Without a word from anybody HDF5 fills if a value was set.
    pub(crate) none: bool,
}

/// The fill value.
///
/// # Errors
/// `NC_EHDFERR` if it is damaged.
pub(crate) fn fill(file: &Hdf, header: &Header) -> Result<Fill> {
    if let Some(message) = header.find(kind::FILL) {
        let bytes = shared::resolve(file, kind::FILL, message)?;
        let mut at = Cursor::new(&bytes, "fill value");
        let version = at.version(3)?;
        let (time, undefined, defined) = if version < 3 {
            at.skip(1)?;
            let (time, defined) = (at.u8()?, at.u8()? != 0);
            (time, !defined, defined)
        } else {
            let flags = at.u8()?;
            (flags >> 2 & 3, flags & 0x10 != 0, flags & 0x20 != 0)
        };
        let value = match defined {
            true => match at.u32()? {
                0 | u32::MAX => None,
                len => Some(at.bytes(len as usize)?.to_vec()),
            },
            false => None,
        };
        let none = value.is_none() && (time != IF_SET || undefined);
        return Ok(Fill { value, none });
    }
    if let Some(message) = header.find(kind::OLD_FILL) {
        let bytes = shared::resolve(file, kind::OLD_FILL, message)?;
        let mut at = Cursor::new(&bytes, "fill value");
        let len = at.u32()?;
        let value = if len == 0 { None } else { Some(at.bytes(len as usize)?.to_vec()) };
        return Ok(Fill { value, none: false });
    }
    Ok(Fill::default())
}

/// The time at which HDF5 fills by default.
const IF_SET: u8 = 2;
