//! [`NcValue`]: Rust types as elements and fields of netCDF types.
//!
//! `derive(NcType)` implements it for structs and enums. This module has the parts of such an implementation:
//! [`StructField`] and [`MemoryLayout`] describe the Rust type, and a [`Binding`] connects it with a stored
//! type. A binding is made once per transfer. Fields and members are matched by name.
//!
//! A transfer uses the first possible method:
//!
//! | method | condition |
//! |---|---|
//! | one copy of bytes | equal layouts; for reads also only numbers, for writes also no padding |
//! | field by field | the stored type has a fixed size |
//! | trees of [`Item`] | the stored type has strings or vlens |

mod atomic;
mod binding;
mod bound_enum;
mod bound_struct;
mod define;
#[allow(unsafe_code)]
mod layout;
mod sequence;
mod transfer;

use nczarr_model::{ErrorKind, Item, Model, NcType, Result, Values};

pub use binding::Binding;
pub use define::{FieldType, StructField, define_enum, define_struct};
pub use layout::MemoryLayout;

use crate::Group;

/// A Rust type of elements or fields: numbers, `String`, arrays as fields with a shape, `Vec` for vlens, and
/// structs and enums with `derive(NcType)`.
///
/// [`Group::add_variable`] and [`Group::add_type_of`] define its netCDF type. [`Variable::get_elements`] and
/// [`Variable::put_elements`] transfer elements.
///
/// Numbers convert as in [`Variable::get`]; a value that does not fit is `NC_ERANGE`. `u8` also reads and
/// writes stored characters.
///
/// [`Variable::get`]: crate::Variable::get
/// [`Variable::get_elements`]: crate::Variable::get_elements
/// [`Variable::put_elements`]: crate::Variable::put_elements
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "derive"))] {
/// #[derive(nczarr::NcType, Debug, Clone, PartialEq)]
/// #[repr(C)]
/// struct Station {
///     id: i32,
///     place: [f64; 2],
///     name: String,
///     heights: Vec<f32>,
/// }
///
/// let file = nczarr::create("memory://doc-nc-value")?;
/// file.add_dimension("station", 2)?;
/// let stations = file.add_variable::<Station>("stations", &["station"])?;
/// let oslo = Station { id: 1, place: [59.9, 10.7], name: "Oslo".into(), heights: vec![2.0, 10.0] };
/// stations.put_elements(&[oslo.clone()], 0)?;
/// assert_eq!(stations.get_elements::<Station>(0)?, [oslo]);
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of netCDF values",
    note = "values are numbers, `String`, arrays, `Vec`, and types with `#[derive(nczarr::NcType)]`"
)]
pub trait NcValue: Sized {
    /// The layout in memory, if values can be copied as bytes.
    const LAYOUT: MemoryLayout<Self> = MemoryLayout::UNKNOWN;

    /// Returns type and shape of a field of this type; defines the type if needed. A vlen of `int` is called
    /// `int_vlen`.
    ///
    /// # Errors
    /// The errors of defining types.
    fn define(group: &Group) -> Result<FieldType>;

    /// Connects the type with a stored type, and with the shape of the field that has it.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if values do not convert; `NC_EBADFIELD` if the stored type lacks a field.
    fn bind(model: &Model, ty: NcType, shape: &[u32]) -> Result<Binding>;

    /// Reads a value from the stored element, or field, in native byte order.
    ///
    /// # Errors
    /// `NC_ERANGE` for a number that does not fit, or a value that is no member of an enum.
    fn load(binding: &Binding, bytes: &[u8]) -> Result<Self>;

    /// Writes the value to the stored element, or field, in native byte order.
    ///
    /// # Errors
    /// As [`NcValue::load`].
    fn store(&self, binding: &Binding, bytes: &mut [u8]) -> Result<()>;

    /// Takes a value from trees.
    ///
    /// # Errors
    /// As [`NcValue::load`]; `NC_EBADTYPE` for other trees.
    fn from_items(binding: &Binding, items: &mut dyn Iterator<Item = Item>) -> Result<Self> {
        let (ty, item) = (binding.nc_type(), next(items)?);
        let values = Model::default().values(ty, &[item])?;
        let bytes = values.to_native_bytes().ok_or_else(|| no_fixed_size(ty))?;
        Self::load(binding, &bytes)
    }

    /// Appends the value as trees.
    ///
    /// # Errors
    /// As [`NcValue::store`].
    fn to_items(&self, binding: &Binding, items: &mut Vec<Item>) -> Result<()> {
        let ty = binding.nc_type();
        let mut bytes = vec![0; binding.size()];
        self.store(binding, &mut bytes)?;
        let item = Values::from_native_bytes(ty, &bytes).and_then(|values| Item::atomic(&values, 0));
        items.push(item.ok_or_else(|| no_fixed_size(ty))?);
        Ok(())
    }
}

/// Takes the next tree of a value.
fn next(items: &mut dyn Iterator<Item = Item>) -> Result<Item> {
    items.next().ok_or_else(|| ErrorKind::BadType.context("expected more elements"))
}

fn no_fixed_size(ty: NcType) -> nczarr_model::Error {
    ErrorKind::BadType.context(format!("values of type {} have no fixed size", ty.name()))
}
