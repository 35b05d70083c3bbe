//! [`VlenCodec`]: the element codec for variable length. Chunks hold places in the global heap.
//!
//! Encoding puts values into collections of the file. A collection that is not full stays open for later
//! values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_codec::{ElementCodec, Json};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Packer, Result, TypeClass};

use super::datatype::stored_size;
use super::element::{self, HeapWriter};
use super::file::WritableFile;
use super::heap::{self, CollectionBuilder};

/// The global heap of a file.
#[derive(Debug)]
pub(super) struct FileHeap {
    file: Arc<WritableFile>,
    open: Mutex<OpenCollection>,
}

/// The collection for the next values.
#[derive(Debug, Default)]
struct OpenCollection {
    /// Its address and its size in bytes.
    place: Option<(u64, u64)>,
    values: CollectionBuilder,
    /// Whether some values are not in the file yet.
    changed: bool,
}

impl FileHeap {
    pub(super) fn new(file: Arc<WritableFile>) -> Self {
        Self { file, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenCollection> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the open collection if it changed.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn flush(&self) -> Result<()> {
        self.write(&mut self.open())
    }

    fn write(&self, open: &mut OpenCollection) -> Result<()> {
        if let (Some((address, len)), true) = (open.place, open.changed) {
            self.file.write_at(address, &open.values.bytes(len as usize))?;
            open.changed = false;
        }
        Ok(())
    }

    /// Adds a value to the heap.
    fn keep(&self, value: &[u8]) -> Result<(u64, u32)> {
        let mut open = self.open();
        let room = open.place.map_or(0, |(_, len)| len as usize);
        if value.len() > room.max(heap::LEAST) / 4 {
            drop(open);
            // A large value gets its own collection.
            let mut alone = CollectionBuilder::default();
            let index = alone.push(value);
            let bytes = alone.bytes(0);
            let address = self.file.allocate(bytes.len() as u64)?;
            self.file.write_at(address, &bytes)?;
            return Ok((address, index));
        }
        if room == 0 || !open.values.has_room(value.len(), room) {
            self.write(&mut open)?;
            let room = (room * 2).clamp(heap::LEAST, heap::FULL) as u64;
            *open = OpenCollection {
                place: Some((self.file.allocate(room)?, room)),
                ..OpenCollection::default()
            };
        }
        let index = open.values.push(value);
        open.changed = true;
        Ok((open.place.map_or(0, |(address, _)| address), index))
    }

    /// Reads the value at a place.
    fn value(&self, address: u64, index: u32, read: &mut CollectionCache) -> Result<Vec<u8>> {
        let absent = || {
            ErrorKind::HdfErr.context(format!("global heap at address {address}: value {index} is missing"))
        };
        {
            let open = self.open();
            if open.place.is_some_and(|(here, _)| here == address) {
                return open.values.value(index).map(<[u8]>::to_vec).ok_or_else(absent);
            }
        }
        let found = match read.collections.entry(address) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(vacant) => {
                let (mut head, mut bytes) = (Vec::new(), Vec::new());
                self.file.read(address, 16, &mut head)?;
                let len = u64::from_le_bytes(head[8..16].try_into().unwrap_or_default());
                // Collections do not overlap, so together they are no larger than the file.
                read.bytes = read.bytes.saturating_add(len);
                if read.bytes > self.file.end() {
                    let what = format!(
                        "global heap at address {address}: a collection of {len} bytes exceeds the file"
                    );
                    return Err(ErrorKind::HdfErr.context(what));
                }
                self.file.read(address, usize::try_from(len).map_err(|_| absent())?, &mut bytes)?;
                let places = heap::places(&bytes).ok_or_else(absent)?;
                vacant.insert(LoadedCollection { bytes, places })
            }
        };
        let place = found.places.get(&u16::try_from(index).map_err(|_| absent())?).ok_or_else(absent)?;
        found.bytes.get(place.clone()).map(<[u8]>::to_vec).ok_or_else(absent)
    }
}

/// A collection of the file.
#[derive(Debug)]
struct LoadedCollection {
    bytes: Vec<u8>,
    /// Ranges of the values in `bytes`, by index.
    places: HashMap<u16, Range<usize>>,
}

/// Collections that were read.
#[derive(Debug, Default)]
struct CollectionCache {
    /// Collections by address.
    collections: HashMap<u64, LoadedCollection>,
    /// Size of all collections in bytes.
    bytes: u64,
}

impl HeapWriter for &FileHeap {
    fn pointer(&mut self, out: &mut Vec<u8>, count: usize, value: &[u8]) -> Result<()> {
        use super::bytes::PutBytes as _;
        let (address, index) = self.keep(value)?;
        let too_long = |_| ErrorKind::BadType.context(format!("a value of {count} elements is too long"));
        out.u32(u32::try_from(count).map_err(too_long)?);
        out.u64(address);
        out.u32(index);
        Ok(())
    }
}

/// The element codec for variable length.
#[derive(Debug, Clone)]
pub(super) struct VlenCodec {
    pub(super) heap: Arc<FileHeap>,
    /// Defines the types.
    pub(super) model: Arc<Model>,
    pub(super) ty: NcType,
}

impl ElementCodec for VlenCodec {
    fn name(&self) -> &str {
        "hdf5-vlen"
    }

