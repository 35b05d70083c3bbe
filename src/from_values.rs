//! [`FromValues`]: typed access to the values of an attribute or to a fill value.

use nczarr_model::{ErrorKind, Result, Values, convert};

use crate::Number;

/// Rust types that values convert to: a number, a vector of numbers, a `String`, and a vector of those.
///
/// A single number or text needs exactly one value. Numbers convert to any number type that holds them.
pub trait FromValues: Sized {
    /// Converts the values.
    ///
    /// # Errors
    /// `NC_ECHAR` if values are text and the type is numeric, or the reverse; `NC_ERANGE` if a number does
    /// not fit; `NC_EINVAL` if there is not one value, or if text is not UTF-8.
    fn from_values(values: &Values) -> Result<Self>;
}

impl<T: Number> FromValues for Vec<T> {
    fn from_values(values: &Values) -> Result<Self> {
        let (converted, out_of_range) = convert::convert_values(values, T::TYPE)?;
        if out_of_range {
            let ty = T::TYPE.name();
            return Err(ErrorKind::Range.context(format!("a value does not fit the type {ty}")));
        }
        let bytes = converted.to_native_bytes().ok_or_else(|| {
            ErrorKind::BadType.context(format!("values of type {} are not numbers", values.nc_type().name()))
        })?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }
}

impl FromValues for Vec<String> {
    fn from_values(values: &Values) -> Result<Self> {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .map_err(|error| ErrorKind::Inval.context("the text is not UTF-8").caused_by(error))
        };
        match values {
            Values::Char(bytes) => Ok(vec![text(bytes)?]),
            Values::String(list) => list.iter().map(|string| text(string.as_bytes())).collect(),
            other => {
                Err(ErrorKind::Char
                    .context(format!("values of type {} are not text", other.nc_type().name())))
            }
        }
    }
}

impl FromValues for String {
    fn from_values(values: &Values) -> Result<Self> {
        single(Vec::from_values(values)?)
    }
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl FromValues for $t {
            fn from_values(values: &Values) -> Result<Self> {
                single(Vec::from_values(values)?)
            }
        }
    )*};
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// Returns the only value.
fn single<T>(values: Vec<T>) -> Result<T> {
    let found = values.len();
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(ErrorKind::Inval.context(format!("expected one value, found {found}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_convert_to_types_that_hold_them() {
        let ints = Values::Int(vec![1, 300]);
        assert_eq!(Vec::<f64>::from_values(&ints).unwrap(), [1.0, 300.0]);
        assert_eq!(Vec::<i32>::from_values(&ints).unwrap(), [1, 300]);
        assert_eq!(Vec::<u8>::from_values(&ints).unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(i32::from_values(&ints).unwrap_err().kind(), ErrorKind::Inval);
        assert_eq!(i16::from_values(&Values::Double(vec![7.0])).unwrap(), 7);
        assert_eq!(f32::from_values(&Values::Float(vec![])).unwrap_err().kind(), ErrorKind::Inval);
    }

    #[test]
    fn text_converts_to_strings_only() {
        let (text, list) = (Values::text("K"), Values::String(vec!["a".into(), "b".into()]));
        assert_eq!(String::from_values(&text).unwrap(), "K");
        assert_eq!(Vec::<String>::from_values(&list).unwrap(), ["a", "b"]);
        assert_eq!(String::from_values(&list).unwrap_err().kind(), ErrorKind::Inval);
        assert_eq!(f64::from_values(&text).unwrap_err().kind(), ErrorKind::Char);
        assert_eq!(String::from_values(&Values::Int(vec![1])).unwrap_err().kind(), ErrorKind::Char);
        assert_eq!(String::from_values(&Values::Char(vec![0xff])).unwrap_err().kind(), ErrorKind::Inval);
    }
}
