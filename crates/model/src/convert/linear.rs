//! [`Linear`]: the transform `value · scale + offset` of packed data. [`LinearRow`] applies it to rows of
//! numbers.
//!
//! The arithmetic uses doubles: one rounded multiplication, one rounded addition. Singles are rounded once
//! more at the end. Missing values are compared exactly, before any computation.
//!
//! Source: the attributes `scale_factor`, `add_offset`, `_FillValue` and `missing_value` of the CF
//! conventions.

use super::number::To;
use crate::{ErrorKind, NcType, Result, Values};

/// The transform of every element.
#[derive(Debug, Clone)]
pub struct Linear {
    /// The factor.
    pub scale: f64,
    /// The summand. Minus zero ([`Linear::NO_OFFSET`]) changes nothing, even minus zero.
    pub offset: f64,
    /// Elements that become NaN: values of the variable's type.
    pub missing: Option<Values>,
}

impl Linear {
    /// The offset that changes no value.
    pub const NO_OFFSET: f64 = -0.0;

    /// Creates a transform without missing values.
    pub const fn new(scale: f64, offset: f64) -> Self {
        Self { scale, offset, missing: None }
    }

    /// Whether it changes no value.
    pub fn is_identity(&self) -> bool {
        self.scale == 1.0
            && self.offset.to_bits() == Self::NO_OFFSET.to_bits()
            && self.missing.as_ref().is_none_or(Values::is_empty)
    }

    /// Returns the missing values as native elements of type `from`.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if their type differs.
    pub fn missing_bytes(&self, from: NcType) -> Result<Vec<u8>> {
        let Some(values) = &self.missing else { return Ok(Vec::new()) };
        values.to_native_bytes().filter(|_| values.nc_type() == from).ok_or_else(|| {
            ErrorKind::BadType.context(format!(
                "missing values of type {} among {}",
                values.nc_type().name(),
                from.name()
            ))
        })
    }

    /// Checks that elements of type `from` can be transformed to memory of type `to`.
    ///
    /// # Errors
    /// `NC_EBADTYPE` unless `to` is float or double; as [`check`](super::check).
    pub fn check(from: NcType, to: NcType) -> Result<()> {
        if !matches!(to, NcType::Float | NcType::Double) {
            let what = format!("wrong type of scaled values (expected float or double, found {})", to.name());
            return Err(ErrorKind::BadType.context(what));
        }
        super::check(from, to)
    }
}

/// Values per block, which fits the first-level cache.
const BLOCK: usize = 512;

/// A [`Linear`] for rows of one number type in native byte order.
#[derive(Debug)]
pub struct LinearRow {
    run: Run,
    terms: LinearRowTerms,
}

/// Passes the transformed values of a row to its last argument.
type Run = fn(&[u8], &LinearRowTerms, &mut dyn FnMut(&[f64]));

#[derive(Debug)]
struct LinearRowTerms {
    scale: f64,
    offset: f64,
    missing: Vec<u8>,
}

impl LinearRow {
    /// Creates the transform for elements of type `from`.
    ///
    /// # Errors
    /// `NC_ECHAR` or `NC_EBADTYPE` if they are not numbers, or if the missing values have another type.
    pub fn new(from: NcType, linear: &Linear) -> Result<Self> {
        super::check(from, NcType::Double)?;
        let terms = LinearRowTerms {
            scale: linear.scale,
            offset: linear.offset,
            missing: linear.missing_bytes(from)?,
        };
        let run = super::with_number!(from, S => each::<S>, else return Err(super::no_row(from)));
        Ok(Self { run, terms })
    }

    /// Passes the transformed values of a row to `take`, block by block.
    pub fn run(&self, src: &[u8], take: &mut dyn FnMut(&[f64])) {
        (self.run)(src, &self.terms, take);
    }
}

fn each<S: To<f64> + PartialEq>(src: &[u8], terms: &LinearRowTerms, take: &mut dyn FnMut(&[f64])) {
    let missing: Vec<S> = S::items(&terms.missing).iter().map(S::load::<NATIVE>).collect();
    let mut block = [0.0; BLOCK];
    for items in S::items(src).chunks(BLOCK) {
        for (item, value) in items.iter().zip(&mut block) {
            *value = S::load::<NATIVE>(item).fast() * terms.scale + terms.offset;
        }
        for missing in &missing {
            for (item, value) in items.iter().zip(&mut block) {
                if S::load::<NATIVE>(item) == *missing {
                    *value = f64::NAN;
                }
            }
        }
        take(&block[..items.len()]);
    }
}

/// Not swapped.
const NATIVE: bool = false;
