//! A stage: decoded elements of one variable in a temporary store beside the target.
//!
//! It applies if the chunks of source and target overlap so that memory is too small for blocks of whole
//! chunks of both. Without a stage, each chunk of the source would be decoded for many blocks. The stage's
//! chunks divide both kinds of blocks, so each source chunk is decoded once. It needs disk space for all
//! elements; without that the copy goes on without a stage.

use std::path::Path;

use nczarr::dispatch::{Dataset, MemRef};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{CreateOptions, File, Place};
use nczarr_model::{Chunking, GroupId, Model, NcType, Result, Slab, VarId};
use tempfile::TempDir;

use super::block::block;
use super::error::CopyError;
use super::plan::BlockPlan;
use super::tiles::Tiles;
use crate::source::DatasetSource;
use crate::stop;

/// The average number of reads per chunk above which a stage pays.
const OFTEN: u64 = 2;

/// The unencoded elements of one variable.
#[derive(Debug)]
pub struct Stage {
    file: File,
    /// The variable in the stage.
    pub id: VarId,
    /// The temporary directory, removed after the file is closed, or by the next copy to this place.
    _folder: TempDir,
}

/// Returns whether a variable needs a stage: decoding costs, and its chunks would be read often.
pub fn is_worth(model: &Model, id: VarId, moves: &BlockPlan) -> Result<bool> {
    let var = model.var(id)?;
    let number = var.xtype.is_atomic() && var.xtype != NcType::String;
    Ok(number && !var.filters.is_empty() && moves.reads > moves.chunks.saturating_mul(OFTEN))
}

impl Stage {
    /// Decodes a variable into a stage in `folder`. `None`: the stage cannot be made, such as for lack of
    /// space.
    ///
    /// # Errors
    ///
    /// Errors of reading the source.
    pub fn make(
        folder: &Path,
        from: &dyn Dataset,
        model: &Model,
        id: VarId,
        blocks: &[u64],
        budget: u64,
    ) -> Result<Option<Self>, CopyError> {
        // A fixed prefix: the target may have any name.
        let Ok(folder) = tempfile::Builder::new().prefix("stage").tempdir_in(folder) else { return Ok(None) };
        match Self::fill(folder, from, model, id, blocks, budget) {
            Ok(stage) => Ok(Some(stage)),
            Err(CopyError::Target(_)) => Ok(None),
            Err(broken) => Err(broken),
        }
    }

    fn fill(
        folder: TempDir,
        from: &dyn Dataset,
        model: &Model,
        id: VarId,
        blocks: &[u64],
        budget: u64,
    ) -> Result<Self, CopyError> {
        let (var, shape) = (model.var(id)?, model.shape(id)?);
        let (source, data) = (DatasetSource::new(from), from.data(id)?);
        let item = source.item_size(var.xtype)? as u64;
        // Whole chunks of the source, as far as the budget allows.
        let reads = block(&shape, data.chunk_shape().as_deref(), Some(blocks), item, budget);
        let chunks = reads.iter().zip(blocks).map(|(read, block)| *read.min(block)).collect();
        let file = CreateOptions::new().create(Place::path(folder.path().join("v.zarr")).mode("zarr"))?;
        let to = file.dataset();
        let mut dims = Vec::new();
        for (at, &len) in shape.iter().enumerate() {
            dims.push(to.def_dim(GroupId::ROOT, &format!("d{at}"), Some(len))?);
        }
        let new = to.def_var(GroupId::ROOT, "v", var.xtype, &dims)?;
        to.def_var_chunking(new, &Chunking::Chunked(chunks))?;
        // Absent elements must read as in the source.
        let fill = var.fill_value();
        to.def_var_fill(new, fill.is_none(), fill.as_ref())?;
        to._enddef(0, 0, 0, 0)?;
        let zeros = vec![0; item as usize];
        let blank = fill.and_then(|fill| fill.to_native_bytes()).unwrap_or(zeros);
        for (start, count) in Tiles::new(&shape, &reads) {
            if stop::asked() {
                return Err(CopyError::Stopped);
            }
            let slab = Slab::new(&start, &count);
            // Absent elements are read as well: that may fail, or give another value than the fill value.
            let bytes = source.bytes(id, &slab).map_err(CopyError::Source)?;
            if data.is_absent(&slab.check(&shape, |_| false)?).map_err(CopyError::Source)?
                && bytes.chunks_exact(blank.len().max(1)).all(|element| element == blank)
            {
                continue;
            }
            to.put_vara(new, &start, &count, MemRef::Fixed { ty: var.xtype, bytes: &bytes })?;
        }
        to.sync()?;
        Ok(Self { file, id: new, _folder: folder })
    }

    /// Returns the dataset to read the elements from.
    pub fn dataset(&self) -> &dyn Dataset {
        self.file.dataset().as_ref()
    }
}
