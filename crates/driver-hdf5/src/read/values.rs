//! Converts stored elements to netCDF's: byte order, text, and values in the global heap.

use std::sync::Arc;

use nczarr_model::{NcString, NcType, Packer, Result, Values};

use super::cursor::damaged;
use super::datatype::{Datatype, DatatypeClass};
use super::file::HdfFile;
use super::global_heap::{GlobalHeapId, HeapCollection};
use super::widened::BitField;

/// Reads elements of variable length.
#[derive(Debug)]
pub(crate) struct ElementDecoder<'f> {
    pub(crate) file: &'f HdfFile,
    /// The collection used last.
    last: Option<(u64, Arc<HeapCollection>)>,
    /// Bytes that may still be taken from the heap. A damaged file might refer to the same bytes often.
    left: u64,
}

/// Bytes that may be taken from the heap beyond the file size.
const SPARE: u64 = 16 << 20;

/// Bytes that may be taken in addition for each requested element.
const EACH: u64 = 256;

/// Whether all elements of a type have the same size.
pub(crate) fn is_fixed(ty: &Datatype) -> bool {
    match &ty.class {
        DatatypeClass::Strings { .. } | DatatypeClass::List(_) => false,
        DatatypeClass::Compound(members) => members.iter().all(|member| is_fixed(&member.ty)),
        DatatypeClass::Array { base, .. } => is_fixed(base),
        _ => true,
    }
}

/// Bytes of an element to be reversed.
#[derive(Debug)]
enum ByteSwap {
    /// A number: its offset and size.
    Number(usize, usize),
    /// The same for each of `count` parts of `step` bytes, from offset `at` on.
    Each { at: usize, step: usize, count: usize, turns: Vec<ByteSwap> },
}

fn byte_swaps(ty: &Datatype, offset: usize, out: &mut Vec<ByteSwap>) {
    let size = ty.size as usize;
    match &ty.class {
        DatatypeClass::Integer { big_endian, .. } | DatatypeClass::Float { big_endian, .. }
            if *big_endian != cfg!(target_endian = "big") && size > 1 =>
        {
            out.push(ByteSwap::Number(offset, size));
        }
        DatatypeClass::Enum { base, .. } => byte_swaps(base, offset, out),
        DatatypeClass::Compound(members) => {
            members.iter().for_each(|member| byte_swaps(&member.ty, offset + member.offset as usize, out));
        }
        DatatypeClass::Array { base, .. } => {
            let (mut each, step) = (Vec::new(), base.size as usize);
            byte_swaps(base, 0, &mut each);
            if !each.is_empty() {
                out.push(ByteSwap::Each { at: offset, step, count: size / step.max(1), turns: each });
            }
        }
        _ => {}
    }
}

fn swap_bytes(turns: &[ByteSwap], element: &mut [u8]) {
    for it in turns {
        match it {
            ByteSwap::Number(at, size) => element[*at..at + size].reverse(),
            ByteSwap::Each { at, step, count, turns } => {
                element[*at..at + step * count]
                    .chunks_exact_mut(*step)
                    .for_each(|part| swap_bytes(turns, part));
            }
        }
    }
}

/// Converts elements of fixed size to native byte order.
pub(crate) fn to_native(ty: &Datatype, bytes: &mut [u8]) {
    let mut list = Vec::new();
    byte_swaps(ty, 0, &mut list);
    if !list.is_empty() {
        bytes.chunks_exact_mut(ty.size as usize).for_each(|element| swap_bytes(&list, element));
    }
}

/// Converts stored numbers.
pub(crate) fn numbers(ty: &Datatype, nc_type: NcType, bytes: &[u8]) -> Option<Values> {
    if let Some(bits) = BitField::of(ty) {
        return Some(bits.values(bytes)).filter(|values| values.nc_type() == nc_type);
    }
    let mut bytes = bytes.to_vec();
    to_native(ty, &mut bytes);
    Values::from_native_bytes(nc_type, &bytes)
}

/// Returns text of fixed size up to the first zero.
pub(crate) fn text(bytes: &[u8]) -> NcString {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default().into()
}

/// Number of elements whose collections are prefetched together.
const TOGETHER: usize = 4096;

impl<'f> ElementDecoder<'f> {
    pub(crate) fn new(file: &'f HdfFile) -> Self {
        Self { file, last: None, left: file.len.saturating_add(SPARE) }
    }

