//! [`WidenedVar`]: numbers that have fewer bits than a netCDF type: half floats, and integers with unused
//! bits or of an odd size.
//!
//! They are shown as the next larger type, half floats as singles, as in Zarr. HDF5 loses the sign of some
//! integers if it only swaps their bytes. This driver keeps it.

use nczarr_dispatch::{CacheConfig, EncodedChunk, EncodedChunks, MemMut, StoredChunks, VarData, byte_len};
use nczarr_model::convert::Half;
use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result, Values, convert};
use nczarr_runtime::{Buffer, OutBuf};

use super::cursor::damaged;
use super::datatype::{Datatype, DatatypeClass};
use super::raw_chunks::{self, ReadsStored};
use super::var::RawArray;

/// The bits of an element that form the number.
#[derive(Debug, Clone, Copy)]
pub(super) struct BitField {
    /// Size of an element in bytes, at most 16.
    size: usize,
    big_endian: bool,
    signed: bool,
    precision: u32,
    offset: u32,
    /// The format, if it is a half float.
    half: Option<Half>,
}

impl BitField {
    /// Returns the bits of a type that must be widened. `None`: the machine has the type, or netCDF cannot
    /// show it.
    pub(super) fn of(ty: &Datatype) -> Option<Self> {
        let (signed, big_endian, precision, offset) = match ty.class {
            DatatypeClass::Integer { signed, big_endian, precision, offset } => {
                (signed, big_endian, precision, offset)
            }
            DatatypeClass::Float { big_endian, half: half @ Some(_), .. } => {
                return Some(Self { size: 2, big_endian, signed: false, precision: 16, offset: 0, half });
            }
            _ => return None,
        };
        let (precision, offset) = (u32::from(precision), u32::from(offset));
        let fits = ty.size <= 16 && (1..=64).contains(&precision) && precision + offset <= 8 * ty.size;
        let bits = Self { size: ty.size as usize, big_endian, signed, precision, offset, half: None };
        (fits && !ty.is_whole()).then_some(bits)
    }

    /// Returns the netCDF type that is shown. For integers, netCDF-C shows the same.
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

    /// Returns the number in an element, sign-extended to 64 bits.
    fn number(self, element: &[u8]) -> u64 {
        let more = |all: u128, &byte: &u8| all << 8 | u128::from(byte);
        let all =
            if self.big_endian { element.iter().fold(0, more) } else { element.iter().rev().fold(0, more) };
        let above = 64 - self.precision;
        let top = ((all >> self.offset) as u64) << above;
        if self.signed { (top.cast_signed() >> above).cast_unsigned() } else { top >> above }
    }

    /// Returns the numbers in several elements.
    pub(super) fn values(self, bytes: &[u8]) -> Values {
        let numbers = bytes.chunks_exact(self.size).map(|element| self.number(element));
        if let Some(half) = self.half {
            return Values::Float(numbers.map(|bits| half.to_single(bits as u16)).collect());
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

/// The data of a variable with such numbers.
#[derive(Debug)]
pub(super) struct WidenedVar {
    pub(super) inner: RawArray,
    pub(super) bits: BitField,
}

impl WidenedVar {
    /// Converts the elements of a slab. `read` reads their stored bytes.
    fn convert(
        &self,
        slab: &CheckedSlab<'_>,
        out: MemMut<'_, '_>,
        read: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
    ) -> Result<()> {
        let MemMut::Fixed { ty, out } = out else {
            return Err(ErrorKind::Char.context("text and numbers do not convert to each other"));
        };
        convert::check(self.bits.nc_type(), ty)?;
        let len = byte_len(slab.len(), self.bits.size)?;
        let bytes = Buffer::<u8>::fill(len, read)?;
        let (values, beyond) = convert::convert_values(&self.bits.values(&bytes), ty)?;
        out.put(&values.to_native_bytes().ok_or_else(|| damaged(format!("numbers as {}", ty.name())))?)?;
        if beyond {
            Err(ErrorKind::Range.context(format!("values that {} cannot hold", ty.name())))
        } else {
            Ok(())
        }
    }
}

raw_chunks::impl_encoded_chunks!(WidenedVar);

impl ReadsStored for WidenedVar {
    fn stored(&self) -> &RawArray {
        &self.inner
    }

    fn element(&self) -> String {
        format!("{:?}", self.bits)
    }

    fn decode_and_convert(
        &self,
        chunk: &CheckedSlab<'_>,
        stored: &EncodedChunk,
        out: MemMut<'_, '_>,
    ) -> Result<()> {
        self.convert(chunk, out, |out| self.inner.decode(chunk, stored, out))
    }
}

impl VarData for WidenedVar {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.convert(slab, out, |out| self.inner.get(slab, self.bits.size, out))
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        self.inner.encoded_chunks().map(|_| self as _)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.inner.look(slab, self.bits.size)
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.inner.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.inner.stored_chunks()
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.inner.tune(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.inner.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}
