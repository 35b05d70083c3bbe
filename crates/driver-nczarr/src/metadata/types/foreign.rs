//! Conversion between stored types that netCDF lacks and user-defined types of the model.
//!
//! * A complex number is a compound `_Complex64_t` or `_Complex128_t` with the fields `r` and `i`.
//! * Bytes are `_Opaque<n>_t`, bytes of any length `_Bytes_t`, lists of numbers `_List_<type>_t`. All these
//!   are in the root group.
//! * A compound is named after its variable (`<variable>_t`), in the variable's group; inner compounds
//!   likewise.
//!
//! Names that are taken get another underscore.

use std::sync::Arc;

use nczarr_codec::{ItemKind, ItemType, ShownType};
use nczarr_model::{
    Endian, ErrorKind, Field, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType, Values, VarFill,
    VarId, name,
};

use crate::metadata::types::dtype::{CompoundDType, CompoundField, DType, DTypeKind, MAX_WIDTH};

pub(crate) use crate::metadata::types::dtype::{NO_TYPE, UNDEFINED};

/// Bytes of a name reserved for making it unique.
const SUFFIX_BYTES: usize = 32;

/// Defines the type of a variable with a user-defined type.
///
/// # Errors
/// Errors of the model.
pub(crate) fn define(model: &mut Model, id: VarId, dtype: &DType, list: Option<NcType>) -> Result<()> {
    let var = model.var(id)?;
    let (group, name) = (var.group, format!("{}_t", var.name));
    let ty = match list {
        Some(base) => list_type(model, base)?,
        None => user_type(model, group, &name, dtype)?,
    };
    let var = model.var_mut(id)?;
    var.xtype = ty;
    if let (VarFill::Value(Values::User(of, _) | Values::Packed(of, _)), NcType::User(id)) =
        (&mut var.fill, ty)
    {
        *of = id;
    }
    Ok(())
}

/// Returns the netCDF type of a stored type; `name` is the name of a compound.
pub(crate) fn user_type(model: &mut Model, group: GroupId, name: &str, dtype: &DType) -> Result<NcType> {
    let root = GroupId::ROOT;
    match dtype.kind {
        DTypeKind::Complex(part) => {
            let size = part.size().unwrap_or(0);
            let field =
                |name: &str, offset| Field { name: name.to_owned(), offset, ty: part, shape: Vec::new() };
            let class = TypeClass::Compound { size: 2 * size, fields: vec![field("r", 0), field("i", size)] };
            add(model, root, format!("_Complex{}_t", size * 16), class)
        }
        DTypeKind::Opaque(size) | DTypeKind::Extension(ShownType::Opaque(size)) => {
            add(model, root, format!("_Opaque{size}_t"), TypeClass::Opaque { size })
        }
        DTypeKind::Compound => {
            let record = dtype
                .compound
                .as_ref()
                .ok_or_else(|| ErrorKind::Internal.context("a compound without fields"))?;
            let mut fields = Vec::with_capacity(record.fields.len());
            let mut size = 0;
            for field in &record.fields {
                if field.name.is_empty() {
                    size += field_bytes(1, field);
                    continue;
                }
                let inner = format!("{}_{}_t", name.strip_suffix("_t").unwrap_or(name), field.name);
                let (ty, last) = field_type(model, group, &inner, &field.dtype)?;
                let mut shape = field.shape.clone();
                shape.extend(last);
                let one = model.type_size(ty)?.unwrap_or(0);
                let last = last.map_or(1, |len| len as usize);
                fields.push(Field { name: field.name.clone(), offset: size, ty, shape });
                size += field_bytes(one * last, field);
            }
            add(model, group, name.to_owned(), TypeClass::Compound { size, fields })
        }
        _ => Err(ErrorKind::Internal.context(format!("type {} is not a user-defined type", dtype.text))),
    }
}

