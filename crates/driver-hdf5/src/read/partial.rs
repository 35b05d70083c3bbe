//! [`Partial`]: numbers of fewer bits than those of netCDF's types: half floats, and integers with unused bits, or of a
//! size that no machine has. They are shown as the next larger type: half floats as singles, as in Zarr. HDF5 forgets the sign of some, where all it does is to turn the bytes round; that is not done.

use ::half::{bf16, f16};
use nczarr_dispatch::{Buffer, CacheConfig, MemMut, StoredChunks, VarData, byte_len};
use nczarr_model::convert::Half;
use nczarr_model::{ErrorKind, NcType, Result, Slab, Values, convert};

use super::cursor::bad;
use super::datatype::{Class, Datatype};
use super::var::Inner;

/// Which bits of an element are the number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bits {
    /// Bytes of an element, at most 16.
    size: usize,
    big_endian: bool,
    signed: bool,
    precision: u32,
    offset: u32,
    /// They are a half float.
    half: Option<Half>,
}

impl Bits {
    /// Those of a type whose elements are no numbers of this machine; `None` if they are, or are none that netCDF can show.
    pub(super) fn of(ty: &Datatype) -> Option<Self> {
        let (signed, big_endian, precision, offset) = match ty.class {
            Class::Integer { signed, big_endian, precision, offset } => (signed, big_endian, precision, offset),
            Class::Float { big_endian, half: half @ Some(_), .. } => {
                return Some(Self { size: 2, big_endian, signed: false, precision: 16, offset: 0, half });
            }
            _ => return None,
        };
        let (precision, offset) = (u32::from(precision), u32::from(offset));
        let fits = ty.size <= 16 && (1..=64).contains(&precision) && precision + offset <= 8 * ty.size;
        let bits = Self { size: ty.size as usize, big_endian, signed, precision, offset, half: None };
        (fits && !ty.is_whole()).then_some(bits)
    }

    /// The type that is shown: that of netCDF-C for integers.
    pub(super) fn nc_type(self) -> NcType {
        if self.half.is_some() {
            return NcType::Float;
        }
        match (self.precision, self.signed) {
            (0..=8, true) => NcType::Byte,
            (0..=8, false) => NcType::UByte,
            (9..=16, true) => NcType::Short,
            (9..=16, false) => NcType::UShort,
            (17..=32, true) => NcType::Int,
            (17..=32, false) => NcType::UInt,
            (_, true) => NcType::Int64,
            (_, false) => NcType::UInt64,
        }
    }

    /// The number of an element, to 64 bits.
    fn number(self, element: &[u8]) -> u64 {
        let more = |all: u128, &byte: &u8| all << 8 | u128::from(byte);
        let all = match self.big_endian {
            true => element.iter().fold(0, more),
            false => element.iter().rev().fold(0, more),
        };
        let above = 64 - self.precision;
        let top = ((all >> self.offset) as u64) << above;
        if self.signed { (top.cast_signed() >> above).cast_unsigned() } else { top >> above }
    }

    /// The numbers of some elements.
    pub(super) fn values(self, bytes: &[u8]) -> Values {
        let numbers = bytes.chunks_exact(self.size).map(|element| self.number(element));
        match self.half {
            Some(Half::Binary16) => {
                return Values::Float(numbers.map(|bits| f16::from_bits(bits as u16).to_f32()).collect());
            }
            Some(Half::BFloat16) => {
                return Values::Float(numbers.map(|bits| bf16::from_bits(bits as u16).to_f32()).collect());
            }
            None => {}
        }
        match self.nc_type() {
            NcType::Byte => Values::Byte(numbers.map(|number| number as i8).collect()),
            NcType::UByte => Values::UByte(numbers.map(|number| number as u8).collect()),
            NcType::Short => Values::Short(numbers.map(|number| number as i16).collect()),
            NcType::UShort => Values::UShort(numbers.map(|number| number as u16).collect()),
            NcType::Int => Values::Int(numbers.map(|number| number as i32).collect()),
            NcType::UInt => Values::UInt(numbers.map(|number| number as u32).collect()),
            NcType::Int64 => Values::Int64(numbers.map(u64::cast_signed).collect()),
            _ => Values::UInt64(numbers.collect()),
        }
    }
}

/// The data of a variable of such integers.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) inner: Inner,
    pub(super) bits: Bits,
}

impl VarData for Partial {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else {
            return Err(ErrorKind::Char.context("text and numbers do not convert to each other"));
        };
        convert::check(self.bits.nc_type(), ty)?;
        let len = byte_len(slab.len(), self.bits.size)?;
        let bytes = Buffer::<u8>::fill(len, |out| self.inner.get(slab, self.bits.size, out))?;
        let (values, beyond) = convert::convert_values(&self.bits.values(&bytes), ty)?;
        out.put(&values.to_native_bytes().ok_or_else(|| bad(format!("numbers as {}", ty.name())))?)?;
        match beyond {
            true => Err(ErrorKind::Range.context(format!("values that {} cannot hold", ty.name()))),
            false => Ok(()),
        }
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.inner.look(slab, self.bits.size)
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.inner.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.inner.stored_chunks()
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        self.inner.tune(cache)
    }

    fn cache(&self) -> CacheConfig {
        self.inner.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}
