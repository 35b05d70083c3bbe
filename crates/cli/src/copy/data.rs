//! Copying the data, block by block.

use std::collections::HashMap;

use cdl::Blocks;
use model::{ErrorKind, Model, NcString, NcType, Result, Slab, VarId};
use nczarr::dispatch::{Dataset, NcDispatch as _};

use super::Broken;
use super::define::Copied;
use super::sparse::{Elements, Sparse};
use crate::source::DatasetSource;

/// About so many bytes are in memory at a time.
const BUDGET: u64 = 64 << 20;
/// What a string counts for.
const STRING: u64 = 64;

/// Copies the data of all variables.
///
/// # Errors
/// What reading and writing say, and on which side.
pub fn all(from: &dyn Dataset, to: &dyn Dataset, copied: &Copied) -> Result<(), Broken> {
    let model = from.model().snapshot();
    for (id, _) in model.vars() {
        var(from, to, &model, copied, id, copied.vars[id.index()])?;
    }
    // A dimension along which nothing was written has its length all the same.
    let target = to.model().snapshot();
    for (id, dim) in model.dims().filter(|(_, dim)| dim.unlimited) {
        target.dim(copied.dims[id.index()])?.grow(dim.len());
    }
    Ok(())
}

fn var(
    from: &dyn Dataset,
    to: &dyn Dataset,
    model: &Model,
    copied: &Copied,
    id: VarId,
    new: VarId,
) -> Result<(), Broken> {
    let shape = model.shape(id)?;
    if shape.contains(&0) {
        return Ok(());
    }
    let ty = model.var(id)?.xtype;
    let source = DatasetSource::new(from);
    let item = match ty {
        NcType::String => STRING,
        ty => source.item_size(ty)? as u64,
    };
    let data = from.data(id)?;
    let chunks = (to.data(new)?.chunk_shape(), data.chunk_shape());
    let sparse = Sparse::new(chunks.0.clone(), (model, id), (&to.model().snapshot(), new))?;
    // Strings have none, and their type is the same everywhere.
    let memory = if ty == NcType::String { ty } else { copied.ty(ty)? };
    for (start, count) in Tiles::new(&shape, &block(&shape, &chunks, item)) {
        let slab = Slab::new(&start, &count);
        let elements = match ty {
            NcType::String => source.strings(id, &slab).map(Elements::Strings),
            _ => source.bytes(id, &slab).map(|bytes| Elements::Bytes(item as usize, bytes)),
        };
        let elements = elements.map_err(Broken::Source)?;
        let present = match &sparse {
            None => None,
            Some(sparse) => sparse.present(&*data, &start, &count, &elements).map_err(Broken::Source)?,
        };
        let Some(parts) = present else {
            to.put_vara(new, &start, &count, elements.memory(memory))?;
            continue;
        };
        for ((start, count), elements) in parts {
            to.put_vara(new, &start, &count, elements.memory(memory))?;
        }
    }
    Ok(())
}

/// The shape in which data is moved: whole chunks of the target, and as far as the budget reaches whole chunks of the source.
fn block(shape: &[u64], (target, source): &(Option<Vec<u64>>, Option<Vec<u64>>), item: u64) -> Vec<u64> {
    let fits = |chunks: &Option<Vec<u64>>| chunks.clone().filter(|chunks| chunks.len() == shape.len());
    let bytes = |block: &[u64]| block.iter().fold(item, |product, &len| product.saturating_mul(len));
    let mut block = fits(target).unwrap_or_else(|| vec![1; shape.len()]);
    for (len, &most) in block.iter_mut().zip(shape) {
        *len = (*len).clamp(1, most.max(1));
    }
    // First along the dimensions in which a chunk of the source is longer, so that each is decoded once; then along the
    // fastest dimension.
    let goals = [fits(source).unwrap_or_else(|| block.clone()), shape.to_vec()];
    for goal in goals {
        for dim in (0..block.len()).rev() {
            let times = (BUDGET / bytes(&block).max(1)).min(goal[dim].div_ceil(block[dim])).max(1);
            block[dim] = block[dim].saturating_mul(times).min(shape[dim]);
        }
    }
    // A single chunk beyond the budget is moved in parts.
    for dim in 0..block.len() {
        while bytes(&block) > BUDGET && block[dim] > 1 {
            block[dim] = block[dim].div_ceil(2);
        }
    }
    block
}

