//! `--jobs`: the number of threads of a copy, limited by `--memory`.
//!
//! A reading thread holds one chunk stored and decoded, a writing thread one decoded and encoded. Half of the
//! requested memory is for these chunks, the other half for the block in transit.

use nczarr::File;
use nczarr::storage::threads;
use nczarr_model::{Model, Result, VarId};

use super::args::CopyArgs;
use super::plan::bytes_of;
use super::select::Selection;
use super::spec::RequestedLayout;
use crate::failure::Failure;

/// Chunks per thread in memory.
const HELD: u64 = 2;

/// Makes the global thread pool, before any use of it.
///
/// # Errors
///
/// If the system cannot start the threads.
pub fn pool(jobs: Option<usize>) -> Result<(), Failure> {
    let Some(jobs) = jobs else { return Ok(()) };
    let made = rayon_core::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    made.map_err(|error| Failure::Usage(format!("--jobs {jobs}: {error}")))
}

/// Returns the number of threads at work: the requested one, or fewer if `--memory` is too small for that.
/// `None`: all.
///
/// # Errors
///
/// Errors of the dataset's metadata.
pub fn within(
    args: &CopyArgs,
    source: &File,
    layout: &RequestedLayout,
    select: &Selection,
) -> Result<Option<usize>> {
    let Some(memory) = args.memory else { return Ok(args.jobs) };
    let model = source.model();
    let mut most = 1;
    for (id, _) in model.vars().filter(|(id, _)| select.has_data(&model, *id)) {
        most = most.max(chunks(&model, source, layout, id)?);
    }
    let fit = usize::try_from(memory / 2 / most.saturating_mul(HELD)).unwrap_or(usize::MAX).max(1);
    let all = args.jobs.unwrap_or_else(threads::cpu_count);
    Ok(if fit < all { Some(fit) } else { args.jobs })
}

/// Returns the size of a variable's storage unit, in bytes: the larger one of source and target.
fn chunks(model: &Model, source: &File, layout: &RequestedLayout, id: VarId) -> Result<u64> {
    let (var, shape) = (model.var(id)?, model.shape(id)?);
    let elements = shape.iter().fold(1u64, |product, &len| product.saturating_mul(len.max(1)));
    let item = (bytes_of(model, id) / elements).max(1);
    let bytes = |chunk: &[u64]| {
        // At most the array, whose single chunk may be longer.
        let lens = chunk.iter().zip(&shape).map(|(&chunk, &len)| chunk.min(len.max(1)));
        lens.fold(item, |product, len| product.saturating_mul(len.max(1)))
    };
    let stored = source.dataset().data(id)?.chunk_shape().filter(|chunk| chunk.len() == shape.len());
    let target = layout.chunks(id, &var.dims, stored.as_deref().unwrap_or(&shape)).or_else(|| stored.clone());
    let shards = target.as_ref().and_then(|chunk| layout.shards(id, var, &shape, chunk, item));
    let all = [stored, target, shards];
    Ok(all.iter().flatten().map(|chunk| bytes(chunk)).max().unwrap_or(0))
}
