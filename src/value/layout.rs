//! [`MemoryLayout`]: the memory of Rust types, and transfers of their values as bytes.

use std::fmt;
use std::marker::PhantomData;

use nczarr_model::{NcType, Result};
use nczarr_runtime::OutBuf;

use super::binding::BoundClass;
use super::{Binding, NcValue, StructField};
use crate::Number;

/// The layout of a `T` in memory. It proves that a transfer may read the bytes of a `T`, and lists these
/// bytes.
pub struct MemoryLayout<T> {
    node: Node,
    of: PhantomData<fn() -> T>,
}

/// One type of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node {
    /// A type that has no bytes to copy, such as a string.
    Unknown,
    Number(NcType),
    /// An enum of an integer type. Some bytes are no value.
    Enum(NcType),
    Array {
        len: usize,
        item: &'static Node,
    },
    Struct {
        size: usize,
        fields: &'static [StructField],
    },
}

impl<T> MemoryLayout<T> {
    /// The layout of a type whose values cannot be copied as bytes.
    pub const UNKNOWN: Self = Self::new(Node::Unknown);

    const fn new(node: Node) -> Self {
        Self { node, of: PhantomData }
    }

    pub(super) const fn node(&self) -> Node {
        self.node
    }

    /// Returns the layout of a struct.
    ///
    /// # Safety
    /// `fields` lists all fields of `T`, each with its type and offset.
    pub const unsafe fn of_struct(fields: &'static [StructField]) -> Self {
        Self::new(Node::Struct { size: size_of::<T>(), fields })
    }

    /// Returns the layout of an enum without fields.
    ///
    /// # Safety
    /// `T` has the representation of the Rust integer of type `base`.
    pub const unsafe fn of_enum(base: NcType) -> Self {
        Self::new(Node::Enum(base))
    }
}

impl<T: Number> MemoryLayout<T> {
    pub(super) const fn number() -> Self {
        Self::new(Node::Number(T::TYPE))
    }
}

impl<T: NcValue, const N: usize> MemoryLayout<[T; N]> {
    pub(super) const fn array() -> Self {
        Self::new(Node::Array { len: N, item: &T::LAYOUT.node })
    }
}

impl<T> fmt::Debug for MemoryLayout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryLayout").field(&self.node).finish()
    }
}

impl Node {
    /// Whether values in memory have the bytes of stored values, padding aside.
    fn matches(&self, binding: &Binding) -> bool {
        match (self, &binding.class) {
            (Self::Number(ty), BoundClass::Number(_)) => binding.is_number(*ty),
            (Self::Enum(ty), BoundClass::Enum(bound)) => bound.same == Some(*ty),
            (Self::Array { len, item }, BoundClass::Sequence(bound)) => {
                item.matches(bound) && bound.size().checked_mul(*len) == Some(binding.size())
            }
            (Self::Struct { size, fields }, BoundClass::Struct(bound)) => {
                let same = |(field, bound): (&StructField, &super::bound_struct::BoundField)| {
                    field.offset == bound.offset && field.node.matches(&bound.binding)
                };
                *size == binding.size()
                    && fields.len() == bound.fields.len()
                    && fields.iter().zip(&bound.fields).all(same)
            }
            _ => false,
        }
    }

    /// Whether any bytes are a value.
    fn has_all_values(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Array { item, .. } => item.has_all_values(),
            Self::Struct { fields, .. } => fields.iter().all(|field| field.node.has_all_values()),
            Self::Enum(_) | Self::Unknown => false,
        }
    }

    /// Returns the number of bytes without padding; `None` if the layout is unknown.
    fn data_bytes(&self) -> Option<usize> {
        match self {
            Self::Number(ty) | Self::Enum(ty) => ty.size(),
            Self::Array { len, item } => item.data_bytes()?.checked_mul(*len),
            Self::Struct { fields, .. } => {
                fields.iter().try_fold(0usize, |sum, field| sum.checked_add(field.node.data_bytes()?))
            }
            Self::Unknown => None,
        }
    }
}

/// Returns the values as bytes, if these are the bytes of stored elements.
pub(super) fn as_stored<'v, T: NcValue>(values: &'v [T], binding: &Binding) -> Option<&'v [u8]> {
    let node = T::LAYOUT.node;
    if !node.matches(binding) || node.data_bytes() != Some(size_of::<T>()) {
        return None;
    }
    // SAFETY: the layout of `T` is known, by the contracts of the functions that make one. So `T` consists of
    // numbers and enums, whose bytes are initialised. They are as many as those of `T`, so none is padding.
    Some(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) })
}

/// Whether stored elements are values of `T`, whatever their bytes.
pub(super) fn is_stored_form<T: NcValue>(binding: &Binding) -> bool {
    let node = T::LAYOUT.node;
    node.matches(binding) && node.has_all_values() && size_of::<T>() == binding.size()
}

/// Returns a vector of `len` values; `fill` must write their bytes. `None` if some bytes are no value of `T`.
pub(super) fn filled<T: NcValue>(
    len: usize,
    fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
) -> Option<Result<Vec<T>>> {
    if !T::LAYOUT.node.has_all_values() {
        return None;
    }
    // SAFETY: the layout of `T` is known and has numbers only, by the contracts of the functions that make
    // one. So any bytes are a value; padding may have any.
    Some(unsafe { nczarr_runtime::fill_vec_of(len, fill) })
}
