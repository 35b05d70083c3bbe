//! [`FlatArray`]: a contiguous array in a file, or one with a fixed distance between records.
//!
//! It knows no chunks, cache or format. A slab becomes runs of bytes ([`slab_layout`]) that are read
//! ([`read`]) and written ([`write`]) in place. The driver knows files, headers and other variables of a
//! record.
//!
//! Read first: [`ByteStore`], [`FlatSpec`].

mod announce;
mod read;
mod slab_layout;
mod write;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nczarr_dispatch::{MemMut, MemRef, Options, VarData, byte_len};
use nczarr_model::convert::{self, Linear};
use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result, Slab};
use nczarr_runtime::{DimVec, OutBuf};
use nczarr_storage::source::ReadAhead;

use crate::ArrayDim;
use crate::kernel::{ChunkLayout, Convert};

use slab_layout::SlabLayout;

/// Bytes at offsets: a file, memory, an object.
pub trait ByteStore: Send + Sync + fmt::Debug {
    /// Appends bytes from `offset` on to `out`, until `out` is full or the store ends.
    ///
    /// # Errors
    /// The storage's error.
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()>;

    /// Writes all of `bytes` at `offset`; the store grows if needed.
    ///
    /// # Errors
    /// The storage's error.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Returns the length of the store.
    ///
    /// # Errors
    /// The storage's error.
    fn size(&self) -> Result<u64>;

    /// Returns the length that can be read: that of the store, or more if the following bytes read as zeros.
    ///
    /// # Errors
    /// The storage's error.
    fn readable_len(&self) -> Result<u64> {
        self.size()
    }

    /// Returns the read-ahead of a remote store. Ranges are announced to it before they are read.
    fn read_ahead(&self) -> Option<&ReadAhead> {
        None
    }

    /// Returns all bytes, if they are in memory and do not change.
    fn as_bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// The meaning of bytes beyond the end of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BeyondEnd {
    /// They are lost: an error.
    #[default]
    Error,
    /// Zeros.
    Zeros,
}

/// The description of a contiguous array.
#[derive(Debug)]
pub struct FlatSpec {
    /// The variable's path, for errors.
    pub name: String,
    /// The dimensions, slowest first. With `record` the first may be unlimited. The others keep their current
    /// lengths.
    pub dims: Vec<ArrayDim>,
    /// The type of the elements: a number or [`NcType::Char`].
    pub ty: NcType,
    /// Whether an element's most significant byte comes first.
    pub big_endian: bool,
    /// The offset of the first element.
    pub begin: u64,
    /// The bytes between indices of the first dimension, if they are not adjacent.
    pub record: Option<u64>,
    /// The storage of the bytes.
    pub store: Arc<dyn ByteStore>,
    /// Limits, threads, progress.
    pub options: Options,
    /// Whether it is writable.
    pub writable: bool,
    /// The meaning of bytes beyond the end of the store.
    pub beyond_end: BeyondEnd,
}

/// A contiguous array, or one with records at a fixed distance, for any number of threads.
///
/// Nothing is cached: writes are in the store when the call returns, and reads see the store.
#[derive(Debug)]
pub struct FlatArray {
    name: String,
    dims: Vec<ArrayDim>,
    /// The distance between indices along each dimension, in bytes.
    steps: Vec<u64>,
    /// The lengths at creation.
    lens: Vec<u64>,
    ty: NcType,
    layout: ChunkLayout,
    begin: u64,
    /// The offset after the last byte; `None` if records may be added.
    end: Option<u64>,
    store: Arc<dyn ByteStore>,
    options: Options,
    writable: bool,
    short: BeyondEnd,
}

/// The maximum length of a file.
const LONGEST: u64 = i64::MAX as u64;

impl FlatArray {
    /// Checks that all offsets are valid in a file.
    ///
    /// # Errors
    /// `NC_EBADTYPE` for elements that are not numbers; `NC_EMAXDIMS` for too many dimensions; `NC_EINVAL`
    /// for unlimited dimensions that cannot grow and for overlapping records; `NC_EVARSIZE` for sizes beyond
    /// 63 bits.
    pub fn new(spec: FlatSpec) -> Result<Self> {
        let name = spec.name.clone();
        Self::checked(spec).map_err(|error| error.at(name))
    }

