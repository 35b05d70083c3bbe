//! [`extend`]: computes the shape of a virtual dataset with unlimited mappings, from its sources.

use std::collections::HashMap;

use nczarr_model::Result;

use super::super::cursor::damaged;
use super::super::file::HdfFile;
use super::super::messages::{DataLayout, Dataspace};
use super::find::{self, Nesting};
use super::mapping::{SourceName, VirtualMapping};
use super::selection::SelectionAxis;

/// Sets the shape of a virtual dataset with unlimited mappings to that of the available data. It may be
/// longer or shorter than the stored shape.
///
/// # Errors
/// `NC_EHDFERR` if mappings or sources are damaged, or if the data exceed the maximum shape; I/O errors.
pub(crate) fn extend(
    file: &HdfFile,
    layout: &DataLayout,
    space: &mut Dataspace,
    nest: &Nesting,
) -> Result<()> {
    let (&DataLayout::Virtual(address, index), Some(dims)) = (layout, &mut space.dims) else { return Ok(()) };
    let list = VirtualMapping::list(file, address, index)?;
    if list.iter().all(|mapping| mapping.target.unlimited().is_none()) {
        return Ok(());
    }
    let mut sources = SourceLengths { file, nest, known: HashMap::new() };
    let (mut least, mut found) = (vec![0; dims.len()], vec![None; dims.len()]);
    let mut blocks = vec![0; list.len()];
    for (mapping, blocks) in list.iter().zip(&mut blocks) {
        for (least, end) in least.iter_mut().zip(mapping.target.bounds()) {
            *least = end.unwrap_or(0).max(*least);
        }
        let Some((dim, axis)) = mapping.target.unlimited() else { continue };
        let last = match mapping.source.unlimited() {
            Some((along, source)) => {
                let len = sources.len(&mapping.names.of_block(0), along)?;
                source.slices(len.unwrap_or(0)).checked_sub(1).map(|last| axis.at(last))
            }
            None => {
                *blocks = sources.blocks(mapping)?;
                blocks.checked_sub(1).map(|block| end_of_block(axis, block))
            }
        };
        let end = match last {
            None => 0,
            Some(last) => {
                let last = last.filter(|&last| last < u64::MAX >> 1);
                last.ok_or_else(|| damaged("mapping: too many elements"))? + 1
            }
        };
        let found = found
            .get_mut(dim)
            .ok_or_else(|| damaged(format!("mapping: the dataset has no dimension {dim}")))?;
        *found = Some(found.unwrap_or(0).max(end));
    }
    for (((dim, most), least), found) in dims.iter_mut().zip(&space.most).zip(least).zip(found) {
        if let Some(found) = found {
            *dim = found.max(least);
        }
        if *dim > *most {
            return Err(damaged(format!(
                "mapping: the data exceed the maximum length (expected at most {most}, found {dim})"
            )));
        }
    }
    space.blocks = blocks;
    Ok(())
}

/// Returns the last index of a block.
fn end_of_block(axis: SelectionAxis, block: u64) -> Option<u64> {
    block.checked_mul(axis.stride)?.checked_add(axis.start)?.checked_add(axis.block - 1)
}

/// Shapes of sources, each read once.
struct SourceLengths<'a> {
    file: &'a HdfFile,
    nest: &'a Nesting,
    known: HashMap<SourceName, Option<Vec<u64>>>,
}

impl SourceLengths<'_> {
    /// Returns the length of a dimension of a source; `None` if the source does not exist.
    fn len(&mut self, names: &SourceName, dim: usize) -> Result<Option<u64>> {
        let len = |shape: Option<&Vec<u64>>| shape?.get(dim).copied();
        if let Some(known) = self.known.get(names) {
            return Ok(len(known.as_ref()));
        }
        let shape = find::shape(self.file, names, self.nest)?;
        let found = len(shape.as_ref());
        self.known.insert(names.clone(), shape);
        Ok(found)
    }

    /// Counts the numbered sources of a mapping up to the first missing one.
    fn blocks(&self, mapping: &VirtualMapping) -> Result<u64> {
        let mut blocks = 0;
        while find::shape(self.file, &mapping.names.of_block(blocks), self.nest)?.is_some() {
            if !mapping.names.has_number() {
                return Err(damaged("mapping: unlimited blocks refer to one dataset"));
            }
            blocks += 1;
        }
        Ok(blocks)
    }
}
