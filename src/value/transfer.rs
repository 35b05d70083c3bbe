//! Reads and writes of elements as Rust values.

use nczarr_dispatch::{MemMut, MemRef, zeroed};
use nczarr_model::{ErrorKind, NcType, Result};

use super::layout::{as_stored, filled, is_stored_form};
use super::{Binding, FieldType, NcValue};
use crate::transfer::fill;
use crate::{Extents, Group, UserType, Variable};

impl Group {
    /// Returns the user-defined type of a Rust type: the compound of a struct, an enum, or the vlen of a
    /// `Vec`. Defines it here if no visible type of its name is the same.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem", feature = "derive"))] {
    /// # let file = nczarr::create("memory://doc-group-add-type-of")?;
    /// #[derive(nczarr::NcType)]
    /// #[repr(u8)]
    /// enum Sky {
    ///     Clear,
    ///     Cloudy,
    /// }
    ///
    /// let sky = file.add_type_of::<Sky>()?;
    /// assert_eq!((sky.name().as_str(), sky.member_of(1)?.as_deref()), ("Sky", Some("Cloudy")));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::add_compound`]; `NC_EBADTYPE` if the type of `T` is not a user-defined one.
    pub fn add_type_of<T: NcValue>(&self) -> Result<UserType> {
        match self.single_type::<T>()? {
            NcType::User(id) => Ok(self.type_of(id)),
            atomic => {
                Err(ErrorKind::BadType.context(format!("{} is not a user-defined type", atomic.name())))
            }
        }
    }

    /// Returns the type of elements that are `T`s.
    pub(crate) fn single_type<T: NcValue>(&self) -> Result<NcType> {
        let FieldType { ty, shape } = T::define(self)?;
        match shape[..] {
            [] => Ok(ty),
            _ => Err(ErrorKind::BadType.context("an array is a type of fields, not of elements")),
        }
    }
}

impl Variable {
    /// Reads elements of any type as Rust values, in C order. Fields and enum members are found by name.
    /// Stored fields that a struct lacks are ignored.
    ///
    /// If the stored type has the memory layout of the struct, the bytes are read into place.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EBADTYPE` if the type of the variable or of a field does not convert to the
    /// Rust type; `NC_EBADFIELD` if a field is missing; `NC_ERANGE` for a number that does not fit, or a
    /// stored value that is no member of an enum.
    pub fn get_elements<T: NcValue>(&self, extents: impl Extents) -> Result<Vec<T>> {
        let named = |error: nczarr_model::Error| self.located(error);
        let (binding, stored) = self.binding::<T>().map_err(named)?;
        let Some(stored) = stored else {
            let items = self.get_items(extents)?.into_iter().enumerate();
            let element = |(at, item)| {
                T::from_items(&binding, &mut std::iter::once(item)).map_err(|error| at_element(at, error))
            };
            return items.map(element).collect::<Result<_>>().map_err(named);
        };
        let part = self.part(extents)?;
        let selected = part.select()?;
        selected.check_readable()?;
        let len = part.bytes(binding.size())?;
        let count = len / binding.size();
        if is_stored_form::<T>(&binding)
            && let Some(values) = filled(count, |out| selected.get(MemMut::Fixed { ty: stored, out }))
        {
            return values.map_err(|error| part.access.with_path(error));
        }
        let mut bytes = zeroed(len).map_err(named)?;
        fill(selected, stored, &mut bytes)?;
        let mut values = Vec::new();
        values
            .try_reserve_exact(count)
            .map_err(|error| named(ErrorKind::NoMem.context(format!("{count} elements")).caused_by(error)))?;
        for (at, bytes) in bytes.chunks_exact(binding.size()).enumerate() {
            values.push(T::load(&binding, bytes).map_err(|error| named(at_element(at, error)))?);
        }
        Ok(values)
    }

    /// Writes Rust values as elements of any type, in C order. Fields and enum members are found by name.
    ///
    /// If the stored type has the memory layout of the struct, its bytes are written without a copy.
    ///
    /// # Errors
    /// As [`Variable::put`] and [`Variable::get_elements`]; `NC_EBADFIELD` if the type has a field that the
    /// struct lacks. Values that do not convert are found before anything is written.
    pub fn put_elements<T: NcValue>(&self, values: &[T], extents: impl Extents) -> Result<()> {
        let named = |error: nczarr_model::Error| self.located(error);
        let (binding, stored) = self.binding::<T>().map_err(named)?;
        binding.check_complete().map_err(named)?;
        let Some(ty) = stored else {
            let mut items = Vec::with_capacity(values.len());
            for (at, value) in values.iter().enumerate() {
                value.to_items(&binding, &mut items).map_err(|error| named(at_element(at, error)))?;
            }
            return self.put_items(&items, extents);
        };
        let selection = self.select_for_write(extents, values.len())?;
        if let Some(bytes) = as_stored(values, &binding) {
            return self.write(&selection.slab(), MemRef::Fixed { ty, bytes });
        }
        let too_much = || named(ErrorKind::NoMem.context(format!("{} elements", values.len())));
        let len = binding.size().checked_mul(values.len()).ok_or_else(too_much)?;
        let mut bytes = zeroed(len).map_err(named)?;
        for (at, (value, bytes)) in values.iter().zip(bytes.chunks_exact_mut(binding.size())).enumerate() {
            value.store(&binding, bytes).map_err(|error| named(at_element(at, error)))?;
        }
        self.write(&selection.slab(), MemRef::Fixed { ty, bytes: &bytes })
    }

    /// Connects a Rust type with the type of the variable. Returns also that type if its size is fixed.
    fn binding<T: NcValue>(&self) -> Result<(Binding, Option<NcType>)> {
        let model = self.open.model();
        let ty = model.var(self.id)?.xtype;
        let binding = T::bind(&model, ty, &[])?;
        let is_fixed = model.is_fixed(ty)? && binding.size() > 0;
        Ok((binding, is_fixed.then_some(ty)))
    }
}

#[cold]
fn at_element(at: usize, error: nczarr_model::Error) -> nczarr_model::Error {
    error.at(format_args!("element {at}"))
}
