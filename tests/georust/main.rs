//! The scenarios of the tests of the crate `netcdf` (github.com/georust/netcdf), after ten substitutions.
//!
//! 1. The crate: `netcdf` -> `nczarr`.
//! 2. The words `mut` and `, _` vanish: `variable_mut("t")` -> `variable("t")`, `::<f32, _>` -> `::<f32>`.
//! 3. Lookups return `Result`: `group("a")?.unwrap()` -> `group("a")?`, `is_none()` -> `is_err()`.
//! 4. Lists are vectors: `variables().count()` -> `variables().len()`, `.any(…)` -> `.iter().any(…)`.
//! 5. Slices: `put_values` -> `put`, `get_values_into` -> `get_into`; structs: `put_elements` …
//! 6. Arrays: `get` -> `get_array`, `put(a.view(), …)` -> `put_array(&a, …)`, `get_into` -> `get_array_into`.
//! 7. Properties: `vartype` -> `nc_type`, `set_compression` -> `set_deflate`, `fill_value` -> `get_fill` …
//! 8. Attributes: `add_attribute` -> `put_attribute`, `value()` -> `get::<i32>()` or `values()`.
//! 9. Dimensions and types: `x.identifier()` -> `&x`, `x.len()` -> `x.len() as usize`, `add_type` ->
//!    `add_type_of` …
//! 10. Options, ends and errors: `create_with(p, Options::CLASSIC)` -> `CreateOptions::new().kind(Kind::Cdf1)
//!     .create(p)`, `drop(file)` -> `file.close()?`, `Error::X` -> `error.kind() == ErrorKind::Y`.
//!
//! `README.md` has them in full, and maps each test of `netcdf` to the one here. Names, values and comments are
//! our own.

mod arrays;
mod attributes;
mod datasets;
mod dimensions;
mod element_types;
mod fill;
mod groups;
mod layout;
mod samples;
mod slabs;
mod strings;
mod table;
mod unlimited;
mod values;
