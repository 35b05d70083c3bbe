//! [`extend`]: how long a virtual dataset is whose mappings have no end: as long as what there is in its sources.

use std::collections::HashMap;

use nczarr_model::Result;

use super::super::cursor::bad;
use super::super::file::Hdf;
use super::super::messages::{Layout, Space};
use super::find::{self, Nest};
use super::mapping::{Mapping, Names};
use super::selection::Axis;

/// Makes the shape of a dataset that of the data there are, if it is a virtual one with a mapping that has no end: be that longer
/// or shorter than what is stored, and whether the dataset itself may grow or not.
///
/// # Errors
/// `NC_EHDFERR` if the mappings or the sources are damaged, or there are more data than the dataset may have; what the system
/// says of files.
pub(crate) fn extend(file: &Hdf, layout: &Layout, space: &mut Space, nest: &Nest) -> Result<()> {
    let (&Layout::Virtual(address, index), Some(dims)) = (layout, &mut space.dims) else { return Ok(()) };
    let list = Mapping::list(file, address, index)?;
    if list.iter().all(|mapping| mapping.target.unlimited().is_none()) {
        return Ok(());
    }
    let mut sources = Lengths { file, nest, known: HashMap::new() };
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
                last.ok_or_else(|| bad("mapping: elements without end"))? + 1
            }
        };
        let found =
            found.get_mut(dim).ok_or_else(|| bad(format!("mapping: dimension {dim} of a dataset without it")))?;
        *found = Some(found.unwrap_or(0).max(end));
    }
    for (((dim, most), least), found) in dims.iter_mut().zip(&space.most).zip(least).zip(found) {
        if let Some(found) = found {
            *dim = found.max(least);
        }
        if *dim > *most {
            return Err(bad(format!("mapping: {dim} elements along a dimension of at most {most}")));
        }
    }
    space.blocks = blocks;
    Ok(())
}

/// The last index of a block.
fn end_of_block(axis: Axis, block: u64) -> Option<u64> {
    block.checked_mul(axis.stride)?.checked_add(axis.start)?.checked_add(axis.block - 1)
}

/// How long the sources are: each is looked at once.
struct Lengths<'a> {
    file: &'a Hdf,
    nest: &'a Nest,
    known: HashMap<Names, Option<Vec<u64>>>,
}

impl Lengths<'_> {
    /// Of a dimension of a source; `None` if it is not there.
    fn len(&mut self, names: &Names, dim: usize) -> Result<Option<u64>> {
        let len = |shape: Option<&Vec<u64>>| shape?.get(dim).copied();
        if let Some(known) = self.known.get(names) {
            return Ok(len(known.as_ref()));
        }
        let shape = find::shape(self.file, names, self.nest)?;
        let found = len(shape.as_ref());
        self.known.insert(names.clone(), shape);
        Ok(found)
    }

    /// How many sources of a mapping there are, up to the first that is missing.
    fn blocks(&self, mapping: &Mapping) -> Result<u64> {
        let mut blocks = 0;
        while find::shape(self.file, &mapping.names.of_block(blocks), self.nest)?.is_some() {
            if !mapping.names.has_number() {
                return Err(bad("mapping: blocks without end of one dataset"));
            }
            blocks += 1;
        }
        Ok(blocks)
    }
}
