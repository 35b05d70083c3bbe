//! [`Attribute`]: a name and typed values. [`IntoValues`]: conversions to values.

use nczarr_model::{NcString, NcType, Result, Values};

use crate::{FromValues, Number};

/// A copy of an attribute of a group or variable. Later changes of the dataset do not change the copy.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    name: String,
    values: Values,
}

impl Attribute {
    pub(crate) fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values }
    }

    /// The name.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.attributes()[0].name(), "units");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-nc-type")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.attributes()[0].nc_type(), nczarr::NcType::Char);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn nc_type(&self) -> NcType {
        self.values.nc_type()
    }

    /// The values.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-values")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.put_attribute("levels", vec![1i32, 2])?;
    /// let levels = v.attribute("levels").unwrap();
    /// assert_eq!(levels.values(), &nczarr::Values::Int(vec![1, 2]));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Converts the attribute to its values.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-into-values")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let values = v.attribute("units").map(|units| units.into_values());
    /// assert_eq!(values, Some(nczarr::Values::text("K")));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn into_values(self) -> Values {
        self.values
    }

    /// Converts the values to a type of Rust: a number, a vector of numbers, a `String` or a vector of
    /// `String`s.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-get")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// v.put_attribute("valid_range", [0i16, 300])?;
    /// let range: Vec<f64> = v.attribute("valid_range").unwrap().get()?;
    /// assert_eq!(range, [0.0, 300.0]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FromValues::from_values`].
    pub fn get<T: FromValues>(&self) -> Result<T> {
        T::from_values(&self.values).map_err(|error| error.at(format_args!("attribute {}", self.name)))
    }

    /// The text of a char attribute or of a single string; `None` if it is neither, or not UTF-8.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-text")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.attribute("units").unwrap().text(), Some("K"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn text(&self) -> Option<&str> {
        self.values.as_text()
    }

    /// Returns the first value as a double; `None` if there is none or it is not a number. Large 64-bit
    /// integers are rounded.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-attribute-number")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// v.put_attribute("scale_factor", 0.5)?;
    /// assert_eq!(v.attribute("scale_factor").unwrap().number(), Some(0.5));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn number(&self) -> Option<f64> {
        self.values.scalar(0).map(|scalar| match scalar {
            nczarr_model::Scalar::Int(value) => value as f64,
            nczarr_model::Scalar::Float(value) => value,
        })
    }
}

/// Types that can be the value of an attribute or a fill value: numbers, slices and vectors of them, text
/// (`&str`, `String`: type char), several texts (type string), and [`Values`].
pub trait IntoValues {
    /// The values.
    fn into_values(self) -> Values;
}

impl IntoValues for Values {
    fn into_values(self) -> Values {
        self
    }
}

impl IntoValues for &Values {
    fn into_values(self) -> Values {
        self.clone()
    }
}

impl IntoValues for &str {
    fn into_values(self) -> Values {
        Values::text(self)
    }
}

impl IntoValues for String {
    fn into_values(self) -> Values {
        Values::Char(self.into_bytes())
    }
}

impl IntoValues for &String {
    fn into_values(self) -> Values {
        Values::text(self)
    }
}

macro_rules! strings {
    ($($t:ty),*) => {$(
        impl IntoValues for Vec<$t> {
            fn into_values(self) -> Values {
                Values::String(self.into_iter().map(NcString::from).collect())
            }
        }

        impl IntoValues for &[$t] {
            fn into_values(self) -> Values {
                Values::String(self.iter().cloned().map(NcString::from).collect())
            }
        }

        impl<const N: usize> IntoValues for [$t; N] {
            fn into_values(self) -> Values {
                Values::String(self.into_iter().map(NcString::from).collect())
            }
        }

        impl<const N: usize> IntoValues for &[$t; N] {
            fn into_values(self) -> Values {
                self.as_slice().into_values()
            }
        }
    )*};
}

strings!(&str, String, NcString);

impl IntoValues for NcString {
    fn into_values(self) -> Values {
        Values::String(vec![self])
    }
}

macro_rules! numbers {
    ($($t:ty => $variant:ident),* $(,)?) => {$(
        impl IntoValues for $t {
            fn into_values(self) -> Values {
                Values::$variant(vec![self])
            }
        }

        impl IntoValues for Vec<$t> {
            fn into_values(self) -> Values {
                Values::$variant(self)
            }
        }

        impl IntoValues for &[$t] {
            fn into_values(self) -> Values {
                Values::$variant(self.to_vec())
            }
        }

        impl<const N: usize> IntoValues for [$t; N] {
            fn into_values(self) -> Values {
                Values::$variant(self.to_vec())
            }
        }

        impl<const N: usize> IntoValues for &[$t; N] {
            fn into_values(self) -> Values {
                Values::$variant(self.to_vec())
            }
        }
    )*};
}

numbers! {
    i8 => Byte, i16 => Short, i32 => Int, i64 => Int64, f32 => Float,
    u8 => UByte, u16 => UShort, u32 => UInt, u64 => UInt64, f64 => Double,
}

// Every `Number` is covered above; a type added to one list and not the other fails to compile here.
#[allow(dead_code, reason = "compiled for its types only")]
fn every_number_is_a_value<T: Number + IntoValues>() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_values_map_to_their_netcdf_types() {
        assert_eq!("K".into_values(), Values::Char(b"K".to_vec()));
        assert_eq!("".into_values(), Values::Char(vec![]));
        assert_eq!(["a", "b"].into_values(), Values::String(vec!["a".into(), "b".into()]));
        assert_eq!((&["a", "b"]).into_values(), ["a", "b"].into_values());
        assert_eq!(NcString::from("one").into_values(), Values::String(vec!["one".into()]));
        assert_eq!(1.5f32.into_values(), Values::Float(vec![1.5]));
        assert_eq!([1u64, 2].into_values(), Values::UInt64(vec![1, 2]));
        assert_eq!(vec![-1i8].into_values(), Values::Byte(vec![-1]));
        let attribute = Attribute::new("x", 3i16.into_values());
        assert_eq!(
            (attribute.number(), attribute.text(), attribute.nc_type()),
            (Some(3.0), None, NcType::Short)
        );
        assert_eq!(Attribute::new("x", "hi".into_values()).text(), Some("hi"));
    }
}
