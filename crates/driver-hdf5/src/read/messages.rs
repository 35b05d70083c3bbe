//! Parses the messages of a dataset: dataspace, layout, filters, fill value.

use nczarr_model::Result;

use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::external::ExternalRange;
use super::file::HdfFile;
use super::header::{HeaderMessage, ObjectHeader, message_type};
use super::shared_messages;

/// The shape of a dataset or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dataspace {
    /// The lengths; `None` for a null dataspace, which has no elements.
    pub(crate) dims: Option<Vec<u64>>,
    /// The maximum lengths; [`UNDEFINED`] if unlimited.
    pub(crate) most: Vec<u64>,
    /// Of a virtual dataset: the number of numbered sources of each mapping. Empty if no mapping is
    /// unlimited.
    pub(crate) blocks: Vec<u64>,
}

impl Dataspace {
    pub(crate) fn parse(file: &HdfFile, bytes: &[u8]) -> Result<Self> {
        let mut at = MetadataCursor::new(bytes, "dataspace");
        let (version, rank, flags) = (at.version(2)?, at.u8()?, at.u8()?);
        let class = at.u8()?;
        at.skip(if version < 2 { 4 } else { 0 })?;
        if rank > 32 {
            return Err(damaged(format!("dataspace: {rank} dimensions are too many")));
        }
        let mut lens = || (0..rank).map(|_| at.address(file.lengths)).collect::<Result<Vec<_>>>();
        let dims = lens()?;
        let most = if flags & 1 != 0 { lens()? } else { dims.clone() };
        if dims.contains(&UNDEFINED) || dims.iter().zip(&most).any(|(dim, most)| dim > most) {
            return Err(damaged(format!("dataspace: shape {dims:?} exceeds the maximum shape {most:?}")));
        }
        let null = version == 2 && class == 2;
        Ok(Self { dims: (!null).then_some(dims), most, blocks: Vec::new() })
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> Result<u64> {
        let Some(dims) = &self.dims else { return Ok(0) };
        let len = dims.iter().try_fold(1u64, |len, &dim| len.checked_mul(dim));
        len.ok_or_else(|| damaged(format!("dataspace: shape {dims:?} has too many elements")))
    }
}

/// The kind of a chunk index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkIndexKind {
    /// A B-tree of version 1.
    Tree1,
    /// One chunk. With filters: its length and its filter mask.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
    /// A B-tree of version 2.
    Tree2,
}

