//! Data types of Zarr V3: [`DataTypeClass`] makes an [`ExtensionType`] from a name and a configuration.
//!
//! A data type describes the stored form of its elements, and their netCDF type. The driver knows the types
//! of the specification; the registry provides others. A plugin cannot replace a known type.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{NcType, Result};

use crate::{ItemType, Json, OutBuf};

/// Makes [`ExtensionType`]s from `data_type` members.
pub trait DataTypeClass: Send + Sync + 'static {
    /// Returns the names of the type in Zarr V3.
    fn names(&self) -> &'static [&'static str];

    /// Returns one line about the elements and their encoding.
    fn about(&self) -> &'static str {
        ""
    }

    /// Returns the type of this name. `configuration` is an object, empty if the member has none.
    ///
    /// # Errors
    /// `NC_EBADTYPE` that names the wrong member and the expected value.
    fn parse(&self, name: &str, configuration: &Json) -> Result<Arc<dyn ExtensionType>>;
}

/// The netCDF type that users see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShownType {
    /// A number type, or [`NcType::Char`].
    Atomic(NcType),
    /// An opaque type of this many bytes.
    Opaque(usize),
}

impl ShownType {
    /// Returns the bytes of an element in memory; `None` for a type without a fixed size, which is invalid.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::Atomic(ty) => ty.size(),
            Self::Opaque(size) => (size > 0).then_some(size),
        }
    }
}

/// A data type of Zarr V3 with its configuration. Its elements have a fixed size.
///
/// A stored item is little-endian in all methods. The engine reverses the bytes of each
/// [`word`](Self::word_size) where the array is big-endian.
///
/// ```
/// use std::sync::Arc;
///
/// use nczarr_codec::{DataTypeClass, ExtensionType, ItemKind, ItemType, Json, OutBuf, ShownType};
/// use nczarr_model::{ErrorKind, NcType, Result};
///
/// /// Tenths as bytes, shown as floats.
/// #[derive(Debug)]
/// struct Tenths;
///
/// impl DataTypeClass for Tenths {
///     fn names(&self) -> &'static [&'static str] {
///         &["example.tenths"]
///     }
///     fn parse(&self, _name: &str, _configuration: &Json) -> Result<Arc<dyn ExtensionType>> {
///         Ok(Arc::new(Tenths))
///     }
/// }
///
/// impl ExtensionType for Tenths {
///     fn to_json(&self) -> Json {
///         "example.tenths".into()
///     }
///     fn item(&self) -> ItemType {
///         ItemType { kind: ItemKind::UInt, size: 1, big_endian: false }
///     }
///     fn word_size(&self) -> usize {
///         1
///     }
///     fn shown(&self) -> ShownType {
///         ShownType::Atomic(NcType::Float)
///     }
///     fn fill_from_json(&self, value: &Json) -> Result<Vec<u8>> {
///         let tenths = value.as_u64().and_then(|tenths| u8::try_from(tenths).ok());
///         Ok(vec![tenths.ok_or_else(|| ErrorKind::BadType.context("expected a byte"))?])
///     }
///     fn fill_to_json(&self, item: &[u8]) -> Result<Json> {
///         Ok(item[0].into())
///     }
///     fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
///         out.extend(items.iter().flat_map(|&tenths| (f32::from(tenths) / 10.0).to_ne_bytes()))
///     }
///     fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
///         let mut out_of_range = false;
///         for element in elements.as_chunks().0 {
///             let tenths = (f32::from_ne_bytes(*element) * 10.0).round();
///             out_of_range |= !(0.0..=255.0).contains(&tenths);
///             out.put(&[tenths as u8])?;
///         }
///         if out_of_range { Err(ErrorKind::Range.context("a value does not fit a byte")) } else { Ok(()) }
///     }
/// }
///
/// let mut stored = [0];
/// Tenths.save(&2.5_f32.to_ne_bytes(), &mut OutBuf::from_slice(&mut stored))?;
/// assert_eq!(stored, [25]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait ExtensionType: Send + Sync + fmt::Debug {
    /// Returns the `data_type` member: a name, or an object with name and configuration.
    fn to_json(&self) -> Json;

    /// Returns the stored item as filters see it, little-endian; its size is at least 1.
    fn item(&self) -> ItemType;

    /// Returns the size of the numbers in an item, in bytes: a divisor of the item's size. The byte order of
    /// an array applies to these numbers. 1: the byte order does not matter.
    fn word_size(&self) -> usize;

    /// Returns the netCDF type of the elements.
    fn shown(&self) -> ShownType;

    /// Returns the stored item of a `fill_value` member.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if it is not a value of the type, `NC_ERANGE` if it does not fit.
    fn fill_from_json(&self, value: &Json) -> Result<Vec<u8>>;

    /// Returns the `fill_value` member of a stored item.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if no `fill_value` expresses the item.
    fn fill_to_json(&self, item: &[u8]) -> Result<Json>;

    /// Converts whole stored items to elements of the netCDF type, in native byte order, into the empty
    /// `out`.
    ///
    /// # Errors
    /// `NC_ERANGE` or `NC_EFILTER` for an item that is no value of the type.
    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()>;

    /// Converts whole elements of the netCDF type to stored items, into the empty `out`.
    ///
    /// As everywhere in netCDF, an element out of range does not stop the conversion. The method stores the
    /// nearest value in its place.
    ///
    /// # Errors
    /// `NC_ERANGE` after all elements are converted, if some were out of range.
    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()>;
}
