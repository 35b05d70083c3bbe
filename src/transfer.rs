//! The data of a [`Variable`]: reads and writes of any part, with conversion to any fitting type.
//!
//! Hyperslabs are checked before memory is allocated. Conversion and range checks happen during the transfer,
//! and `NC_ERANGE` is reported after it. No call needs a `mut` handle.

#[cfg(feature = "ndarray")]
mod arrays;
mod part;
mod read;
mod records;
mod unpack;
mod write;

use nczarr_model::{ErrorKind, Model, NcType, Result};

pub(crate) use part::{VariablePart, fill};

use crate::{Extents, Selection, Variable};

/// The maximum rank for the fast paths.
const MAX_FAST_RANK: usize = 8;

impl Variable {
    /// Selects a part of the variable. It is checked before memory is allocated, at the latest by the read.
    pub(crate) fn part(&self, extents: impl Extents) -> Result<VariablePart<'_>> {
        VariablePart::new(self.access()?, extents)
    }

    pub(crate) fn select_for_write(&self, extents: impl Extents, elements: usize) -> Result<Selection> {
        let select = |shape: &[u64], unlimited: &[bool]| {
            Selection::for_write(extents, shape, unlimited, elements as u64)
                .and_then(|selection| expect(&selection, elements).map(|()| selection))
                .map_err(|error| self.located(error))
        };
        // In data mode the dimensions are cached with the prepared variable.
        if !self.open.dataset()?.model().is_defining()
            && let Ok(access) = self.access()
        {
            return select(&access.shape(), &access.unlimited());
        }
        let model = self.open.model();
        self.want_sound(&model)?;
        select(&model.shape(self.id)?, &unlimited(&model, self)?)
    }

    /// Fails with the variable's problem if its shape is unknown, so that extents are not blamed.
    fn want_sound(&self, model: &Model) -> Result<()> {
        match &model.var(self.id)?.problem {
            Some(problem) => Err(self.located(problem.clone())),
            None => Ok(()),
        }
    }

    fn fixed_type(&self) -> Result<(NcType, usize)> {
        let model = self.open.model();
        let ty = model.var(self.id)?.xtype;
        match model.type_size(ty)? {
            Some(size) if size > 0 && model.is_fixed(ty)? => Ok((ty, size)),
            _ => Err(self.located(ErrorKind::BadType.context("elements have no fixed size"))),
        }
    }
}

fn expect(selection: &Selection, elements: usize) -> Result<()> {
    match selection.slab().len() {
        len if len == elements as u64 => Ok(()),
        len => Err(wrong_length("elements", len, elements)),
    }
}

fn wrong_length(what: &str, expected: u64, found: usize) -> nczarr_model::Error {
    ErrorKind::Inval.context(format!("expected {expected} {what}, found {found}"))
}

fn unlimited(model: &Model, variable: &Variable) -> Result<Vec<bool>> {
    model.var(variable.id)?.dims.iter().map(|&dim| Ok(model.dim(dim)?.unlimited)).collect()
}
