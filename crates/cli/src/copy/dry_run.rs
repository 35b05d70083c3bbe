//! `--dry-run`: the blocks of each variable and their cost, as text.

use std::fmt::Write as _;

use nczarr::dispatch::Dataset;
use nczarr_model::{NcType, Result};

use super::block::STRING;
use super::defined::DefinedObjects;
use super::plan::BlockPlan;
use super::progress::Progress;
use super::select::Selection;
use super::stage;
use crate::source::DatasetSource;

/// Returns the plan of a copy, a line for each variable.
///
/// # Errors
///
/// Errors of the datasets' metadata.
pub fn plan(
    from: &dyn Dataset,
    to: &dyn Dataset,
    copied: &DefinedObjects,
    select: &Selection,
    progress: &Progress<'_>,
) -> Result<String> {
    let model = from.model().snapshot();
    let mut text = String::new();
    let mut all = 0u64;
    for (id, var) in model.vars() {
        let Some(new) = copied.vars[id.index()].as_ref().filter(|_| select.has_data(&model, id)) else {
            continue;
        };
        let shape = model.shape(id)?;
        let item = match var.xtype {
            NcType::String => STRING,
            ty => DatasetSource::new(from).item_size(ty)? as u64,
        };
        let bytes = shape.iter().fold(item, |product, &len| product.saturating_mul(len));
        all = all.saturating_add(bytes);
        let chunks = (to.data(new.id)?.chunk_shape(), from.data(id)?.chunk_shape());
        let path = model.var_path(id)?;
        if shape.contains(&0) {
            let _ = writeln!(text, "{path}: no data");
            continue;
        }
        let moves = BlockPlan::of(&shape, chunks.0, chunks.1, item, progress.budget);
        let staged = progress.stage.is_some() && stage::is_worth(&model, id, &moves)?;
        let times = if staged { 1.0 } else { moves.reads as f64 / moves.chunks as f64 };
        let stage = if staged { format!(", decoded to a stage of {bytes} bytes") } else { String::new() };
        let _ = writeln!(
            text,
            "{path}: {bytes} bytes in {} blocks of {}; {} chunks, each read {times:.1} times{stage}",
            moves.blocks,
            joined(&moves.block),
            moves.chunks,
        );
    }
    let _ = writeln!(text, "{all} bytes in all");
    Ok(text)
}

fn joined(lens: &[u64]) -> String {
    if lens.is_empty() {
        "1".to_owned()
    } else {
        lens.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
    }
}
