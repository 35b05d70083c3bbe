//! The rules of the data model for edits of user-defined types.
//!
//! A type can be extended until it is used. In a compound, strings and vlens are C handles: a pointer, or a
//! length and a pointer.

use std::collections::HashSet;

use crate::apply::MAX_VAR_DIMS;
use crate::name::normalize;
use crate::{
    Defined, EnumMember, ErrorKind, Field, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType,
    Values,
};

/// Bytes a string takes in a compound.
const STRING_HANDLE: usize = 8;

/// Bytes a vlen takes in a compound.
const VLEN_HANDLE: usize = 16;

impl Model {
    /// Checks that a type is atomic or exists.
    pub(crate) fn check_type(&self, ty: NcType) -> Result<()> {
        match ty {
            NcType::User(id) if self.user_type(id).is_err() => {
                Err(ErrorKind::BadType.context(format!("{id:?}")))
            }
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
        check_base(name, base)?;
        self.def_type(group, name, TypeClass::Enum { base, members: Vec::new() })
    }

    /// Returns the size of a value inside a compound.
    fn field_size(&self, ty: NcType) -> Result<usize> {
        Ok(self.type_size(ty)?.unwrap_or(if ty == NcType::String { STRING_HANDLE } else { VLEN_HANDLE }))
    }

    /// Returns size and alignment of a field in bytes, as in a C struct: for compounds without given offsets.
    ///
    /// # Errors
    /// As [`Model::type_size`].
    pub fn extent(&self, ty: NcType) -> Result<(usize, usize)> {
        // Each type is visited once.
        let (mut seen, mut open, mut widest) = (HashSet::new(), vec![ty], 1);
        while let Some(ty) = open.pop() {
            let NcType::User(id) = ty else {
                widest = widest.max(ty.size().unwrap_or(STRING_HANDLE));
                continue;
            };
            if !seen.insert(id) {
                continue;
            }
            match &self.user_type(id)?.class {
                TypeClass::Compound { fields, .. } => open.extend(fields.iter().map(|field| field.ty)),
                TypeClass::Enum { base, .. } => open.push(*base),
                TypeClass::Opaque { .. } => {}
                TypeClass::Vlen { .. } => widest = widest.max(STRING_HANDLE),
            }
        }
        Ok((self.field_size(ty)?, widest))
    }

    /// Defines a compound with all its fields. This is faster than many insertions, since each insertion
    /// checks all previous fields.
    ///
    /// # Errors
    /// As the insertions; nothing has changed then.
    pub fn define_compound(
        &mut self,
        group: GroupId,
        name: &str,
        size: usize,
        mut fields: Vec<Field>,
    ) -> Result<TypeId> {
        check_size(name, size)?;
        let (mut names, mut places) =
            (HashSet::with_capacity(fields.len()), Vec::with_capacity(fields.len()));
        for field in &mut fields {
            field.name = normalize(&field.name)?.into_owned();
        }
        for field in &fields {
            let bad =
                |kind: ErrorKind, what: String| Err(kind.context(format!("{name}.{}: {what}", field.name)));
            let end = self.check_field(name, size, field)?;
            if !names.insert(&*field.name) {
                return bad(ErrorKind::NameInUse, "the compound has that field".to_owned());
            }
            places.push((field.offset, end, &*field.name));
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            if let [(_, end, before), (offset, _, after)] = pair
                && end > offset
            {
                let what = format!("{name}.{after}: offset {offset}: overlaps field {before:?}");
                return Err(ErrorKind::BadField.context(what));
            }
        }
        self.whole_type(group, name, TypeClass::Compound { size, fields })
    }

    /// Defines an enum with all its members. This is faster than many insertions, since each insertion checks
    /// all previous members.
    ///
    /// # Errors
    /// As the insertions; nothing has changed then.
    pub fn define_enum(
        &mut self,
        group: GroupId,
        name: &str,
        base: NcType,
        mut members: Vec<EnumMember>,
    ) -> Result<TypeId> {
        check_base(name, base)?;
        for member in &mut members {
            member.name = normalize(&member.name)?.into_owned();
        }
        let (mut names, mut values) =
            (HashSet::with_capacity(members.len()), HashSet::with_capacity(members.len()));
        for EnumMember { name: member, value } in &members {
            check_value(name, member, *value, base)?;
            if !names.insert(&**member) || !values.insert(*value) {
                return Err(ErrorKind::NameInUse
                    .context(format!("{name}.{member}: {value}: the enum already has this name or value")));
            }
        }
        self.whole_type(group, name, TypeClass::Enum { base, members })
    }

    fn whole_type(&mut self, group: GroupId, name: &str, class: TypeClass) -> Result<TypeId> {
        let name = normalize(name)?.into_owned();
        self.add_type(UserType { name, group, class })
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
            return Err(ErrorKind::BadClass.context(format!("type {type_name:?}: not a compound")));
        };
        self.check_unused(id)?;
        let field = Field { name: name.into_owned(), offset, ty, shape: shape.to_vec() };
        let bad =
            |kind: ErrorKind, what: String| Err(kind.context(format!("{type_name}.{}: {what}", field.name)));
        if ty == NcType::User(id) {
            return bad(ErrorKind::BadType, "a type cannot hold itself".to_owned());
        }
        if fields.iter().any(|other| other.name == field.name) {
            return bad(ErrorKind::NameInUse, "the compound has that field".to_owned());
        }
        let end = self.check_field(type_name, *size, &field)?;
        for other in fields {
            let other_end = self.field_end(other.offset, other.ty, &other.shape)?;
            if end > other.offset && other_end.is_none_or(|end| end > offset) {
                return bad(ErrorKind::BadField, format!("offset {offset}: overlaps field {:?}", other.name));
            }
        }
        if let TypeClass::Compound { fields, .. } = &mut self.user_type_mut(id)?.class {
            fields.push(field);
        }
        Ok(Defined::Nothing)
    }

