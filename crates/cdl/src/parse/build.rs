//! Makes a dataset from a tree: one [`Edit`] for each definition, then the data of each group.
//!
//! All groups, types and dimensions are made before the first variable, which may refer to those of any
//! group.

use std::sync::Arc;

use nczarr_model::{Defined, DimId, Edit, Error, ErrorKind, GroupId, Model, NcType, TypeId, Values, VarId};

use super::cursor::Located;
use super::layout::{SpecialLayout, is_special_of_dataset};
use super::tree::{AttDef, ClassDef, GroupDef, TypeDef, TypeRef};
use super::{CdlTarget, data, types, values};

/// Makes definitions, then data.
pub(super) fn build(text: &[u8], root: &GroupDef, target: &mut dyn CdlTarget) -> Located<()> {
    let mut context = data::SectionContext::new();
    for (group, def) in header(text, root, target, &mut context)? {
        for &at in &def.data {
            data::section(text, at, group, &mut context, target)?;
        }
    }
    Ok(())
}

/// Makes the definitions. Returns each group with its definition.
pub(super) fn header<'d>(
    text: &[u8],
    root: &'d GroupDef,
    target: &mut dyn CdlTarget,
    context: &mut data::SectionContext,
) -> Located<Vec<(GroupId, &'d GroupDef)>> {
    let mut made = Vec::new();
    let mut layouts = Vec::new();
    let mut builder = DatasetBuilder { text, target, layouts: &mut layouts, context };
    builder.group(root, GroupId::ROOT, &mut made)?;
    for &(group, def) in &made {
        builder.vars(def, group)?;
    }
    for (var, at, layout) in layouts {
        target.lay_out(var, &layout).map_err(|error| (at, error))?;
    }
    target.defined().map_err(|error| (root.at, error))?;
    Ok(made)
}

struct DatasetBuilder<'b, 't> {
    text: &'t [u8],
    target: &'b mut dyn CdlTarget,
    /// The special attributes of each variable, with the offset of the first one.
    layouts: &'b mut Vec<(VarId, usize, SpecialLayout)>,
    context: &'b mut data::SectionContext,
}

impl DatasetBuilder<'_, '_> {
    fn model(&self) -> Arc<Model> {
        self.target.model()
    }

    fn edit(&mut self, at: usize, edit: &Edit<'_>) -> Located<Defined> {
        self.target.edit(edit).map_err(|error| (at, error))
    }

    /// Makes a group, its types and dimensions, and its inner groups.
    fn group<'d>(
        &mut self,
        def: &'d GroupDef,
        id: GroupId,
        made: &mut Vec<(GroupId, &'d GroupDef)>,
    ) -> Located<()> {
        for ty in &def.types {
            self.user_type(ty, id)?;
        }
        for dim in &def.dims {
            let made = self.edit(dim.at, &Edit::DefDim { group: id, name: &dim.name, len: dim.len })?;
            if let (Defined::Dim(made), None) = (made, dim.len) {
                self.context.look(self.text, dim.at, made);
            }
        }
        made.push((id, def));
        for child in &def.groups {
            let made_group = self.edit(child.at, &Edit::DefGroup { parent: id, name: &child.name })?;
            let Defined::Group(child_id) = made_group else { return Err(unexpected(child.at, made_group)) };
            self.group(child, child_id, made)?;
        }
        Ok(())
    }

    /// Makes the variables and attributes of a group.
    fn vars(&mut self, def: &GroupDef, id: GroupId) -> Located<()> {
        for var in &def.vars {
            let model = self.model();
            let xtype = self.type_of(&model, id, &var.ty)?;
            let dims: Vec<DimId> = var
                .dims
                .iter()
                .map(|path| types::dim_of(&model, id, path).map_err(|error| (var.at, error)))
                .collect::<Located<_>>()?;
            self.edit(var.at, &Edit::DefVar { group: id, name: &var.name, xtype, dims: &dims })?;
        }
        for att in &def.atts {
            self.attribute(att, id)?;
        }
        Ok(())
    }

    fn type_of(&self, model: &Model, group: GroupId, ty: &TypeRef) -> Located<NcType> {
        types::type_of(model, group, &ty.path).map_err(|error| (ty.at, error))
    }

