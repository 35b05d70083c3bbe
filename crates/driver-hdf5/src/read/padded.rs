//! [`PaddedVar`]: a variable that is shorter than its unlimited dimension and has no fill value of its own.
//!
//! Each HDF5 dataset has its own shape. Elements beyond that shape were never written. There netCDF-C reads
//! the default fill value. It ignores the dataset's fill value and the rest of the last chunk.

use std::sync::Arc;

use nczarr_dispatch::{CacheConfig, MemMut, VarData, byte_len};
use nczarr_model::{CheckedSlab, ErrorKind, NcString, NcType, Result, Slab, Values, convert};
use nczarr_runtime::{Buffer, OutBuf};

/// The data of a variable that is shorter than its dimensions.
#[derive(Debug)]
pub(super) struct PaddedVar {
    /// An array with the lengths of the dimensions. Beyond `own` its values are meaningless.
    pub(super) inner: Arc<dyn VarData>,
    /// The shape that the dataset has in the file.
    pub(super) own: Vec<u64>,
    /// One element: the value beyond `own`.
    pub(super) value: Values,
}

/// A run of elements of a slab, in order.
enum PaddingStep {
    /// The next elements are stored; their number.
    Stored(usize),
    /// The next elements lie beyond the stored ones; their number.
    Beyond(usize),
}

impl PaddedVar {
    /// Returns the number of selected indices of each dimension that lie inside the dataset's own shape.
    fn inside(&self, slab: &CheckedSlab<'_>) -> Vec<u64> {
        let stride = |dim: usize| slab.stride.map_or(1, |stride| stride[dim].max(1));
        let each = self.own.iter().enumerate().map(|(dim, &own)| {
            let room = own.saturating_sub(slab.start[dim]);
            room.div_ceil(stride(dim)).min(slab.count[dim])
        });
        each.collect()
    }

    /// Calls `then` for each run of elements of a slab, in order.
    fn steps(
        slab: &CheckedSlab<'_>,
        inside: &[u64],
        mut then: impl FnMut(PaddingStep) -> Result<()>,
    ) -> Result<()> {
        let Some(last) = inside.len().checked_sub(1) else { return Ok(()) };
        let (row, stored) = (slab.count[last] as usize, inside[last] as usize);
        let mut at = vec![0_u64; last];
        loop {
            let stored = if at.iter().zip(inside).all(|(at, inside)| at < inside) { stored } else { 0 };
            then(PaddingStep::Stored(stored))?;
            then(PaddingStep::Beyond(row - stored))?;
            let Some(next) = (0..last).rev().find(|&dim| at[dim] + 1 < slab.count[dim]) else {
                return Ok(());
            };
            at[next] += 1;
            at[next + 1..].fill(0);
        }
    }

    fn numbers(
        &self,
        slab: &CheckedSlab<'_>,
        inside: &[u64],
        ty: NcType,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        let (value, mut beyond) = convert::convert_values(&self.value, ty)?;
        let value = value.to_native_bytes().ok_or_else(|| ErrorKind::BadType.context(ty.name()))?;
        let part = Slab { count: inside, ..**slab };
        let mut found = None;
        if !part.is_empty() {
            let part = part.check(&self.own, |_| false)?;
            let len = byte_len(part.len(), value.len())?;
            let read = |out: &mut OutBuf<'_>| match self.inner.get(&part, MemMut::Fixed { ty, out }) {
                // A value out of range does not stop the transfer. It is reported at the end.
                Err(error) if error.kind() == ErrorKind::Range => {
                    beyond = true;
                    Ok(())
                }
                read => read,
            };
            found = Some(Buffer::<u8>::fill(len, read)?);
        }
        let mut rest = found.as_deref().unwrap_or_default();
        Self::steps(slab, inside, |step| match step {
            PaddingStep::Stored(count) => {
                let (row, after) = rest.split_at(count * value.len());
                rest = after;
                out.put(row)
            }
            PaddingStep::Beyond(count) => (0..count).try_for_each(|_| out.put(&value)),
        })?;
        if beyond {
            Err(ErrorKind::Range.context(format!("values that {} cannot hold", ty.name())))
        } else {
            Ok(())
        }
    }

    fn strings(&self, slab: &CheckedSlab<'_>, inside: &[u64], out: &mut [NcString]) -> Result<()> {
        let part = Slab { count: inside, ..**slab };
        let mut found =
            vec![NcString::new(); usize::try_from(part.len()).unwrap_or(usize::MAX).min(out.len())];
        if !part.is_empty() {
            self.inner.get(&part.check(&self.own, |_| false)?, MemMut::Strings(&mut found))?;
        }
        let (mut found, mut out) = (found.into_iter(), out.iter_mut());
        Self::steps(slab, inside, |step| {
            match step {
                PaddingStep::Stored(count) => {
                    out.by_ref().take(count).zip(&mut found).for_each(|(to, from)| *to = from)
                }
                PaddingStep::Beyond(count) => out.by_ref().take(count).for_each(|to| *to = NcString::new()),
            }
            Ok(())
        })
    }
}

impl VarData for PaddedVar {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let inside = self.inside(slab);
        if slab.is_empty() || inside == slab.count {
            return self.inner.get(slab, out);
        }
        match out {
            MemMut::Fixed { ty, out } => self.numbers(slab, &inside, ty, out),
            MemMut::Strings(strings) if strings.len() as u64 == slab.len() => {
                self.strings(slab, &inside, strings)
            }
            // The array reports the mismatch.
            out => self.inner.get(slab, out),
        }
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.inner.check_readable(slab)
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        // The value beyond the stored shape differs from the variable's fill value.
        Ok(self.inside(slab) == slab.count && self.inner.is_absent(slab)?)
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.inner.set_chunk_cache(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.inner.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}
