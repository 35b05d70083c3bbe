//! Reads the user-defined types of a table.

use std::ffi::c_int;

use nczarr::model::{EnumMember, Field, GroupId, Model, Scalar, TypeClass, UserType};
use nczarr::{ErrorKind, NcType, Result, Values};

use super::numbers::{NewObject, Numbers};
use super::text;
use crate::boundary::dispatch_table::{TablePtr, UserClass};
use crate::types::{COMPOUND, ENUM, OPAQUE, VLEN};

/// Adds the types of all groups to a model. A type comes after those that it refers to.
///
/// # Errors
/// Those of the table; `NC_EBADTYPE` for a type that is part of itself, or refers to an unknown one.
pub fn load_types(
    table: TablePtr,
    groups: &[GroupId],
    model: &mut Model,
    numbers: &mut Numbers,
) -> Result<()> {
    let mut waiting = Vec::new();
    for &group in groups {
        let ncid = numbers.group(group)?;
        for code in table.inq_typeids(ncid)?.unwrap_or_default() {
            let found = read_type(table, (group, ncid), code);
            waiting.push(found.map_err(|error| error.at(format_args!("type {code}")))?);
        }
    }
    // Most types refer to earlier ones. A round adds all types whose parts are known.
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut later = Vec::new();
        for ty in waiting {
            if ty.parts().all(|code| numbers.find_type(code).is_ok()) {
                ty.add(model, numbers)?;
            } else {
                later.push(ty);
            }
        }
        if later.len() == before {
            let names: Vec<_> = later.iter().map(|ty| &*ty.name).collect();
            let what =
                format!("types {names:?} refer to themselves, or to a type that the table does not list");
            return Err(ErrorKind::BadType.context(what));
        }
        waiting = later;
    }
    Ok(())
}

/// A type with the numbers of the table.
struct FoundType {
    code: c_int,
    group: GroupId,
    name: String,
    content: Content,
}

enum Content {
    Compound { size: usize, fields: Vec<(Field, c_int)> },
    Enum { base: NcType, members: Vec<EnumMember> },
    Opaque { size: usize },
    Vlen { base: c_int },
}

fn read_type(table: TablePtr, (group, ncid): (GroupId, c_int), code: c_int) -> Result<FoundType> {
    let UserClass { name, size, base, parts, class } = table.inq_user_type(ncid, code)?;
    let places = 0..c_int::try_from(parts).unwrap_or(c_int::MAX);
    let content = match class {
        VLEN => Content::Vlen { base },
        OPAQUE => Content::Opaque { size },
        COMPOUND => {
            let fields = places.map(|place| read_field(table, ncid, code, place)).collect::<Result<_>>()?;
            Content::Compound { size, fields }
        }
        ENUM => {
            let base = NcType::from_code(base).filter(|base| base.is_integer());
            let base = base.ok_or_else(|| ErrorKind::BadType.context("the base type is no integer type"))?;
            let members = places.map(|place| read_member(table, ncid, (code, base), place));
            Content::Enum { base, members: members.collect::<Result<_>>()? }
        }
        other => return Err(ErrorKind::BadClass.context(format!("class {other} (expected 13 to 16)"))),
    };
    Ok(FoundType { code, group, name: text(name)?, content })
}

fn read_field(table: TablePtr, ncid: c_int, compound: c_int, place: c_int) -> Result<(Field, c_int)> {
    let found = table.inq_compound_field(ncid, compound, place)?;
    let sizes = found.shape.iter().map(|&size| u32::try_from(size));
    let shape = sizes.collect::<Result<_, _>>();
    let wrong = |_| ErrorKind::BadField.context(format!("field {place}: shape {:?}", found.shape));
    // The model's number of the type is known when all types are.
    let field = Field {
        name: text(found.name)?,
        offset: found.offset,
        ty: NcType::Byte,
        shape: shape.map_err(wrong)?,
    };
    Ok((field, found.ty))
}

fn read_member(
    table: TablePtr,
    ncid: c_int,
    (code, base): (c_int, NcType),
    place: c_int,
) -> Result<EnumMember> {
    let (name, bytes) = table.inq_enum_member(ncid, code, place)?;
    let bytes = &bytes[..base.size().unwrap_or(0)];
    match Values::from_native_bytes(base, bytes).and_then(|value| value.scalar(0)) {
        Some(Scalar::Int(value)) => Ok(EnumMember { name: text(name)?, value }),
        _ => Err(ErrorKind::BadType.context(format!("member {place}"))),
    }
}

impl FoundType {
    /// Returns the types that it refers to.
    fn parts(&self) -> impl Iterator<Item = c_int> {
        let (fields, base) = match &self.content {
            Content::Compound { fields, .. } => (&**fields, None),
            Content::Vlen { base } => (&[][..], Some(*base)),
            _ => (&[][..], None),
        };
        fields.iter().map(|(_, ty)| *ty).chain(base)
    }

    fn add(self, model: &mut Model, numbers: &mut Numbers) -> Result<()> {
        let Self { code, group, name, content } = self;
        numbers.add(NewObject::Type(code))?;
        match content {
            Content::Compound { size, fields } => {
                let field = |(field, ty)| Ok(Field { ty: numbers.find_type(ty)?, ..field });
                let fields = fields.into_iter().map(field).collect::<Result<_>>()?;
                model.define_compound(group, &name, size, fields)
            }
            Content::Enum { base, members } => model.define_enum(group, &name, base, members),
            Content::Opaque { size } => {
                model.add_type(UserType { name, group, class: TypeClass::Opaque { size } })
            }
            Content::Vlen { base } => {
                let class = TypeClass::Vlen { base: numbers.find_type(base)? };
                model.add_type(UserType { name, group, class })
            }
        }
        .map(drop)
    }
}
