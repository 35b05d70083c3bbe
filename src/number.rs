//! [`Number`]: the ten Rust types of netCDF numbers. [`Real`]: the two floating-point types.

use nczarr_model::NcType;
use nczarr_runtime::Buffer;

use crate::{ArrayItem, NcValue};

/// A Rust type of netCDF numbers. Sealed: there are ten.
pub trait Number:
    sealed::Sealed + nczarr_runtime::Element + bytemuck::Pod + ArrayItem<Data = Buffer<Self>> + NcValue
{
    /// The netCDF type.
    const TYPE: NcType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($t:ty => $ty:ident),* $(,)?) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            const TYPE: NcType = NcType::$ty;
        }
    )*};
}

numbers! {
    i8 => Byte, i16 => Short, i32 => Int, i64 => Int64, f32 => Float,
    u8 => UByte, u16 => UShort, u32 => UInt, u64 => UInt64, f64 => Double,
}

/// `f32` and `f64`: the types of scaled values.
pub trait Real: Number {}

impl Real for f32 {}
impl Real for f64 {}
