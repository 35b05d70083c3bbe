//! Definitions of netCDF types from Rust types.

use nczarr_model::{EnumMember, Field, Model, NcType, Result, TypeClass};

use super::layout::Node;
use super::{Binding, NcValue};
use crate::{Group, UserType};

/// The netCDF type of a field, and its shape.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldType {
    /// The type of its elements.
    pub ty: NcType,
    /// The shape; empty for a single value.
    pub shape: Vec<u32>,
}

impl FieldType {
    /// Returns the type of a field with a single value.
    pub fn single(ty: NcType) -> Self {
        Self { ty, shape: Vec::new() }
    }
}

/// A field of a Rust struct.
#[derive(Debug, Clone, Copy)]
pub struct StructField {
    pub(super) name: &'static str,
    pub(super) offset: usize,
    pub(super) node: Node,
    pub(super) bind: fn(&Model, NcType, &[u32]) -> Result<Binding>,
    define: fn(&Group) -> Result<FieldType>,
}

impl StructField {
    /// Describes a field of type `T` at `offset` bytes.
    pub const fn new<T: NcValue>(name: &'static str, offset: usize) -> Self {
        Self { name, offset, node: T::LAYOUT.node(), bind: T::bind, define: T::define }
    }
}

/// Returns the compound type of a struct. Defines it if no visible type of its name has the same fields.
///
/// # Errors
/// As [`Group::add_compound`].
pub fn define_struct(group: &Group, name: &str, fields: &[StructField]) -> Result<UserType> {
    let own = fields.iter().map(|field| {
        let FieldType { ty, shape } = (field.define)(group).map_err(|error| error.at(field.name))?;
        Ok(Field { name: field.name.to_owned(), offset: 0, ty, shape })
    });
    let own = own.collect::<Result<Vec<_>>>()?;
    if let Ok(known) = group.user_type(name) {
        let is_same = |(field, own): (&Field, &Field)| {
            field.name == own.name && field.ty == own.ty && field.shape == own.shape
        };
        let there = known.fields()?;
        if there.len() == own.len() && there.iter().zip(&own).all(is_same) {
            return Ok(known);
        }
    }
    let fields: Vec<_> = own.iter().map(|field| (&*field.name, field.ty, &field.shape[..])).collect();
    group.add_compound(name, &fields)
}

/// Returns the enum type of a Rust enum. Defines it if no visible type of its name has the same members.
///
/// # Errors
/// As [`Group::add_enum`].
pub fn define_enum(group: &Group, name: &str, base: NcType, members: &[(&str, i128)]) -> Result<UserType> {
    if let Ok(known) = group.user_type(name)
        && let TypeClass::Enum { base: stored_base, members: stored } = known.class()?
    {
        let is_same = |(stored, (name, value)): (&EnumMember, &(&str, i128))| {
            stored.name == *name && stored.value == *value
        };
        if stored_base == base && stored.len() == members.len() && stored.iter().zip(members).all(is_same) {
            return Ok(known);
        }
    }
    group.add_enum(name, base, members)
}
