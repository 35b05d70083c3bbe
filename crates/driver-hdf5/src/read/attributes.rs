//! The attributes of an object as they are stored: name, type, shape, bytes.

use nczarr_model::{Error, Result};

use super::btree2;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::datatype::Datatype;
use super::file::Hdf;
use super::fractal_heap::FractalHeap;
use super::header::{Found, Header, kind};
use super::messages::Space;
use super::shared;

/// Bytes of the head of a heap or a tree, more or less.
const HEAD: u64 = 256;

/// One attribute.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    /// What is wrong with the type, if it cannot be read.
    pub(crate) ty: Result<Datatype>,
    pub(crate) space: Space,
    pub(crate) bytes: Vec<u8>,
    order: u32,
}

/// The attributes of an object, in the order in which they were made as far as that is noted: those that can be read, and
/// what is wrong with the first of the others.
pub(crate) fn of(file: &Hdf, header: &Header) -> (Vec<Attribute>, Option<Error>) {
    let (mut attributes, mut problem) = (Vec::new(), None);
    let mut keep = |attribute: Result<Attribute>| match attribute {
        Ok(attribute) => attributes.push(attribute),
        Err(error) => problem = problem.take().or(Some(error)),
    };
    for (number, message) in header.all(kind::ATTRIBUTE).enumerate() {
        let order = message.order.map_or(number as u32, u32::from);
        keep(shared::resolve(file, kind::ATTRIBUTE, message).and_then(|bytes| parse(file, &bytes, order)));
    }
    if let Some(message) = header.find(kind::ATTRIBUTE_INFO)
        && let Err(error) = dense(file, message, &mut keep)
    {
        keep(Err(error));
    }
    attributes.sort_by_key(|attribute| attribute.order);
    (attributes, problem)
}

/// Those that lie in a heap.
fn dense(file: &Hdf, message: Found<'_>, keep: &mut impl FnMut(Result<Attribute>)) -> Result<()> {
    let mut at = Cursor::new(message.bytes, "attribute info");
    at.version(0)?;
    let flags = at.u8()?;
    at.skip(if flags & 1 != 0 { 2 } else { 0 })?;
    let (heap, names) = (at.address(file.offsets)?, at.address(file.offsets)?);
    if heap == UNDEFINED || names == UNDEFINED {
        return Ok(());
    }
    file.expect([(heap, HEAD), (names, HEAD)]);
    let mut heap = FractalHeap::read(file, heap)?;
    btree2::each(file, names, &[8], &mut |record| {
        let mut at = Cursor::new(record, "record of an attribute");
        let (id, flags, order) = (at.bytes(8)?, at.u8()?, at.u32()?);
        let bytes = match flags & 2 {
            0 => heap.object(file, id).map(Into::into),
            _ => shared::object(file, kind::ATTRIBUTE, id),
        };
        keep(bytes.and_then(|bytes| parse(file, &bytes, order)));
        Ok(())
    })
}

fn parse(file: &Hdf, bytes: &[u8], order: u32) -> Result<Attribute> {
    let mut at = Cursor::new(bytes, "attribute");
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
    let space = Found { shared: version > 1 && flags & 2 != 0, order: None, bytes: space };
    let ty = Datatype::of(file, Found { shared: version > 1 && flags & 1 != 0, order: None, bytes: ty });
    let space = Space::parse(file, &shared::resolve(file, kind::DATASPACE, space)?)?;
    if let Ok(ty) = &ty {
        let wanted = space.len()?.checked_mul(ty.size.into());
        let wanted = wanted.and_then(|len| usize::try_from(len).ok()).filter(|&len| len <= at.rest().len());
        let wanted = wanted.ok_or_else(|| {
            bad(format!("attribute {name:?}: {:?} elements in {} bytes", space.dims, at.rest().len()))
        })?;
        return Ok(Attribute { name, bytes: at.bytes(wanted)?.to_vec(), space, order, ty: Ok(ty.clone()) });
    }
    Ok(Attribute { name, bytes: Vec::new(), space, order, ty })
}
