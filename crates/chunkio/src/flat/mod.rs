//! [`FlatArray`]: an array that lies in one piece in a file, or one record after another.
//!
//! It knows no chunks, no cache and no format: a slab becomes runs of bytes ([`layout`]), which are read ([`read`]) and
//! written ([`write`]) where they lie. What a file, a header or a record's other variables are, the driver knows.
//!
//! Read first: [`ByteStore`], [`FlatSpec`].

mod expected;
mod layout;
mod read;
mod write;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nczarr_dispatch::{DimVec, MemMut, MemRef, Options, OutBuf, ReadAhead, VarData, byte_len};
use nczarr_model::convert::{self, Linear};
use nczarr_model::{ErrorKind, NcType, Result, Slab};

use crate::ArrayDim;
use crate::kernel::{Convert, Layout};

use layout::Lie;

/// Bytes at offsets: a file, memory, an object.
pub trait ByteStore: Send + Sync + fmt::Debug {
    /// Appends bytes from `offset` on to `out`, at most [`OutBuf::room`]; fewer only where the store ends.
    ///
    /// # Errors
    /// What the storage says.
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()>;

    /// Writes all of `bytes` from `offset` on; the store grows as far as they reach.
    ///
    /// # Errors
    /// What the storage says.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Where the store ends.
    ///
    /// # Errors
    /// What the storage says.
    fn size(&self) -> Result<u64>;

    /// Up to where bytes can be read: where the store ends, or what follows that reads as zeros.
    ///
    /// # Errors
    /// What the storage says.
    fn reach(&self) -> Result<u64> {
        self.size()
    }

    /// How it is read, if it lies elsewhere: then it is better told before which ranges are wanted.
    fn ahead(&self) -> Option<&ReadAhead> {
        None
    }

    /// All bytes, if they lie in memory anyway and stay as they are.
    fn as_bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// What bytes beyond the end of the store are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Short {
    /// Lost: an error.
    #[default]
    Error,
    /// Zeros.
    Zeros,
}

/// All that is told of an array without chunks.
#[derive(Debug)]
pub struct FlatSpec {
    /// The variable's path, for errors.
    pub name: String,
    /// The dimensions, slowest first. Only the first may be unlimited, if there is a `record`; the others keep the
    /// lengths they have now.
    pub dims: Vec<ArrayDim>,
    /// The type of the elements: a number or [`NcType::Char`].
    pub ty: NcType,
    /// Whether an element's most significant byte comes first.
    pub big_endian: bool,
    /// Where the first element is.
    pub begin: u64,
    /// Bytes from one index of the first dimension to the next, if they do not follow one another.
    pub record: Option<u64>,
    /// Where the bytes are.
    pub store: Arc<dyn ByteStore>,
    /// Limits, threads, progress.
    pub options: Options,
    /// Whether it may be written.
    pub writable: bool,
    /// What bytes beyond the store's end are.
    pub short: Short,
}

/// An array that lies in one piece or one record after another, ready to be read and written by any number of threads.
///
/// Nothing is kept: what was written is in the store when the call returns, and reads see what the store holds.
#[derive(Debug)]
pub struct FlatArray {
    name: String,
    dims: Vec<ArrayDim>,
    /// Bytes from one index to the next along each dimension.
    steps: Vec<u64>,
    /// The lengths when it was made.
    lens: Vec<u64>,
    ty: NcType,
    layout: Layout,
    begin: u64,
    /// One past the last byte; `None` if there may be ever more records.
    end: Option<u64>,
    store: Arc<dyn ByteStore>,
    options: Options,
    writable: bool,
    short: Short,
}

/// No file is longer.
const LONGEST: u64 = i64::MAX as u64;

impl FlatArray {
    /// Checks sizes: everything must lie at offsets that a file can have.
    ///
    /// # Errors
    /// `NC_EBADTYPE` for elements that are no numbers; `NC_EMAXDIMS` for more dimensions than the limits allow;
    /// `NC_EINVAL` for unlimited dimensions that cannot grow here and records that overlap; `NC_EVARSIZE` for sizes
    /// beyond 63 bits.
    pub fn new(spec: FlatSpec) -> Result<Self> {
        let name = spec.name.clone();
        Self::checked(spec).map_err(|error| error.at(name))
    }

