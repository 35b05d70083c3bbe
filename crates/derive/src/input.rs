//! The checked input of the macro: a struct with its fields, or an enum with its members.

use std::collections::HashSet;

use syn::spanned::Spanned as _;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Ident, LitStr, Result, Type};

use crate::attributes::{nc_name, repr};

/// A type that can be a netCDF type.
pub(crate) struct NcInput {
    pub(crate) ident: Ident,
    /// The netCDF name.
    pub(crate) name: LitStr,
    pub(crate) shape: InputShape,
}

pub(crate) enum InputShape {
    Struct(Vec<InputField>),
    Enum { base: &'static str, members: Vec<InputMember> },
}

pub(crate) struct InputField {
    pub(crate) ident: Ident,
    pub(crate) name: LitStr,
    pub(crate) ty: Type,
}

pub(crate) struct InputMember {
    pub(crate) ident: Ident,
    pub(crate) name: LitStr,
}

/// Rust integers, and the variants of the enum `nczarr::NcType` for them.
const INTEGERS: [(&str, &str); 8] = [
    ("i8", "Byte"),
    ("u8", "UByte"),
    ("i16", "Short"),
    ("u16", "UShort"),
    ("i32", "Int"),
    ("u32", "UInt"),
    ("i64", "Int64"),
    ("u64", "UInt64"),
];

impl NcInput {
    /// Checks a type.
    pub(crate) fn parse(item: &DeriveInput) -> Result<Self> {
        if !item.generics.params.is_empty() {
            return Err(Error::new(
                item.generics.span(),
                "derive(NcType): generic types are not supported; a netCDF type has one definition for its name",
            ));
        }
        let shape = match &item.data {
            Data::Struct(data) => InputShape::Struct(struct_fields(item, &data.fields)?),
            Data::Enum(data) => enum_members(item, data)?,
            Data::Union(data) => {
                return Err(Error::new(
                    data.union_token.span,
                    "derive(NcType): unions are not supported; use a struct or an enum",
                ));
            }
        };
        Ok(Self { ident: item.ident.clone(), name: nc_name(&item.attrs, &item.ident)?, shape })
    }
}

fn struct_fields(item: &DeriveInput, fields: &Fields) -> Result<Vec<InputField>> {
    let Fields::Named(named) = fields else {
        let span = if fields.is_empty() { item.ident.span() } else { fields.span() };
        return Err(Error::new(
            span,
            "derive(NcType): fields are stored by name; use a struct with named fields",
        ));
    };
    let words = repr(&item.attrs)?;
    if let Some((_, span)) = words.iter().find(|(word, _)| word == "packed") {
        return Err(Error::new(*span, "derive(NcType): packed structs are not supported; remove `packed`"));
    }
    if !words.iter().any(|(word, _)| word == "C") {
        return Err(Error::new(
            item.ident.span(),
            format!("derive(NcType): the struct has no fixed layout; add `#[repr(C)]` to `{}`", item.ident),
        ));
    }
    if named.named.is_empty() {
        return Err(Error::new(item.ident.span(), "derive(NcType): a compound type has at least one field"));
    }
    let mut names = HashSet::new();
    let field = |field: &syn::Field| {
        let ident = field.ident.clone().ok_or_else(|| Error::new(field.span(), "a field without a name"))?;
        let name = nc_name(&field.attrs, &ident)?;
        check_unique(&mut names, &name)?;
        Ok(InputField { ident, name, ty: field.ty.clone() })
    };
    named.named.iter().map(field).collect()
}

fn enum_members(item: &DeriveInput, data: &DataEnum) -> Result<InputShape> {
    let words = repr(&item.attrs)?;
    let base = words.iter().find_map(|(word, _)| INTEGERS.iter().find(|(name, _)| name == word));
    let Some((_, base)) = base else {
        let span = words.first().map_or(item.ident.span(), |(_, span)| *span);
        let ident = &item.ident;
        return Err(Error::new(
            span,
            format!(
                "derive(NcType): the enum has no integer type; add one to `{ident}`, such as `#[repr(u8)]`"
            ),
        ));
    };
    if data.variants.is_empty() {
        return Err(Error::new(item.ident.span(), "derive(NcType): an enum type has at least one member"));
    }
    let mut names = HashSet::new();
    let member = |variant: &syn::Variant| {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(
                variant.fields.span(),
                "derive(NcType): members of an enum are integers and have no fields",
            ));
        }
        let name = nc_name(&variant.attrs, &variant.ident)?;
        check_unique(&mut names, &name)?;
        Ok(InputMember { ident: variant.ident.clone(), name })
    };
    let members = data.variants.iter().map(member).collect::<Result<_>>()?;
    Ok(InputShape::Enum { base, members })
}

