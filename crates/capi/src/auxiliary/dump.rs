//! `ncaux_dump_data`: elements of any type as text.

use std::ffi::{c_char, c_int};

use nczarr::model::{Item, Model, TypeClass};
use nczarr::{ErrorKind, NcType, Result};

use crate::boundary::memory;
use crate::boundary::pointer::{OutPtr, SourcePtr};
use crate::memory_form;
use crate::table;

c_functions! {
    /// Returns elements as text, separated by blanks. The caller frees it.
    fn ncaux_dump_data(
        ncid: c_int, xtypeid: c_int, memory: SourcePtr, count: usize, buf: OutPtr<*mut c_char>,
    ) {
        if memory.is_null() && count > 0 {
            return Err(ErrorKind::Inval.context("the memory of the values is null"));
        }
        if count == 0 {
            return Ok(());
        }
        let node = table::find(ncid)?;
        let ty = node.xtype(xtypeid)?;
        let text = node.look_types(|types| {
            let values = memory_form::values_from(types, ty, count, &memory)?;
            let mut text = String::new();
            put_all(types.model, ty, &types.model.items(&values)?, &mut text)?;
            Ok(text)
        })?;
        buf.set(memory::copy_text(text.as_bytes())?);
        Ok(())
    }
}

fn put_all(model: &Model, ty: NcType, items: &[Item], out: &mut String) -> Result<()> {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        put(model, ty, item, out)?;
    }
    Ok(())
}

/// Appends an element in the form of netCDF-C.
fn put(model: &Model, ty: NcType, item: &Item, out: &mut String) -> Result<()> {
    match item {
        Item::Int(value) => out.push_str(&value.to_string()),
        Item::Float(value) => out.push_str(&format!("{value:.6}")),
        Item::Double(value) => out.push_str(&format!("{value:.6}")),
        Item::Char(value) => out.push_str(&format!("'{}'", *value as char)),
        Item::String(text) => out.push_str(&format!("\"{}\"", String::from_utf8_lossy(text.as_bytes()))),
        Item::Opaque(bytes) => {
            out.push('|');
            out.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
            out.push('|');
        }
        Item::Vlen(items) => {
            out.push_str(&format!("{{len={},p=(", items.len()));
            put_all(model, base_of(model, ty)?, items, out)?;
            out.push_str(")}");
        }
        Item::Compound(values) => {
            let NcType::User(id) = ty else {
                return Err(ErrorKind::BadType.context("fields without a type"));
            };
            let TypeClass::Compound { fields, .. } = &model.user_type(id)?.class else {
                return Err(ErrorKind::BadType.context("fields of a type that is no compound"));
            };
            out.push('<');
            for (at, (field, items)) in fields.iter().zip(values).enumerate() {
                let shape = field.shape.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                let separator = if at > 0 { ";" } else { "" };
                out.push_str(&format!("{separator}{}({shape})", field.name));
                put_all(model, field.ty, items, out)?;
            }
            out.push('>');
        }
    }
    Ok(())
}

fn base_of(model: &Model, ty: NcType) -> Result<NcType> {
    match ty {
        NcType::User(id) => match model.user_type(id)?.class {
            TypeClass::Vlen { base } => Ok(base),
            _ => Ok(ty),
        },
        ty => Ok(ty),
    }
}
