//! Structs and compounds: fields are found by name.

use nczarr_model::{ErrorKind, Item, Model, NcType, Result, TypeClass};

use super::binding::{BoundClass, describe, user_type};
use super::{Binding, NcValue, StructField, next};

/// The fields of a struct in a stored compound.
#[derive(Debug, Clone)]
pub(super) struct BoundStruct {
    pub(super) fields: Vec<BoundField>,
    /// The number of stored fields.
    stored: usize,
    /// A stored field that the struct lacks.
    lacking: Option<String>,
}

/// A field of a struct, and its place in the stored compound.
#[derive(Debug, Clone)]
pub(super) struct BoundField {
    name: &'static str,
    /// The position among the stored fields.
    index: usize,
    pub(super) offset: usize,
    pub(super) binding: Binding,
}

impl BoundStruct {
    pub(super) fn check_complete(&self) -> Result<()> {
        if let Some(name) = &self.lacking {
            return Err(ErrorKind::BadField.context(format!(
                "the struct has no field {name:?} of the stored type; a write would erase that field"
            )));
        }
        self.fields
            .iter()
            .try_for_each(|field| field.binding.check_complete().map_err(|error| error.at(field.name)))
    }
}

/// The methods of derived implementations for structs.
impl Binding {
    /// Connects a struct with a stored compound.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if the stored type is not a compound, or has a field of another type; `NC_EBADFIELD` if
    /// it lacks a field.
    pub fn of_struct(fields: &[StructField], model: &Model, ty: NcType, shape: &[u32]) -> Result<Self> {
        let user = user_type(model, ty, shape)?;
        let Some((user, TypeClass::Compound { size, fields: stored })) = user.map(|ty| (ty, &ty.class))
        else {
            let found = describe(model, ty, shape);
            return Err(ErrorKind::BadType.context(format!("expected a compound, found {found}")));
        };
        let bind = |field: &StructField| {
            let place = stored.iter().enumerate().find(|(_, stored)| stored.name == field.name);
            let missing =
                || ErrorKind::BadField.context(format!("type {:?} has no field {:?}", user.name, field.name));
            let (index, place) = place.ok_or_else(missing)?;
            let binding =
                (field.bind)(model, place.ty, &place.shape).map_err(|error| error.at(field.name))?;
            match place.offset.checked_add(binding.size()) {
                Some(end) if end <= *size => {
                    Ok(BoundField { name: field.name, index, offset: place.offset, binding })
                }
                _ => Err(ErrorKind::BadField.context("outside the element").at(field.name)),
            }
        };
        let bound = fields.iter().map(bind).collect::<Result<Vec<_>>>()?;
        let lacking = stored.iter().enumerate().find(|(at, _)| bound.iter().all(|field| field.index != *at));
        let bound = BoundStruct {
            fields: bound,
            stored: stored.len(),
            lacking: lacking.map(|(_, field)| field.name.clone()),
        };
        Ok(Self::new(ty, *size, BoundClass::Struct(bound)))
    }

    fn fields(&self) -> Result<&BoundStruct> {
        match &self.class {
            BoundClass::Struct(bound) => Ok(bound),
            _ => Err(self.misused("a struct")),
        }
    }

    fn field(&self, index: usize) -> Result<&BoundField> {
        self.fields()?.fields.get(index).ok_or_else(|| self.misused("more fields"))
    }

    /// Reads field `index` of a struct from the bytes of an element.
    ///
    /// # Errors
    /// As [`NcValue::load`].
    #[inline]
    pub fn load_field<T: NcValue>(&self, index: usize, bytes: &[u8]) -> Result<T> {
        let field = self.field(index)?;
        let bytes = bytes.get(field.offset..field.offset + field.binding.size());
        T::load(&field.binding, bytes.unwrap_or_default()).map_err(|error| error.at(field.name))
    }

    /// Writes field `index` of a struct to the bytes of an element.
    ///
    /// # Errors
    /// As [`NcValue::store`].
    #[inline]
    pub fn store_field<T: NcValue>(&self, index: usize, value: &T, bytes: &mut [u8]) -> Result<()> {
        let field = self.field(index)?;
        let bytes = bytes.get_mut(field.offset..field.offset + field.binding.size());
        value.store(&field.binding, bytes.unwrap_or_default()).map_err(|error| error.at(field.name))
    }

    /// Takes the tree of a compound: the elements of each stored field.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if it is another tree.
    pub fn take_parts(&self, items: &mut dyn Iterator<Item = Item>) -> Result<Vec<Vec<Item>>> {
        match next(items)? {
            Item::Compound(parts) => Ok(parts),
            other => Err(ErrorKind::BadType.context(format!("expected a compound, found {other:?}"))),
        }
    }

    /// Takes field `index` of a struct from the elements of the stored fields.
    ///
    /// # Errors
    /// As [`NcValue::from_items`].
    pub fn take_part<T: NcValue>(&self, index: usize, parts: &mut [Vec<Item>]) -> Result<T> {
        let field = self.field(index)?;
        let part = parts.get_mut(field.index).map(std::mem::take).unwrap_or_default();
        T::from_items(&field.binding, &mut part.into_iter()).map_err(|error| error.at(field.name))
    }

    /// Returns place for the elements of each stored field.
    ///
    /// # Errors
    /// `NC_EINTERNAL` if the binding is not of a struct.
    pub fn empty_parts(&self) -> Result<Vec<Vec<Item>>> {
        Ok(vec![Vec::new(); self.fields()?.stored])
    }

    /// Puts field `index` of a struct among the elements of the stored fields.
    ///
    /// # Errors
    /// As [`NcValue::to_items`].
    pub fn put_part<T: NcValue>(&self, index: usize, value: &T, parts: &mut [Vec<Item>]) -> Result<()> {
        let field = self.field(index)?;
        let part = parts.get_mut(field.index).ok_or_else(|| self.misused("more parts"))?;
        value.to_items(&field.binding, part).map_err(|error| error.at(field.name))
    }
}
