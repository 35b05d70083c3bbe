//! [`Stored`]: the boxes of a variable that the storage holds. Everything else reads as the fill value.
//!
//! Commands over whole variables skip the rest, so their time depends on the stored data.

use std::collections::BTreeSet;

use nczarr::dispatch::VarData;
use nczarr_model::Result;

/// The minimum number of chunks for listing: below it, listing costs more than it saves.
const FEW: u64 = 64;

/// Start and count of a part of a variable.
pub type VarBox = (Vec<u64>, Vec<u64>);

/// The stored chunks of a variable, as positions in its grid.
#[derive(Debug)]
pub struct Stored {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// Indices in the grid.
    places: BTreeSet<Vec<u64>>,
}

impl Stored {
    /// Lists the stored chunks. `None`: the storage does not support that.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn of(data: &dyn VarData, shape: &[u64]) -> Result<Option<Self>> {
        Self::among(data, shape, |_| true, |_, _| true)
    }

    /// Lists the stored chunks, if there are many chunks and most are absent.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn if_sparse(data: &dyn VarData, shape: &[u64]) -> Result<Option<Self>> {
        Self::among(data, shape, |chunks| chunks >= FEW, |stored, chunks| stored < chunks / 2)
    }

    fn among(
        data: &dyn VarData,
        shape: &[u64],
        is_worth: impl FnOnce(u64) -> bool,
        is_taken: impl FnOnce(u64, u64) -> bool,
    ) -> Result<Option<Self>> {
        let chunk = data.chunk_shape().filter(|chunk| chunk.len() == shape.len() && !chunk.contains(&0));
        let Some(chunk) = chunk else { return Ok(None) };
        let chunks =
            shape.iter().zip(&chunk).fold(1u64, |all, (len, chunk)| all.saturating_mul(len.div_ceil(*chunk)));
        if !is_worth(chunks) {
            return Ok(None);
        }
        let Some(stored) = data.stored_chunks()?.filter(|stored| is_taken(stored.len() as u64, chunks))
        else {
            return Ok(None);
        };
        let place = |start: &[u64]| start.iter().zip(&chunk).map(|(start, chunk)| start / chunk).collect();
        let places = stored.iter().map(place).collect();
        Ok(Some(Self { shape: shape.to_vec(), chunk, places }))
    }

    /// Converts to another grid: each of its chunks that contains an element of a stored one.
    pub fn in_grid(&self, chunk: &[u64]) -> Self {
        let chunk: Vec<u64> = chunk.iter().map(|&len| len.max(1)).collect();
        if chunk == self.chunk {
            return Self { shape: self.shape.clone(), chunk, places: self.places.clone() };
        }
        let mut places = BTreeSet::new();
        for (start, count) in self.boxes() {
            let first: Vec<u64> = start.iter().zip(&chunk).map(|(start, chunk)| start / chunk).collect();
            let last = start
                .iter()
                .zip(&count)
                .zip(&chunk)
                .map(|((start, count), chunk)| (start + count - 1) / chunk);
            let last: Vec<u64> = last.collect();
            let mut at = first.clone();
            loop {
                places.insert(at.clone());
                let Some(dim) = (0..at.len()).rev().find(|&dim| at[dim] < last[dim]) else { break };
                at[dim] += 1;
                at[dim + 1..].copy_from_slice(&first[dim + 1..]);
            }
        }
        Self { shape: self.shape.clone(), chunk, places }
    }

    /// Adds each chunk that contains an element of a stored one of another set.
    pub fn extend(&mut self, other: &Self) {
        self.places.extend(other.in_grid(&self.chunk).places);
    }

    /// Start and count of each chunk, in C order.
    pub fn boxes(&self) -> impl Iterator<Item = VarBox> {
        self.places.iter().map(|place| {
            let start: Vec<u64> = place.iter().zip(&self.chunk).map(|(at, chunk)| at * chunk).collect();
            let count = start.iter().zip(&self.chunk).zip(&self.shape);
            let count = count.map(|((start, chunk), len)| (*chunk).min(len - start)).collect();
            (start, count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(shape: &[u64], chunk: &[u64], places: &[&[u64]]) -> Stored {
        let places = places.iter().map(|place| place.to_vec()).collect();
        Stored { shape: shape.to_vec(), chunk: chunk.to_vec(), places }
    }

    #[test]
    fn boxes_end_with_the_shape() {
        let boxes: Vec<_> = stored(&[5, 10], &[2, 4], &[&[2, 2], &[0, 0]]).boxes().collect();
        assert_eq!(boxes, [(vec![0, 0], vec![2, 4]), (vec![4, 8], vec![1, 2])]);
    }

    #[test]
    fn another_grid_covers_the_same_elements() {
        let other = stored(&[10], &[4], &[&[1]]).in_grid(&[3]);
        assert_eq!(other.boxes().collect::<Vec<_>>(), [(vec![3], vec![3]), (vec![6], vec![3])]);
        let scalar = stored(&[], &[], &[&[]]).in_grid(&[]);
        assert_eq!(scalar.boxes().collect::<Vec<_>>(), [(vec![], vec![])]);
    }
}
