//! Filters that compute with elements: delta, fixedscaleoffset, quantize, bitround, packbits, astype, categorize.
//!
//! Each takes bytes as elements of a type its description names ([`Types`](types::Types)), whatever the array's type
//! is; where the description is silent it is the type that [`bind`](nczarr_dispatch::Filter::bind) tells. Numbers of every
//! type and byte order are loaded, converted and stored in one place ([`Form`](number::Form)).
//!
//! None has an HDF5 id. Parameters in words, where they are wanted all the same, are in each filter's header; a type
//! is one word: NumPy's letter of the kind, then `<`, `>` or `|`, then 16 bits of size in bytes.
//!
//! What is decoded is what NumPy makes of the stored bytes. What is encoded is what numcodecs makes, but an element
//! that would not come back, where the filter is not there to lose something, is an error.

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
