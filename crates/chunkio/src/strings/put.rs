//! Writes text: every element is checked before the first is written.

use nczarr_model::{CheckedSlab, NcString, Result};

use super::{TextElements, TextFit, too_long};
use crate::engine::ArrayEngine;
use crate::outcome::TransferOutcome;
use crate::project::{ChunkPart, Coverage};
use crate::write::writable_shape;

/// Writes a non-empty slab.
pub(crate) fn put(
    engine: &ArrayEngine<TextElements>,
    slab: &CheckedSlab<'_>,
    values: &[NcString],
) -> Result<()> {
    let form = &engine.form;
    let shape = writable_shape(engine);
    let projection = engine.project(slab, &shape)?;
    // Check all elements before writing.
    let mut cuts = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let place = || format!("{}{:?}", engine.name, position(slab, at));
        match form.fit(value, engine.options.truncate_strings).map_err(|error| error.at(place()))? {
            TextFit::Whole => {}
            TextFit::Cut(end) => cuts.push((at, NcString::from(&value.as_bytes()[..end]))),
            TextFit::TooLong(found, allowed, unit) => return Err(too_long(found, allowed, unit).at(place())),
        }
    }
    let element = |at: usize| match cuts.binary_search_by_key(&at, |(at, _)| *at) {
        Ok(found) => &cuts[found].1,
        Err(_) => &values[at],
    };
    let outcome = TransferOutcome::new(&engine.options, size_of_val(values));
    let mut part = ChunkPart::default();
    for number in 0..projection.total {
        projection.part(number, &mut part);
        if part.cover == Coverage::Some || engine.shards.is_some() {
            engine.check_partial(&part.index)?;
        }
        engine.set_written();
        let mut saved = Ok(());
        engine.put_part(&part, |data| saved = data.save(&part, element))?;
        saved.map_err(|error| engine.at_chunk(error, &part.index))?;
        outcome.advance(part.elems * size_of::<NcString>());
        outcome.failure()?;
        engine.relieve()?;
    }
    Ok(())
}

/// Returns the index in the array of element `at` of a slab.
fn position(slab: &CheckedSlab<'_>, at: usize) -> Vec<u64> {
    let mut rest = at as u64;
    let mut index = vec![0; slab.rank()];
    for dim in (0..slab.rank()).rev() {
        index[dim] = slab.start[dim] + rest % slab.count[dim] * slab.step(dim);
        rest /= slab.count[dim];
    }
    index
}