/// Checks that no field or member before has the same name.
fn check_unique(names: &mut HashSet<String>, name: &LitStr) -> Result<()> {
    if names.insert(name.value()) {
        return Ok(());
    }
    Err(Error::new(name.span(), format!("derive(NcType): the name {:?} is used twice", name.value())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let item = syn::parse_str(text).unwrap();
        NcInput::parse(&item).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn unsupported_types_have_clear_errors() {
        for (text, expected) in [
            ("struct P { x: f64 }", "add `#[repr(C)]` to `P`"),
            ("#[repr(transparent)] struct P { x: f64 }", "add `#[repr(C)]` to `P`"),
            ("#[repr(C, packed(2))] struct P { x: f64 }", "remove `packed`"),
            ("#[repr(C)] struct P(f64);", "use a struct with named fields"),
            ("#[repr(C)] struct P<'a>(&'a f64);", "generic types are not supported"),
            ("#[repr(C)] struct P;", "use a struct with named fields"),
            ("#[repr(C)] struct P {}", "at least one field"),
            ("#[repr(C)] struct P<T> { x: T }", "generic types are not supported"),
            ("#[repr(C)] union P { x: f64 }", "unions are not supported"),
            ("#[repr(C)] enum E { A }", "add one to `E`, such as `#[repr(u8)]`"),
            ("#[repr(usize)] enum E { A }", "the enum has no integer type"),
            ("enum E { A }", "the enum has no integer type"),
            ("#[repr(u8)] enum E {}", "at least one member"),
            ("#[repr(u8)] enum E { A, B { x: u8 } }", "have no fields"),
            ("#[repr(u8)] enum E { A, #[nc(name = \"A\")] B }", "the name \"A\" is used twice"),
            ("#[repr(C)] struct P { x: u8, #[nc(name = \"x\")] y: u8 }", "the name \"x\" is used twice"),
            ("#[repr(C)] struct P { #[nc(rename = \"y\")] x: u8 }", "unknown option of `nc`"),
            ("#[repr(C)] struct P { #[nc(name = \"\")] x: u8 }", "the name is empty"),
            ("#[repr(C)] struct P { #[nc(name = \"a\", name = \"b\")] x: u8 }", "given twice"),
        ] {
            let found = error_of(text);
            assert!(found.contains(expected), "{text}: {found:?} instead of {expected:?}");
        }
        assert_eq!(error_of("#[repr(C, align(16))] struct P { r#type: [u8; 3] }"), "");
        assert_eq!(error_of("#[repr(C, i16)] enum E { A = -3, B }"), "");
    }

    #[test]
    fn names_come_from_attributes_or_identifiers() {
        let text = "#[repr(C)] #[nc(name = \"a type\")] struct P { r#type: u8, #[nc(name = \"b c\")] b: u8 }";
        let input = NcInput::parse(&syn::parse_str(text).unwrap()).unwrap();
        let InputShape::Struct(fields) = &input.shape else { panic!("a struct") };
        let names: Vec<_> = fields.iter().map(|field| field.name.value()).collect();
        assert_eq!((input.name.value().as_str(), &names[..]), ("a type", &["type".into(), "b c".into()][..]));
    }
}
