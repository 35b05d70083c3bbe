//! [`ElementConversion`]: converts elements of a source for a virtual dataset.

use nczarr_model::{ErrorKind, Model, NcType, Result, convert};
use nczarr_runtime::Buffer;

use super::super::cursor::damaged;
use super::super::datatype::Datatype;
use super::super::types::TypeTable;
use super::super::values::{self, is_fixed};
use super::super::var::byte_order;

/// The way to convert.
#[derive(Debug, Clone)]
pub(super) enum ElementConversion {
    /// Copies bytes.
    Same,
    /// Swaps numbers to native byte order.
    Turn(Datatype),
    /// Converts numbers to another type.
    Numbers { stored: Datatype, from: NcType, to: NcType },
}

impl ElementConversion {
    /// Chooses the conversion. The result has type `number`, if given. `here`: both datasets are in one file.
    ///
    /// # Errors
    /// `NC_EBADTYPE` or `NC_ECHAR` if the types do not convert; `NC_ESTORAGE` for elements of variable length
    /// in another file.
    pub(super) fn new(from: &Datatype, to: &Datatype, number: Option<NcType>, here: bool) -> Result<Self> {
        if let (Some(number), Some(_)) = (number, byte_order(from)) {
            let own = TypeTable::default().nc_type(from, &mut Model::new())?;
            convert::check(own, number)?;
            return Ok(if own == number {
                Self::Turn(from.clone())
            } else {
                Self::Numbers { stored: from.clone(), from: own, to: number }
            });
        }
        if number.is_some() || !from.is_stored_like(to) {
            let what = format!("mapping: type {} does not convert to type {}", from.name(), to.name());
            return Err(ErrorKind::BadType.context(what));
        }
        if here || is_fixed(from) {
            Ok(Self::Same)
        } else {
            Err(ErrorKind::Storage
                .context("mapping: elements of variable length in another file are not supported"))
        }
    }

    /// Converts all elements of a slab.
    ///
    /// # Errors
    /// `NC_ERANGE` if a value does not fit.
    pub(super) fn all(&self, mut elements: Buffer<u8>) -> Result<Buffer<u8>> {
        match self {
            Self::Same => Ok(elements),
            Self::Turn(ty) => {
                values::to_native(ty, &mut elements);
                Ok(elements)
            }
            Self::Numbers { stored, from, to } => {
                let values = values::numbers(stored, *from, &elements);
                let values =
                    values.ok_or_else(|| damaged(format!("{} bytes of {}", elements.len(), from.name())))?;
                let (values, beyond) = convert::convert_values(&values, *to)?;
                let bytes = values.to_native_bytes().filter(|_| !beyond);
                let bytes = bytes.ok_or_else(|| {
                    ErrorKind::Range.context(format!(
                        "values of type {} that {} cannot hold",
                        from.name(),
                        to.name()
                    ))
                })?;
                Buffer::fill(bytes.len(), |out| out.put(&bytes))
            }
        }
    }
}
