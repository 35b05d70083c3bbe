//! Elements of user-defined types: their form in C, and the forms of the engine.
//!
//! In C a string is a pointer to text, a vlen a [`VlenElement`], and a compound has the offsets of
//! [`TypeSpace`]. The memory that pointers refer to comes from `malloc`.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::slice;

use nczarr::model::{Field, Packer, TypeClass, TypeId, Unpacker};
use nczarr::{ErrorKind, NcString, NcType, Result};

use super::memory::{VlenElement, copy_text, hand_out};
use super::pointer::{TEXT_POINTER, strings_from_pointers};
use crate::type_space::TypeSpace;

const VLEN: usize = size_of::<VlenElement>();
/// Types nested more deeply are treated as cyclic.
const MAX_DEPTH: usize = 64;

/// The parts of a type.
enum Parts<'m> {
    /// Elements in C are the stored ones byte for byte.
    Plain,
    Text,
    Vlen(NcType),
    /// A compound with pointers inside.
    Fields(TypeId, &'m [Field]),
    /// A compound of fixed size with another layout in C.
    Rearranged(TypeId, &'m [Field]),
}

fn parts(types: TypeSpace<'_>, ty: NcType) -> Result<Parts<'_>> {
    if types.is_plain(ty)? {
        return Ok(Parts::Plain);
    }
    match ty {
        NcType::User(id) => match &types.model.user_type(id)?.class {
            TypeClass::Vlen { base } => Ok(Parts::Vlen(*base)),
            TypeClass::Compound { fields, .. } if types.is_fixed(ty)? => Ok(Parts::Rearranged(id, fields)),
            TypeClass::Compound { fields, .. } => Ok(Parts::Fields(id, fields)),
            TypeClass::Enum { .. } | TypeClass::Opaque { .. } => Ok(Parts::Plain),
        },
        _ => Ok(Parts::Text),
    }
}

/// Packs the element that lies in `element`.
pub fn pack(types: TypeSpace<'_>, ty: NcType, element: &[u8]) -> Result<NcString> {
    let mut packer = Packer::default();
    match parts(types, ty)? {
        Parts::Vlen(base) => pack_content(types, base, element, &mut packer, 0)?,
        _ => pack_part(types, ty, element, &mut packer, 0)?,
    }
    Ok(packer.finish())
}

fn pack_part(
    types: TypeSpace<'_>,
    ty: NcType,
    bytes: &[u8],
    packer: &mut Packer,
    depth: usize,
) -> Result<()> {
    check_depth(depth)?;
    match parts(types, ty)? {
        Parts::Plain => packer.fixed(bytes),
        Parts::Text => strings_from_pointers(bytes).iter().for_each(|text| packer.string(text.as_bytes())),
        Parts::Vlen(base) => {
            packer.open();
            pack_content(types, base, bytes, packer, depth)?;
            packer.close();
        }
        Parts::Rearranged(..) => {
            let mut stored = Vec::new();
            append_stored(types, ty, bytes, &mut stored)?;
            packer.fixed(&stored);
        }
        Parts::Fields(id, fields) => {
            for (index, field) in fields.iter().enumerate() {
                for place in places(types, id, index, field)? {
                    pack_part(types, field.ty, part_of(bytes, place)?, packer, depth + 1)?;
                }
            }
        }
    }
    Ok(())
}

/// Packs the content of the vlen that lies in `bytes`.
fn pack_content(
    types: TypeSpace<'_>,
    base: NcType,
    bytes: &[u8],
    packer: &mut Packer,
    depth: usize,
) -> Result<()> {
    let element = vlen_in(bytes)?;
    let size = types.size(base)?;
    let Some(len) = element.len.checked_mul(size).filter(|&len| isize::try_from(len).is_ok()) else {
        return Err(ErrorKind::Inval.context(format!("a vlen of {} elements", element.len)));
    };
    if len == 0 {
        return Ok(());
    }
    if element.elements.is_null() {
        return Err(ErrorKind::Inval.context(format!("a vlen of {} elements is null", element.len)));
    }
    // SAFETY: the caller's element refers to memory of `len` bytes.
    let content = unsafe { slice::from_raw_parts(element.elements.cast::<u8>(), len) };
    match parts(types, base)? {
        Parts::Plain => packer.fixed(content),
        _ => {
            for item in content.chunks_exact(size) {
                pack_part(types, base, item, packer, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// Unpacks an element to `out`. The caller owns the memory that it refers to.
pub fn unpack(types: TypeSpace<'_>, ty: NcType, packed: &[u8], out: &mut [u8]) -> Result<()> {
    out.fill(0);
    let mut from = Unpacker::new(packed);
    let outcome = match parts(types, ty)? {
        Parts::Vlen(base) => unpack_content(types, base, from, out, 0),
        _ => unpack_part(types, ty, &mut from, out, 0).and_then(|()| from.end()),
    };
    if outcome.is_err() {
        reclaim(types, ty, out)?;
    }
    outcome
}

fn unpack_part(
    types: TypeSpace<'_>,
    ty: NcType,
    from: &mut Unpacker<'_>,
    out: &mut [u8],
    depth: usize,
) -> Result<()> {
    check_depth(depth)?;
    match parts(types, ty)? {
        Parts::Plain => out.copy_from_slice(from.fixed(out.len())?),
        Parts::Text => {
            let text = copy_text(from.string()?)? as usize;
            out.copy_from_slice(&text.to_ne_bytes());
        }
        Parts::Vlen(base) => unpack_content(types, base, from.vlen()?, out, depth)?,
        Parts::Rearranged(..) => {
            let stored = from.fixed(types.model.type_size(ty)?.unwrap_or(0))?;
            arrange(types, ty, stored, out)?;
        }
        Parts::Fields(id, fields) => {
            for (index, field) in fields.iter().enumerate() {
                for place in places(types, id, index, field)? {
                    unpack_part(types, field.ty, from, part_of_mut(out, place)?, depth + 1)?;
                }
            }
        }
    }
    Ok(())
}

/// Unpacks the content of a vlen to new memory, and the vlen itself to `out`.
fn unpack_content(
    types: TypeSpace<'_>,
    base: NcType,
    mut from: Unpacker<'_>,
    out: &mut [u8],
    depth: usize,
) -> Result<()> {
    let size = types.size(base)?;
    let content = match parts(types, base)? {
        Parts::Plain => from.fixed(from.len())?.to_vec(),
        _ => {
            let mut content = Vec::new();
            while !from.is_empty() {
                let start = content.len();
                content.resize(start + size, 0);
                if let Err(error) = unpack_part(types, base, &mut from, &mut content[start..], depth + 1) {
                    reclaim(types, base, &mut content)?;
                    return Err(error);
                }
            }
            content
        }
    };
    let len = content.len().checked_div(size).unwrap_or(0);
    let elements = if len == 0 { ptr::null_mut() } else { hand_out(&content)? };
    write_vlen(out, VlenElement { len, elements });
    Ok(())
}

/// Frees all memory that elements refer to, and makes their pointers null.
pub fn reclaim(types: TypeSpace<'_>, ty: NcType, elements: &mut [u8]) -> Result<()> {
    reclaim_all(types, ty, elements, 0)
}

fn reclaim_all(types: TypeSpace<'_>, ty: NcType, elements: &mut [u8], depth: usize) -> Result<()> {
    check_depth(depth)?;
    match parts(types, ty)? {
        Parts::Plain | Parts::Rearranged(..) => {}
        Parts::Text => super::memory::free_texts(elements),
        Parts::Vlen(base) => {
            let size = types.size(base)?;
            for bytes in elements.chunks_exact_mut(VLEN) {
                let VlenElement { len, elements } = vlen_in(bytes)?;
                if !elements.is_null() {
                    // SAFETY: the element refers to memory of `len` items that the library handed out.
                    let content = unsafe { slice::from_raw_parts_mut(elements.cast::<u8>(), len * size) };
                    reclaim_all(types, base, content, depth + 1)?;
                    // SAFETY: the memory is not used again, since the pointer becomes null.
                    unsafe { libc::free(elements) }
                }
                write_vlen(bytes, VlenElement { len: 0, elements: ptr::null_mut() });
            }
        }
        Parts::Fields(id, fields) => {
            for element in elements.chunks_exact_mut(types.size(ty)?) {
                for (index, field) in fields.iter().enumerate() {
                    for place in places(types, id, index, field)? {
                        reclaim_all(types, field.ty, part_of_mut(element, place)?, depth + 1)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Appends an element of fixed size in its stored layout.
pub fn append_stored(types: TypeSpace<'_>, ty: NcType, element: &[u8], stored: &mut Vec<u8>) -> Result<()> {
    let Parts::Rearranged(id, fields) = parts(types, ty)? else {
        stored.extend_from_slice(element);
        return Ok(());
    };
    let start = stored.len();
    let end = start + types.model.type_size(ty)?.unwrap_or(0);
    for (index, field) in fields.iter().enumerate() {
        let mut part = Vec::new();
        for place in places(types, id, index, field)? {
            append_stored(types, field.ty, part_of(element, place)?, &mut part)?;
        }
        let offset = start + field.offset;
        stored.resize(end.max(stored.len()), 0);
        stored.get_mut(offset..offset + part.len()).ok_or_else(outside)?.copy_from_slice(&part);
    }
    stored.resize(end, 0);
    Ok(())
}

/// Copies a stored element of fixed size to the layout of C.
pub fn arrange(types: TypeSpace<'_>, ty: NcType, stored: &[u8], out: &mut [u8]) -> Result<()> {
    let Parts::Rearranged(id, fields) = parts(types, ty)? else {
        out.copy_from_slice(stored.get(..out.len()).ok_or_else(outside)?);
        return Ok(());
    };
    for (index, field) in fields.iter().enumerate() {
        let size = types.model.type_size(field.ty)?.unwrap_or(0);
        for (nth, place) in places(types, id, index, field)?.enumerate() {
            let from = part_of(stored, (field.offset + nth * size, size))?;
            arrange(types, field.ty, from, part_of_mut(out, place)?)?;
        }
    }
    Ok(())
}

/// Returns offset and size in C of each element of a field.
fn places(
    types: TypeSpace<'_>,
    compound: TypeId,
    index: usize,
    field: &Field,
) -> Result<impl Iterator<Item = (usize, usize)> + use<>> {
    let size = types.size(field.ty)?;
    let offset = types.offset(compound, index, field);
    Ok((0..field.count()?).map(move |index| (offset + index * size, size)))
}

fn part_of(bytes: &[u8], (offset, size): (usize, usize)) -> Result<&[u8]> {
    bytes.get(offset..offset + size).ok_or_else(outside)
}

fn part_of_mut(bytes: &mut [u8], (offset, size): (usize, usize)) -> Result<&mut [u8]> {
    bytes.get_mut(offset..offset + size).ok_or_else(outside)
}

fn outside() -> nczarr::Error {
    ErrorKind::BadField.context("a field exceeds its compound")
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(ErrorKind::BadType.context("the type is nested too deeply"));
    }
    Ok(())
}

fn vlen_in(bytes: &[u8]) -> Result<VlenElement> {
    let (len, elements) = bytes.split_at_checked(TEXT_POINTER).ok_or_else(outside)?;
    let number = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).map_err(|_| outside());
    Ok(VlenElement { len: number(len)?, elements: number(elements)? as *mut c_void })
}

fn write_vlen(out: &mut [u8], element: VlenElement) {
    let (len, elements) = out.split_at_mut(TEXT_POINTER);
    len.copy_from_slice(&element.len.to_ne_bytes());
    elements.copy_from_slice(&(element.elements as usize).to_ne_bytes());
}
