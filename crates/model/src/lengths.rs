//! The lengths of a model's dimensions at one time.
//!
//! A writer takes the lengths, stores the data, and then stores these lengths. So stored lengths never count
//! records that other threads append meanwhile.

use crate::{DimId, Model, Var};

/// The lengths of a model's unlimited dimensions at one time. They only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DimLengths(Vec<u64>);

impl DimLengths {
    /// Returns the current lengths of all dimensions.
    pub fn of(model: &Model) -> Self {
        Self(model.dims().map(|(_, dim)| dim.len()).collect())
    }

    /// Returns the length of a dimension; 0 if it did not exist.
    pub fn get(&self, dim: DimId) -> u64 {
        self.0.get(dim.index()).copied().unwrap_or(0)
    }

    /// Raises the length of one dimension to at least `len`.
    pub fn raise_to(&mut self, dim: DimId, len: u64) {
        if self.0.len() <= dim.index() {
            self.0.resize(dim.index() + 1, 0);
        }
        self.0[dim.index()] = self.0[dim.index()].max(len);
    }

    /// Raises each length to the greater of both, except for the dimensions of `without`.
    pub fn raise(&mut self, other: &Self, without: &[&Var]) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (at, (len, other)) in self.0.iter_mut().zip(&other.0).enumerate() {
            if without.iter().all(|var| var.dims.iter().all(|dim| dim.index() != at)) {
                *len = (*len).max(*other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupId;

    #[test]
    fn lengths_of_one_moment_stay() {
        let mut model = Model::default();
        let t = model.add_dim(GroupId::ROOT, "t", 3, true).unwrap();
        let x = model.add_dim(GroupId::ROOT, "x", 7, false).unwrap();
        let before = DimLengths::of(&model);
        model.dim(t).unwrap().grow(5);
        let u = model.add_dim(GroupId::ROOT, "u", 2, true).unwrap();
        let then = model.at(&before);
        let len = |model: &Model, dim| model.dim(dim).unwrap().len();
        assert_eq!([t, x, u].map(|dim| len(&then, dim)), [3, 7, 0]);
        assert_eq!([t, x, u].map(|dim| len(&model, dim)), [5, 7, 2]);
        then.dim(t).unwrap().grow(9);
        assert_eq!(len(&model, t), 5, "the copy has lengths of its own");
        // The records of a variable with failed data do not count.
        let mut counted = before.clone();
        let var = Var { dims: vec![t], ..Var::default() };
        counted.raise(&DimLengths::of(&model), &[&var]);
        assert_eq!([t, x, u].map(|dim| counted.get(dim)), [3, 7, 2]);
        counted.raise(&before, &[]);
        counted.raise(&DimLengths::of(&model), &[]);
        assert_eq!(counted, DimLengths::of(&model));
        let mut one = DimLengths::default();
        one.raise_to(u, 4);
        one.raise_to(u, 3);
        assert_eq!([t, x, u].map(|dim| one.get(dim)), [0, 0, 4]);
    }
}
