//! Elements as they are stored → elements as netCDF has them: byte order, text, and what lies in the global heap.

use std::sync::Arc;

use nczarr_model::{NcString, NcType, Packer, Result, Values};

use super::cursor::bad;
use super::datatype::{Class, Datatype};
use super::file::Hdf;
use super::global_heap::{Collection, HeapRef};
use super::partial::Bits;

/// What elements of variable length are read with.
#[derive(Debug)]
pub(crate) struct Decoder<'f> {
    pub(crate) file: &'f Hdf,
    /// The collection that was used last.
    last: Option<(u64, Arc<Collection>)>,
    /// How many more bytes may be taken out of the heap: more than it has is no honest file.
    left: u64,
}

/// Bytes that may be taken out of the heap beyond those that the file has.
const SPARE: u64 = 16 << 20;

/// Bytes that each element asked for may have besides.
const EACH: u64 = 256;

/// Whether elements have the same bytes whatever they hold.
pub(crate) fn is_fixed(ty: &Datatype) -> bool {
    match &ty.class {
        Class::Strings | Class::List(_) => false,
        Class::Compound(members) => members.iter().all(|member| is_fixed(&member.ty)),
        Class::Array { base, .. } => is_fixed(base),
        _ => true,
    }
}

/// Bytes of an element that have to be turned round.
#[derive(Debug)]
enum Turn {
    /// A number: where it is, and how many bytes.
    Number(usize, usize),
    /// The same in each of `count` parts of `step` bytes, the first of them at `at`.
    Each { at: usize, step: usize, count: usize, turns: Vec<Turn> },
}

fn turns(ty: &Datatype, offset: usize, out: &mut Vec<Turn>) {
    let size = ty.size as usize;
    match &ty.class {
        Class::Integer { big_endian, .. } | Class::Float { big_endian, .. }
            if *big_endian != cfg!(target_endian = "big") && size > 1 =>
        {
            out.push(Turn::Number(offset, size));
        }
        Class::Enum { base, .. } => turns(base, offset, out),
        Class::Compound(members) => {
            members.iter().for_each(|member| turns(&member.ty, offset + member.offset as usize, out));
        }
        Class::Array { base, .. } => {
            let (mut each, step) = (Vec::new(), base.size as usize);
            turns(base, 0, &mut each);
            if !each.is_empty() {
                out.push(Turn::Each { at: offset, step, count: size / step.max(1), turns: each });
            }
        }
        _ => {}
    }
}

fn turn(turns: &[Turn], element: &mut [u8]) {
    for it in turns {
        match it {
            Turn::Number(at, size) => element[*at..at + size].reverse(),
            Turn::Each { at, step, count, turns } => {
                element[*at..at + step * count].chunks_exact_mut(*step).for_each(|part| turn(turns, part));
            }
        }
    }
}

/// Turns elements of fixed size into this machine's byte order.
pub(crate) fn to_native(ty: &Datatype, bytes: &mut [u8]) {
    let mut list = Vec::new();
    turns(ty, 0, &mut list);
    if !list.is_empty() {
        bytes.chunks_exact_mut(ty.size as usize).for_each(|element| turn(&list, element));
    }
}

/// Numbers as they are stored.
pub(crate) fn numbers(ty: &Datatype, nc_type: NcType, bytes: &[u8]) -> Option<Values> {
    if let Some(bits) = Bits::of(ty) {
        return Some(bits.values(bytes)).filter(|values| values.nc_type() == nc_type);
    }
    let mut bytes = bytes.to_vec();
    to_native(ty, &mut bytes);
    Values::from_native_bytes(nc_type, &bytes)
}

/// Text of a fixed size: what comes before the first zero.
pub(crate) fn text(bytes: &[u8]) -> NcString {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default().into()
}

/// Elements whose collections are asked for together.
const TOGETHER: usize = 4096;

impl<'f> Decoder<'f> {
    pub(crate) fn new(file: &'f Hdf) -> Self {
        Self { file, last: None, left: file.len.saturating_add(SPARE) }
    }

    /// The items of an element of variable length, `size` bytes each.
    pub(crate) fn items(
        &mut self,
        stored: &[u8],
        size: u32,
        then: &mut dyn FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let at = HeapRef::parse(self.file, stored)?;
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
        self.left = left.ok_or_else(|| bad("elements of variable length hold more than the file has"))?;
        then(self, items)
    }

    /// Elements of type string, text of a fixed size included.
    pub(crate) fn strings(&mut self, ty: &Datatype, bytes: &[u8], out: &mut [NcString]) -> Result<()> {
        // Elements that were never written are all the one fill value.
        self.left = self.left.saturating_add((out.len() as u64).saturating_mul(EACH));
        for (number, (element, out)) in bytes.chunks_exact(ty.size as usize).zip(out).enumerate() {
            if number % TOGETHER == 0 {
                self.expect(ty, &bytes[number * ty.size as usize..]);
            }
            match &ty.class {
                Class::Text => *out = text(element),
                Class::Strings if HeapRef::parse(self.file, element)?.is_nil() => *out = NcString::nil(),
                Class::Strings => self.items(element, 1, &mut |_, items| {
                    *out = text(items);
                    Ok(())
                })?,
                Class::List(base) => {
                    let mut packer = Packer::default();
                    self.items(element, base.size, &mut |this, items| this.pack_all(base, items, &mut packer))?;
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

    /// Says which collections the next elements are in.
    pub(super) fn expect(&self, ty: &Datatype, bytes: &[u8]) {
        if !self.file.is_elsewhere() || !matches!(ty.class, Class::Strings | Class::List(_)) {
            return;
        }
        let next = bytes.chunks_exact(ty.size as usize).take(TOGETHER);
        let found = next.filter_map(|element| HeapRef::parse(self.file, element).ok());
        self.file.expect_collections(found.filter(|found| !found.is_empty()).map(|found| found.address));
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

    /// One element as a part of another one.
    fn pack(&mut self, ty: &Datatype, element: &[u8], packer: &mut Packer) -> Result<()> {
        match &ty.class {
            Class::Strings => self.items(element, 1, &mut |_, items| {
                packer.string(text(items).as_bytes());
                Ok(())
            }),
            Class::List(base) => {
                packer.open();
                self.items(element, base.size, &mut |this, items| this.pack_all(base, items, packer))?;
                packer.close();
                Ok(())
            }
            Class::Compound(members) if !is_fixed(ty) => members.iter().try_for_each(|member| {
                let start = member.offset as usize;
                self.pack(&member.ty, &element[start..start + member.ty.size as usize], packer)
            }),
            Class::Array { base, .. } if !is_fixed(ty) => self.pack_all(base, element, packer),
            _ => self.pack_all(ty, element, packer),
        }
    }

    /// The elements of an attribute, or a fill value.
    ///
    /// # Errors
    /// `NC_EHDFERR` if something is not where it is said to be.
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
        numbers(ty, nc_type, bytes).ok_or_else(|| bad(format!("{} bytes of type {}", bytes.len(), ty.name())))
    }
}
