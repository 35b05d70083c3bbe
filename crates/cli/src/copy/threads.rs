//! `--jobs`: how many threads a copy uses, and how many fit into `--memory`.
//!
//! Each thread that reads holds a chunk as it is stored and as it is decoded, and each that writes as it is decoded and as it is
//! encoded. Half of the memory that was asked for is for that; the other half is for the block that is moved.

use nczarr::{File, dispatch};
use nczarr_model::{Model, Result, VarId};

use super::plan::bytes_of;
use super::select::Selection;
use super::spec::Layout;
use crate::args::Copy;
use crate::failure::Failure;

/// Chunks that a thread holds at a time.
const HELD: u64 = 2;

/// Makes the pool that all work is done in, before anything uses it.
///
/// # Errors
/// If there cannot be so many threads.
pub fn pool(jobs: Option<usize>) -> Result<(), Failure> {
    let Some(jobs) = jobs else { return Ok(()) };
    let made = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    made.map_err(|error| Failure::Usage(format!("--jobs {jobs}: {error}")))
}

/// How many threads work at a time: those that were asked for, or fewer, if `--memory` is too small for that. `None`: all.
///
/// # Errors
/// What the dataset says of itself.
pub fn within(args: &Copy, source: &File, layout: &Layout, select: &Selection) -> Result<Option<usize>> {
    let Some(memory) = args.memory else { return Ok(args.jobs) };
    let model = source.model();
    let mut most = 1;
    for (id, _) in model.vars().filter(|(id, _)| select.has_data(&model, *id)) {
        most = most.max(chunks(&model, source, layout, id)?);
    }
    let fit = usize::try_from(memory / 2 / most.saturating_mul(HELD)).unwrap_or(usize::MAX).max(1);
    let all = args.jobs.unwrap_or_else(dispatch::cpu_count);
    Ok(if fit < all { Some(fit) } else { args.jobs })
}

/// Bytes of the larger of what is stored as one for a variable in the source and what will be in the target.
fn chunks(model: &Model, source: &File, layout: &Layout, id: VarId) -> Result<u64> {
    let (var, shape) = (model.var(id)?, model.shape(id)?);
    let elements = shape.iter().fold(1u64, |product, &len| product.saturating_mul(len.max(1)));
    let item = (bytes_of(model, id) / elements).max(1);
    let bytes = |chunk: &[u64]| {
        // No longer than the array, which may have one chunk for all it will ever be.
        let lens = chunk.iter().zip(&shape).map(|(&chunk, &len)| chunk.min(len.max(1)));
        lens.fold(item, |product, len| product.saturating_mul(len.max(1)))
    };
    let stored = source.dataset().data(id)?.chunk_shape().filter(|chunk| chunk.len() == shape.len());
    let target = layout.chunks(id, &var.dims, stored.as_deref().unwrap_or(&shape)).or_else(|| stored.clone());
    let shards = target.as_ref().and_then(|chunk| layout.shards(id, var, &shape, chunk, item));
    let all = [stored, target, shards];
    Ok(all.iter().flatten().map(|chunk| bytes(chunk)).max().unwrap_or(0))
}
