//! The macro [`derive(NcType)`](macro@NcType).
//!
//! `input.rs` checks a type and its attributes, `output.rs` writes the implementation of `nczarr::NcValue`.
#![forbid(unsafe_code)]

mod attributes;
mod input;
mod output;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a compound type, or an enum an enum type. It implements `nczarr::NcValue`.
///
/// A struct has `#[repr(C)]` and named fields. Fields are numbers, `String`, arrays of fields, `Vec` for
/// vlens, and types with this macro. An enum has an integer representation such as `#[repr(u8)]`, and members
/// without fields.
///
/// `#[nc(name = "…")]` at the type, a field or a member gives the netCDF name, if it differs.
///
/// If all fields are numbers, a transfer reads and writes elements with the memory layout of the struct as
/// bytes. It also writes structs with enums as bytes. It writes a struct with padding field by field.
///
/// ```
/// use nczarr::NcType;
///
/// #[derive(NcType, Debug, Clone, Copy, PartialEq)]
/// #[repr(u8)]
/// enum Quality {
///     #[nc(name = "good")]
///     Good = 1,
///     #[nc(name = "bad")]
///     Bad = 4,
/// }
///
/// #[derive(NcType, Debug, Clone, PartialEq)]
/// #[repr(C)]
/// #[nc(name = "observation")]
/// struct Observation {
///     temperature: f32,
///     #[nc(name = "wind-speed")]
///     wind: [[f32; 2]; 3],
///     quality: Quality,
/// }
///
/// let file = nczarr::create("memory://derive")?;
/// file.add_dimension("station", 10)?;
/// let v = file.add_variable::<Observation>("v", &["station"])?;
/// let seen = Observation { temperature: 281.5, wind: [[1.0, 0.5]; 3], quality: Quality::Good };
/// v.put_elements(&[seen.clone()], 3)?;
/// assert_eq!(v.get_elements::<Observation>(3)?, [seen]);
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Unsupported types
///
/// A struct without `#[repr(C)]` has no fixed layout:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// struct Point {
///     x: f64,
/// }
/// ```
///
/// Fields are stored by name:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// #[repr(C)]
/// struct Point(f64, f64);
/// ```
///
/// A borrowed value cannot be read:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// #[repr(C)]
/// struct Point<'a> {
///     x: &'a f64,
/// }
/// ```
///
/// A union does not say which field is valid:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// #[repr(C)]
/// union Number {
///     int: i32,
///     float: f32,
/// }
/// ```
///
/// An enum needs an integer representation:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// enum Quality {
///     Good,
///     Bad,
/// }
/// ```
///
/// Members of an enum have no fields:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// #[repr(u8)]
/// enum Quality {
///     Good,
///     Bad(u8),
/// }
/// ```
///
/// Fields have types of netCDF:
/// ```compile_fail
/// #[derive(nczarr::NcType)]
/// #[repr(C)]
/// struct Point {
///     valid: bool,
/// }
/// ```
#[proc_macro_derive(NcType, attributes(nc))]
pub fn derive_nc_type(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    match input::NcInput::parse(&item) {
        Ok(input) => output::implementation(&input).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
