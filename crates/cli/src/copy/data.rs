//! Copies the data, block by block.

use nczarr::dispatch::{Dataset, EncodedCheck, FormatX, MemRef};
use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{Endian, ErrorKind, Model, NcString, NcType, Result, Slab, VarId};

use super::block::STRING;
use super::defined::{DefinedObjects, NewVar, VariableForm};
use super::error::CopyError;
use super::pass_through::{PassThrough, Side};
use super::plan::BlockPlan;
use super::portions::Portions;
use super::progress::Progress;
use super::resumable::CompletedBlocks;
use super::select::Selection;
use super::sparse::{BlockElements, SparseVariable};
use super::stage::{self, Stage};
use crate::source::DatasetSource;
use crate::stored::{Stored, VarBox};

/// Copies the data of all variables.
///
/// # Errors
///
/// Errors of reading and writing, each with its side.
pub fn all(
    from: &dyn Dataset,
    to: &dyn Dataset,
    copied: &DefinedObjects,
    select: &Selection,
    check: EncodedCheck,
    progress: &Progress<'_>,
) -> Result<(), CopyError> {
    let model = from.model().snapshot();
    let mover = VariableMover { from, to, model: &model, copied, select, check, progress };
    let mut variables = 0;
    for (id, _) in model.vars() {
        if let Some(new) = copied.vars[id.index()].as_ref().filter(|_| select.has_data(&model, id)) {
            let moved = mover.move_variable(id, variables, new)?;
            variables += 1;
            if moved {
                progress.completed(to, CompletedBlocks { variables, ..CompletedBlocks::default() })?;
            }
        }
    }
    // A dimension without written elements keeps its length.
    let target = to.model().snapshot();
    for (id, dim) in model.dims() {
        if let Some(new) = copied.dims[id.index()]
            && target.dim(new)?.unlimited
        {
            target.dim(new)?.grow(dim.len());
        }
    }
    Ok(())
}

/// The parameters that all variables of a copy share.
struct VariableMover<'a> {
    from: &'a dyn Dataset,
    to: &'a dyn Dataset,
    /// The model of `from`.
    model: &'a Model,
    copied: &'a DefinedObjects,
    select: &'a Selection,
    /// The check of chunks that are copied as stored bytes.
    check: EncodedCheck,
    progress: &'a Progress<'a>,
}

