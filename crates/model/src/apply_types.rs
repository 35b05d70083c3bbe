//! The rules of the data model for edits of user-defined types.
//!
//! A type can be added to until something uses it. Strings and vlens inside a compound take the place of the handle
//! they are in C: a pointer, or a length and a pointer.

use crate::apply::MAX_VAR_DIMS;
use crate::name::normalize;
use crate::packed::MAX_DEPTH;
use crate::{
    Defined, EnumMember, ErrorKind, Field, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType, Values,
};

/// Bytes a string takes in a compound.
const STRING_HANDLE: usize = 8;

/// Bytes a vlen takes in a compound.
const VLEN_HANDLE: usize = 16;

impl Model {
    /// An atomic type, or a user-defined one that exists.
    pub(crate) fn check_type(&self, ty: NcType) -> Result<()> {
        match ty {
            NcType::User(id) if self.user_type(id).is_err() => Err(ErrorKind::BadType.context(format!("{id:?}"))),
            _ => Ok(()),
        }
    }

    fn def_type(&mut self, group: GroupId, name: &str, class: TypeClass) -> Result<Defined> {
        let name = normalize(name)?.into_owned();
        Ok(Defined::Type(self.add_type(UserType { name, group, class })?))
    }

    pub(crate) fn def_compound(&mut self, group: GroupId, name: &str, size: usize) -> Result<Defined> {
        check_size(name, size)?;
        self.def_type(group, name, TypeClass::Compound { size, fields: Vec::new() })
    }

    pub(crate) fn def_opaque(&mut self, group: GroupId, name: &str, size: usize) -> Result<Defined> {
        check_size(name, size)?;
        self.def_type(group, name, TypeClass::Opaque { size })
    }

    pub(crate) fn def_vlen(&mut self, group: GroupId, name: &str, base: NcType) -> Result<Defined> {
        self.check_type(base)?;
        self.def_type(group, name, TypeClass::Vlen { base })
    }

    pub(crate) fn def_enum(&mut self, group: GroupId, name: &str, base: NcType) -> Result<Defined> {
        if !base.is_integer() {
            return Err(ErrorKind::BadType.context(format!("enum {name:?}: base type {}", base.name())));
        }
        self.def_type(group, name, TypeClass::Enum { base, members: Vec::new() })
    }

    /// Bytes one value takes as part of a compound.
    fn field_size(&self, ty: NcType) -> Result<usize> {
        Ok(self.type_size(ty)?.unwrap_or(if ty == NcType::String { STRING_HANDLE } else { VLEN_HANDLE }))
    }

    /// Size and alignment of a field of a type, in bytes, as C lays out a struct: for compounds that nobody gave offsets.
    ///
    /// # Errors
    /// As [`Model::type_size`]; [`ErrorKind::BadType`] for types nested too deeply.
    pub fn extent(&self, ty: NcType) -> Result<(usize, usize)> {
        fn align(model: &Model, ty: NcType, depth: usize) -> Result<usize> {
            let NcType::User(id) = ty else { return Ok(ty.size().unwrap_or(STRING_HANDLE)) };
            match &model.user_type(id)?.class {
                _ if depth > MAX_DEPTH => Err(ErrorKind::BadType.context("types nested too deeply")),
                TypeClass::Compound { fields, .. } => {
                    fields.iter().try_fold(1, |widest, field| Ok(align(model, field.ty, depth + 1)?.max(widest)))
                }
                TypeClass::Enum { base, .. } => align(model, *base, depth + 1),
                TypeClass::Opaque { .. } => Ok(1),
                TypeClass::Vlen { .. } => Ok(STRING_HANDLE),
            }
        }
        Ok((self.field_size(ty)?, align(self, ty, 0)?))
    }

