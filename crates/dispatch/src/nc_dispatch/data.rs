//! Data calls: the checks every access passes once, and mapped access.

use model::{
    Error, ErrorKind, Model, NcString, NcType, Result, Slab, VarId, convert, gather_items, gather_mapped,
    scatter_items, scatter_mapped,
};

use super::define;
use crate::{Dataset, MemMut, MemRef, OutBuf, byte_len, trace};

/// Memory to read into whose elements lie at distances of the caller's choosing.
#[derive(Debug)]
#[non_exhaustive]
pub enum MappedMut<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type.
        ty: NcType,
        /// Memory in which all of them lie.
        bytes: &'a mut [u8],
    },
    /// Strings.
    Strings(&'a mut [NcString]),
}

/// Memory to write from whose elements lie at distances of the caller's choosing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum MappedRef<'a> {
    /// Elements of a type of fixed size.
    Fixed {
        /// Their type.
        ty: NcType,
        /// Memory in which all of them lie.
        bytes: &'a [u8],
    },
    /// Strings.
    Strings(&'a [NcString]),
}

pub(super) fn get<D: Dataset + ?Sized>(dataset: &D, var: VarId, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
    let len = match &out {
        MemMut::Fixed { out, .. } => out.capacity(),
        MemMut::Strings(strings) => strings.len(),
    };
    let model = dataset.model().snapshot();
    check(&model, var, slab, out.ty(), len, false)?;
    trace::timed("get", &|| path(&model, var), || {
        dataset.data(var)?.get(slab, out).map_err(|error| error.at(path(&model, var)))
    })
}

pub(super) fn put<D: Dataset + ?Sized>(dataset: &D, var: VarId, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
    let len = match &data {
        MemRef::Fixed { bytes, .. } => bytes.len(),
        MemRef::Strings(strings) => strings.len(),
    };
    let model = dataset.model().snapshot();
    check(&model, var, slab, data.ty(), len, true)?;
    define::to_data_mode(dataset)?;
    trace::timed("put", &|| path(&model, var), || {
        dataset.data(var)?.put(slab, data).map_err(|error| error.at(path(&model, var)))
    })
}

fn path(model: &Model, var: VarId) -> String {
    model.var_path(var).unwrap_or_default()
}

/// Checks slab, types and the size of the memory: `len` bytes, or strings.
fn check(model: &Model, id: VarId, slab: &Slab<'_>, memtype: NcType, len: usize, write: bool) -> Result<()> {
    let at = |error: Error| error.at(path(model, id));
    let var = model.var(id)?;
    let mut unlimited = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        unlimited.push(write && model.dim(dim)?.unlimited);
    }
    slab.check(&model.shape(id)?, |dim| unlimited.get(dim).copied().unwrap_or(false)).map_err(at)?;
    convert::check(var.xtype, memtype).map_err(at)?;
    let item = item_size(model, memtype).map_err(at)?;
    let wanted = byte_len(slab.len(), item).map_err(at)?;
    if wanted != len {
        return Err(at(ErrorKind::Inval.context(format!(
            "{} elements of type {} take {wanted}, the memory has {len}",
            slab.len(),
            memtype.name()
        ))));
    }
    Ok(())
}

/// Bytes of one element of memory; for strings 1, since those are counted.
fn item_size(model: &Model, memtype: NcType) -> Result<usize> {
    match memtype {
        NcType::String => Ok(1),
        ty => model.type_size(ty)?.ok_or_else(|| {
            ErrorKind::BadType.context(format!("elements of type {} have no fixed size in memory", ty.name()))
        }),
    }
}

/// What a mapped access needs: the distances, and the size of one element.
fn mapped(model: &Model, slab: &Slab<'_>, imap: Option<&[i64]>, memtype: NcType) -> Result<(Vec<i64>, usize)> {
    if !memtype.is_atomic() {
        return Err(ErrorKind::MapType.context("mapped access needs an atomic type"));
    }
    let imap = match imap {
        Some(imap) => imap.to_vec(),
        None => dense_imap(slab.count),
    };
    Ok((imap, item_size(model, memtype)?))
}