impl VariableMover<'_> {
    /// Copies one variable after `variables` others; returns whether it had data.
    fn move_variable(&self, id: VarId, variables: u64, new: &NewVar) -> Result<bool, CopyError> {
        let Self { from, to, model, copied, select, check, progress } = *self;
        let shape = model.shape(id)?;
        if shape.contains(&0) {
            return Ok(false);
        }
        let ty = model.var(id)?.xtype;
        let path = model.var_path(id)?;
        let source = DatasetSource::new(from);
        let fixed = model.is_fixed(ty)?;
        let item = if fixed { source.item_size(ty)? as u64 } else { STRING };
        let start = vec![0; shape.len()];
        if progress.skips(variables, &shape, &start, &shape, item) {
            return Ok(false);
        }
        let data = from.data(id)?;
        let chunks = (to.data(new.id)?.chunk_shape(), data.chunk_shape());
        let sparse = match &new.form {
            VariableForm::Same if !is_read_swapped(to, new.id)? => {
                let (one, other) = (model.var(id)?, to.model().snapshot());
                SparseVariable::new(&shape, chunks.0.clone(), one, other.var(new.id)?)?
            }
            VariableForm::Same | VariableForm::Numbers(_) | VariableForm::Text { .. } => None,
        };
        // Rows of text are moved whole.
        let target = chunks.0.map(|mut chunks| {
            chunks.truncate(shape.len());
            chunks
        });
        let moves = BlockPlan::of(&shape, target.clone(), chunks.1, item, progress.budget);
        // Chunks absent on both sides read the same, so only stored ones are moved.
        let stored = match (&sparse, &target) {
            (Some(_), Some(chunk)) => {
                Stored::if_sparse(&*data, &shape).map_err(CopyError::Source)?.map(|s| s.in_grid(chunk))
            }
            _ => None,
        };
        let portions = match &stored {
            Some(stored) => Portions::stored(&shape, &moves.block, stored),
            None => Portions::whole(&shape, &moves.block),
        };
        let memory =
            copied.ty(ty).ok_or_else(|| ErrorKind::Internal.context("the variable's type was left out"))?;
        // Unreadable chunks are found only by decoding.
        let passed = match &sparse {
            Some(_) if !select.skips => {
                let size = fixed.then_some(item as usize);
                let side = |dataset, id, ty| Side { dataset, id, memory: (ty, size) };
                PassThrough::of(&side(from, id, ty), &side(to, new.id, memory), &moves.block, check)?
            }
            _ => None,
        };
        let stage = match &progress.stage {
            _ if stored.is_some() || select.skips || passed.is_some() => None,
            Some(folder) if stage::is_worth(model, id, &moves)? => {
                Stage::make(folder, from, model, id, &moves.block, progress.budget)?
            }
            _ => None,
        };
        let move_from = |source: &DatasetSource<'_>, from_id: VarId| -> Result<(), CopyError> {
            let move_part = |start: Vec<u64>, count: Vec<u64>| -> Result<(), CopyError> {
                let slab = Slab::new(&start, &count);
                let elements = if fixed {
                    source.bytes(from_id, &slab).map(|bytes| BlockElements::Bytes(item as usize, bytes))
                } else {
                    source.strings(from_id, &slab).map(BlockElements::Strings)
                };
                let elements = elements.map_err(CopyError::Source)?;
                match (&new.form, elements) {
                    (VariableForm::Numbers(change), BlockElements::Bytes(_, bytes)) => {
                        let bytes = change
                            .elements(&bytes)
                            .and_then(|bytes| bytes.ok_or_else(changed))
                            .map_err(CopyError::Source)?;
                        to.put_vara(new.id, &start, &count, MemRef::Fixed { ty: change.to, bytes: &bytes })?;
                    }
                    (&VariableForm::Text { len }, BlockElements::Strings(strings)) => {
                        let bytes = rows(&strings, len).map_err(CopyError::Source)?;
                        let (start, count) = ([&start[..], &[0]].concat(), [&count[..], &[len]].concat());
                        to.put_vara(
                            new.id,
                            &start,
                            &count,
                            MemRef::Fixed { ty: NcType::Char, bytes: &bytes },
                        )?;
                    }
                    (_, elements) => {
                        let present = match &sparse {
                            Some(sparse) if stored.is_none() => sparse
                                .present(&*data, &start, &count, &elements)
                                .map_err(CopyError::Source)?,
                            _ => None,
                        };
                        let Some(parts) = present else {
                            to.put_vara(new.id, &start, &count, elements.memory(memory))?;
                            return Ok(());
                        };
                        for ((start, count), elements) in parts {
                            to.put_vara(new.id, &start, &count, elements.memory(memory))?;
                        }
                    }
                }
                Ok(())
            };
            for (blocks, (start, count), parts) in portions.iter() {
                if progress.skips(variables, &shape, &start, &count, item) {
                    continue;
                }
                if blocks > 0 {
                    progress
                        .completed(to, CompletedBlocks { variables, block: moves.block.clone(), blocks })?;
                }
                progress.part(&count, item)?;
                if let Some(passed) = &passed
                    && passed.move_parts(&parts)?
                {
                    continue;
                }
                for (start, count) in parts {
                    match move_part(start.clone(), count.clone()) {
                        Err(CopyError::Source(_)) if select.skips => {
                            // A chunk of the source is readable as a whole or not at all.
                            for (start, count) in chunks_within(data.chunk_shape(), &start, &count) {
                                match move_part(start.clone(), count.clone()) {
                                    Err(CopyError::Source(why)) => progress.skip(&path, &start, &count, &why),
                                    moved => moved?,
                                }
                            }
                        }
                        moved => moved?,
                    }
                }
            }
            Ok(())
        };
        if let Some(stage) = stage {
            let moved = move_from(&DatasetSource::new(stage.dataset()), stage.id);
            if !matches!(moved, Err(CopyError::Target(_))) {
                return moved.map(|()| true);
            }
            // The stage may have taken the room that the target needs.
            drop(stage);
        }
        move_from(&source, id).map(|()| true)
    }
}

/// Returns whether netCDF-C swaps the bytes of absent chunks' fill value. It does so for big-endian arrays of
/// NCZarr.
fn is_read_swapped(to: &dyn Dataset, id: VarId) -> Result<bool> {
    let is_big = to.model().snapshot().var(id)?.endian == Endian::Big;
    Ok(is_big && to.info().formatx == FormatX::NcZarr && to.info().flavour == "nczarr")
}

/// Cuts a box at the chunk borders of a grid.
fn chunks_within(chunk: Option<Vec<u64>>, start: &[u64], count: &[u64]) -> Vec<VarBox> {
    let Some(chunk) = chunk.filter(|chunk| chunk.len() == start.len() && !chunk.contains(&0)) else {
        return vec![(start.to_vec(), count.to_vec())];
    };
    let mut parts = vec![(Vec::new(), Vec::new())];
    for ((&start, &count), &chunk) in start.iter().zip(count).zip(&chunk) {
        let mut cuts = Vec::new();
        let mut at = start;
        while at < start + count {
            let end = (at / chunk + 1).saturating_mul(chunk).min(start + count);
            cuts.push((at, end - at));
            at = end;
        }
        let longer = |(starts, counts): &(Vec<u64>, Vec<u64>), (at, len): (u64, u64)| {
            ([&starts[..], &[at]].concat(), [&counts[..], &[len]].concat())
        };
        parts = parts.iter().flat_map(|part| cuts.iter().map(|&cut| longer(part, cut))).collect();
    }
    parts
}

/// Scans the values before choosing a form for the variable.
fn changed() -> nczarr_model::Error {
    ErrorKind::Range.context("its values changed during the copy")
}

/// Turns strings into rows of bytes, padded with NULs.
fn rows(strings: &[NcString], len: u64) -> Result<Vec<u8>> {
    let len =
        usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("strings of {len} bytes")))?;
    let mut bytes = Vec::new();
    for string in strings {
        let string = string.as_bytes();
        let padding = len.checked_sub(string.len()).ok_or_else(changed)?;
        bytes.extend_from_slice(string);
        bytes.resize(bytes.len() + padding, 0);
    }
    Ok(bytes)
}
