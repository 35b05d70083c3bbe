//! Widens numbers to a type that the target has: the narrowest that holds every value exactly.
//!
//! Values that readers take for missing stay missing. The fill value becomes the same number if the new type
//! has it, else the new type's default, and no other element may become it. A byte has no default fill value,
//! as everywhere in netCDF: all its values are data.

use nczarr_model::convert::convert_values;
use nczarr_model::{FILL_VALUE, NcString, NcType, Result, Values, Var, VarFill, fill};

/// Types that may hold the values of another one, in the order of preference. A type is replaced only in a
/// format that lacks it.
pub fn wider(ty: NcType) -> &'static [NcType] {
    use NcType::{Double, Int, Int64, Short, UByte, UInt, UInt64, UShort};
    match ty {
        UByte => &[Short],
        UShort | UInt | Int64 => &[Int, Double],
        UInt64 => &[Int64, Int, Double],
        _ => &[],
    }
}

/// A conversion of a variable's elements to another type.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberWidening {
    from: NcType,
    /// The new type.
    pub to: NcType,
    /// The old fill value, and the new one.
    fill: Option<(Values, Values)>,
    /// The value that readers of the new type take for missing.
    missing: Option<Values>,
}

impl NumberWidening {
    /// Plans the conversion to a type of [`wider`].
    pub fn new(var: &Var, to: NcType) -> Self {
        let from = var.xtype;
        let default = fill::default(to);
        let fill = apparent_fill(var).and_then(|value| match exactly(&value, to) {
            Some(same) if var.atts.contains_key(FILL_VALUE) => Some((value, same)),
            _ => Some((value, default.clone()?)),
        });
        let missing = fill.as_ref().map(|(_, new)| new.clone()).or(default);
        Self { from, to, fill, missing }
    }

    /// Returns the new fill value; `None` if there is none.
    pub fn fill(&self) -> Option<&Values> {
        self.fill.as_ref().map(|(_, new)| new)
    }

    /// Returns whether the conversion fits every value, so that no scan is needed.
    pub fn is_safe(&self) -> bool {
        use NcType::{Double, Int, Short, UByte, UInt, UShort};
        matches!((self.from, self.to), (UByte, Short) | (UShort, Int) | (UShort | UInt, Double))
    }

    /// Converts elements in native byte order. `None` if an element would change its number, or if a written
    /// element would become the fill value.
    ///
    /// # Errors
    ///
    /// `NC_EBADTYPE` if they are not numbers.
    pub fn elements(&self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let (Some(size), Some(new_size)) = (self.from.size(), self.to.size()) else { return Ok(None) };
        let fill =
            self.fill.as_ref().and_then(|(old, new)| Some((old.to_native_bytes()?, new.to_native_bytes()?)));
        let missing = self.missing.as_ref().and_then(Values::to_native_bytes);
        let mut known = bytes.to_vec();
        // The fill value is mapped, not converted: the new type may lack the number.
        for element in known.chunks_exact_mut(size) {
            if fill.as_ref().is_some_and(|(old, _)| element == old) {
                element.fill(0);
            }
        }
        let values = Values::from_native_bytes(self.from, &known);
        let Some(new) = values.and_then(|values| exactly(&values, self.to)) else { return Ok(None) };
        let Some(mut new) = new.to_native_bytes() else { return Ok(None) };
        for (element, new) in bytes.chunks_exact(size).zip(new.chunks_exact_mut(new_size)) {
            match &fill {
                Some((old, becomes)) if element == old => new.copy_from_slice(becomes),
                _ if missing.as_deref() == Some(new) => return Ok(None),
                _ => {}
            }
        }
        Ok(Some(new))
    }
}

/// Returns the value that readers take for missing: the attribute's value, or the type's default if unwritten
/// elements read as that. A byte has none.
pub fn apparent_fill(var: &Var) -> Option<Values> {
    let said = var.atts.get(FILL_VALUE).filter(|value| value.nc_type() == var.xtype && value.len() == 1);
    match said {
        Some(value) => Some(value.clone()),
        None if matches!(var.xtype, NcType::Byte | NcType::UByte | NcType::Char) => None,
        None if var.fill == VarFill::Default => fill::default(var.xtype),
        None => None,
    }
}

/// Returns the same numbers in another type; `None` if it lacks one of them.
pub fn exactly(values: &Values, to: NcType) -> Option<Values> {
    let (new, out_of_range) = convert_values(values, to).ok()?;
    let (back, out_of_range_back) = convert_values(&new, values.nc_type()).ok()?;
    (!out_of_range && !out_of_range_back && back == *values).then_some(new)
}

/// Returns whether all bytes of a number are zero, or strings are empty.
pub fn is_zero(value: &Values) -> bool {
    if let Values::String(strings) = value {
        return strings.iter().all(|string| string.as_bytes().is_empty());
    }
    value.nc_type().is_numeric()
        && value.to_native_bytes().is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
}

