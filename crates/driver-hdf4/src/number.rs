//! [`NumberType`]: number types by code, and conversion of stored values.
//!
//! Source: HDF Specification, "Number Types"; netCDF types as in netCDF-C.

use nczarr_model::{ErrorKind, NcType, Result, Values};

/// The type of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberType {
    pub(crate) ty: NcType,
    pub(crate) big_endian: bool,
    /// Whether the HDF library treats it as text: 8 bits, and neither a signed nor an unsigned integer.
    pub(crate) text: bool,
}

const LITTLE: u16 = 0x4000;

impl NumberType {
    /// Returns the type of a code.
    ///
    /// # Errors
    /// `NC_EBADTYPE` for types of other machines, and types that netCDF lacks.
    pub(crate) fn of_code(code: u16) -> Result<Self> {
        let ty = match code & !LITTLE {
            3 | 21 => NcType::UByte,
            4 => NcType::Char,
            5 => NcType::Float,
            6 => NcType::Double,
            20 => NcType::Byte,
            22 => NcType::Short,
            23 => NcType::UShort,
            24 => NcType::Int,
            25 => NcType::UInt,
            26 => NcType::Int64,
            27 => NcType::UInt64,
            other => {
                return Err(
                    ErrorKind::BadType.context(format!("number type {other} has no netCDF counterpart"))
                );
            }
        };
        Ok(Self { ty, big_endian: code & LITTLE == 0, text: matches!(code & !LITTLE, 3 | 4) })
    }

    /// Parses a "number type" element: version, code, bits, and machine format.
    ///
    /// # Errors
    /// As [`NumberType::of_code`].
    pub(crate) fn of_element(bytes: &[u8]) -> Result<Self> {
        let &[version, code, _bits, way] = bytes else {
            return Err(ErrorKind::HdfErr
                .context(format!("number type: wrong size (expected 4 bytes, found {})", bytes.len())));
        };
        match (version, way) {
            (1, 0 | 1) => Self::of_code(code.into()),
            (_, 4) => Self::of_code(u16::from(code) | LITTLE),
            _ => {
                let what = format!("number type {code}: unsupported machine format {way}, version {version}");
                Err(ErrorKind::BadType.context(what))
            }
        }
    }

    /// Returns the size in bytes.
    pub(crate) fn size(self) -> usize {
        // All these types have a size.
        self.ty.size().unwrap_or(1)
    }

    /// Converts stored numbers.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the bytes are not a whole number of them.
    pub(crate) fn values(self, mut bytes: Vec<u8>) -> Result<Values> {
        if self.big_endian != cfg!(target_endian = "big") && self.size() > 1 {
            bytes.chunks_exact_mut(self.size()).for_each(<[u8]>::reverse);
        }
        Values::from_native_bytes(self.ty, &bytes).ok_or_else(|| {
            ErrorKind::HdfErr.context(format!(
                "{} bytes are not a multiple of {}",
                bytes.len(),
                self.ty.name()
            ))
        })
    }

    /// Returns the default fill value of the HDF library.
    pub(crate) fn default_fill(self) -> Option<Values> {
        /// netCDF's default fill value of floats.
        const FILL: f32 = 9.969_21e36;
        let bytes = match self.ty {
            _ if self.text => vec![0],
            NcType::Byte | NcType::UByte => vec![0x81],
            NcType::Short | NcType::UShort => (-32767i16).to_ne_bytes().to_vec(),
            NcType::Int | NcType::UInt => (-2_147_483_647i32).to_ne_bytes().to_vec(),
            NcType::Float => FILL.to_ne_bytes().to_vec(),
            NcType::Double => f64::from(FILL).to_ne_bytes().to_vec(),
            _ => return None,
        };
        Values::from_native_bytes(self.ty, &bytes)
    }
}
