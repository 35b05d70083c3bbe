//! Writing text: every element is checked before the first is written.

use nczarr_model::{NcString, Result, Slab};

use super::{Fit, Strings, too_long};
use crate::keeper::Keeper;
use crate::outcome::Outcome;
use crate::project::{Cover, Part};
use crate::write::writable_shape;

/// Writes a slab that was checked and is not empty.
pub(crate) fn put(keeper: &Keeper<Strings>, slab: &Slab<'_>, values: &[NcString]) -> Result<()> {
    let form = &keeper.form;
    let shape = writable_shape(keeper, slab);
    let projection = keeper.project(slab, &shape)?;
    // Before anything is written: is every element one that can be stored?
    let mut cuts = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let place = || format!("{}{:?}", keeper.name, position(slab, at));
        match form.fit(value, keeper.options.truncate_strings).map_err(|error| error.at(place()))? {
            Fit::Whole => {}
            Fit::Cut(end) => cuts.push((at, NcString::from(&value.as_bytes()[..end]))),
            Fit::TooLong(found, allowed, unit) => return Err(too_long(found, allowed, unit).at(place())),
        }
    }
    let element = |at: usize| match cuts.binary_search_by_key(&at, |(at, _)| *at) {
        Ok(found) => &cuts[found].1,
        Err(_) => &values[at],
    };
    let outcome = Outcome::new(&keeper.options, size_of_val(values));
    let mut part = Part::default();
    for number in 0..projection.total {
        projection.part(number, &mut part);
        if part.cover == Cover::Some || keeper.shards.is_some() {
            keeper.check_partial(&part.index)?;
        }
        keeper.set_written();
        let mut saved = Ok(());
        keeper.put_part(&part, |data| saved = data.save(&part, element))?;
        saved.map_err(|error| keeper.blame(error, &part.index))?;
        outcome.advance(part.elems * size_of::<NcString>());
        outcome.failure()?;
        keeper.relieve()?;
    }
    Ok(())
}

/// The index in the array of element `at` of a slab.
fn position(slab: &Slab<'_>, at: usize) -> Vec<u64> {
    let mut rest = at as u64;
    let mut index = vec![0; slab.rank()];
    for dim in (0..slab.rank()).rev() {
        index[dim] = slab.start[dim] + rest % slab.count[dim] * slab.step(dim);
        rest /= slab.count[dim];
    }
    index
}
