//! Reads the attributes of an object: name, type, shape and bytes.

use nczarr_model::{Error, Result};

use super::btree2;
use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::datatype::Datatype;
use super::file::HdfFile;
use super::fractal_heap::FractalHeap;
use super::header::{HeaderMessage, ObjectHeader, message_type};
use super::messages::Dataspace;
use super::shared_messages;

/// Assumed size in bytes of the header of a fractal heap or a B-tree, for prefetching.
const HEAD: u64 = 256;

/// One attribute as the file stores it.
#[derive(Debug)]
pub(crate) struct StoredAttribute {
    pub(crate) name: String,
    /// The type, or the error that occurred while it was read.
    pub(crate) ty: Result<Datatype>,
    pub(crate) space: Dataspace,
    pub(crate) bytes: Vec<u8>,
    order: u32,
}

/// Reads the attributes of an object, in creation order where the file records it.
///
/// Returns the readable attributes, and the first error of the others.
pub(crate) fn of(file: &HdfFile, header: &ObjectHeader) -> (Vec<StoredAttribute>, Option<Error>) {
    let (mut attributes, mut problem) = (Vec::new(), None);
    let mut keep = |attribute: Result<StoredAttribute>| match attribute {
        Ok(attribute) => attributes.push(attribute),
        Err(error) => problem = problem.take().or(Some(error)),
    };
    for (number, message) in header.all(message_type::ATTRIBUTE).enumerate() {
        let order = message.order.map_or(number as u32, u32::from);
        keep(
            shared_messages::resolve(file, message_type::ATTRIBUTE, message)
                .and_then(|bytes| parse(file, &bytes, order)),
        );
    }
    if let Some(message) = header.find(message_type::ATTRIBUTE_INFO)
        && let Err(error) = dense(file, message, &mut keep)
    {
        keep(Err(error));
    }
    attributes.sort_by_key(|attribute| attribute.order);
    (attributes, problem)
}

/// Reads attributes that are stored in a fractal heap.
fn dense(
    file: &HdfFile,
    message: HeaderMessage<'_>,
    keep: &mut impl FnMut(Result<StoredAttribute>),
) -> Result<()> {
    let mut at = MetadataCursor::new(message.bytes, "attribute info");
    at.version(0)?;
    let flags = at.u8()?;
    at.skip(if flags & 1 != 0 { 2 } else { 0 })?;
    let (heap, names) = (at.address(file.offsets)?, at.address(file.offsets)?);
    if heap == UNDEFINED || names == UNDEFINED {
        return Ok(());
    }
    file.prefetch([(heap, HEAD), (names, HEAD)]);
    let mut heap = FractalHeap::read(file, heap)?;
    btree2::each(file, names, &[8], &mut |record| {
        let mut at = MetadataCursor::new(record, "record of an attribute");
        let (id, flags, order) = (at.bytes(8)?, at.u8()?, at.u32()?);
        let bytes = match flags & 2 {
            0 => heap.object(file, id).map(Into::into),
            _ => shared_messages::object(file, message_type::ATTRIBUTE, id),
        };
        keep(bytes.and_then(|bytes| parse(file, &bytes, order)));
        Ok(())
    })
}

fn parse(file: &HdfFile, bytes: &[u8], order: u32) -> Result<StoredAttribute> {
    let mut at = MetadataCursor::new(bytes, "attribute");
    let version = at.version(3)?;
    let flags = at.u8()?;
    let (name, ty, space) = (at.u16()?, at.u16()?, at.u16()?);
    at.skip(if version == 3 { 1 } else { 0 })?;
    let mut part = |len: u16| {
        let from = at.at();
        let bytes = at.bytes(len.into())?;
        if version == 1 {
            at.align(from)?;
        }
        Ok::<_, nczarr_model::Error>(bytes)
    };
    let (name, ty, space) = (part(name)?, part(ty)?, part(space)?);
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    let space = HeaderMessage { shared: version > 1 && flags & 2 != 0, order: None, bytes: space };
    let ty =
        Datatype::of(file, HeaderMessage { shared: version > 1 && flags & 1 != 0, order: None, bytes: ty });
    let space = Dataspace::parse(file, &shared_messages::resolve(file, message_type::DATASPACE, space)?)?;
    if let Ok(ty) = &ty {
        let wanted = space.len()?.checked_mul(ty.size.into());
        let wanted = wanted.and_then(|len| usize::try_from(len).ok()).filter(|&len| len <= at.rest().len());
        let wanted = wanted.ok_or_else(|| {
            damaged(format!(
                "attribute {name:?}: the data are too short (expected {:?} elements, found {} bytes)",
                space.dims,
                at.rest().len()
            ))
        })?;
        return Ok(StoredAttribute {
            name,
            bytes: at.bytes(wanted)?.to_vec(),
            space,
            order,
            ty: Ok(ty.clone()),
        });
    }
    Ok(StoredAttribute { name, bytes: Vec::new(), space, order, ty })
}
