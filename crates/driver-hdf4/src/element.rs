//! [`Element`]: the storage of an element; parses descriptions of compressed and chunked elements.
//!
//! Source: HDF Specification, "Compressed Data Elements", "Chunked Elements".

use nczarr_model::{ErrorKind, Result};

use crate::coding::Coding;
use crate::cursor::ElementCursor;
use crate::directory::Directory;
use crate::linked_blocks::{ElementExtents, LINKED, linked};
use crate::source::FileSource;

/// The storage of an element.
#[derive(Debug)]
pub(crate) enum Element {
    Pieces(ElementExtents),
    Compressed(CompressedElement),
    Chunked(ChunkedElement),
}

/// A compressed element.
#[derive(Debug)]
pub(crate) struct CompressedElement {
    /// Decoded size in bytes.
    pub(crate) len: u64,
    /// The number of the element with the compressed bytes.
    pub(crate) number: u16,
    pub(crate) coding: Coding,
}

/// A chunked element.
#[derive(Debug)]
pub(crate) struct ChunkedElement {
    /// Length of each dimension, and of a chunk along it.
    pub(crate) dims: Vec<(u64, u64)>,
    /// Size of an array element in bytes.
    pub(crate) item: u32,
    /// The number of the chunk table.
    pub(crate) table: u16,
    /// The stored form of the fill value of absent chunks.
    pub(crate) fill: Vec<u8>,
    /// The compression of chunks, if any.
    pub(crate) coding: Option<Coding>,
}

const EXTERNAL: u16 = 2;
const COMPRESSED: u16 = 3;
const CHUNKED: u16 = 5;

/// Parses the description of an element.
///
/// # Errors
/// `NC_EHDFERR` if it is invalid, or if the data are in another file.
pub(crate) fn read(
    directory: &Directory,
    store: &FileSource,
    description: &[u8],
    what: &str,
) -> Result<Element> {
    let mut cursor = ElementCursor::new(description, what);
    match cursor.u16()? {
        LINKED => linked(directory, store, description, what)?
            .map(Element::Pieces)
            .ok_or_else(|| ErrorKind::Internal.context("linked blocks")),
        COMPRESSED => compressed(&mut cursor).map(Element::Compressed),
        CHUNKED => chunked(&mut cursor, what).map(Element::Chunked),
        EXTERNAL => Err(ErrorKind::HdfErr.context(format!("{what}: {}", external(&mut cursor)?))),
        other => Err(ErrorKind::HdfErr.context(format!(
            "{what}: unsupported storage {other} (expected linked blocks (1), compressed (3) or chunked (5))"
        ))),
    }
}

fn external(cursor: &mut ElementCursor<'_>) -> Result<String> {
    let (_len, offset, name) = (cursor.count()?, cursor.count()?, cursor.count()?);
    let name = crate::cursor::text(cursor.take(name.try_into().unwrap_or(usize::MAX))?);
    Ok(format!("its data are in another file, {name:?} from byte {offset} on, which is not supported"))
}

fn compressed(cursor: &mut ElementCursor<'_>) -> Result<CompressedElement> {
    let _version = cursor.u16()?;
    let (len, number) = (cursor.count()?, cursor.u16()?);
    let coding = Coding::read(cursor)?;
    Ok(CompressedElement { len: len.into(), number, coding })
}

/// Mask of the storage kind in the flags of chunks.
const FLAG_WAY: u32 = 0xff;

fn chunked(cursor: &mut ElementCursor<'_>, what: &str) -> Result<ChunkedElement> {
    let _head = cursor.u32()?;
    let (_version, flag) = (cursor.u8()?, cursor.u32()?);
    let (_total, size, item) = (cursor.u32()?, u64::from(cursor.count()?), cursor.count()?);
    let (_table_tag, table) = (cursor.u16()?, cursor.u16()?);
    let _unused = cursor.u32()?;
    let rank = cursor.count()?;
    let mut dims = Vec::new();
    for _ in 0..rank {
        let _flag = cursor.u32()?;
        dims.push((u64::from(cursor.count()?), u64::from(cursor.count()?)));
    }
    let elems = dims.iter().try_fold(1u64, |elems, &(_, chunk)| elems.checked_mul(chunk));
    if elems != Some(size) || size == 0 {
        let chunk: Vec<_> = dims.iter().map(|dim| dim.1).collect();
        return Err(ErrorKind::BadChunk
            .context(format!("{what}: chunk shape {chunk:?} does not have {size} elements")));
    }
    let fill = cursor.count()?;
    let fill = cursor.take(fill.try_into().unwrap_or(usize::MAX))?.to_vec();
    let coding = match (flag & FLAG_WAY) as u16 {
        0 => None,
        COMPRESSED => {
            let (_way, _len) = (cursor.u16()?, cursor.u32()?);
            Some(Coding::read(cursor)?)
        }
        other => {
            return Err(ErrorKind::HdfErr.context(format!("{what}: unsupported storage {other} of chunks")));
        }
    };
    Ok(ChunkedElement { dims, item, table, fill, coding })
}
