//! Arrays and vectors as [`NcValue`]s: fields with a shape, and vlens.

use nczarr_model::{ErrorKind, Item, Model, NcType, Result, TypeClass};

use super::binding::{describe, type_name};
use super::{Binding, FieldType, MemoryLayout, NcValue, next, no_fixed_size};
use crate::Group;

impl<T: NcValue, const N: usize> NcValue for [T; N] {
    const LAYOUT: MemoryLayout<Self> = MemoryLayout::array();

    fn define(group: &Group) -> Result<FieldType> {
        let FieldType { ty, mut shape } = T::define(group)?;
        let len = u32::try_from(N).ok().filter(|&len| len > 0);
        let wrong = || ErrorKind::Inval.context(format!("a field cannot have {N} elements"));
        shape.insert(0, len.ok_or_else(wrong)?);
        Ok(FieldType { ty, shape })
    }

    fn bind(model: &Model, ty: NcType, shape: &[u32]) -> Result<Binding> {
        match shape.split_first() {
            Some((&len, rest)) if len as usize == N && N > 0 => {
                Binding::of_array(N, T::bind(model, ty, rest)?)
            }
            _ => {
                let stored = describe(model, ty, shape);
                Err(ErrorKind::BadType.context(format!("expected an array of {N}, found {stored}")))
            }
        }
    }

    fn load(binding: &Binding, bytes: &[u8]) -> Result<Self> {
        let item = binding.item()?;
        let mut parts = bytes.chunks_exact(item.size().max(1));
        try_array(|| T::load(item, parts.next().unwrap_or_default()))
    }

    fn store(&self, binding: &Binding, bytes: &mut [u8]) -> Result<()> {
        let item = binding.item()?;
        let parts = bytes.chunks_exact_mut(item.size().max(1));
        self.iter().zip(parts).try_for_each(|(value, bytes)| value.store(item, bytes))
    }

    fn from_items(binding: &Binding, items: &mut dyn Iterator<Item = Item>) -> Result<Self> {
        let item = binding.item()?;
        try_array(|| T::from_items(item, items))
    }

    fn to_items(&self, binding: &Binding, items: &mut Vec<Item>) -> Result<()> {
        let item = binding.item()?;
        self.iter().try_for_each(|value| value.to_items(item, items))
    }
}

/// Makes an array of elements, or returns the first error.
fn try_array<T, const N: usize>(mut make: impl FnMut() -> Result<T>) -> Result<[T; N]> {
    let mut first_error = None;
    let made: [Option<T>; N] = std::array::from_fn(|_| {
        if first_error.is_some() {
            return None;
        }
        make().map_err(|error| first_error = Some(error)).ok()
    });
    match first_error {
        Some(error) => Err(error),
        None => Ok(made.map(|value| value.expect("each element was made"))),
    }
}

impl<T: NcValue> NcValue for Vec<T> {
    fn define(group: &Group) -> Result<FieldType> {
        let FieldType { ty: base, shape } = T::define(group)?;
        if !shape.is_empty() {
            return Err(ErrorKind::BadType.context("a vlen cannot have arrays as elements"));
        }
        let name = format!("{}_vlen", type_name(&group.opened().model(), base));
        if let Ok(known) = group.user_type(&name)
            && matches!(known.class()?, TypeClass::Vlen { base: stored } if stored == base)
        {
            return Ok(FieldType::single(known.nc_type()));
        }
        Ok(FieldType::single(group.add_vlen(&name, base)?.nc_type()))
    }

    fn bind(model: &Model, ty: NcType, shape: &[u32]) -> Result<Binding> {
        let class = match ty {
            NcType::User(id) => Some(&model.user_type(id)?.class),
            _ => None,
        };
        match class {
            Some(TypeClass::Vlen { base }) => Binding::of_vlen(ty, shape, T::bind(model, *base, &[])?),
            _ => Err(ErrorKind::BadType.context(format!("{} is not a vlen", type_name(model, ty)))),
        }
    }

    fn load(binding: &Binding, _: &[u8]) -> Result<Self> {
        Err(no_fixed_size(binding.nc_type()))
    }

    fn store(&self, binding: &Binding, _: &mut [u8]) -> Result<()> {
        Err(no_fixed_size(binding.nc_type()))
    }

    fn from_items(binding: &Binding, items: &mut dyn Iterator<Item = Item>) -> Result<Self> {
        let item = binding.item()?;
        match next(items)? {
            Item::Vlen(items) => {
                let mut items = items.into_iter().peekable();
                let mut values = Vec::with_capacity(items.len());
                while items.peek().is_some() {
                    values.push(T::from_items(item, &mut items)?);
                }
                Ok(values)
            }
            other => Err(ErrorKind::BadType.context(format!("expected a vlen, found {other:?}"))),
        }
    }

    fn to_items(&self, binding: &Binding, items: &mut Vec<Item>) -> Result<()> {
        let item = binding.item()?;
        let mut list = Vec::with_capacity(self.len());
        self.iter().try_for_each(|value| value.to_items(item, &mut list))?;
        items.push(Item::Vlen(list));
        Ok(())
    }
}
