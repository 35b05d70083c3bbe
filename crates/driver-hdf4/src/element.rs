//! [`Element`]: how the bytes of an element are stored; the descriptions of compressed and chunked ones.
//!
//! Source: HDF Specification, "Compressed Data Elements", "Chunked Elements".

use nczarr_model::{ErrorKind, Result};

use crate::coding::Coding;
use crate::cursor::Cursor;
use crate::file::HdfFile;
use crate::linked::{LINKED, Pieces, linked};

/// How an element is stored.
#[derive(Debug)]
pub(crate) enum Element {
    Pieces(Pieces),
    Compressed(Compressed),
    Chunked(Chunked),
}

/// A compressed element.
#[derive(Debug)]
pub(crate) struct Compressed {
    /// Bytes once they are decoded.
    pub(crate) len: u64,
    /// The number of the element with the compressed bytes.
    pub(crate) number: u16,
    pub(crate) coding: Coding,
}

/// An element in chunks.
#[derive(Debug)]
pub(crate) struct Chunked {
    /// The length of each dimension, and of a chunk along it.
    pub(crate) dims: Vec<(u64, u64)>,
    /// Bytes of an element of the array.
    pub(crate) item: u32,
    /// The number of the table that lists the chunks.
    pub(crate) table: u16,
    /// What chunks hold that are not there, as it is stored.
    pub(crate) fill: Vec<u8>,
    /// How each chunk is compressed, if they are.
    pub(crate) coding: Option<Coding>,
}

const EXTERNAL: u16 = 2;
const COMPRESSED: u16 = 3;
const CHUNKED: u16 = 5;

/// An element as its description tells.
///
/// # Errors
/// `NC_EHDFERR` for a description that makes no sense, and for data in another file.
pub(crate) fn read(file: &HdfFile, description: &[u8], what: &str) -> Result<Element> {
    let mut cursor = Cursor::new(description, what);
    match cursor.u16()? {
        LINKED => linked(file, description, what)?
            .map(Element::Pieces)
            .ok_or_else(|| ErrorKind::Internal.context("blocks that are none")),
        COMPRESSED => compressed(&mut cursor).map(Element::Compressed),
        CHUNKED => chunked(&mut cursor, what).map(Element::Chunked),
        EXTERNAL => Err(ErrorKind::HdfErr.context(format!("{what}: {}", external(&mut cursor)?))),
        other => Err(ErrorKind::HdfErr.context(format!(
            "{what}: stored in the way {other}; linked blocks (1), compressed (3) and chunked (5) are read"
        ))),
    }
}

fn external(cursor: &mut Cursor<'_>) -> Result<String> {
    let (_len, offset, name) = (cursor.count()?, cursor.count()?, cursor.count()?);
    let name = crate::cursor::text(cursor.take(name.try_into().unwrap_or(usize::MAX))?);
    Ok(format!("its data are in another file, {name:?} from byte {offset} on; such data are not read"))
}

fn compressed(cursor: &mut Cursor<'_>) -> Result<Compressed> {
    let _version = cursor.u16()?;
    let (len, number) = (cursor.count()?, cursor.u16()?);
    let coding = Coding::read(cursor)?;
    Ok(Compressed { len: len.into(), number, coding })
}

/// Set where chunks are compressed: the low byte is the way they are stored.
const FLAG_WAY: u32 = 0xff;

fn chunked(cursor: &mut Cursor<'_>, what: &str) -> Result<Chunked> {
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
        return Err(
            ErrorKind::BadChunk.context(format!("{what}: chunks of {chunk:?} are said to have {size} elements"))
        );
    }
    let fill = cursor.count()?;
    let fill = cursor.take(fill.try_into().unwrap_or(usize::MAX))?.to_vec();
    let coding = match (flag & FLAG_WAY) as u16 {
        0 => None,
        COMPRESSED => {
            let (_way, _len) = (cursor.u16()?, cursor.u32()?);
            Some(Coding::read(cursor)?)
        }
        other => return Err(ErrorKind::HdfErr.context(format!("{what}: chunks that are stored in the way {other}"))),
    };
    Ok(Chunked { dims, item, table, fill, coding })
}
