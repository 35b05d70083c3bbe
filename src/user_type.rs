//! [`UserType`]: a user-defined type of an open dataset; definitions of types, and elements of any type as
//! trees.

use std::fmt;
use std::sync::Arc;

use nczarr_dispatch::{MemMut, MemRef};
use nczarr_model::{
    Defined, Edit, EnumMember, Error, ErrorKind, Field, Item, NcString, NcType, Result, TypeClass, TypeId,
    Values,
};

use crate::file::OpenDataset;
use crate::{Extents, Group, Variable};

/// A user-defined type of an open dataset: a compound, enum, opaque or vlen type.
#[derive(Clone)]
pub struct UserType {
    open: Arc<OpenDataset>,
    id: TypeId,
}

impl UserType {
    /// Returns the type, for variables, fields and vlens.
    pub fn nc_type(&self) -> NcType {
        NcType::User(self.id)
    }

    /// The name.
    pub fn name(&self) -> String {
        self.described().map(|ty| ty.name).unwrap_or_default()
    }

    /// The group it is defined in.
    pub fn group(&self) -> Group {
        let group = self.described().map(|ty| ty.group).unwrap_or_default();
        Group::new(Arc::clone(&self.open), group)
    }

    /// Returns its class.
    ///
    /// # Errors
    /// `NC_EBADTYPID` if its definition was rolled back.
    pub fn class(&self) -> Result<TypeClass> {
        self.described().map(|ty| ty.class)
    }

    /// Returns the size of an element in memory; `None` if the type contains strings or vlens.
    ///
    /// # Errors
    /// As [`UserType::class`].
    pub fn size(&self) -> Result<Option<usize>> {
        let model = self.open.model();
        Ok(model.type_size(self.nc_type())?.filter(|_| model.is_fixed(self.nc_type()).unwrap_or(false)))
    }

    /// Returns the fields of a compound, in the order of insertion; empty for other types.
    ///
    /// # Errors
    /// As [`UserType::class`].
    pub fn fields(&self) -> Result<Vec<Field>> {
        Ok(match self.class()? {
            TypeClass::Compound { fields, .. } => fields,
            _ => Vec::new(),
        })
    }

    /// Returns a field of a compound by name; its position is that in [`UserType::fields`].
    ///
    /// # Errors
    /// `NC_EBADFIELD` if there is none.
    pub fn field(&self, name: &str) -> Result<Field> {
        let missing = || ErrorKind::BadField.context(format!("type {:?} has no field {name:?}", self.name()));
        self.fields()?.into_iter().find(|field| field.name == name).ok_or_else(missing)
    }

    /// Returns the members of an enum, in the order of insertion; empty for other types.
    ///
    /// # Errors
    /// As [`UserType::class`].
    pub fn members(&self) -> Result<Vec<EnumMember>> {
        Ok(match self.class()? {
            TypeClass::Enum { members, .. } => members,
            _ => Vec::new(),
        })
    }

    /// Returns the name of an enum's value, if a member has it.
    ///
    /// # Errors
    /// As [`UserType::class`].
    pub fn member_of(&self, value: i128) -> Result<Option<String>> {
        Ok(self.described()?.enum_ident(value).map(str::to_owned))
    }

    /// Returns the base type of an enum or vlen; `None` for other types.
    ///
    /// # Errors
    /// As [`UserType::class`].
    pub fn base(&self) -> Result<Option<NcType>> {
        Ok(match self.class()? {
            TypeClass::Enum { base, .. } | TypeClass::Vlen { base } => Some(base),
            _ => None,
        })
    }

    fn described(&self) -> Result<nczarr_model::UserType> {
        self.open.model().user_type(self.id).cloned()
    }
}

impl fmt::Debug for UserType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UserType").field(&self.name()).finish()
    }
}

impl Group {
    /// Returns the types of this group, in the order of definition.
    pub fn types(&self) -> Vec<UserType> {
        let model = self.opened().model();
        let ids = model.group(self.id()).map(|group| group.types.values().copied().collect::<Vec<_>>());
        ids.unwrap_or_default().into_iter().map(|id| self.type_of(id)).collect()
    }

    /// Returns the type of this name, in this group or the nearest ancestor.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if there is none.
    pub fn user_type(&self, name: &str) -> Result<UserType> {
        let missing = || {
            ErrorKind::BadType.context(format!("no type {name:?} in {} or its ancestors", self.full_name()))
        };
        self.opened().model().find_type(self.id(), name).map(|id| self.type_of(id)).ok_or_else(missing)
    }

