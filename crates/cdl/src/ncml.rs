//! Prints the header of a dataset as NcML, an XML description for other tools, without data.
//!
//! For classic files it writes the same bytes as the reference. Groups become `group` elements, enumerations
//! `enumTypedef`. Other user-defined types are only named, because the schema has no more.

use std::io::Write;

use nczarr_model::{Att, DimId, Error, Group, GroupId, Model, NcType, Result, TypeClass, Values, Var, VarId};

use crate::options::{Options, PrintedPart};
use crate::text::without_nuls;
use crate::value::{FloatDigits, push_att_number};

/// Writes the NcML of a dataset at `location`.
///
/// # Errors
/// Errors of the output.
pub fn ncml(model: &Model, options: &Options, location: &str, sink: &mut dyn Write) -> Result<()> {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str("<netcdf xmlns=\"https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\"");
    push_value_of(&mut text, "location", location);
    text.push_str(">\n");
    let printer = Ncml { model, options, digits: FloatDigits::of(options) };
    printer.group(&mut text, GroupId::ROOT, 1)?;
    text.push_str("</netcdf>\n");
    sink.write_all(text.as_bytes()).map_err(|error| Error::io("writing NcML", error))
}

struct Ncml<'a> {
    model: &'a Model,
    options: &'a Options,
    digits: FloatDigits,
}

