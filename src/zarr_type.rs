//! [`ZarrType`]: types of Zarr that netCDF lacks, for new variables.

use std::sync::Arc;

use nczarr_dispatch::StoredType;
use nczarr_model::{Endian, ErrorKind, Result, TimeStep};

use crate::{Group, Variable};

/// A type of plain Zarr that netCDF lacks, for [`Group::add_zarr_variable`].
///
/// | type | reads and writes as |
/// |---|---|
/// | `Bool` | `ubyte`: 0 and 1 |
/// | `Float16`, `Bfloat16` | `float`; writing rounds, and a value that is too large is `NC_ERANGE` |
/// | `Complex64`, `Complex128` | a compound with the fields `r` and `i` |
/// | `DateTime64`, `TimeDelta64` | text, such as `2020-01-01` and `25ms` |
///
/// Elements that were never written are false, NaN, zero and `NaT`, unless a fill value is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ZarrType {
    /// A truth value of one byte.
    Bool,
    /// A half float of IEEE 754.
    Float16,
    /// The upper half of a float; only in Zarr V3.
    Bfloat16,
    /// A complex number of two floats.
    Complex64,
    /// A complex number of two doubles.
    Complex128,
    /// A time, as a count of these steps since 1970.
    DateTime64(TimeStep),
    /// A duration, as a count of these steps.
    TimeDelta64(TimeStep),
}

impl ZarrType {
    /// Returns the stored form, for [`Group::add_variable_as_stored`].
    ///
    /// ```
    /// assert_eq!(nczarr::ZarrType::Bool.stored().data_type, "\"bool\"");
    /// ```
    pub fn stored(self) -> StoredType {
        let time = |name: &str, step: TimeStep| {
            let unit = step.code();
            format!(r#"{{"name": "{name}", "configuration": {{"unit": "{unit}", "scale_factor": 1}}}}"#)
        };
        let data_type = match self {
            Self::Bool => "\"bool\"".to_owned(),
            Self::Float16 => "\"float16\"".to_owned(),
            Self::Bfloat16 => "\"bfloat16\"".to_owned(),
            Self::Complex64 => "\"complex64\"".to_owned(),
            Self::Complex128 => "\"complex128\"".to_owned(),
            Self::DateTime64(step) => time("numpy.datetime64", step),
            Self::TimeDelta64(step) => time("numpy.timedelta64", step),
        };
        StoredType { data_type, endian: Endian::Little }
    }
}

impl Group {
    /// Adds a variable of a type that only plain Zarr has. A name means the dimension in this group or in the
    /// nearest ancestor.
    ///
    /// The table of [`ZarrType`] shows the types for reading and writing the elements.
    /// [`Variable::set_endian`] sets another byte order than little-endian.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::{TimeStep, ZarrType};
    ///
    /// let file = nczarr::create("memory://doc-group-add-zarr-variable#mode=zarr,v3")?;
    /// file.add_dimension("x", 2)?;
    /// let mask = file.add_zarr_variable("mask", ZarrType::Bool, &["x"])?;
    /// mask.put(&[1u8, 0], ..)?;
    /// let time = file.add_zarr_variable("time", ZarrType::DateTime64(TimeStep::Second), &["x"])?;
    /// time.put_strings(&["2020-01-01T12:00:00", "NaT"], ..)?;
    /// # assert_eq!(time.get_string(0)?, "2020-01-01T12:00:00");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_variable`]; `NC_EBADTYPE` in NCZarr and all formats that are not Zarr, and for
    /// `Bfloat16` in Zarr V2.
    pub fn add_zarr_variable(&self, name: &str, ty: ZarrType, dims: &[&str]) -> Result<Variable> {
        let dims = self.dimension_ids(name, dims)?;
        let stored = ty.stored();
        let made = self.opened().change(|dataset| {
            let Some(json) = dataset.json_metadata() else { return Ok(None) };
            match json.presented_type(self.id(), name, &stored)? {
                Some(xtype) => json.def_var(self.id(), name, xtype, &dims, &stored),
                None => Ok(None),
            }
        })?;
        made.map(|id| Variable::new(Arc::clone(self.opened()), id)).ok_or_else(|| {
            ErrorKind::BadType
                .context(format!("{name}: the format has no type {ty:?}; create the dataset as plain Zarr"))
        })
    }
}