    /// Adds a compound type. Each field has a name, a type and a shape (empty for a single value). The memory
    /// layout is that of a C struct.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`; `NC_ENOTNC4` if the format does not support it.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(not(all(feature = "nczarr", feature = "file")))]
    /// # fn main() {}
    /// # #[cfg(all(feature = "nczarr", feature = "file"))]
    /// # fn main() -> nczarr::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("a.zarr").display().to_string();
    /// use nczarr::NcType;
    /// use nczarr::model::Item;
    ///
    /// let file = nczarr::create(&format!("file://{path}#mode=nczarr"))?;
    /// let point = file.add_compound("point", &[("x", NcType::Double, &[]), ("name", NcType::String, &[])])?;
    /// assert_eq!(point.field("name")?.offset, 8);
    /// let p = file.add_variable_with_type("p", point.nc_type(), &[])?;
    /// p.put_items(&[Item::Compound(vec![vec![Item::Double(1.5)], vec![Item::String("a".into())]])], ())?;
    /// # file.close()
    /// # }
    /// ```
    pub fn add_compound(&self, name: &str, fields: &[(&str, NcType, &[u32])]) -> Result<UserType> {
        let model = self.opened().model();
        let (mut end, mut widest) = (0usize, 1usize);
        let mut placed = Vec::with_capacity(fields.len());
        for (field, ty, shape) in fields {
            let (size, align) = model.extent(*ty).map_err(|error| error.at(field))?;
            let too_large = || ErrorKind::Inval.context(format!("type {name:?}: too large"));
            let count = shape.iter().try_fold(size, |bytes, &len| bytes.checked_mul(len as usize));
            let offset = end.checked_next_multiple_of(align).ok_or_else(too_large)?;
            end = count.and_then(|bytes| offset.checked_add(bytes)).ok_or_else(too_large)?;
            widest = widest.max(align);
            placed.push((*field, offset, *ty, *shape));
        }
        let size = end.next_multiple_of(widest);
        let ty = self.define(&Edit::DefCompound { group: self.id(), name, size })?;
        for (name, offset, field, shape) in placed {
            self.opened().edit(&Edit::InsertField { ty: ty.id, name, offset, field, shape })?;
        }
        Ok(ty)
    }

    /// Adds an enum type of named integers.
    ///
    /// # Errors
    /// As [`Group::add_compound`]; `NC_EBADTYPE` if `base` is not an integer type; `NC_ERANGE` for a value
    /// that does not fit.
    pub fn add_enum(&self, name: &str, base: NcType, members: &[(&str, i128)]) -> Result<UserType> {
        let ty = self.define(&Edit::DefEnum { group: self.id(), name, base })?;
        for (name, value) in members {
            self.opened().edit(&Edit::InsertEnum { ty: ty.id, name, value: *value })?;
        }
        Ok(ty)
    }

    /// Adds an opaque type of `size` bytes.
    ///
    /// # Errors
    /// As [`Group::add_compound`].
    pub fn add_opaque(&self, name: &str, size: usize) -> Result<UserType> {
        self.define(&Edit::DefOpaque { group: self.id(), name, size })
    }

    /// Adds a vlen type: sequences of any length.
    ///
    /// # Errors
    /// As [`Group::add_compound`].
    pub fn add_vlen(&self, name: &str, base: NcType) -> Result<UserType> {
        self.define(&Edit::DefVlen { group: self.id(), name, base })
    }

    fn define(&self, edit: &Edit<'_>) -> Result<UserType> {
        match self.opened().edit(edit)? {
            Defined::Type(id) => Ok(self.type_of(id)),
            other => {
                Err(ErrorKind::Internal.context(format!("unexpected result of a definition: {other:?}")))
            }
        }
    }

    pub(crate) fn type_of(&self, id: TypeId) -> UserType {
        UserType { open: Arc::clone(self.opened()), id }
    }
}

impl Variable {
    /// Reads elements of any type as [`Item`]s, in C order.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EBADTYPE` if the stored bytes are not valid elements.
    pub fn get_items(&self, extents: impl Extents) -> Result<Vec<Item>> {
        let values = self.stored_elements(extents)?;
        self.open.model().items(&values).map_err(|error| self.named(error))
    }

    /// Writes [`Item`]s as elements of any type, in C order.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EBADTYPE` if an item has another type.
    pub fn put_items(&self, items: &[Item], extents: impl Extents) -> Result<()> {
        let model = self.open.model();
        let values = model.values(self.nc_type(), items).map_err(|error| self.named(error))?;
        let selection = self.select_for_write(extents, items.len())?;
        let slab = selection.slab();
        match &values {
            Values::String(list) | Values::Packed(_, list) => self.write(&slab, MemRef::Strings(list)),
            fixed => {
                let bytes = fixed.to_native_bytes().ok_or(ErrorKind::Internal)?;
                self.write(&slab, MemRef::Fixed { ty: fixed.nc_type(), bytes: &bytes })
            }
        }
    }

    /// Reads the elements of a part in the variable's type.
    fn stored_elements(&self, extents: impl Extents) -> Result<Values> {
        let (model, ty) = (self.open.model(), self.nc_type());
        let part = self.part(extents)?;
        let selected = part.select()?;
        if !model.is_fixed(ty)? {
            let count = part.bytes(size_of::<NcString>())? / size_of::<NcString>();
            let mut list = Vec::new();
            list.try_reserve_exact(count).map_err(|error| no_memory(count).caused_by(error))?;
            list.resize(count, NcString::new());
            selected.get(MemMut::Strings(&mut list))?;
            return Ok(match ty {
                NcType::User(id) => Values::Packed(id, list),
                _ => Values::String(list),
            });
        }
        let size = model.type_size(ty)?.ok_or(ErrorKind::BadType)?;
        let len = part.bytes(size)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| no_memory(len).caused_by(error))?;
        bytes.resize(len, 0);
        crate::transfer::fill(selected, ty, &mut bytes)?;
        Values::from_native_bytes(ty, &bytes).ok_or_else(|| ErrorKind::Internal.context("whole elements"))
    }

    fn named(&self, error: Error) -> Error {
        self.located(error)
    }
}

fn no_memory(count: usize) -> Error {
    ErrorKind::NoMem.context(format!("{count} elements"))
}
