//! A stage between a source and a target whose chunks lie across one another: where memory is too small for blocks that are
//! whole chunks of both, each chunk of the source would be decoded again for many blocks. Instead it is decoded once, and
//! its elements are put, as they are, into a store of their own beside the target, in chunks that are whole parts of both kinds of
//! blocks. That takes as much room on the disk as the elements do; if there is none, the copy is made without.

use std::path::Path;

use nczarr::dispatch::{Dataset, MemRef, NcDispatch as _};
use nczarr::{CreateOptions, File};
use nczarr_model::{Chunking, GroupId, Model, NcType, Result, Slab, VarId};
use tempfile::TempDir;

use super::Broken;
use super::data::block;
use super::plan::Moves;
use super::tiles::Tiles;
use crate::source::DatasetSource;
use crate::stop;

/// What is read more often than this, each chunk on average, is worth it.
const OFTEN: u64 = 2;

/// The elements of one variable, not encoded.
#[derive(Debug)]
pub struct Stage {
    file: File,
    /// The variable there.
    pub id: VarId,
    /// What it lies in, which goes after the file is closed; at the latest with the next copy to this place.
    _folder: TempDir,
}

/// Whether a variable is moved by a stage: where decoding costs, chunks are known and would be read often.
pub fn is_worth(model: &Model, id: VarId, moves: &Moves) -> Result<bool> {
    let var = model.var(id)?;
    let number = var.xtype.is_atomic() && var.xtype != NcType::String;
    Ok(number && !var.filters.is_empty() && moves.reads > moves.chunks.saturating_mul(OFTEN))
}

impl Stage {
    /// Decodes a variable into a stage in `folder`. `None`: there is no room for it, or it cannot be made.
    ///
    /// # Errors
    /// What reading the source says.
    pub fn make(
        folder: &Path,
        from: &dyn Dataset,
        (model, id): (&Model, VarId),
        blocks: &[u64],
        budget: u64,
    ) -> Result<Option<Self>, Broken> {
        // The target may have any name.
        let Ok(folder) = tempfile::Builder::new().prefix("stage").tempdir_in(folder) else { return Ok(None) };
        match Self::fill(folder, from, (model, id), blocks, budget) {
            Ok(stage) => Ok(Some(stage)),
            Err(Broken::Target(_)) => Ok(None),
            Err(broken) => Err(broken),
        }
    }

    fn fill(
        folder: TempDir,
        from: &dyn Dataset,
        (model, id): (&Model, VarId),
        blocks: &[u64],
        budget: u64,
    ) -> Result<Self, Broken> {
        let (var, shape) = (model.var(id)?, model.shape(id)?);
        let (source, data) = (DatasetSource::new(from), from.data(id)?);
        let item = source.item_size(var.xtype)? as u64;
        // Whole chunks of the source, as far as memory reaches.
        let reads = block(&shape, &(data.chunk_shape(), Some(blocks.to_vec())), item, budget);
        let chunks = reads.iter().zip(blocks).map(|(read, block)| *read.min(block)).collect();
        let file = CreateOptions::new().create(&format!("{}#mode=zarr", folder.path().join("v.zarr").display()))?;
        let to = file.dataset();
        let mut dims = Vec::new();
        for (at, &len) in shape.iter().enumerate() {
            dims.push(to.def_dim(GroupId::ROOT, &format!("d{at}"), Some(len))?);
        }
        let new = to.def_var(GroupId::ROOT, "v", var.xtype, &dims)?;
        to.def_var_chunking(new, &Chunking::Chunked(chunks))?;
        // What is not there reads here as it does there.
        let fill = var.fill_value();
        to.def_var_fill(new, fill.is_none(), fill.as_ref())?;
        to._enddef(0, 0, 0, 0)?;
        let zeros = vec![0; item as usize];
        let blank = fill.and_then(|fill| fill.to_native_bytes()).unwrap_or(zeros);
        for (start, count) in Tiles::new(&shape, &reads) {
            if stop::asked() {
                return Err(Broken::Stopped);
            }
            let slab = Slab::new(&start, &count);
            // Absent elements are read as well: that may be an error, or give something else than the fill value.
            let bytes = source.bytes(id, &slab).map_err(Broken::Source)?;
            if data.is_absent(&slab).map_err(Broken::Source)?
                && bytes.chunks_exact(blank.len().max(1)).all(|element| element == blank)
            {
                continue;
            }
            to.put_vara(new, &start, &count, MemRef::Fixed { ty: var.xtype, bytes: &bytes })?;
        }
        to.sync()?;
        Ok(Self { file, id: new, _folder: folder })
    }

    /// What the elements are read from.
    pub fn dataset(&self) -> &dyn Dataset {
        self.file.dataset().as_ref()
    }
}