/// Returns the type of lists of numbers.
fn list_type(model: &mut Model, base: NcType) -> Result<NcType> {
    let name = match base {
        NcType::UByte => "_Bytes_t".to_owned(),
        other => format!("_List_{}_t", other.name()),
    };
    add(model, GroupId::ROOT, name, TypeClass::Vlen { base })
}

/// Returns the netCDF type of the items of a list; `None` if no type has their size.
pub(crate) fn list_base(item: ItemType) -> Option<NcType> {
    let of = |types: [NcType; 4]| types.into_iter().find(|ty| ty.size() == Some(item.size));
    match item.kind {
        ItemKind::Int => of([NcType::Byte, NcType::Short, NcType::Int, NcType::Int64]),
        ItemKind::UInt => of([NcType::UByte, NcType::UShort, NcType::UInt, NcType::UInt64]),
        ItemKind::Float => of([NcType::Float, NcType::Double, NcType::Float, NcType::Double]),
        // Bytes, and truth values of one byte.
        _ => (item.size == 1).then_some(NcType::UByte),
    }
}

/// Returns the bytes in memory of a field whose elements take `one` byte each, or of padding.
fn field_bytes(one: usize, field: &CompoundField) -> usize {
    let one = if field.name.is_empty() { field.dtype.item_size().unwrap_or(0) } else { one };
    // Compounds have a size limit, so this does not overflow.
    field.shape.iter().fold(one, |size, &len| size.saturating_mul(len as usize))
}

/// Returns the type of a field, and the length of its extra dimension if it is text.
fn field_type(model: &mut Model, group: GroupId, name: &str, dtype: &DType) -> Result<(NcType, Option<u32>)> {
    let len = |len: usize| {
        u32::try_from(len)
            .map_err(|_| ErrorKind::BadType.context(format!("text of {len} bytes is too long for a field")))
    };
    Ok(match dtype.kind {
        DTypeKind::Number(ty) => (ty, None),
        DTypeKind::Half(_) => (NcType::Float, None),
        DTypeKind::Bool => (NcType::UByte, None),
        DTypeKind::Char | DTypeKind::Text(1) => (NcType::Char, None),
        DTypeKind::Text(width) => (NcType::Char, Some(len(width)?)),
        // netCDF has no field type for text; its code points keep all of it.
        DTypeKind::Utf32(1) => (NcType::UInt, None),
        DTypeKind::Utf32(chars) => (NcType::UInt, Some(len(chars)?)),
        // A field has no attributes for the unit; the stored type has it.
        DTypeKind::Time { .. } => (NcType::Int64, None),
        _ => (user_type(model, group, name, dtype)?, None),
    })
}

/// Adds a type, or finds an equal one of that name.
fn add(model: &mut Model, group: GroupId, mut name: String, class: TypeClass) -> Result<NcType> {
    if name.len() > name::MAX_LEN {
        // Names of types are free; the variable's name may already have the maximum length.
        let stem = name.floor_char_boundary(name::MAX_LEN - SUFFIX_BYTES);
        name.truncate(stem);
        name.push_str("_t");
    }
    loop {
        let here = model.group(group)?;
        if let Some(&id) = here.types.get(&name) {
            if model.user_type(id)?.class == class {
                return Ok(NcType::User(id));
            }
        } else if !here.vars.contains_key(&name) && !here.groups.contains_key(&name) {
            return model.add_type(UserType { name, group, class }).map(NcType::User);
        }
        name.push('_');
    }
}

