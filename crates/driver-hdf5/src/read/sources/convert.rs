//! [`Convert`]: elements of a source as a virtual dataset has them.

use nczarr_dispatch::Buffer;
use nczarr_model::{ErrorKind, Model, NcType, Result, convert};

use super::super::cursor::bad;
use super::super::datatype::Datatype;
use super::super::types::Types;
use super::super::values::{self, is_fixed};
use super::super::var::byte_order;

/// How it is done.
#[derive(Debug, Clone)]
pub(super) enum Convert {
    /// Byte for byte.
    Same,
    /// Numbers, into this machine's order.
    Turn(Datatype),
    /// Numbers of one type into those of another one.
    Numbers { stored: Datatype, from: NcType, to: NcType },
}

impl Convert {
    /// From elements of one type to those of another one, which are presented as `number`. `here`: both are in one file.
    ///
    /// # Errors
    /// `NC_EBADTYPE`, `NC_ECHAR` if they do not convert; `NC_ESTORAGE` for elements of variable length in another file.
    pub(super) fn new(from: &Datatype, to: &Datatype, number: Option<NcType>, here: bool) -> Result<Self> {
        if let (Some(number), Some(_)) = (number, byte_order(from)) {
            let own = Types::default().nc_type(from, &mut Model::new())?;
            convert::check(own, number)?;
            return Ok(match own == number {
                true => Self::Turn(from.clone()),
                false => Self::Numbers { stored: from.clone(), from: own, to: number },
            });
        }
        if number.is_some() || !from.is_stored_like(to) {
            let what = format!("elements of type {} are mapped on those of type {}", from.name(), to.name());
            return Err(ErrorKind::BadType.context(what));
        }
        match here || is_fixed(from) {
            true => Ok(Self::Same),
            false => Err(ErrorKind::Storage.context("elements of variable length in another file are not read")),
        }
    }

    /// All elements of a slab.
    ///
    /// # Errors
    /// `NC_ERANGE` if one does not fit.
    pub(super) fn all(&self, mut elements: Buffer<u8>) -> Result<Buffer<u8>> {
        match self {
            Self::Same => Ok(elements),
            Self::Turn(ty) => {
                values::to_native(ty, &mut elements);
                Ok(elements)
            }
            Self::Numbers { stored, from, to } => {
                let values = values::numbers(stored, *from, &elements);
                let values = values.ok_or_else(|| bad(format!("{} bytes of {}", elements.len(), from.name())))?;
                let (values, beyond) = convert::convert_values(&values, *to)?;
                let bytes = values.to_native_bytes().filter(|_| !beyond);
                let bytes = bytes.ok_or_else(|| {
                    ErrorKind::Range.context(format!("values of type {} that {} cannot hold", from.name(), to.name()))
                })?;
                Buffer::fill(bytes.len(), |out| out.put(&bytes))
            }
        }
    }
}