    fn attribute(&mut self, att: &AttDef, group: GroupId) -> Located<()> {
        let model = self.model();
        let (var, ty) = match (&att.var, &att.ty) {
            (Some(path), ty) => match types::var_of(&model, group, path) {
                Ok(var) => (Some(var), ty.clone()),
                // The path before the colon may be a type's; then the attribute belongs to the group.
                Err(_) if ty.is_none() && types::type_of(&model, group, path).is_ok() => {
                    (None, Some(TypeRef { path: path.clone(), at: att.at }))
                }
                Err(error) => return Err((att.at, error)),
            },
            (None, ty) => (None, ty.clone()),
        };
        match var {
            Some(var) => {
                let known = self.layouts.iter().position(|(of, ..)| *of == var);
                let mut layout = known.map_or_else(SpecialLayout::default, |at| self.layouts[at].2.clone());
                if layout.take(&att.name, &att.values).map_err(|error| (att.at, error))? {
                    match known {
                        Some(at) => self.layouts[at].2 = layout,
                        None => self.layouts.push((var, att.at, layout)),
                    }
                    return Ok(());
                }
            }
            None if group == GroupId::ROOT && is_special_of_dataset(&att.name) => return Ok(()),
            None => {}
        }
        let ty = match (&ty, var) {
            (Some(ty), _) => self.type_of(&model, group, ty)?,
            // A fill value has its variable's type.
            (None, Some(var)) if att.name == "_FillValue" => {
                model.var(var).map_err(|error| (att.at, error))?.xtype
            }
            (None, _) => values::common_type(&att.values),
        };
        let mut values = values::attribute(&model, self.text, &att.values, ty)?;
        // An empty fill value stands for the NUL character.
        if let Values::Char(bytes) = &mut values
            && bytes.is_empty()
            && att.name == "_FillValue"
        {
            bytes.push(nczarr_model::fill::CHAR);
        }
        // The group is that of the variable named by the path.
        let owner = match var {
            Some(var) => model.var(var).map_err(|error| (att.at, error))?.group,
            None => group,
        };
        self.edit(att.at, &Edit::PutAtt { group: owner, var, name: &att.name, values: &values }).map(drop)
    }

    fn user_type(&mut self, def: &TypeDef, group: GroupId) -> Located<()> {
        let model = self.model();
        let (name, at) = (def.name.as_str(), def.at);
        match &def.class {
            ClassDef::Opaque { size } => {
                self.edit(at, &Edit::DefOpaque { group, name, size: *size }).map(drop)
            }
            ClassDef::Vlen { base } => {
                let base = self.type_of(&model, group, base)?;
                self.edit(at, &Edit::DefVlen { group, name, base }).map(drop)
            }
            ClassDef::Enum { base, members } => {
                let base = self.type_of(&model, group, base)?;
                let ty = self.define(at, &Edit::DefEnum { group, name, base })?;
                for (name, value) in members {
                    self.edit(at, &Edit::InsertEnum { ty, name, value: *value })?;
                }
                Ok(())
            }
            ClassDef::Compound { fields } => {
                let mut placed = Vec::new();
                let (mut end, mut widest) = (0usize, 1usize);
                for field in fields {
                    let ty = self.type_of(&model, group, &field.ty)?;
                    let here = |error: Error| (field.ty.at, error.at(&field.name));
                    let (size, align) = model.extent(ty).map_err(here)?;
                    let count = field.shape.iter().try_fold(1usize, |n, &len| n.checked_mul(len as usize));
                    let offset = end.checked_next_multiple_of(align);
                    let next =
                        count.and_then(|count| count.checked_mul(size)).and_then(|n| offset?.checked_add(n));
                    let too_large = || here(ErrorKind::BadType.context("a type too large for memory"));
                    (end, widest) = (next.ok_or_else(too_large)?, widest.max(align));
                    placed.push((field, ty, offset.unwrap_or(0)));
                }
                let too_large =
                    || (at, ErrorKind::BadType.context(format!("{name}: a type too large for memory")));
                let size = end.checked_next_multiple_of(widest).ok_or_else(too_large)?;
                let compound = self.define(at, &Edit::DefCompound { group, name, size })?;
                for (field, ty, offset) in placed {
                    let edit = Edit::InsertField {
                        ty: compound,
                        name: &field.name,
                        offset,
                        field: ty,
                        shape: &field.shape,
                    };
                    self.edit(field.ty.at, &edit)?;
                }
                Ok(())
            }
        }
    }

    fn define(&mut self, at: usize, edit: &Edit<'_>) -> Located<TypeId> {
        match self.edit(at, edit)? {
            Defined::Type(id) => Ok(id),
            other => Err(unexpected(at, other)),
        }
    }
}

fn unexpected(at: usize, defined: Defined) -> (usize, Error) {
    (at, ErrorKind::Internal.context(format!("the driver answered {defined:?}")))
}
