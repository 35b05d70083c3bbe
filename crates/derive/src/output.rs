//! The implementation of `nczarr::NcValue` that the macro writes.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned as _;

use crate::input::{InputField, InputMember, InputShape, NcInput};

/// Returns the implementation for a checked type.
pub(crate) fn implementation(input: &NcInput) -> TokenStream {
    let body = match &input.shape {
        InputShape::Struct(fields) => of_struct(input, fields),
        InputShape::Enum { base, members } => of_enum(input, &Ident::new(base, Span::call_site()), members),
    };
    // A scope of its own: the names of its items do not meet those of the caller.
    quote! { const _: () = { #body }; }
}

fn of_struct(input: &NcInput, fields: &[InputField]) -> TokenStream {
    let (ident, name) = (&input.ident, &input.name);
    let members: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let indexes: Vec<_> = (0..fields.len()).collect();
    let described = fields.iter().map(|InputField { ident: field, name, ty }| {
        // A type that is no netCDF type is marked, not the macro.
        let new = quote_spanned! { ty.span() => ::nczarr::value::StructField::new::<#ty> };
        quote! { #new(#name, ::core::mem::offset_of!(#ident, #field)) }
    });
    quote! {
        const __NCZARR_FIELDS: &[::nczarr::value::StructField] = &[#(#described),*];

        #[automatically_derived]
        impl ::nczarr::NcValue for #ident {
            // SAFETY: the list has each field of the struct once, with its type and its offset.
            const LAYOUT: ::nczarr::value::MemoryLayout<Self> =
                unsafe { ::nczarr::value::MemoryLayout::of_struct(__NCZARR_FIELDS) };

            fn define(group: &::nczarr::Group) -> ::nczarr::Result<::nczarr::value::FieldType> {
                let ty = ::nczarr::value::define_struct(group, #name, __NCZARR_FIELDS)?;
                ::core::result::Result::Ok(::nczarr::value::FieldType::single(ty.nc_type()))
            }

            fn bind(
                model: &::nczarr::model::Model,
                ty: ::nczarr::model::NcType,
                shape: &[u32],
            ) -> ::nczarr::Result<::nczarr::value::Binding> {
                ::nczarr::value::Binding::of_struct(__NCZARR_FIELDS, model, ty, shape)
            }

            // The list above is complete: otherwise this expression lacks a field, or has another type.
            #[inline]
            fn load(binding: &::nczarr::value::Binding, bytes: &[u8]) -> ::nczarr::Result<Self> {
                ::core::result::Result::Ok(Self { #(#members: binding.load_field::<#types>(#indexes, bytes)?,)* })
            }

            #[inline]
            fn store(&self, binding: &::nczarr::value::Binding, bytes: &mut [u8]) -> ::nczarr::Result<()> {
                #(binding.store_field(#indexes, &self.#members, bytes)?;)*
                ::core::result::Result::Ok(())
            }

            fn from_items(
                binding: &::nczarr::value::Binding,
                items: &mut dyn ::core::iter::Iterator<Item = ::nczarr::model::Item>,
            ) -> ::nczarr::Result<Self> {
                let mut parts = binding.take_parts(items)?;
                ::core::result::Result::Ok(Self { #(#members: binding.take_part(#indexes, &mut parts)?,)* })
            }

            fn to_items(
                &self,
                binding: &::nczarr::value::Binding,
                items: &mut ::std::vec::Vec<::nczarr::model::Item>,
            ) -> ::nczarr::Result<()> {
                let mut parts = binding.empty_parts()?;
                #(binding.put_part(#indexes, &self.#members, &mut parts)?;)*
                items.push(::nczarr::model::Item::Compound(parts));
                ::core::result::Result::Ok(())
            }
        }
    }
}

fn of_enum(input: &NcInput, base: &Ident, members: &[InputMember]) -> TokenStream {
    let (ident, name) = (&input.ident, &input.name);
    let variants: Vec<_> = members.iter().map(|member| &member.ident).collect();
    let names = members.iter().map(|member| &member.name);
    let indexes: Vec<_> = (0..members.len()).collect();
    let base = quote! { ::nczarr::model::NcType::#base };
    let list = format_ident!("__NCZARR_MEMBERS");
    quote! {
        const #list: &[(&str, i128)] = &[#((#names, #ident::#variants as i128)),*];

        #[automatically_derived]
        impl ::nczarr::NcValue for #ident {
            // SAFETY: the attribute `repr` of the enum has this integer type.
            const LAYOUT: ::nczarr::value::MemoryLayout<Self> =
                unsafe { ::nczarr::value::MemoryLayout::of_enum(#base) };

            fn define(group: &::nczarr::Group) -> ::nczarr::Result<::nczarr::value::FieldType> {
                let ty = ::nczarr::value::define_enum(group, #name, #base, #list)?;
                ::core::result::Result::Ok(::nczarr::value::FieldType::single(ty.nc_type()))
            }

            fn bind(
                model: &::nczarr::model::Model,
                ty: ::nczarr::model::NcType,
                shape: &[u32],
            ) -> ::nczarr::Result<::nczarr::value::Binding> {
                ::nczarr::value::Binding::of_enum(#base, #list, model, ty, shape)
            }

            #[inline]
            fn load(binding: &::nczarr::value::Binding, bytes: &[u8]) -> ::nczarr::Result<Self> {
                match binding.load_member(bytes)? {
                    #(#indexes => ::core::result::Result::Ok(Self::#variants),)*
                    _ => ::core::result::Result::Err(::nczarr::ErrorKind::Internal.into()),
                }
            }

            #[inline]
            fn store(&self, binding: &::nczarr::value::Binding, bytes: &mut [u8]) -> ::nczarr::Result<()> {
                let member = match self {
                    #(Self::#variants => #indexes,)*
                };
                binding.store_member(member, bytes)
            }
        }
    }
}
