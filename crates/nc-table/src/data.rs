//! Data calls of the dispatch table, including mapped access. The checks are in `access`.

use nczarr_model::{
    CheckedSlab, Error, ErrorKind, NcString, NcType, Result, Slab, VarId, gather_items, gather_mapped,
    scatter_items, scatter_mapped,
};

use crate::access::{VarAccess, VarShape};
use crate::define;
use nczarr_dispatch::{Dataset, MemMut, MemRef, byte_len, empty_strings, zeroed};
use nczarr_runtime::OutBuf;

/// Memory to read into, with caller-defined distances between elements.
#[derive(Debug)]
#[non_exhaustive]
pub enum MappedMut<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type.
        ty: NcType,
        /// The memory that holds all of them.
        bytes: &'a mut [u8],
    },
    /// Strings.
    Strings(&'a mut [NcString]),
}

/// Memory to write from, with caller-defined distances between elements.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum MappedRef<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type.
        ty: NcType,
        /// The memory that holds all of them.
        bytes: &'a [u8],
    },
    /// Strings.
    Strings(&'a [NcString]),
}

pub(crate) fn get<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    out: MemMut<'_, '_>,
) -> Result<()> {
    VarAccess::new(dataset, var)?.get(slab, out)
}

pub(crate) fn put<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    values: MemRef<'_>,
) -> Result<()> {
    let shape = VarShape::new(&dataset.model().snapshot(), var)?;
    put_checked(dataset, var, &shape, &shape.check(slab, true)?, values)
}

fn put_checked<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    shape: &VarShape,
    slab: &CheckedSlab<'_>,
    values: MemRef<'_>,
) -> Result<()> {
    shape.check_memory(slab.len(), values.ty(), values.size())?;
    // The data are opened after the definition is final.
    define::to_data_mode(dataset)?;
    let data = dataset.data(var).map_err(|error| shape.at(error))?;
    shape.put(&*data, slab, values)
}

fn get_checked<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    shape: &VarShape,
    slab: &CheckedSlab<'_>,
    out: MemMut<'_, '_>,
) -> Result<()> {
    let data = dataset.data(var).map_err(|error| shape.at(error))?;
    shape.get(&*data, slab, out)
}

/// A mapped access whose arguments were checked, before memory is allocated.
struct MappedAccess<'a> {
    shape: VarShape,
    slab: CheckedSlab<'a>,
    /// The distances between elements in memory.
    imap: Vec<i64>,
    /// The size of one element in memory.
    item: usize,
}

impl<'a> MappedAccess<'a> {
    fn new<D: Dataset + ?Sized>(
        dataset: &D,
        var: VarId,
        slab: &Slab<'a>,
        imap: Option<&[i64]>,
        memtype: NcType,
        write: bool,
    ) -> Result<Self> {
        let shape = VarShape::new(&dataset.model().snapshot(), var)?;
        if !memtype.is_atomic() {
            return Err(shape.at(ErrorKind::MapType.context("mapped access needs an atomic type")));
        }
        let slab = shape.check(slab, write)?;
        let item = shape.check_type(memtype)?;
        let imap = match imap {
            Some(imap) => imap.to_vec(),
            None => dense_imap(slab.count),
        };
        Ok(Self { shape, slab, imap, item })
    }
}

/// Returns the distances of adjacent elements in C order.
fn dense_imap(count: &[u64]) -> Vec<i64> {
    let mut imap = vec![0; count.len()];
    let mut step = 1i64;
    for (entry, &count) in imap.iter_mut().zip(count).rev() {
        *entry = step;
        step = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
    }
    imap
}

pub(crate) fn get_mapped<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    imap: Option<&[i64]>,
    out: MappedMut<'_>,
) -> Result<()> {
    let ty = match &out {
        MappedMut::Fixed { ty, .. } => *ty,
        MappedMut::Strings(_) => NcType::String,
    };
    let MappedAccess { shape, slab, imap, item } = MappedAccess::new(dataset, var, slab, imap, ty, false)?;
    let at = |error: Error| shape.at(error);
    match out {
        MappedMut::Fixed { ty, bytes } => {
            nczarr_model::check_imap(slab.count, &imap, bytes.len() / item).map_err(at)?;
            let mut dense = zeroed(byte_len(slab.len(), item)?)?;
            let mut out = OutBuf::from_slice(&mut dense);
            let outcome = get_checked(dataset, var, &shape, &slab, MemMut::Fixed { ty, out: &mut out });
            after_range(outcome, || scatter_mapped(slab.count, &imap, item, bytes, &dense).map_err(at))
        }
        MappedMut::Strings(strings) => {
            nczarr_model::check_imap(slab.count, &imap, strings.len()).map_err(at)?;
            let mut dense = empty_strings(byte_len(slab.len(), 1)?)?;
            let outcome = get_checked(dataset, var, &shape, &slab, MemMut::Strings(&mut dense));
            after_range(outcome, || scatter_items(slab.count, &imap, strings, &dense).map_err(at))
        }
    }
}

/// Continues after `NC_ERANGE`, which is reported after the transfer. Any other failure is final.
fn after_range(outcome: Result<()>, then: impl FnOnce() -> Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != ErrorKind::Range => Err(error),
        outcome => then().and(outcome),
    }
}

pub(crate) fn put_mapped<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    imap: Option<&[i64]>,
    data: MappedRef<'_>,
) -> Result<()> {
    let ty = match &data {
        MappedRef::Fixed { ty, .. } => *ty,
        MappedRef::Strings(_) => NcType::String,
    };
    let MappedAccess { shape, slab, imap, item } = MappedAccess::new(dataset, var, slab, imap, ty, true)?;
    let at = |error: Error| shape.at(error);
    match data {
        MappedRef::Fixed { ty, bytes } => {
            nczarr_model::check_imap(slab.count, &imap, bytes.len() / item).map_err(at)?;
            let mut dense = zeroed(byte_len(slab.len(), item)?)?;
            gather_mapped(slab.count, &imap, item, bytes, &mut dense).map_err(at)?;
            put_checked(dataset, var, &shape, &slab, MemRef::Fixed { ty, bytes: &dense })
        }
        MappedRef::Strings(strings) => {
            nczarr_model::check_imap(slab.count, &imap, strings.len()).map_err(at)?;
            let mut dense = empty_strings(byte_len(slab.len(), 1)?)?;
            gather_items(slab.count, &imap, strings, &mut dense).map_err(at)?;
            put_checked(dataset, var, &shape, &slab, MemRef::Strings(&dense))
        }
    }
}