/// Where the data of a dataset are stored.
#[derive(Debug, Clone)]
pub(crate) enum DataLayout {
    /// In the object header.
    Compact(Vec<u8>),
    /// In one piece: address, which may be undefined, and length in bytes.
    Contiguous(u64, Option<u64>),
    /// In chunks.
    Chunked {
        /// Chunk shape in elements.
        shape: Vec<u64>,
        index: ChunkIndexKind,
        /// Address of the index; [`UNDEFINED`] if there are no chunks.
        address: u64,
        /// Size in bytes of a stored chunk length.
        length_bytes: u8,
        /// Whether chunks at the edge have no filters.
        plain_edges: bool,
    },
    /// In other files.
    External(Vec<ExternalRange>),
    /// In other datasets: the address of a heap collection, and the index of the mappings in it.
    Virtual(u64, u32),
    /// A layout that this driver does not read; its name.
    Other(&'static str),
}

impl DataLayout {
    pub(crate) fn parse(file: &HdfFile, bytes: &[u8]) -> Result<Self> {
        let mut at = MetadataCursor::new(bytes, "layout");
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
                2 => Self::chunked(dims, ChunkIndexKind::Tree1, address, 4, false)?,
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
                Self::chunked(dims, ChunkIndexKind::Tree1, address, 4, false)?
            }
            2 => {
                let (flags, rank, width) = (at.u8()?, at.u8()?, at.u8()?);
                if !(1..=8).contains(&width) {
                    return Err(damaged(format!("layout: invalid length size of {width} bytes")));
                }
                let dims = (0..rank).map(|_| at.uint(width)).collect::<Result<Vec<u64>>>()?;
                let index = match at.u8()? {
                    1 if flags & 2 != 0 => ChunkIndexKind::Single(Some((at.uint(file.lengths)?, at.u32()?))),
                    1 => ChunkIndexKind::Single(None),
                    2 => ChunkIndexKind::Implicit,
                    3 => {
                        at.skip(1)?;
                        ChunkIndexKind::FixedArray
                    }
                    4 => {
                        at.skip(5)?;
                        ChunkIndexKind::ExtensibleArray
                    }
                    5 => {
                        at.skip(6)?;
                        ChunkIndexKind::Tree2
                    }
                    other => return Err(damaged(format!("layout: unknown chunk index type {other}"))),
                };
                let bytes =
                    dims.iter().try_fold(1u64, |bytes, &dim| bytes.checked_mul(dim)).unwrap_or(u64::MAX);
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

    /// Makes a chunked layout. The last of `dims` is the size of an element.
    fn chunked(
        mut dims: Vec<u64>,
        index: ChunkIndexKind,
        address: u64,
        length_bytes: u8,
        plain_edges: bool,
    ) -> Result<Self> {
        if dims.len() < 2 || dims.contains(&0) {
            return Err(damaged(format!("layout: invalid chunk shape {dims:?}")));
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

/// Parses the filters of a dataset, in encoding order.
///
/// # Errors
/// `NC_EHDFERR` if the message is damaged.
pub(crate) fn pipeline(file: &HdfFile, message: HeaderMessage<'_>) -> Result<Vec<FilterMessage>> {
    let bytes = shared_messages::resolve(file, message_type::PIPELINE, message)?;
    let mut at = MetadataCursor::new(&bytes, "filter pipeline");
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
        filters.push(FilterMessage {
            id: id.into(),
            name: String::from_utf8_lossy(name).into_owned(),
            params,
        });
    }
    Ok(filters)
}

/// The fill value of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FillMessage {
    /// The bytes of the fill value; `None`: zeros.
    pub(crate) value: Option<Vec<u8>>,
    /// The dataset is a no-fill variable of netCDF. It has no fill value, and its fill time is not the
    /// default, or the message marks the value as undefined.
    pub(crate) none: bool,
}

/// Reads the fill value.
///
/// # Errors
/// `NC_EHDFERR` if it is damaged.
pub(crate) fn fill(file: &HdfFile, header: &ObjectHeader) -> Result<FillMessage> {
    if let Some(message) = header.find(message_type::FILL) {
        let bytes = shared_messages::resolve(file, message_type::FILL, message)?;
        let mut at = MetadataCursor::new(&bytes, "fill value");
        let version = at.version(3)?;
        let (time, undefined, defined) = if version < 3 {
            at.skip(1)?;
            let (time, defined) = (at.u8()?, at.u8()? != 0);
            (time, !defined, defined)
        } else {
            let flags = at.u8()?;
            (flags >> 2 & 3, flags & 0x10 != 0, flags & 0x20 != 0)
        };
        let value = if defined {
            match at.u32()? {
                0 | u32::MAX => None,
                len => Some(at.bytes(len as usize)?.to_vec()),
            }
        } else {
            None
        };
        let none = value.is_none() && (time != IF_SET || undefined);
        return Ok(FillMessage { value, none });
    }
    if let Some(message) = header.find(message_type::OLD_FILL) {
        let bytes = shared_messages::resolve(file, message_type::OLD_FILL, message)?;
        let mut at = MetadataCursor::new(&bytes, "fill value");
        let len = at.u32()?;
        let value = if len == 0 { None } else { Some(at.bytes(len as usize)?.to_vec()) };
        return Ok(FillMessage { value, none: false });
    }
    Ok(FillMessage::default())
}

/// The default fill time: if a value is defined.
const IF_SET: u8 = 2;
