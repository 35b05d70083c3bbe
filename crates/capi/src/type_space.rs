//! [`TypeSpace`]: the types of a dataset with the layout that their elements have in C.
//!
//! A compound that the program defined has the offsets that it gave. One that was read from an HDF5 file has
//! the offsets of a C struct with the same fields, whatever its offsets in the file: programs declare that
//! struct.

use std::collections::HashMap;

use nczarr::model::{Field, Model, TypeClass, TypeId};
use nczarr::{NcType, Result};

use crate::boundary::memory::VlenElement;
use crate::boundary::pointer::TEXT_POINTER;

/// Size and offsets of a compound in C, if they differ from the stored ones.
#[derive(Debug, PartialEq, Eq)]
pub struct StructLayout {
    size: usize,
    offsets: Vec<usize>,
}

/// The layouts of compounds that differ from the stored ones.
pub type StructLayouts = HashMap<TypeId, StructLayout>;

/// The types of a dataset.
#[derive(Clone, Copy)]
pub struct TypeSpace<'m> {
    pub model: &'m Model,
    layouts: Option<&'m StructLayouts>,
}

impl<'m> TypeSpace<'m> {
    pub fn new(model: &'m Model, layouts: &'m StructLayouts) -> Self {
        Self { model, layouts: Some(layouts) }
    }

    /// Returns types whose elements have the same layout in C and in storage.
    pub fn as_stored(model: &'m Model) -> Self {
        Self { model, layouts: None }
    }

    fn layout(&self, compound: TypeId) -> Option<&'m StructLayout> {
        self.layouts?.get(&compound)
    }

    /// Returns the size of an element in C.
    pub fn size(&self, ty: NcType) -> Result<usize> {
        match ty {
            NcType::String => Ok(TEXT_POINTER),
            NcType::User(id) => match self.layout(id) {
                Some(layout) => Ok(layout.size),
                None => Ok(self.model.extent(ty)?.0),
            },
            ty => Ok(ty.size().unwrap_or(1)),
        }
    }

    /// Returns the offset of a field in C.
    pub fn offset(&self, compound: TypeId, index: usize, field: &Field) -> usize {
        let offset = self.layout(compound).and_then(|layout| layout.offsets.get(index));
        offset.copied().unwrap_or(field.offset)
    }

    /// Returns the alignment of an element in C.
    pub fn alignment(&self, ty: NcType) -> Result<usize> {
        alignment(self.model, ty, 0)
    }

    /// Whether elements have no pointers.
    pub fn is_fixed(&self, ty: NcType) -> Result<bool> {
        self.model.is_fixed(ty)
    }

    /// Whether elements in C are the stored ones byte for byte.
    pub fn is_plain(&self, ty: NcType) -> Result<bool> {
        Ok(self.is_fixed(ty)? && !matches!(ty, NcType::User(id) if self.layout(id).is_some()))
    }
}

/// Returns the layouts of all compounds of a file whose layout as a C struct differs from the stored one.
pub fn struct_layouts(model: &Model) -> Result<StructLayouts> {
    let mut layouts = StructLayouts::new();
    // A type refers to earlier ones in most files. Another round finds the others.
    for _ in 0..2 {
        for (id, ty) in model.user_types() {
            if let TypeClass::Compound { size, fields } = &ty.class {
                let layout = struct_layout(model, &layouts, fields)?;
                let same = layout.size == *size
                    && layout.offsets.iter().zip(fields).all(|(&offset, field)| offset == field.offset)
                    && !fields.iter().any(|field| is_in(&layouts, field.ty));
                if !same {
                    layouts.insert(id, layout);
                }
            }
        }
    }
    Ok(layouts)
}

fn is_in(layouts: &StructLayouts, ty: NcType) -> bool {
    matches!(ty, NcType::User(id) if layouts.contains_key(&id))
}

fn struct_layout(model: &Model, layouts: &StructLayouts, fields: &[Field]) -> Result<StructLayout> {
    let types = TypeSpace::new(model, layouts);
    let (mut end, mut widest, mut offsets) = (0usize, 1, Vec::with_capacity(fields.len()));
    for field in fields {
        let alignment = alignment(model, field.ty, 0)?;
        let offset = end.next_multiple_of(alignment);
        end = offset.saturating_add(types.size(field.ty)?.saturating_mul(field.count()?));
        widest = widest.max(alignment);
        offsets.push(offset);
    }
    Ok(StructLayout { size: end.next_multiple_of(widest), offsets })
}

/// The depth of nested types that is followed.
const MAX_DEPTH: usize = 64;

/// Returns the alignment of an element in C.
fn alignment(model: &Model, ty: NcType, depth: usize) -> Result<usize> {
    let NcType::User(id) = ty else { return Ok(ty.size().unwrap_or(align_of::<usize>())) };
    Ok(match &model.user_type(id)?.class {
        TypeClass::Opaque { .. } => 1,
        TypeClass::Vlen { .. } => align_of::<VlenElement>(),
        TypeClass::Enum { base, .. } => base.size().unwrap_or(1),
        TypeClass::Compound { .. } if depth > MAX_DEPTH => 1,
        TypeClass::Compound { fields, .. } => {
            let mut widest = 1;
            for field in fields {
                widest = widest.max(alignment(model, field.ty, depth + 1)?);
            }
            widest
        }
    })
}