    pub(crate) fn insert_field(
        &mut self,
        id: TypeId,
        name: &str,
        offset: usize,
        ty: NcType,
        shape: &[u32],
    ) -> Result<Defined> {
        let name = normalize(name)?;
        let UserType { name: type_name, class, .. } = self.user_type(id)?;
        let TypeClass::Compound { size, fields } = class else {
            return Err(ErrorKind::BadClass.context(format!("type {type_name:?} is no compound")));
        };
        let bad = |kind: ErrorKind, what: String| Err(kind.context(format!("{type_name}.{name}: {what}")));
        self.check_unused(id)?;
        self.check_type(ty)?;
        if ty == NcType::User(id) {
            return bad(ErrorKind::BadType, "a type cannot hold itself".to_owned());
        }
        if fields.iter().any(|field| field.name == name) {
            return bad(ErrorKind::NameInUse, "the compound has that field".to_owned());
        }
        if shape.len() > MAX_VAR_DIMS {
            return bad(ErrorKind::MaxDims, format!("{} dimensions, at most {MAX_VAR_DIMS} are possible", shape.len()));
        }
        if shape.contains(&0) {
            return bad(ErrorKind::Inval, format!("shape {shape:?}"));
        }
        let end = self.field_end(offset, ty, shape)?;
        if end.is_none_or(|end| end > *size) {
            return bad(ErrorKind::BadField, format!("offset {offset}, shape {shape:?}: beyond the {size} bytes"));
        }
        for other in fields {
            let other_end = self.field_end(other.offset, other.ty, &other.shape)?;
            if end.is_none_or(|end| end > other.offset) && other_end.is_none_or(|end| end > offset) {
                return bad(ErrorKind::BadField, format!("offset {offset}: overlaps field {:?}", other.name));
            }
        }
        let field = Field { name: name.into_owned(), offset, ty, shape: shape.to_vec() };
        if let TypeClass::Compound { fields, .. } = &mut self.user_type_mut(id)?.class {
            fields.push(field);
        }
        Ok(Defined::Nothing)
    }

    /// One past the last byte of a field; `None` if that does not fit.
    fn field_end(&self, offset: usize, ty: NcType, shape: &[u32]) -> Result<Option<usize>> {
        let bytes = shape.iter().try_fold(self.field_size(ty)?, |product, &len| product.checked_mul(len as usize));
        Ok(bytes.and_then(|bytes| bytes.checked_add(offset)))
    }

    pub(crate) fn insert_enum(&mut self, id: TypeId, name: &str, value: i128) -> Result<Defined> {
        let name = normalize(name)?;
        let UserType { name: type_name, class, .. } = self.user_type(id)?;
        let TypeClass::Enum { base, members } = class else {
            return Err(ErrorKind::BadClass.context(format!("type {type_name:?} is no enum")));
        };
        let bad = |kind: ErrorKind, what: String| Err(kind.context(format!("{type_name}.{name}: {what}")));
        self.check_unused(id)?;
        if !fits(value, *base) {
            return bad(ErrorKind::Range, format!("{value} does not fit {}", base.name()));
        }
        if let Some(other) = members.iter().find(|member| member.name == name || member.value == value) {
            return bad(ErrorKind::NameInUse, format!("{value}: there is {} = {}", other.name, other.value));
        }
        let member = EnumMember { name: name.into_owned(), value };
        if let TypeClass::Enum { members, .. } = &mut self.user_type_mut(id)?.class {
            members.push(member);
        }
        Ok(Defined::Nothing)
    }

    /// Nothing uses the type yet: no other type, variable or attribute.
    fn check_unused(&self, id: TypeId) -> Result<()> {
        let this = NcType::User(id);
        let in_types = self.user_types().any(|(_, ty)| match &ty.class {
            TypeClass::Compound { fields, .. } => fields.iter().any(|field| field.ty == this),
            TypeClass::Vlen { base } => *base == this,
            TypeClass::Enum { .. } | TypeClass::Opaque { .. } => false,
        });
        let holds = |values: &Values| values.nc_type() == this;
        let in_vars = || self.vars().any(|(_, var)| var.xtype == this || var.atts.values().any(holds));
        let in_groups = || self.groups().any(|(_, group)| group.atts.values().any(holds));
        if in_types || in_vars() || in_groups() {
            let name = &self.user_type(id)?.name;
            return Err(ErrorKind::TypDefined.context(format!("type {name:?} is in use")));
        }
        Ok(())
    }
}

fn check_size(name: &str, size: usize) -> Result<()> {
    match size {
        0 => Err(ErrorKind::Inval.context(format!("type {name:?}: 0 bytes"))),
        _ => Ok(()),
    }
}

fn fits(value: i128, base: NcType) -> bool {
    match base {
        NcType::Byte => i8::try_from(value).is_ok(),
        NcType::UByte => u8::try_from(value).is_ok(),
        NcType::Short => i16::try_from(value).is_ok(),
        NcType::UShort => u16::try_from(value).is_ok(),
        NcType::Int => i32::try_from(value).is_ok(),
        NcType::UInt => u32::try_from(value).is_ok(),
        NcType::Int64 => i64::try_from(value).is_ok(),
        NcType::UInt64 => u64::try_from(value).is_ok(),
        NcType::Char | NcType::Float | NcType::Double | NcType::String | NcType::User(_) => false,
    }
}