/// Joins strings as lines of one text.
pub fn lines(strings: &[NcString]) -> Vec<u8> {
    strings.iter().map(NcString::as_bytes).collect::<Vec<_>>().join(&b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn var(xtype: NcType, fill: Option<Values>) -> Var {
        let mut var = Var { xtype, ..Var::default() };
        var.atts.extend(fill.map(|fill| (FILL_VALUE.to_owned(), fill)));
        var
    }

    fn change(values: &Values, fill: Option<Values>, to: NcType) -> Option<Values> {
        let change = NumberWidening::new(&var(values.nc_type(), fill), to);
        let bytes = change.elements(&values.to_native_bytes().unwrap()).unwrap()?;
        Some(Values::from_native_bytes(to, &bytes).unwrap())
    }

    #[test]
    fn every_value_is_kept_or_none() {
        use NcType::{Double, Int, Short};
        let default = || None;
        for (values, fill, to, want) in [
            (Values::UByte(vec![0, 255]), default(), Short, Some(Values::Short(vec![0, 255]))),
            (Values::UInt(vec![1, 2147483647]), default(), Int, Some(Values::Int(vec![1, 2147483647]))),
            (Values::UInt(vec![1, 2147483648]), default(), Int, None),
            // An unwritten element stays unwritten.
            (Values::UInt(vec![4294967295, 5]), default(), Int, Some(Values::Int(vec![fill::INT, 5]))),
            (Values::Int64(vec![fill::INT64, -7]), default(), Int, Some(Values::Int(vec![fill::INT, -7]))),
            (Values::Int64(vec![-2147483647]), default(), Int, None),
            (Values::Int64(vec![-2147483647]), default(), Double, Some(Values::Double(vec![-2147483647.0]))),
            (
                Values::Int64(vec![fill::INT64, 1 << 53]),
                default(),
                Double,
                Some(Values::Double(vec![fill::DOUBLE, 9007199254740992.0])),
            ),
            (Values::Int64(vec![(1 << 53) + 1]), default(), Double, None),
            (Values::Int64(vec![i64::MAX]), default(), Double, None),
            (Values::UInt64(vec![u64::MAX]), default(), Double, None),
            // The variable's fill value keeps its number if the new type can hold it.
            (Values::Int64(vec![9, 1]), Some(Values::Int64(vec![9])), Int, Some(Values::Int(vec![9, 1]))),
            (
                Values::Int64(vec![i64::MAX, 1]),
                Some(Values::Int64(vec![i64::MAX])),
                Int,
                Some(Values::Int(vec![fill::INT, 1])),
            ),
        ] {
            assert_eq!(change(&values, fill.clone(), to), want, "{values:?} {fill:?} {to:?}");
        }
    }

    /// A type's default fill value is an ordinary value if unwritten elements read differently.
    #[test]
    fn a_default_that_is_no_fill_value_stays() {
        use NcType::{Double, Int};
        for fill in [VarFill::Value(Values::Int(vec![0])), VarFill::NoFill] {
            for (values, to, want) in [
                (Values::UShort(vec![1, 65535]), Int, Some(Values::Int(vec![1, 65535]))),
                (Values::UInt(vec![fill::UINT]), Int, None),
                (Values::UInt(vec![fill::UINT]), Double, Some(Values::Double(vec![4294967295.0]))),
                (Values::UInt64(vec![fill::UINT64]), Double, None),
                (Values::Int64(vec![fill::INT64]), Double, None),
                // In the new type this number would mean a missing value.
                (Values::Int64(vec![-2147483647]), Int, None),
                (Values::Int64(vec![-2147483647]), Double, Some(Values::Double(vec![-2147483647.0]))),
            ] {
                let change =
                    NumberWidening::new(&Var { fill: fill.clone(), ..var(values.nc_type(), None) }, to);
                let bytes = change.elements(&values.to_native_bytes().unwrap()).unwrap();
                let found = bytes.map(|bytes| Values::from_native_bytes(to, &bytes).unwrap());
                assert_eq!(found, want, "{values:?} {fill:?} {to:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn converted_values_are_the_same_numbers(values in prop::collection::vec(any::<i64>(), 0..6), shift in 0u32..60, to in 0..2) {
            let to = [NcType::Int, NcType::Double][to as usize];
            let values = Values::Int64(values.into_iter().map(|value| value >> shift).collect());
            let fits = |at| match values.scalar(at).unwrap() {
                nczarr_model::Scalar::Int(value) if to == NcType::Int => i32::try_from(value).is_ok_and(|value| value != fill::INT),
                nczarr_model::Scalar::Int(value) => (value as f64) as i128 == value,
                nczarr_model::Scalar::Float(_) => unreachable!("integers"),
            };
            let all = (0..values.len()).all(fits);
            let changed = change(&values, None, to);
            prop_assert_eq!(changed.is_some(), all);
            for (at, new) in changed.iter().flat_map(|new| (0..new.len()).map(move |at| (at, new))) {
                let number = |scalar| match scalar {
                    nczarr_model::Scalar::Int(value) => value,
                    nczarr_model::Scalar::Float(value) => value as i128,
                };
                prop_assert_eq!(number(new.scalar(at).unwrap()), number(values.scalar(at).unwrap()));
            }
        }
    }
}
