//! Scaled reads for drivers without a kernel for them: a plain read, then a pass over its elements.
//!
//! Elements are read as doubles, or as their stored type, and floats are rounded once.

use nczarr_model::convert::{Linear, LinearRow};
use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result, Values};

use crate::{MemMut, OutBuf, VarData, byte_len};
use nczarr_runtime::Buffer;

/// Reads, then transforms: the default of [`VarData::get_linear`].
pub(crate) fn get_linear_in_two_passes<D: VarData + ?Sized>(
    data: &D,
    slab: &CheckedSlab<'_>,
    out: MemMut<'_, '_>,
    linear: &Linear,
) -> Result<()> {
    let ty = out.ty();
    let via = linear.missing.as_ref().map_or(NcType::Double, Values::nc_type);
    Linear::check(via, ty)?;
    let MemMut::Fixed { out, .. } = out else { return Err(ErrorKind::BadType.into()) };
    let row = LinearRow::new(via, linear)?;
    let bytes = byte_len(slab.len(), via.size().unwrap_or(1))?;
    let values = Buffer::<u8>::fill(bytes, |out| data.get(slab, MemMut::Fixed { ty: via, out }))?;
    out.clear();
    if put_linear(&row, &values, ty, out)? {
        Err(ErrorKind::Range.context("a scaled value does not fit type float"))
    } else {
        Ok(())
    }
}

/// Appends transformed elements as floats or doubles. Returns whether one is out of range.
///
/// # Errors
/// `NC_EBADTYPE` for memory of another type; an error if `out` is too small.
pub fn put_linear(row: &LinearRow, src: &[u8], ty: NcType, out: &mut OutBuf<'_>) -> Result<bool> {
    let (mut out_of_range, mut result) = (false, Ok(()));
    Linear::check(NcType::Double, ty)?;
    row.run(src, &mut |values| {
        if result.is_err() {
            return;
        }
        result = if ty == NcType::Double {
            out.extend(values.iter().flat_map(|value| value.to_ne_bytes()))
        } else {
            out_of_range |= values.iter().any(|value| value.is_finite() && value.abs() > f64::from(f32::MAX));
            out.extend(values.iter().flat_map(|value| (*value as f32).to_ne_bytes()))
        };
    });
    result.map(|()| out_of_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shorts 0, 1, 2 …, and one value that is too large to convert.
    #[derive(Debug)]
    struct Shorts(Vec<i16>);

    impl VarData for Shorts {
        fn get(&self, _slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
            let MemMut::Fixed { ty, out } = out else { panic!("numbers") };
            let (values, _) = nczarr_model::convert::convert_values(&Values::Short(self.0.clone()), ty)?;
            out.put(&values.to_native_bytes().unwrap())
        }
    }

    fn slab(shape: &[u64]) -> CheckedSlab<'_> {
        nczarr_model::Slab::new(&[0], shape).check(shape, |_| false).unwrap()
    }

    fn read(linear: &Linear, ty: NcType) -> (Values, Result<()>) {
        let data = Shorts(vec![-7, 0, 1, 30_000]);
        let mut bytes = vec![0; 4 * ty.size().unwrap()];
        let slab = slab(&[4]);
        let result =
            data.get_linear(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) }, linear);
        (Values::from_native_bytes(ty, &bytes).unwrap(), result)
    }

    #[test]
    fn values_are_scaled_after_a_plain_read() {
        let linear = Linear::new(0.1, 273.15);
        let expected: Vec<f64> =
            [-7.0, 0.0, 1.0, 30_000.0].iter().map(|value| value * 0.1 + 273.15).collect();
        let (found, result) = read(&linear, NcType::Double);
        result.unwrap();
        assert_eq!(found, Values::Double(expected.clone()));
        let (found, result) = read(&linear, NcType::Float);
        result.unwrap();
        assert_eq!(found, Values::Float(expected.iter().map(|&value| value as f32).collect()));
    }

    #[test]
    fn missing_values_become_nan() {
        let linear = Linear { missing: Some(Values::Short(vec![1, -7])), ..Linear::new(2.0, 1.0) };
        for ty in [NcType::Double, NcType::Float] {
            let (found, result) = read(&linear, ty);
            result.unwrap();
            let found = nczarr_model::convert::convert_values(&found, NcType::Double).unwrap().0;
            let Values::Double(found) = found else { panic!("{found:?}") };
            assert!(found[0].is_nan() && found[2].is_nan());
            assert_eq!((found[1], found[3]), (1.0, 60_001.0));
        }
    }

    #[test]
    fn results_beyond_the_range_of_float_are_errors() {
        let (found, result) = read(&Linear::new(1e36, 0.0), NcType::Float);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(found, Values::Float(vec![-7e36, 0.0, 1e36, f32::INFINITY]));
        read(&Linear::new(f64::INFINITY, 0.0), NcType::Float).1.unwrap();
    }

    #[test]
    fn only_floats_hold_scaled_values() {
        let linear = Linear::new(1.0, 0.0);
        assert_eq!(read(&linear, NcType::Int).1.unwrap_err().kind(), ErrorKind::BadType);
        let mut strings = [nczarr_model::NcString::new()];
        let result = Shorts(vec![1]).get_linear(&slab(&[1]), MemMut::Strings(&mut strings), &linear);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::BadType);
        let text = Linear { missing: Some(Values::text("x")), ..linear };
        assert_eq!(read(&text, NcType::Double).1.unwrap_err().kind(), ErrorKind::Char);
    }
}
