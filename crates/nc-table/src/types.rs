//! Inquiries about types.

use nczarr_model::{
    EnumMember, ErrorKind, Field, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType, Values,
};

pub(crate) fn name_and_size(model: &Model, ty: NcType) -> Result<(String, Option<usize>)> {
    let name = match ty {
        NcType::User(id) => model.user_type(id)?.name.clone(),
        atomic => atomic.name().to_owned(),
    };
    Ok((name, model.type_size(ty)?))
}

pub(crate) fn by_name(model: &Model, group: GroupId, name: &str) -> Result<NcType> {
    if let Some(atomic) = NcType::ATOMIC.into_iter().find(|ty| ty.name() == name) {
        return Ok(atomic);
    }
    let missing = || ErrorKind::BadType.context(format!("no type {name:?}"));
    if let Some(path) = name.strip_prefix('/') {
        let (groups, last) = path.rsplit_once('/').unwrap_or(("", path));
        let at = model.group_at(GroupId::ROOT, groups).map_err(|error| missing().caused_by(error))?;
        return model
            .find_type(at, last)
            .filter(|&id| is_in(model, id, at))
            .map(NcType::User)
            .ok_or_else(missing);
    }
    model.group(group)?;
    model
        .find_type(group, name)
        .or_else(|| model.user_types().find(|(_, ty)| ty.name == name).map(|(id, _)| id))
        .map(NcType::User)
        .ok_or_else(missing)
}

fn is_in(model: &Model, id: TypeId, group: GroupId) -> bool {
    model.user_type(id).is_ok_and(|ty| ty.group == group)
}

/// The depth of nested types that is compared. Real datasets nest less deep; a damaged one could be cyclic.
const DEPTH: usize = 64;

pub(crate) fn equal(a: &Model, a_ty: NcType, b: &Model, b_ty: NcType) -> Result<bool> {
    same(a, a_ty, b, b_ty, DEPTH)
}

fn same(a: &Model, a_ty: NcType, b: &Model, b_ty: NcType, depth: usize) -> Result<bool> {
    let (NcType::User(a_id), NcType::User(b_id)) = (a_ty, b_ty) else { return Ok(a_ty == b_ty) };
    let (one, other) = (a.user_type(a_id)?, b.user_type(b_id)?);
    if one.name != other.name || depth == 0 {
        return Ok(false);
    }
    let deeper = |a_ty, b_ty| same(a, a_ty, b, b_ty, depth - 1);
    match (&one.class, &other.class) {
        (TypeClass::Compound { size, fields }, TypeClass::Compound { size: size_b, fields: fields_b }) => {
            if size != size_b || fields.len() != fields_b.len() {
                return Ok(false);
            }
            for (field, field_b) in fields.iter().zip(fields_b) {
                let alike = field.name == field_b.name
                    && field.offset == field_b.offset
                    && field.shape == field_b.shape
                    && deeper(field.ty, field_b.ty)?;
                if !alike {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (TypeClass::Vlen { base }, TypeClass::Vlen { base: base_b }) => deeper(*base, *base_b),
        (one, other) => Ok(one == other),
    }
}

fn wrong_class(ty: &UserType, wanted: &str) -> nczarr_model::Error {
    ErrorKind::BadType.context(format!("type {:?}: not a {wanted}", ty.name))
}

fn fields(ty: &UserType) -> Result<&[Field]> {
    match &ty.class {
        TypeClass::Compound { fields, .. } => Ok(fields),
        _ => Err(wrong_class(ty, "compound")),
    }
}

pub(crate) fn field(model: &Model, id: TypeId, place: usize) -> Result<Field> {
    let ty = model.user_type(id)?;
    let fields = fields(ty)?;
    fields.get(place).cloned().ok_or_else(|| {
        ErrorKind::BadField.context(format!(
            "type {:?}: no field {place} (found {} fields)",
            ty.name,
            fields.len()
        ))
    })
}

pub(crate) fn field_place(model: &Model, id: TypeId, name: &str) -> Result<usize> {
    let ty = model.user_type(id)?;
    fields(ty)?
        .iter()
        .position(|field| field.name == name)
        .ok_or_else(|| ErrorKind::BadField.context(format!("type {:?} has no field {name:?}", ty.name)))
}

fn members(ty: &UserType) -> Result<&[EnumMember]> {
    match &ty.class {
        TypeClass::Enum { members, .. } => Ok(members),
        _ => Err(wrong_class(ty, "enum")),
    }
}

pub(crate) fn member(model: &Model, id: TypeId, place: usize) -> Result<EnumMember> {
    let ty = model.user_type(id)?;
    let members = members(ty)?;
    members.get(place).cloned().ok_or_else(|| {
        ErrorKind::Inval.context(format!(
            "type {:?}: no member {place} (found {} members)",
            ty.name,
            members.len()
        ))
    })
}

pub(crate) fn ident(model: &Model, id: TypeId, value: i128) -> Result<String> {
    let ty = model.user_type(id)?;
    members(ty)?;
    ty.enum_ident(value)
        .map(str::to_owned)
        .ok_or_else(|| ErrorKind::Inval.context(format!("no member of type {:?} is {value}", ty.name)))
}

/// Checks that `values` can be the content of an element of a vlen type.
pub(crate) fn check_vlen(model: &Model, id: TypeId, values: &Values) -> Result<()> {
    let ty = model.user_type(id)?;
    let TypeClass::Vlen { base } = ty.class else { return Err(wrong_class(ty, "vlen")) };
    if values.nc_type() != base {
        let (found, wanted) = (values.nc_type().name(), base.name());
        return Err(ErrorKind::BadType
            .context(format!("type {:?}: wrong element type (expected {wanted}, found {found})", ty.name)));
    }
    Ok(())
}