/// The distances of elements that lie one after another in C order.
fn dense_imap(count: &[u64]) -> Vec<i64> {
    let mut imap = vec![0; count.len()];
    let mut step = 1i64;
    for (entry, &count) in imap.iter_mut().zip(count).rev() {
        *entry = step;
        step = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
    }
    imap
}

pub(super) fn get_mapped<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    imap: Option<&[i64]>,
    out: MappedMut<'_>,
) -> Result<()> {
    let model = dataset.model().snapshot();
    let at = |error: Error| error.at(path(&model, var));
    let ty = match &out {
        MappedMut::Fixed { ty, .. } => *ty,
        MappedMut::Strings(_) => NcType::String,
    };
    let (imap, item) = mapped(&model, slab, imap, ty).map_err(at)?;
    // Everything is checked before memory is made for a slab that may be no slab of this variable.
    check(&model, var, slab, ty, byte_len(slab.len(), item)?, false)?;
    match out {
        MappedMut::Fixed { ty, bytes } => {
            model::check_imap(slab.count, &imap, bytes.len() / item).map_err(at)?;
            let mut dense = zeroed(byte_len(slab.len(), item)?)?;
            let outcome = get(dataset, var, slab, MemMut::Fixed { ty, out: &mut OutBuf::over(&mut dense) });
            after_range(outcome, || scatter_mapped(slab.count, &imap, item, bytes, &dense).map_err(at))
        }
        MappedMut::Strings(strings) => {
            model::check_imap(slab.count, &imap, strings.len()).map_err(at)?;
            let mut dense = empty_strings(byte_len(slab.len(), 1)?)?;
            let outcome = get(dataset, var, slab, MemMut::Strings(&mut dense));
            after_range(outcome, || scatter_items(slab.count, &imap, strings, &dense).map_err(at))
        }
    }
}

/// Goes on after `NC_ERANGE`, which is reported when all is transferred; any other failure is final.
fn after_range(outcome: Result<()>, then: impl FnOnce() -> Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != ErrorKind::Range => Err(error),
        outcome => then().and(outcome),
    }
}

pub(super) fn put_mapped<D: Dataset + ?Sized>(
    dataset: &D,
    var: VarId,
    slab: &Slab<'_>,
    imap: Option<&[i64]>,
    data: MappedRef<'_>,
) -> Result<()> {
    let model = dataset.model().snapshot();
    let at = |error: Error| error.at(path(&model, var));
    let ty = match &data {
        MappedRef::Fixed { ty, .. } => *ty,
        MappedRef::Strings(_) => NcType::String,
    };
    let (imap, item) = mapped(&model, slab, imap, ty).map_err(at)?;
    check(&model, var, slab, ty, byte_len(slab.len(), item)?, true)?;
    match data {
        MappedRef::Fixed { ty, bytes } => {
            model::check_imap(slab.count, &imap, bytes.len() / item).map_err(at)?;
            let mut dense = zeroed(byte_len(slab.len(), item)?)?;
            gather_mapped(slab.count, &imap, item, bytes, &mut dense).map_err(at)?;
            put(dataset, var, slab, MemRef::Fixed { ty, bytes: &dense })
        }
        MappedRef::Strings(strings) => {
            model::check_imap(slab.count, &imap, strings.len()).map_err(at)?;
            let mut dense = empty_strings(byte_len(slab.len(), 1)?)?;
            gather_items(slab.count, &imap, strings, &mut dense).map_err(at)?;
            put(dataset, var, slab, MemRef::Strings(&dense))
        }
    }
}

/// Zeros, or `NC_ENOMEM` instead of the end of the program.
pub(super) fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(bytes)
        .map_err(|error| ErrorKind::NoMem.context(format!("{bytes} bytes")).caused_by(error))?;
    memory.resize(bytes, 0);
    Ok(memory)
}

fn empty_strings(count: usize) -> Result<Vec<NcString>> {
    let mut strings = Vec::new();
    strings
        .try_reserve_exact(count)
        .map_err(|error| ErrorKind::NoMem.context(format!("{count} strings")).caused_by(error))?;
    strings.resize(count, NcString::new());
    Ok(strings)
}
