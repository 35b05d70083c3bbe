//! Filters that compute with elements: delta, fixedscaleoffset, quantize, bitround, packbits, astype,
//! categorize.
//!
//! The bytes are elements of the type that the description names ([`FilterTypes`](types::FilterTypes)),
//! whatever the array's type. If it names none, [`bind`](nczarr_codec::Filter::bind) gives the type.
//! [`NumberFormat`](number::NumberFormat) loads, converts and stores numbers of every type and byte order.
//!
//! None has an HDF5 id. Each filter's header gives its parameters in words. A type is one word: NumPy's
//! letter of the kind, then `<`, `>` or `|`, then 16 bits of size in bytes.
//!
//! Decoding gives what NumPy makes of the stored bytes. Encoding gives what numcodecs makes. Unless the
//! filter is lossy by purpose, an element that would not decode to itself is an error.

mod astype;
mod bitround;
mod cast;
mod cast_value;
mod categorize;
mod delta;
mod fixedscaleoffset;
mod number;
mod packbits;
mod quantize;
mod scale_offset;
mod types;

pub use astype::AstypeClass;
pub use bitround::BitroundClass;
pub use cast_value::CastValueClass;
pub use categorize::CategorizeClass;
pub use delta::DeltaClass;
pub use fixedscaleoffset::FixedScaleOffsetClass;
pub use packbits::PackbitsClass;
pub use quantize::QuantizeClass;
pub use scale_offset::ScaleAndOffsetClass;

#[cfg(test)]
mod testing;
