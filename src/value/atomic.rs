//! Numbers and strings as [`NcValue`]s.

use nczarr_model::{ErrorKind, Item, Model, NcType, Result};

use super::binding::type_name;
use super::{Binding, FieldType, MemoryLayout, NcValue, next, no_fixed_size};
use crate::{Group, Number};

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl NcValue for $t {
            const LAYOUT: MemoryLayout<Self> = MemoryLayout::number();

            fn define(_: &Group) -> Result<FieldType> {
                Ok(FieldType::single(Self::TYPE))
            }

            fn bind(model: &Model, ty: NcType, shape: &[u32]) -> Result<Binding> {
                Binding::of_number(Self::TYPE, model, ty, shape)
            }

            #[inline]
            fn load(binding: &Binding, bytes: &[u8]) -> Result<Self> {
                let mut number = [0; size_of::<Self>()];
                binding.load_number(bytes, &mut number)?;
                Ok(Self::from_ne_bytes(number))
            }

            #[inline]
            fn store(&self, binding: &Binding, bytes: &mut [u8]) -> Result<()> {
                binding.store_number(&self.to_ne_bytes(), bytes)
            }
        }
    )*};
}

numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl NcValue for String {
    fn define(_: &Group) -> Result<FieldType> {
        Ok(FieldType::single(NcType::String))
    }

    fn bind(model: &Model, ty: NcType, shape: &[u32]) -> Result<Binding> {
        match ty {
            NcType::String => Binding::of_string(shape),
            other => Err(ErrorKind::BadType.context(format!("{} is not a string", type_name(model, other)))),
        }
    }

    fn load(_: &Binding, _: &[u8]) -> Result<Self> {
        Err(no_fixed_size(NcType::String))
    }

    fn store(&self, _: &Binding, _: &mut [u8]) -> Result<()> {
        Err(no_fixed_size(NcType::String))
    }

    fn from_items(_: &Binding, items: &mut dyn Iterator<Item = Item>) -> Result<Self> {
        match next(items)? {
            Item::String(text) => text.to_str().map(str::to_owned),
            other => Err(ErrorKind::BadType.context(format!("expected a string, found {other:?}"))),
        }
    }

    fn to_items(&self, _: &Binding, items: &mut Vec<Item>) -> Result<()> {
        items.push(Item::String(self.as_str().into()));
        Ok(())
    }
}