    fn checked(spec: FlatSpec) -> Result<Self> {
        let FlatSpec {
            name,
            dims,
            ty,
            big_endian,
            begin,
            record,
            store,
            options,
            writable,
            beyond_end: short,
        } = spec;
        let item =
            ty.size().ok_or_else(|| ErrorKind::BadType.context(format!("elements of type {}", ty.name())))?;
        let rank = dims.len();
        if rank > options.limits.rank {
            return Err(ErrorKind::MaxDims.context(format!(
                "too many dimensions (expected at most {}, found {rank})",
                options.limits.rank
            )));
        }
        if let Some(dim) =
            dims.iter().enumerate().position(|(at, dim)| dim.unlimited && (at > 0 || record.is_none()))
        {
            return Err(ErrorKind::Inval.context(format!("dimension {dim}: unlimited without records")));
        }
        let lens: Vec<u64> = dims.iter().map(|dim| dim.len.load(Ordering::Acquire)).collect();
        let too_large = || {
            let record = record.map_or(String::new(), |record| format!(", a record every {record} bytes"));
            ErrorKind::VarSize
                .context(format!("{lens:?} elements of {item} bytes from offset {begin}{record}"))
        };
        // An empty array may have any other lengths.
        let inner = if record.is_some() { lens.get(1..).unwrap_or(&[]) } else { &*lens };
        let empty = inner.contains(&0);
        let mut steps = vec![0; rank];
        let mut bytes = item as u64;
        for dim in (0..rank).rev() {
            steps[dim] = bytes;
            bytes = match bytes.checked_mul(lens[dim]) {
                Some(bytes) => bytes,
                None if empty || (dim == 0 && record.is_some()) => 0,
                None => return Err(too_large()),
            };
        }
        let end = match (record, steps.first_mut()) {
            (None, _) => Some(if empty { begin } else { begin.checked_add(bytes).ok_or_else(too_large)? }),
            (Some(_), None) => return Err(ErrorKind::Inval.context("records of an array without dimensions")),
            (Some(record), Some(step)) => {
                if record < *step && !empty {
                    return Err(ErrorKind::Inval.context(format!("{step} bytes in a record of {record}")));
                }
                *step = record;
                if dims[0].unlimited {
                    None
                } else {
                    Some(begin.saturating_add(record.saturating_mul(lens[0])))
                }
            }
        };
        if begin > LONGEST || end.is_some_and(|end| end > LONGEST) {
            return Err(too_large());
        }
        let layout = ChunkLayout { item, planes: false, swap: big_endian != cfg!(target_endian = "big") };
        Ok(Self { name, dims, steps, lens, ty, layout, begin, end, store, options, writable, short })
    }

    /// Whether elements have the same form in the store and in memory.
    fn is_native(&self) -> bool {
        self.layout.is_native() || self.layout.item == 1
    }

    fn len(&self, dim: usize) -> u64 {
        if self.dims[dim].unlimited { self.dims[dim].len.load(Ordering::Acquire) } else { self.lens[dim] }
    }