    fn to_json(&self) -> Json {
        Json::String(self.name().to_owned())
    }

    fn check(&self, element: &NcString) -> Result<()> {
        struct Nowhere;
        impl HeapWriter for Nowhere {
            fn pointer(&mut self, out: &mut Vec<u8>, _: usize, _: &[u8]) -> Result<()> {
                out.extend([0; super::datatype::POINTER]);
                Ok(())
            }
        }
        element::put(&self.model, self.ty, element, &mut Nowhere, &mut Vec::new())
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for element in elements {
            element::put(&self.model, self.ty, element, &mut &*self.heap, out)?;
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let size = stored_size(&self.model, self.ty)?;
        if count.checked_mul(size) != Some(src.len()) {
            let what = format!(
                "wrong chunk size (expected {count} elements of {size} bytes, found {} bytes)",
                src.len()
            );
            return Err(ErrorKind::Filter.context(what));
        }
        let mut reader = VlenReader { codec: self, read: CollectionCache::default(), left: limit };
        src.chunks_exact(size).map(|element| reader.element(element)).collect()
    }
}

/// Reads the elements of one chunk.
struct VlenReader<'c> {
    codec: &'c VlenCodec,
    read: CollectionCache,
    left: usize,
}

impl VlenReader<'_> {
    fn element(&mut self, stored: &[u8]) -> Result<NcString> {
        let codec = self.codec;
        let mut out = Packer::default();
        match codec.ty {
            NcType::String if address(stored) == 0 => return Ok(NcString::nil()),
            NcType::String => return Ok(self.value(stored)?.into()),
            ty if is_vlen(&codec.model, ty)? => {
                let value = self.value(stored)?;
                self.list(ty, &value, &mut out)?;
            }
            ty => self.part(ty, stored, &mut out)?,
        }
        Ok(out.finish())
    }

    /// Reads the value that a length and place lead to.
    fn value(&mut self, pointer: &[u8]) -> Result<Vec<u8>> {
        let address = address(pointer);
        if address == 0 {
            return Ok(Vec::new());
        }
        let value = self.codec.heap.value(address, number(pointer, 12), &mut self.read)?;
        let too_long = || ErrorKind::Filter.context("the values of a chunk need too much memory");
        self.left = self.left.checked_sub(value.len()).ok_or_else(too_long)?;
        Ok(value)
    }

    /// Packs a part of an element.
    fn part(&mut self, ty: NcType, stored: &[u8], out: &mut Packer) -> Result<()> {
        let model = &*self.codec.model;
        if model.is_fixed(ty)? {
            out.fixed(stored);
            return Ok(());
        }
        let NcType::User(id) = ty else {
            out.string(&self.value(stored)?);
            return Ok(());
        };
        match &model.user_type(id)?.class {
            TypeClass::Compound { fields, .. } => {
                let places = super::datatype::layout(model, id)?;
                for (field, offset) in fields.iter().zip(places.offsets) {
                    let size = stored_size(model, field.ty)?;
                    let count =
                        field.shape.iter().fold(1_usize, |count, &len| count.saturating_mul(len as usize));
                    for element in stored[offset..].chunks_exact(size).take(count) {
                        self.part(field.ty, element, out)?;
                    }
                }
                Ok(())
            }
            _ => {
                let value = self.value(stored)?;
                out.open();
                self.list(ty, &value, out)?;
                out.close();
                Ok(())
            }
        }
    }

    /// Packs the elements of a sequence.
    fn list(&mut self, ty: NcType, value: &[u8], out: &mut Packer) -> Result<()> {
        let NcType::User(id) = ty else { return Ok(()) };
        let TypeClass::Vlen { base } = self.codec.model.user_type(id)?.class else { return Ok(()) };
        let size = stored_size(&self.codec.model, base)?;
        value.chunks_exact(size).try_for_each(|element| self.part(base, element, out))
    }
}

/// Returns four bytes of a pointer as a number.
fn number(pointer: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(pointer[at..at + 4].try_into().unwrap_or_default())
}

/// Returns the address of a pointer's collection; 0 for none.
fn address(pointer: &[u8]) -> u64 {
    u64::from(number(pointer, 4)) | u64::from(number(pointer, 8)) << 32
}

fn is_vlen(model: &Model, ty: NcType) -> Result<bool> {
    let NcType::User(id) = ty else { return Ok(false) };
    Ok(matches!(model.user_type(id)?.class, TypeClass::Vlen { .. }))
}