impl Ncml<'_> {
    /// Writes a group. The model limits the depth of groups, and so the recursion.
    fn group(&self, text: &mut String, id: GroupId, depth: usize) -> Result<()> {
        let group: &Group = self.model.group(id)?;
        let margin = "  ".repeat(depth);
        for &ty in group.types.values() {
            let user = self.model.user_type(ty)?;
            if let TypeClass::Enum { members, .. } = &user.class {
                text.push_str(&format!("{margin}<enumTypedef"));
                push_value_of(text, "name", &user.name);
                text.push_str(">\n");
                for member in members {
                    text.push_str(&format!("{margin}  <enum key=\"{}\">", member.value));
                    push_escaped(text, &member.name);
                    text.push_str("</enum>\n");
                }
                text.push_str(&format!("{margin}</enumTypedef>\n"));
            }
        }
        for &dim in group.dims.values() {
            let dim = self.model.dim(dim)?;
            text.push_str(&format!("{margin}<dimension"));
            push_value_of(text, "name", &dim.name);
            push_value_of(text, "length", &dim.len().to_string());
            text.push_str(if dim.unlimited { " isUnlimited=\"true\" />\n" } else { " />\n" });
        }
        self.atts(text, &group.atts, depth);
        for &id in group.vars.values() {
            let var = self.model.var(id)?;
            text.push_str(&format!("{margin}<variable"));
            push_value_of(text, "name", &var.name);
            let dims: Result<Vec<_>> =
                var.dims.iter().map(|&dim| Ok(self.model.dim(dim)?.name.clone())).collect();
            let dims = dims?.join(" ");
            if !dims.is_empty() {
                push_value_of(text, "shape", &dims);
            }
            push_value_of(text, "type", &self.type_name(var.xtype)?);
            if var.atts.is_empty() && !self.has_room(id, var) {
                text.push_str(" />\n");
                continue;
            }
            text.push_str(">\n");
            self.atts(text, &var.atts, depth + 1);
            text.push_str(&format!("{margin}</variable>\n"));
        }
        for &child in group.groups.values() {
            text.push_str(&format!("{margin}<group"));
            push_value_of(text, "name", &self.model.group(child)?.name);
            text.push_str(">\n");
            self.group(text, child, depth + 1)?;
            text.push_str(&format!("{margin}</group>\n"));
        }
        Ok(())
    }

    /// Whether the element of a variable may hold data. The reference leaves room for data that it would
    /// print as text.
    fn has_room(&self, id: VarId, var: &Var) -> bool {
        let wanted = self.options.vars.is_empty() || self.options.vars.contains(&id);
        let coordinate = var.dims.len() == 1 && self.model.find_dim(var.group, &var.name).is_some();
        let unlimited = |dim: &DimId| self.model.dim(*dim).is_ok_and(|dim| dim.unlimited);
        let records = self.model.dims().find(|(_, dim)| dim.unlimited).map_or(0, |(_, dim)| dim.len());
        match self.options.part {
            PrintedPart::Header => false,
            PrintedPart::Coordinates if !coordinate => false,
            _ => wanted && (records > 0 || !var.dims.iter().any(unlimited)),
        }
    }

    fn type_name(&self, ty: NcType) -> Result<String> {
        Ok(match ty {
            NcType::String => "String".to_owned(),
            NcType::Int64 => "int64".to_owned(),
            NcType::UInt64 => "uint64".to_owned(),
            NcType::User(id) => match &self.model.user_type(id)?.class {
                TypeClass::Enum { base, .. } => match base {
                    NcType::Byte | NcType::UByte => "enum1".to_owned(),
                    NcType::Short | NcType::UShort => "enum2".to_owned(),
                    _ => "enum4".to_owned(),
                },
                TypeClass::Compound { .. } => "Structure".to_owned(),
                TypeClass::Opaque { .. } => "opaque".to_owned(),
                TypeClass::Vlen { .. } => "Sequence".to_owned(),
            },
            ty => ty.name().to_owned(),
        })
    }

    fn atts(&self, text: &mut String, atts: &Att, depth: usize) {
        for (name, values) in atts {
            text.push_str(&"  ".repeat(depth));
            text.push_str("<attribute");
            push_value_of(text, "name", name);
            match values {
                Values::Char(bytes) => {
                    push_value_of(text, "value", &String::from_utf8_lossy(without_nuls(bytes)))
                }
                Values::String(strings) => {
                    let parts: Vec<_> =
                        strings.iter().map(|part| String::from_utf8_lossy(part.as_bytes())).collect();
                    // A separator that none of them contains.
                    let separator = ["|", ";", ",", "\u{1f}"]
                        .into_iter()
                        .find(|s| parts.iter().all(|part| !part.contains(s)));
                    push_value_of(text, "type", "String");
                    if parts.len() > 1 {
                        push_value_of(text, "separator", separator.unwrap_or("\n"));
                    }
                    push_value_of(text, "value", &parts.join(separator.unwrap_or("\n")));
                }
                values => {
                    if let Ok(ty) = self.type_name(values.nc_type()).map(|name| name.to_owned()) {
                        push_value_of(text, "type", &ty);
                    }
                    let mut numbers = Vec::new();
                    for at in 0..values.len() {
                        numbers.extend_from_slice(if at == 0 { b"" } else { b" " });
                        push_number(&mut numbers, values, at, self.digits);
                    }
                    push_value_of(text, "value", &String::from_utf8_lossy(&numbers));
                }
            }
            text.push_str(" />\n");
        }
    }
}

/// Appends a number of an attribute. As in the reference, only NcML uses the C library's words for NaN and
/// infinity.
fn push_number(out: &mut Vec<u8>, values: &Values, index: usize, digits: FloatDigits) {
    let value = match values {
        Values::Float(values) => values.get(index).map(|&value| f64::from(value)),
        Values::Double(values) => values.get(index).copied(),
        _ => None,
    };
    match value.filter(|value| !value.is_finite()) {
        Some(value) => {
            out.extend_from_slice(if value.is_sign_negative() { b"-" } else { b"" });
            out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
        }
        None => push_att_number(out, values, index, digits),
    }
}

/// ` name="value"`
fn push_value_of(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!(" {name}=\""));
    push_escaped(text, value);
    text.push('"');
}

fn push_escaped(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '"' => text.push_str("&quot;"),
            c if c.is_ascii_control() => text.push_str(&format!("&#x{:X};", u32::from(c))),
            c => text.push(c),
        }
    }
}
