//! Packed data: reads with scale and offset, given by the caller or by attributes.
//!
//! Source: `scale_factor`, `add_offset`, `_FillValue` and `missing_value` of the CF conventions; `_Unsigned`
//! of the netCDF User's Guide.

use nczarr_dispatch::{Linear, MemMut, put_linear};
use nczarr_model::convert::{self, LinearRow};
use nczarr_model::{ErrorKind, FILL_VALUE, NcType, Result, Scalar, Values};
use nczarr_runtime::Buffer;

use super::VariablePart;
use crate::{Array, Attribute, Extents, Real, Variable};

/// The packing that a variable's attributes define.
struct CfPacking {
    linear: Linear,
    /// The type of the elements, if it differs from the stored type.
    taken_as: Option<NcType>,
}

impl Variable {
    /// Reads a part of the variable and replaces each value by `value · scale + offset`, in one pass.
    ///
    /// The arithmetic uses doubles; results as `f32` are rounded once. Attributes are ignored: see
    /// [`Variable::get_unpacked`].
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_ERANGE` if a result exceeds the range of floats.
    pub fn get_linear<T: Real>(&self, extents: impl Extents, scale: f64, offset: f64) -> Result<Array<T>> {
        let part = self.part(extents)?;
        let values = part.fetch_linear(&Linear::new(scale, offset))?;
        Ok(Array::new(part.selection.shape(), values))
    }

    /// Reads a part of a packed variable as real values: scaled, shifted, and NaN where missing.
    ///
    /// Scale and offset are the attributes `scale_factor` and `add_offset`, if they exist. Stored elements
    /// are missing if they equal the attribute `_FillValue` or a value of `missing_value`. Without these
    /// attributes an unwritten element is the fill value. `_Unsigned` changes the sign of integers.
    ///
    /// # Errors
    /// As [`Variable::get_linear`]; `NC_EBADTYPE` if an attribute has a wrong type.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(not(all(feature = "nczarr", feature = "mem")))]
    /// # fn main() {}
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))]
    /// # fn main() -> nczarr::Result<()> {
    /// let file = nczarr::create("memory://packed#mode=nczarr")?;
    /// file.add_dimension("x", 3)?;
    /// let t = file.add_variable::<i16>("t", &["x"])?;
    /// t.put_attribute("scale_factor", 0.5)?;
    /// t.put_attribute("add_offset", 270.0)?;
    /// t.put_attribute("_FillValue", -1i16)?;
    /// t.put(&[0i16, 7], 0..2)?;
    /// let values = t.get_unpacked::<f64>(..)?;
    /// assert_eq!(values[..2], [270.0, 273.5]);
    /// assert!(values[2].is_nan());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_unpacked<T: Real>(&self, extents: impl Extents) -> Result<Array<T>> {
        let part = self.part(extents)?;
        let packing = self
            .open
            .whole()?
            .unwrap_or(self)
            .packing(part.access.xtype())
            .map_err(|error| part.access.with_path(error))?;
        let values = match packing.taken_as {
            None if packing.linear.is_identity() => part.fetch(T::TYPE)?,
            None => part.fetch_linear(&packing.linear)?,
            Some(ty) => part.fetch_as(ty, &packing.linear)?,
        };
        Ok(Array::new(part.selection.shape(), values))
    }

    fn packing(&self, xtype: NcType) -> Result<CfPacking> {
        // An error about text has precedence over its attributes.
        convert::check(xtype, NcType::Double)?;
        let number = |name: &str, default: f64| match self.attribute(name) {
            None => Ok(default),
            Some(attribute) => match (attribute.values().len(), attribute.number()) {
                (1, Some(number)) => Ok(number),
                _ => Err(wrong(&attribute, "one number")),
            },
        };
        let mut linear = Linear::new(number("scale_factor", 1.0)?, number("add_offset", Linear::NO_OFFSET)?);
        let mut missing = Vec::new();
        for name in [FILL_VALUE, "missing_value"] {
            if let Some(attribute) = self.attribute(name) {
                for value in stored_values(&attribute, xtype)? {
                    if !missing.contains(&value) {
                        missing.push(value);
                    }
                }
            }
        }
        let taken_as = match self.attribute("_Unsigned") {
            None => None,
            Some(attribute) => match attribute.text() {
                Some("true") => other_sign(xtype, false),
                Some("false") => other_sign(xtype, true),
                _ => return Err(wrong(&attribute, "\"true\" or \"false\"")),
            },
        };
        linear.missing = Values::from_native_bytes(taken_as.unwrap_or(xtype), &missing.concat());
        Ok(CfPacking { linear, taken_as })
    }
}

impl VariablePart<'_> {
    /// Reads into new memory, with scale and offset.
    fn fetch_linear<T: Real>(&self, linear: &Linear) -> Result<Buffer<T>> {
        let selected = self.select()?;
        self.check_type(T::TYPE)?;
        selected.check_readable()?;
        Buffer::fill(self.bytes(size_of::<T>())? / size_of::<T>(), |out| {
            selected.get_linear(MemMut::Fixed { ty: T::TYPE, out }, linear)
        })
        .map_err(|error| self.access.with_path(error))
    }

    /// As `fetch_linear`, with the bytes interpreted as type `ty`.
    fn fetch_as<T: Real>(&self, ty: NcType, linear: &Linear) -> Result<Buffer<T>> {
        let (selected, own) = (self.select()?, self.access.xtype());
        selected.check_readable()?;
        let row = LinearRow::new(ty, linear)?;
        let stored = Buffer::<u8>::fill(self.bytes(ty.size().unwrap_or(1))?, |out| {
            selected.get(MemMut::Fixed { ty: own, out })
        })?;
        let mut out_of_range = false;
        let values = Buffer::fill(self.bytes(size_of::<T>())? / size_of::<T>(), |out| {
            out_of_range = put_linear(&row, &stored, T::TYPE, out)?;
            Ok(())
        })
        .map_err(|error| self.access.with_path(error))?;
        if out_of_range {
            Err(self.access.with_path(ErrorKind::Range.context("a scaled value does not fit type float")))
        } else {
            Ok(values)
        }
    }
}

/// Returns the values of an attribute as native elements of type `xtype`. Integers outside its range are left
/// out.
fn stored_values(attribute: &Attribute, xtype: NcType) -> Result<Vec<Vec<u8>>> {
    let values = attribute.values();
    let converted = convert::convert_values(values, xtype).map_err(|_| wrong(attribute, "numbers"))?.0;
    let can_be = |at: usize| match (values.scalar(at), converted.scalar(at)) {
        (Some(Scalar::Int(said)), Some(Scalar::Int(held))) => said == held,
        (Some(Scalar::Float(said)), Some(Scalar::Int(held))) => said == held as f64,
        // The nearest float: the attribute may be more precise than the elements.
        (_, held) => held.is_some(),
    };
    let bytes = converted.to_native_bytes().unwrap_or_default();
    let size = xtype.size().unwrap_or(1);
    Ok(bytes
        .chunks_exact(size)
        .enumerate()
        .filter(|(at, _)| can_be(*at))
        .map(|(_, item)| item.to_vec())
        .collect())
}

fn wrong(attribute: &Attribute, expected: &str) -> nczarr_model::Error {
    let (count, ty) = (attribute.values().len(), attribute.nc_type().name());
    ErrorKind::BadType
        .context(format!("attribute {}: {expected} expected, {count} of type {ty} found", attribute.name()))
}

/// Returns the integer type of the same size and the other sign; `None` if `ty` has that sign, or is not an
/// integer.
fn other_sign(ty: NcType, signed: bool) -> Option<NcType> {
    let (from, to) = match ty {
        NcType::Byte | NcType::UByte => (NcType::Byte, NcType::UByte),
        NcType::Short | NcType::UShort => (NcType::Short, NcType::UShort),
        NcType::Int | NcType::UInt => (NcType::Int, NcType::UInt),
        NcType::Int64 | NcType::UInt64 => (NcType::Int64, NcType::UInt64),
        _ => return None,
    };
    let wanted = if signed { from } else { to };
    (wanted != ty).then_some(wanted)
}