    /// Checks a hyperslab to read, for owners of an array that form their own hyperslabs.
    ///
    /// # Errors
    /// As [`Slab::check`].
    pub fn check_read<'s>(&self, slab: &Slab<'s>) -> Result<CheckedSlab<'s>> {
        self.check(slab, false)
    }

    /// As [`FlatArray::check_read`], for a write, which may extend an unlimited dimension.
    ///
    /// # Errors
    /// As [`Slab::check`].
    pub fn check_write<'s>(&self, slab: &Slab<'s>) -> Result<CheckedSlab<'s>> {
        self.check(slab, true)
    }

    fn check<'s>(&self, slab: &Slab<'s>, writing: bool) -> Result<CheckedSlab<'s>> {
        let shape: DimVec<u64> = (0..self.dims.len()).map(|dim| self.len(dim)).collect();
        let may_grow = |dim: usize| writing && self.dims[dim].unlimited;
        slab.check(&shape, may_grow).map_err(|error| error.at(&self.name))
    }

    /// Returns the layout of a slab; `None` if it is empty. Offsets outside the array are an error.
    fn locate(&self, slab: &CheckedSlab<'_>) -> Result<Option<SlabLayout>> {
        debug_assert!(self.check_write(slab).is_ok(), "{slab:?} of another array");
        if slab.is_empty() {
            return Ok(None);
        }
        let lie = SlabLayout::new(slab, self.begin, &self.steps, self.layout.item);
        let lie = lie.filter(|lie| lie.end() <= self.end.unwrap_or(LONGEST));
        let beyond = || {
            let (start, count) = (slab.start, slab.count);
            ErrorKind::VarSize
                .context(format!("{}: {count:?} elements from {start:?} exceed the variable", self.name))
        };
        lie.ok_or_else(beyond).map(Some)
    }

    fn check_writable(&self) -> Result<()> {
        if self.writable {
            Ok(())
        } else {
            Err(ErrorKind::Perm.context(format!("{}: the dataset is read-only", self.name)))
        }
    }

    fn check_types(&self, from: NcType, to: NcType) -> Result<()> {
        convert::check(from, to).map_err(|error| error.at(&self.name))
    }

    fn check_memory(&self, slab: &Slab<'_>, memory: NcType, found: usize) -> Result<()> {
        let size = memory
            .size()
            .ok_or_else(|| ErrorKind::BadType.context(format!("memory of type {}", memory.name())));
        let expected = byte_len(slab.len(), size?)?;
        if expected != found {
            return Err(ErrorKind::Inval.context(format!(
                "{}: wrong size of memory (expected {expected} bytes, found {found})",
                self.name
            )));
        }
        Ok(())
    }

    fn no_strings(&self) -> nczarr_model::Error {
        ErrorKind::Char.context(format!("{}: text and numbers do not convert to each other", self.name))
    }
}

/// The length of the store is checked before larger reads; smaller ones need no check.
const LOOK: usize = 1 << 20;

impl VarData for FlatArray {
    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        let Some(lie) = self.locate(slab)? else { return Ok(()) };
        if self.short == BeyondEnd::Zeros || lie.elems.saturating_mul(self.layout.item) <= LOOK {
            return Ok(());
        }
        let end = self.store.readable_len().map_err(|error| error.at(&self.name))?;
        if lie.end() > end {
            Err(ErrorKind::Trunc.context(format!(
                "{}: {} elements that end at byte {}: beyond the end of the file at {end}",
                self.name,
                lie.elems,
                lie.end()
            )))
        } else {
            Ok(())
        }
    }

    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else { return Err(self.no_strings()) };
        let lie = self.locate(slab)?;
        self.check_types(self.ty, ty)?;
        self.check_memory(slab, ty, out.capacity())?;
        let Some(lie) = lie else { return Ok(()) };
        read::get(self, &lie, Convert::reading(self.ty, ty)?, out)
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else { return Err(self.no_strings()) };
        let lie = self.locate(slab)?;
        let convert = Convert::scaling(self.ty, ty, linear).map_err(|error| error.at(&self.name))?;
        self.check_memory(slab, ty, out.capacity())?;
        lie.map_or(Ok(()), |lie| read::get(self, &lie, Some(convert), out))
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        self.check_writable()?;
        let MemRef::Fixed { ty, bytes } = data else { return Err(self.no_strings()) };
        let lie = self.locate(slab)?;
        self.check_types(ty, self.ty)?;
        self.check_memory(slab, ty, bytes.len())?;
        let Some(lie) = lie else { return Ok(()) };
        let result = write::put(self, &lie, ty, bytes);
        // A value out of range does not stop the write.
        let accepted = result.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Range);
        if let Some(first) = self.dims.first().filter(|first| first.unlimited && accepted) {
            first.len.fetch_max(slab.end(0), Ordering::AcqRel);
        }
        result
    }
}
