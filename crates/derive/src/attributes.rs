//! The attributes `repr` and `nc`.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Ident, LitStr, Result};

/// Returns the words of the attribute `repr`, such as `C` or `u8`, with their places.
pub(crate) fn repr(attributes: &[Attribute]) -> Result<Vec<(String, Span)>> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
            words.push((word, meta.path.span()));
            // The number of `align(8)` does not matter.
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                number.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(words)
}

/// Returns the netCDF name: that of `#[nc(name = "…")]`, or the identifier.
pub(crate) fn nc_name(attributes: &[Attribute], ident: &Ident) -> Result<LitStr> {
    let mut name: Option<LitStr> = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("nc")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("unknown option of `nc` (expected `name = \"…\"`)"));
            }
            let text: LitStr = meta.value()?.parse()?;
            if text.value().is_empty() {
                return Err(Error::new(text.span(), "the name is empty"));
            }
            match name.replace(text) {
                None => Ok(()),
                Some(_) => Err(meta.error("the name is given twice")),
            }
        })?;
    }
    Ok(name.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span())))
}
