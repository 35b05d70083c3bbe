//! Slices of `ndarray`: `s![.., 2, 1..;2]`.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::DimVec;
use ndarray::{Dimension, SliceInfo, SliceInfoElem};

use super::{Extent, Extents};

/// Converts one dimension of a slice.
fn extent(element: &SliceInfoElem) -> Result<Extent> {
    match *element {
        SliceInfoElem::Index(index) => Ok(match u64::try_from(index) {
            Ok(index) => Extent::Index(index),
            Err(_) => Extent::IndexFromEnd(index.unsigned_abs() as u64),
        }),
        SliceInfoElem::Slice { start, end, step } => {
            let stride = u64::try_from(step).map_err(|_| {
                ErrorKind::Stride.context(format!("step {step} of a slice is negative (expected at least 1)"))
            })?;
            Ok(match (u64::try_from(start), end) {
                (Ok(start), None) if stride == 1 => Extent::From { start },
                (Ok(start), None) => Extent::Strided { start, count: None, stride },
                (_, end) => Extent::Signed { start: start as i64, end: end.map(|end| end as i64), stride },
            })
        }
        SliceInfoElem::NewAxis => {
            Err(ErrorKind::Inval.context("a slice of a variable cannot add a dimension (NewAxis)"))
        }
    }
}

impl<T: AsRef<[SliceInfoElem]>, Din: Dimension, Dout: Dimension> Extents for SliceInfo<T, Din, Dout> {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        (&self).extents()
    }
}

impl<T: AsRef<[SliceInfoElem]>, Din: Dimension, Dout: Dimension> Extents for &SliceInfo<T, Din, Dout> {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        let elements: &[SliceInfoElem] = self.as_ref();
        elements.iter().map(extent).collect::<Result<_>>().map(Some)
    }
}