/// All blocks of an array, in C order, as start and count.
pub struct Tiles {
    shape: Vec<u64>,
    block: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl Tiles {
    pub fn new(shape: &[u64], block: &[u64]) -> Self {
        Self { shape: shape.to_vec(), block: block.to_vec(), next: Some(vec![0; shape.len()]) }
    }
}

impl Iterator for Tiles {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let rest = self.shape.iter().zip(&start).map(|(len, start)| len - start);
        let count = self.block.iter().zip(rest).map(|(&block, rest)| block.min(rest)).collect();
        let mut next = start.clone();
        for dim in (0..next.len()).rev() {
            next[dim] = next[dim].saturating_add(self.block[dim]);
            if next[dim] < self.shape[dim] {
                self.next = Some(next);
                break;
            }
            next[dim] = 0;
        }
        Some((start, count))
    }
}

/// The length of the longest string of each string variable, in bytes.
///
/// # Errors
/// What reading says.
pub fn longest_strings(from: &dyn Dataset, model: &Model) -> Result<HashMap<VarId, usize>> {
    let source = DatasetSource::new(from);
    let mut lengths = HashMap::new();
    for (id, var) in model.vars().filter(|(_, var)| var.xtype == NcType::String) {
        let shape = model.shape(id)?;
        let fill = var.fill_value();
        let mut longest = match &fill {
            Some(model::Values::String(fill)) => fill.iter().map(length).max().unwrap_or(0),
            _ => 0,
        };
        if !shape.contains(&0) {
            let chunks = from.data(id)?.chunk_shape();
            for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / STRING) {
                let strings = source.strings(id, &Slab::new(&start, &count))?;
                longest = strings.iter().map(length).max().unwrap_or(0).max(longest);
            }
        }
        if lengths.insert(id, longest).is_some() {
            return Err(ErrorKind::Internal.context("a variable is listed twice"));
        }
    }
    Ok(lengths)
}

fn length(string: &NcString) -> usize {
    string.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_are_whole_chunks_of_the_target() {
        for (shape, target, source, item, want) in [
            (vec![10, 10], Some(vec![3, 4]), None, 8, vec![10, 10]),
            (vec![1 << 20, 1 << 12], Some(vec![16, 1 << 12]), Some(vec![16, 1 << 12]), 8, vec![2048, 1 << 12]),
            (vec![1 << 12, 1 << 20], Some(vec![16, 1 << 10]), Some(vec![64, 1 << 8]), 4, vec![64, 1 << 18]),
            (vec![1 << 20, 1 << 20], Some(vec![1 << 20, 1 << 20]), None, 8, vec![8, 1 << 20]),
            (vec![], None, None, 8, vec![]),
            (vec![5], Some(vec![100]), None, 8, vec![5]),
        ] {
            assert_eq!(block(&shape, &(target.clone(), source.clone()), item), want, "{shape:?} {target:?} {source:?}");
        }
    }

    proptest! {
        #[test]
        fn tiles_cover_every_element_once(dims in prop::collection::vec((1u64..6, 1u64..4), 0..5)) {
            let (shape, block): (Vec<u64>, Vec<u64>) = dims.into_iter().unzip();
            let mut seen = vec![0u32; shape.iter().product::<u64>() as usize];
            for (start, count) in Tiles::new(&shape, &block) {
                for at in 0..count.iter().product::<u64>() {
                    let (mut rest, mut flat, mut scale) = (at, 0, 1);
                    for dim in (0..shape.len()).rev() {
                        flat += (start[dim] + rest % count[dim]) * scale;
                        rest /= count[dim];
                        scale *= shape[dim];
                    }
                    seen[flat as usize] += 1;
                }
            }
            prop_assert!(seen.iter().all(|&times| times == 1));
        }
    }
}
