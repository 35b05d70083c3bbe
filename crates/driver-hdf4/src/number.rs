//! [`Number`]: number types as codes name them, and values as they are stored.
//!
//! Source: HDF Specification, "Number Types"; which type of netCDF's each is, as netCDF-C has it.

use nczarr_model::{ErrorKind, NcType, Result, Values};

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) ty: NcType,
    pub(crate) big_endian: bool,
    /// Whether the HDF library takes it for text: 8 bits that are neither of the signed nor of the unsigned integers.
    pub(crate) text: bool,
}

const LITTLE: u16 = 0x4000;

impl Number {
    /// The type of a code.
    ///
    /// # Errors
    /// `NC_EBADTYPE` for those of other machines, and for what netCDF has no type for.
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
            other => return Err(ErrorKind::BadType.context(format!("number type {other} has none in netCDF"))),
        };
        Ok(Self { ty, big_endian: code & LITTLE == 0, text: matches!(code & !LITTLE, 3 | 4) })
    }

    /// The type that an element of the kind "number type" describes: version, code, bits, and the machine's way.
    ///
    /// # Errors
    /// As [`Number::of_code`].
    pub(crate) fn of_element(bytes: &[u8]) -> Result<Self> {
        let &[version, code, _bits, way] = bytes else {
            return Err(ErrorKind::HdfErr.context(format!("a number type has 4 bytes, found {}", bytes.len())));
        };
        match (version, way) {
            (1, 0 | 1) => Self::of_code(code.into()),
            (_, 4) => Self::of_code(u16::from(code) | LITTLE),
            _ => {
                let what = format!("number type {code} in the way {way} of another machine, version {version}");
                Err(ErrorKind::BadType.context(what))
            }
        }
    }

    /// Bytes of one.
    pub(crate) fn size(self) -> usize {
        // All of the types above have one.
        self.ty.size().unwrap_or(1)
    }

    /// Stored numbers as values.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the bytes are no whole number of them.
    pub(crate) fn values(self, mut bytes: Vec<u8>) -> Result<Values> {
        if self.big_endian != cfg!(target_endian = "big") && self.size() > 1 {
            bytes.chunks_exact_mut(self.size()).for_each(<[u8]>::reverse);
        }
        Values::from_native_bytes(self.ty, &bytes).ok_or_else(|| {
            ErrorKind::HdfErr.context(format!("{} bytes are no whole number of {}", bytes.len(), self.ty.name()))
        })
    }

    /// What the HDF library gives where nothing was written and no fill value is set.
    pub(crate) fn default_fill(self) -> Option<Values> {
        /// The float of netCDF's defaults.
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