    /// Checks a field against the size of a compound. Returns the offset after its last byte.
    fn check_field(&self, type_name: &str, size: usize, field: &Field) -> Result<usize> {
        let Field { name, offset, ty, shape } = field;
        let bad = |kind: ErrorKind, what: String| Err(kind.context(format!("{type_name}.{name}: {what}")));
        self.check_type(*ty)?;
        if shape.len() > MAX_VAR_DIMS {
            return bad(
                ErrorKind::MaxDims,
                format!("too many dimensions (expected at most {MAX_VAR_DIMS}, found {})", shape.len()),
            );
        }
        if shape.contains(&0) {
            return bad(ErrorKind::Inval, format!("shape {shape:?}"));
        }
        match self.field_end(*offset, *ty, shape)? {
            Some(end) if end <= size => Ok(end),
            _ => {
                bad(ErrorKind::BadField, format!("offset {offset}, shape {shape:?}: beyond the {size} bytes"))
            }
        }
    }

    /// Returns the offset after the last byte of a field; `None` on overflow.
    fn field_end(&self, offset: usize, ty: NcType, shape: &[u32]) -> Result<Option<usize>> {
        let bytes =
            shape.iter().try_fold(self.field_size(ty)?, |product, &len| product.checked_mul(len as usize));
        Ok(bytes.and_then(|bytes| bytes.checked_add(offset)))
    }

    pub(crate) fn insert_enum(&mut self, id: TypeId, name: &str, value: i128) -> Result<Defined> {
        let name = normalize(name)?;
        let UserType { name: type_name, class, .. } = self.user_type(id)?;
        let TypeClass::Enum { base, members } = class else {
            return Err(ErrorKind::BadClass.context(format!("type {type_name:?}: not an enum")));
        };
        let bad = |kind: ErrorKind, what: String| Err(kind.context(format!("{type_name}.{name}: {what}")));
        self.check_unused(id)?;
        check_value(type_name, &name, value, *base)?;
        if let Some(other) = members.iter().find(|member| member.name == name || member.value == value) {
            return bad(
                ErrorKind::NameInUse,
                format!("{value}: the enum has {} = {}", other.name, other.value),
            );
        }
        let member = EnumMember { name: name.into_owned(), value };
        if let TypeClass::Enum { members, .. } = &mut self.user_type_mut(id)?.class {
            members.push(member);
        }
        Ok(Defined::Nothing)
    }

    /// Checks that no type, variable or attribute uses the type.
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

fn check_base(name: &str, base: NcType) -> Result<()> {
    if base.is_integer() {
        Ok(())
    } else {
        Err(ErrorKind::BadType.context(format!("enum {name:?}: base type {}", base.name())))
    }
}

fn check_value(type_name: &str, name: &str, value: i128, base: NcType) -> Result<()> {
    if fits(value, base) {
        Ok(())
    } else {
        Err(ErrorKind::Range.context(format!("{type_name}.{name}: {value} does not fit {}", base.name())))
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