    /// Calls `then` with the items of an element of variable length. Each item has `size` bytes.
    pub(crate) fn items(
        &mut self,
        stored: &[u8],
        size: u32,
        then: &mut dyn FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let at = GlobalHeapId::parse(self.file, stored)?;
        if at.is_empty() {
            return then(self, &[]);
        }
        let collection = match &self.last {
            Some((address, collection)) if *address == at.address => Arc::clone(collection),
            _ => {
                let collection = self.file.collection(at.address)?;
                self.last = Some((at.address, Arc::clone(&collection)));
                collection
            }
        };
        let items = at.items(&collection, size)?;
        let left = self.left.checked_sub(items.len() as u64);
        self.left =
            left.ok_or_else(|| damaged("elements of variable length: more bytes than the file can hold"))?;
        then(self, items)
    }

    /// Reads strings, also text of fixed size.
    pub(crate) fn strings(&mut self, ty: &Datatype, bytes: &[u8], out: &mut [NcString]) -> Result<()> {
        // Unwritten elements may all refer to the same fill value.
        self.left = self.left.saturating_add((out.len() as u64).saturating_mul(EACH));
        for (number, (element, out)) in bytes.chunks_exact(ty.size as usize).zip(out).enumerate() {
            if number % TOGETHER == 0 {
                self.expect(ty, &bytes[number * ty.size as usize..]);
            }
            match &ty.class {
                DatatypeClass::Text { .. } => *out = text(element),
                DatatypeClass::Strings { .. } if GlobalHeapId::parse(self.file, element)?.is_null() => {
                    *out = NcString::nil()
                }
                DatatypeClass::Strings { .. } => self.items(element, 1, &mut |_, items| {
                    *out = text(items);
                    Ok(())
                })?,
                DatatypeClass::List(base) => {
                    let mut packer = Packer::default();
                    self.items(element, base.size, &mut |this, items| {
                        this.pack_all(base, items, &mut packer)
                    })?;
                    *out = packer.finish();
                }
                _ => {
                    let mut packer = Packer::default();
                    self.pack(ty, element, &mut packer)?;
                    *out = packer.finish();
                }
            }
        }
        Ok(())
    }

    /// Prefetches the collections of the next elements.
    pub(super) fn expect(&self, ty: &Datatype, bytes: &[u8]) {
        if !self.file.is_remote()
            || !matches!(ty.class, DatatypeClass::Strings { .. } | DatatypeClass::List(_))
        {
            return;
        }
        let next = bytes.chunks_exact(ty.size as usize).take(TOGETHER);
        let found = next.filter_map(|element| GlobalHeapId::parse(self.file, element).ok());
        self.file.prefetch_collections(found.filter(|found| !found.is_empty()).map(|found| found.address));
    }

    fn pack_all(&mut self, ty: &Datatype, bytes: &[u8], packer: &mut Packer) -> Result<()> {
        if is_fixed(ty) {
            let mut native = bytes.to_vec();
            to_native(ty, &mut native);
            packer.fixed(&native);
            return Ok(());
        }
        bytes.chunks_exact(ty.size as usize).try_for_each(|element| self.pack(ty, element, packer))
    }

    /// Packs one element as a part of another.
    fn pack(&mut self, ty: &Datatype, element: &[u8], packer: &mut Packer) -> Result<()> {
        match &ty.class {
            DatatypeClass::Strings { .. } => self.items(element, 1, &mut |_, items| {
                packer.string(text(items).as_bytes());
                Ok(())
            }),
            DatatypeClass::List(base) => {
                packer.open();
                self.items(element, base.size, &mut |this, items| this.pack_all(base, items, packer))?;
                packer.close();
                Ok(())
            }
            DatatypeClass::Compound(members) if !is_fixed(ty) => members.iter().try_for_each(|member| {
                let start = member.offset as usize;
                self.pack(&member.ty, &element[start..start + member.ty.size as usize], packer)
            }),
            DatatypeClass::Array { base, .. } if !is_fixed(ty) => self.pack_all(base, element, packer),
            _ => self.pack_all(ty, element, packer),
        }
    }

    /// Reads the elements of an attribute or a fill value.
    ///
    /// # Errors
    /// `NC_EHDFERR` if something is not at its stored place.
    pub(crate) fn values(&mut self, ty: &Datatype, nc_type: NcType, bytes: &[u8]) -> Result<Values> {
        let count = bytes.len() / (ty.size.max(1) as usize);
        if nc_type == NcType::String || !is_fixed(ty) {
            let mut strings = vec![NcString::new(); count];
            self.strings(ty, bytes, &mut strings)?;
            return Ok(match nc_type {
                NcType::User(id) => Values::Packed(id, strings),
                _ => Values::String(strings),
            });
        }
        numbers(ty, nc_type, bytes)
            .ok_or_else(|| damaged(format!("{} bytes of type {}", bytes.len(), ty.name())))
    }
}