    fn checked(spec: FlatSpec) -> Result<Self> {
        let FlatSpec { name, dims, ty, big_endian, begin, record, store, options, writable, short } = spec;
        let item = ty.size().ok_or_else(|| ErrorKind::BadType.context(format!("elements of type {}", ty.name())))?;
        let rank = dims.len();
        if rank > options.limits.rank {
            return Err(
                ErrorKind::MaxDims.context(format!("{rank} dimensions, at most {} are allowed", options.limits.rank))
            );
        }
        if let Some(dim) = dims.iter().enumerate().position(|(at, dim)| dim.unlimited && (at > 0 || record.is_none())) {
            return Err(ErrorKind::Inval.context(format!("dimension {dim} is unlimited, and there are no records")));
        }
        let lens: Vec<u64> = dims.iter().map(|dim| dim.len.load(Ordering::Acquire)).collect();
        let too_large = || {
            let record = record.map_or(String::new(), |record| format!(", a record every {record} bytes"));
            ErrorKind::VarSize.context(format!("{lens:?} elements of {item} bytes from offset {begin}{record}"))
        };
        // An array without elements may have any other lengths.
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
                if dims[0].unlimited { None } else { Some(begin.saturating_add(record.saturating_mul(lens[0]))) }
            }
        };
        if begin > LONGEST || end.is_some_and(|end| end > LONGEST) {
            return Err(too_large());
        }
        let layout = Layout { item, planes: false, swap: big_endian != cfg!(target_endian = "big") };
        Ok(Self { name, dims, steps, lens, ty, layout, begin, end, store, options, writable, short })
    }

    /// Whether elements in the store are as they are in memory.
    fn is_native(&self) -> bool {
        self.layout.is_native() || self.layout.item == 1
    }

    fn len(&self, dim: usize) -> u64 {
        if self.dims[dim].unlimited { self.dims[dim].len.load(Ordering::Acquire) } else { self.lens[dim] }
    }

    /// Where a slab lies; `None` if it is empty. Nothing outside the array's own bytes passes here.
    fn lie(&self, slab: &Slab<'_>, writing: bool) -> Result<Option<Lie>> {
        let rank = self.dims.len();
        let mut shape = DimVec::<u64>::with_len(rank);
        for (dim, len) in shape.iter_mut().enumerate() {
            *len = self.len(dim);
        }
        slab.check(&shape, |dim| writing && self.dims[dim].unlimited).map_err(|error| error.at(&self.name))?;
        if slab.is_empty() {
            return Ok(None);
        }
        let lie = Lie::new(slab, self.begin, &self.steps, self.layout.item);
        let lie = lie.filter(|lie| lie.end() <= self.end.unwrap_or(LONGEST));
        let beyond = || {
            let (start, count) = (slab.start, slab.count);
            ErrorKind::VarSize.context(format!("{}: {count:?} elements from {start:?} on lie beyond it", self.name))
        };
        lie.ok_or_else(beyond).map(Some)
    }

    fn check_writable(&self) -> Result<()> {
        match self.writable {
            true => Ok(()),
            false => Err(ErrorKind::Perm.context(format!("{}: the dataset is read-only", self.name))),
        }
    }

    fn check_types(&self, from: NcType, to: NcType) -> Result<()> {
        convert::check(from, to).map_err(|error| error.at(&self.name))
    }

    fn check_memory(&self, slab: &Slab<'_>, memory: NcType, found: usize) -> Result<()> {
        let size = memory.size().ok_or_else(|| ErrorKind::BadType.context(format!("memory of type {}", memory.name())));
        let expected = byte_len(slab.len(), size?)?;
        if expected != found {
            return Err(
                ErrorKind::Inval.context(format!("{}: memory of {expected} bytes expected, {found} found", self.name))
            );
        }
        Ok(())
    }

    fn no_strings(&self) -> nczarr_model::Error {
        ErrorKind::Char.context(format!("{}: text and numbers do not convert to each other", self.name))
    }
}

/// The store is asked where it ends before it is read, if a slab has more bytes than this: less is no harm.
const LOOK: usize = 1 << 20;

impl VarData for FlatArray {
    fn check_readable(&self, slab: &Slab<'_>) -> Result<()> {
        let Some(lie) = self.lie(slab, false)? else { return Ok(()) };
        if self.short == Short::Zeros || lie.elems.saturating_mul(self.layout.item) <= LOOK {
            return Ok(());
        }
        let end = self.store.reach().map_err(|error| error.at(&self.name))?;
        match lie.end() > end {
            true => Err(ErrorKind::Trunc.context(format!(
                "{}: {} elements, the last of which ends at byte {}; the file ends at {end}",
                self.name,
                lie.elems,
                lie.end()
            ))),
            false => Ok(()),
        }
    }

    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else { return Err(self.no_strings()) };
        let lie = self.lie(slab, false)?;
        self.check_types(self.ty, ty)?;
        self.check_memory(slab, ty, out.capacity())?;
        let Some(lie) = lie else { return Ok(()) };
        read::get(self, &lie, Convert::reading(self.ty, ty)?, out)
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else { return Err(self.no_strings()) };
        let lie = self.lie(slab, false)?;
        let convert = Convert::scaling(self.ty, ty, linear).map_err(|error| error.at(&self.name))?;
        self.check_memory(slab, ty, out.capacity())?;
        lie.map_or(Ok(()), |lie| read::get(self, &lie, Some(convert), out))
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        self.check_writable()?;
        let MemRef::Fixed { ty, bytes } = data else { return Err(self.no_strings()) };
        let lie = self.lie(slab, true)?;
        self.check_types(ty, self.ty)?;
        self.check_memory(slab, ty, bytes.len())?;
        let Some(lie) = lie else { return Ok(()) };
        let result = write::put(self, &lie, ty, bytes);
        // A value out of range was written all the same, as everything else was.
        let accepted = result.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Range);
        if let Some(first) = self.dims.first().filter(|first| first.unlimited && accepted)
            && let Some(end) = slab.end(0)
        {
            first.len.fetch_max(end, Ordering::AcqRel);
        }
        result
    }
}
