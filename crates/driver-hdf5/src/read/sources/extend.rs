//! [`extend`]: how long a virtual dataset is whose mappings have no end: as long as what there is in its sources.

use model::Result;

use super::super::cursor::{UNDEFINED, bad};
use super::super::file::Hdf;
use super::super::messages::{Layout, Space};
use super::find::{self, Nest};
use super::mapping::Mapping;

/// Makes the shape of a dataset that of the data there are, if it is a virtual one and may be longer or shorter than what is
/// stored.
///
/// # Errors
/// `NC_EHDFERR` if the mappings or the sources are damaged; what the system says of files.
pub(crate) fn extend(file: &Hdf, layout: &Layout, space: &mut Space, nest: &Nest) -> Result<()> {
    let (&Layout::Virtual(address, index), Some(dims)) = (layout, &mut space.dims) else { return Ok(()) };
    if !space.most.contains(&UNDEFINED) {
        return Ok(());
    }
    let list = Mapping::list(file, address, index)?;
    let (mut least, mut found) = (vec![0; dims.len()], vec![None; dims.len()]);
    for mapping in &list {
        for (least, end) in least.iter_mut().zip(mapping.target.bounds()) {
            *least = end.unwrap_or(0).max(*least);
        }
        let Some((dim, axis)) = mapping.target.unlimited() else { continue };
        let end = match mapping.source.unlimited() {
            Some((along, source)) => {
                let shape = find::shape(file, &mapping.names.of_block(0), nest)?;
                let slices = shape.and_then(|shape| Some(source.slices(*shape.get(along)?))).unwrap_or(0);
                slices.checked_sub(1).map(|last| axis.at(last))
            }
            None => {
                let mut blocks = 0;
                while find::shape(file, &mapping.names.of_block(blocks), nest)?.is_some() {
                    if !mapping.names.has_number() {
                        return Err(bad("mapping: blocks without end of one dataset"));
                    }
                    blocks += 1;
                }
                blocks.checked_sub(1).map(|last| {
                    let start = last.checked_mul(axis.stride).and_then(|by| axis.start.checked_add(by));
                    start.and_then(|start| start.checked_add(axis.block - 1))
                })
            }
        };
        let end = match end {
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
    Ok(())
}