/// Returns the plain Zarr type of a variable with a user-defined type.
///
/// # Errors
/// `NC_ENOTNC4` if Zarr has no such type: vlens, enums, and compounds with such fields.
pub(crate) fn stored_dtype(model: &Model, id: TypeId, endian: Endian) -> Result<DType> {
    let ty = model.user_type(id)?;
    let none = |what: &str| Err(ErrorKind::NotNc4.context(format!("type {}: Zarr has no {what}", ty.name)));
    let (order, big_endian) = if endian == Endian::Big { ('>', true) } else { ('<', false) };
    match &ty.class {
        TypeClass::Opaque { size } => match *size {
            0 => none("opaque type of no bytes"),
            size if size > MAX_WIDTH => none("elements of that size"),
            size => Ok(DType::from_name(&format!("|V{size}"))),
        },
        TypeClass::Vlen { .. } => none("vlens"),
        TypeClass::Enum { .. } => none("enums"),
        TypeClass::Compound { size, fields } => {
            if let Some(part) = complex(ty) {
                return Ok(DType::from_name(&format!("{order}c{}", 2 * part.size().unwrap_or(0))));
            }
            let mut list = Vec::with_capacity(fields.len());
            let mut sorted: Vec<&Field> = fields.iter().collect();
            sorted.sort_by_key(|field| field.offset);
            let mut end = 0;
            for field in sorted {
                let mut shape = field.shape.clone();
                if shape.contains(&0) {
                    return none("fields without elements");
                }
                let dtype = match field.ty {
                    NcType::User(inner) => stored_dtype(model, inner, endian)?,
                    // One-byte text keeps its dimension.
                    NcType::Char => {
                        let len = shape.pop_if(|len| *len > 1).unwrap_or(1);
                        DType::from_name(&format!("|S{len}"))
                    }
                    NcType::String => return none("compounds with strings"),
                    other => DType::of(other, endian, 1, false)?,
                };
                let one = model.type_size(field.ty)?.unwrap_or(0);
                match field.offset.checked_sub(end) {
                    None => return none("compounds with fields that overlap"),
                    Some(gap) => list.extend(padding(gap)),
                }
                let len = |size: usize, &len: &u32| size.checked_mul(len as usize);
                let bytes = field.shape.iter().try_fold(one, len);
                end = bytes.and_then(|bytes| field.offset.checked_add(bytes)).ok_or(ErrorKind::BadType)?;
                list.push(CompoundField { name: field.name.clone(), dtype, shape });
            }
            list.extend(padding(size.saturating_sub(end)));
            let record = CompoundDType { fields: list };
            if fields.is_empty()
                || record.pieces().is_none()
                || record.size() != Some(*size)
                || *size > MAX_WIDTH
            {
                return none("compounds without fields, or with that many, or of that size");
            }
            let text = text(&record);
            Ok(DType {
                text,
                kind: DTypeKind::Compound,
                big_endian,
                compound: Some(Arc::new(record)),
                extension: None,
            })
        }
    }
}

/// Returns padding of this many bytes.
fn padding(bytes: usize) -> Option<CompoundField> {
    let dtype = DType::from_name(&format!("|V{bytes}"));
    (bytes > 0).then(|| CompoundField { name: String::new(), dtype, shape: Vec::new() })
}

/// Returns the type of both parts, if it is a complex number by our names.
fn complex(ty: &UserType) -> Option<NcType> {
    let TypeClass::Compound { size, fields } = &ty.class else { return None };
    let [r, i] = &fields[..] else { return None };
    let part = match ty.name.trim_end_matches('_') {
        "_Complex64_t" => NcType::Float,
        "_Complex128_t" => NcType::Double,
        _ => return None,
    };
    let plain = |field: &Field, name: &str, offset: usize| {
        field.name == name && field.offset == offset && field.ty == part && field.shape.is_empty()
    };
    let half = part.size()?;
    (*size == 2 * half && plain(r, "r", 0) && plain(i, "i", half)).then_some(part)
}

/// Returns the JSON of a compound.
pub(crate) fn text(record: &CompoundDType) -> String {
    let fields = record.fields.iter().map(|field| {
        let ty = match field.dtype.kind {
            DTypeKind::Compound => field.dtype.text.clone(),
            _ => crate::metadata::json::quote(&field.dtype.text),
        };
        let name = crate::metadata::json::quote(&field.name);
        match &field.shape[..] {
            [] => format!("[{name},{ty}]"),
            shape => format!("[{name},{ty},{shape:?}]"),
        }
    });
    format!("[{}]", fields.collect::<Vec<_>>().join(","))
}
