//! Reads and writes with the arrays of `ndarray`.

use nczarr_model::{Error, ErrorKind, Result};
use ndarray::{ArrayBase, ArrayD, ArrayViewMut, Data, Dimension, IxDyn};

use crate::{Array, Extents, Number, Variable};

impl Variable {
    /// Reads a part of the variable into an array of `ndarray`. The values are not copied again.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-arrays-get")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// # v.put(&[1i16, 2, 3, 4, 5, 6], ..)?;
    /// use ndarray::{array, s};
    ///
    /// let all = v.get_array::<f64>(..)?;
    /// assert_eq!(all.shape(), [2, 3]);
    /// let column = v.get_array::<f64>(s![.., -1])?;
    /// assert_eq!(column, array![3.0, 6.0].into_dyn());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn get_array<T: Number>(&self, extents: impl Extents) -> Result<ArrayD<T>> {
        let part = self.part(extents)?;
        let shape = shape_of(&part.selection.shape())?;
        let values = part.fetch_vec()?;
        ArrayD::from_shape_vec(shape, values).map_err(wrong_shape)
    }

    /// Reads a part of the variable into an array or a view of any memory layout. The array and the part must
    /// have equal shapes.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-arrays-get-into")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["x"])?;
    /// # v.put(&[1i16, 2, 3], ..)?;
    /// use ndarray::{Array2, s};
    ///
    /// let mut table = Array2::<i16>::zeros((3, 2));
    /// v.get_array_into(table.slice_mut(s![.., 1]), ..)?;
    /// assert_eq!(table.as_slice(), Some(&[0, 1, 0, 2, 0, 3][..]));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EINVAL` if the shape differs.
    pub fn get_array_into<T: Number, D: Dimension>(
        &self,
        mut out: ArrayViewMut<'_, T, D>,
        extents: impl Extents,
    ) -> Result<()> {
        let part = self.part(extents)?;
        // An error about the bounds has precedence.
        self.expect_shape(out.shape(), &part.selection.shape())
            .or_else(|error| part.select().and(Err(error)))?;
        if let Some(memory) = out.as_slice_mut() {
            return part.fill(T::TYPE, bytemuck::must_cast_slice_mut(memory));
        }
        let shape = shape_of(&part.selection.shape())?;
        let values = ArrayD::from_shape_vec(shape, part.fetch_vec()?).map_err(wrong_shape)?;
        out.assign(&values.into_dimensionality::<D>().map_err(wrong_shape)?);
        Ok(())
    }

    /// Writes an array or a view of any memory layout to a part of the variable. The array and the part must
    /// have equal shapes.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-arrays-put")?;
    /// # file.add_dimension("y", 2)?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<i16>("v", &["y", "x"])?;
    /// let field = ndarray::array![[1i16, 4], [2, 5], [3, 6]];
    /// v.put_array(&field.t(), ..)?;
    /// assert_eq!(v.get_values::<i16>(..)?, [1, 2, 3, 4, 5, 6]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EINVAL` if the shape differs.
    pub fn put_array<T: Number, S: Data<Elem = T>, D: Dimension>(
        &self,
        values: &ArrayBase<S, D>,
        extents: impl Extents,
    ) -> Result<()> {
        let selection = self.select_for_write(extents, values.len())?;
        self.expect_shape(values.shape(), &selection.shape())?;
        let ordered = values.as_standard_layout();
        let values = ordered
            .as_slice()
            .ok_or_else(|| self.located(ErrorKind::Internal.context("an array in C order is not a slice")))?;
        self.write_selection(values, &selection)
    }

    /// Checks the shape of an array that a caller passes.
    fn expect_shape(&self, found: &[usize], expected: &[u64]) -> Result<()> {
        if found.iter().map(|&len| len as u64).eq(expected.iter().copied()) {
            return Ok(());
        }
        let what = format!("wrong shape of the array (expected {expected:?}, found {found:?})");
        Err(self.located(ErrorKind::Inval.context(what)))
    }
}

impl<T: Number> TryFrom<Array<T>> for ArrayD<T> {
    type Error = Error;

    /// Copies the values into an array of `ndarray`. [`Variable::get_array`] reads one without a copy.
    fn try_from(array: Array<T>) -> Result<Self> {
        let shape = shape_of(array.shape())?;
        Self::from_shape_vec(shape, array.into_vec()).map_err(wrong_shape)
    }
}

fn shape_of(lengths: &[u64]) -> Result<IxDyn> {
    let shape: Result<Vec<usize>, _> = lengths.iter().map(|&len| usize::try_from(len)).collect();
    shape.map(|shape| IxDyn(&shape)).map_err(|error| {
        ErrorKind::NoMem.context(format!("the shape {lengths:?} does not fit in memory")).caused_by(error)
    })
}

fn wrong_shape(error: ndarray::ShapeError) -> Error {
    ErrorKind::Internal.context("the values do not fit their shape").caused_by(error)
}
