//! [`Group`]: lookups, definitions and attributes in one group.
//!
//! Paths (`g1/t`, `/g1/t`) are relative to the group unless they start with `/`; in them `\/`, `\\` and `\ ` stand
//! for the character after the backslash.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{Defined, DimId, Edit, Error, ErrorKind, GroupId, NcType, Result, VarId, name};

use crate::file::Open;
use crate::{Attribute, Dimension, IntoValues, Number, Variable};

/// A group of an open dataset.
#[derive(Clone)]
pub struct Group {
    open: Arc<Open>,
    id: GroupId,
}

impl Group {
    pub(crate) fn new(open: Arc<Open>, id: GroupId) -> Self {
        Self { open, id }
    }

    pub(crate) fn opened(&self) -> &Arc<Open> {
        &self.open
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// The name; `/` for the root.
    pub fn name(&self) -> String {
        self.ask(|group| group.name.clone())
    }

    /// The path from the root, escaped.
    pub fn full_name(&self) -> String {
        let model = self.open.model();
        let names = model.group_names(self.id).unwrap_or_default();
        if names.is_empty() {
            "/".to_owned()
        } else {
            names.iter().map(|segment| format!("/{}", name::escape(segment))).collect()
        }
    }

    /// The group around it; none for the root.
    pub fn parent(&self) -> Option<Self> {
        self.ask(|group| group.parent).map(|id| self.at(id))
    }

    /// The groups in it, in the order of definition.
    pub fn groups(&self) -> Vec<Self> {
        self.ask(|group| group.groups.values().map(|&id| self.at(id)).collect())
    }

    /// The group at a path.
    ///
    /// # Errors
    /// [`ErrorKind::NoGrp`] naming the segment that is not there.
    pub fn group(&self, path: &str) -> Result<Self> {
        Ok(self.at(self.open.model().group_at(self.id, path)?))
    }

    /// The variables in it, in the order of definition.
    pub fn variables(&self) -> Vec<Variable> {
        self.ask(|group| group.vars.values().map(|&id| self.variable_of(id)).collect())
    }

    /// The variable at a path.
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`] listing the ones that are there, or [`ErrorKind::NoGrp`].
    pub fn variable(&self, path: &str) -> Result<Variable> {
        Ok(self.variable_of(self.open.model().var_at(self.id, path)?))
    }

    /// The dimensions defined in it, in the order of definition.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|group| group.dims.values().map(|&id| self.dimension_of(id)).collect())
    }

    /// The dimension of this name, seen from here: its own, or that of the nearest group around it.
    ///
    /// # Errors
    /// [`ErrorKind::BadDim`] if there is none.
    pub fn dimension(&self, name: &str) -> Result<Dimension> {
        Ok(self.dimension_of(self.find_dimension(name)?))
    }

    /// The attributes, in the order of definition.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.ask(|group| group.atts.iter().map(|(name, values)| Attribute::new(name, values.clone())).collect())
    }

    /// The attribute of this name, if there is one. In the root also those that are not listed: `_NCProperties` and kin.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.open.attribute(self.id, None, name)
    }

    /// Adds an attribute, or gives an existing one other values.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_EBADNAME`, `NC_ENAMEINUSE` for a reserved name.
    pub fn put_attribute(&self, name: &str, values: impl IntoValues) -> Result<()> {
        self.open.put_att(self.id, None, name, values.into_values())
    }

    /// Gives an attribute another name.
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_ENAMEINUSE`, `NC_EPERM`.
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        self.open.edit(&Edit::RenameAtt { group: self.id, var: None, name, to }).map(drop)
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is none, `NC_EPERM`.
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::DelAtt { group: self.id, var: None, name }).map(drop)
    }

    /// Adds a dimension of fixed length.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn add_dimension(&self, name: &str, len: u64) -> Result<Dimension> {
        self.define_dimension(name, Some(len))
    }

    /// Adds a dimension that writes make longer.
    ///
    /// # Errors
    /// As [`Group::add_dimension`].
    pub fn add_unlimited_dimension(&self, name: &str) -> Result<Dimension> {
        self.define_dimension(name, None)
    }

    fn define_dimension(&self, name: &str, len: Option<u64>) -> Result<Dimension> {
        match self.open.edit(&Edit::DefDim { group: self.id, name, len })? {
            Defined::Dim(id) => Ok(self.dimension_of(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Adds a group.
    ///
    /// # Errors
    /// `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn add_group(&self, name: &str) -> Result<Self> {
        match self.open.edit(&Edit::DefGroup { parent: self.id, name })? {
            Defined::Group(id) => Ok(self.at(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Adds a variable of numbers over dimensions named as seen from here; none make a scalar.
    ///
    /// # Errors
    /// `NC_EBADDIM` for an unknown dimension, `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn add_variable<T: Number>(&self, name: &str, dims: &[&str]) -> Result<Variable> {
        self.add_variable_with_type(name, T::TYPE, dims)
    }

    /// Adds a variable of strings.
    ///
    /// # Errors
    /// As [`Group::add_variable`].
    pub fn add_string_variable(&self, name: &str, dims: &[&str]) -> Result<Variable> {
        self.add_variable_with_type(name, NcType::String, dims)
    }

    /// Adds a variable of any type.
    ///
    /// # Errors
    /// As [`Group::add_variable`].
    pub fn add_variable_with_type(&self, name: &str, xtype: NcType, dims: &[&str]) -> Result<Variable> {
        let dims = dims
            .iter()
            .map(|dim| self.find_dimension(dim).map_err(|error| error.at(name)))
            .collect::<Result<Vec<_>>>()?;
        match self.open.edit(&Edit::DefVar { group: self.id, name, xtype, dims: &dims })? {
            Defined::Var(id) => Ok(self.variable_of(id)),
            other => Err(unexpected(other)),
        }
    }

    /// Copies a variable of this or another dataset here: definition, layout, attributes and data. Its dimensions are those of
    /// the same names, as seen from here. Memory stays bounded, whatever the size of the data.
    ///
    /// # Errors
    /// `NC_EBADDIM` or `NC_EDIMSIZE` if a dimension is not here or has another length, `NC_ENAMEINUSE`; what reading and
    /// writing say.
    pub fn copy_variable(&self, from: &Variable) -> Result<Variable> {
        let (source, target) = (from.open.dataset()?, self.open.dataset()?);
        Ok(self.variable_of(nczarr_dispatch::copy_var(&**source, from.id, &**target, self.id)?))
    }

    /// Gives the group another name; the root has none to give.
    ///
    /// # Errors
    /// `NC_EBADGRPID` for the root, `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::RenameGroup { group: self.id, name }).map(drop)
    }

    fn find_dimension(&self, name: &str) -> Result<DimId> {
        self.open.look(|model| model.find_dim(self.id, name)).ok_or_else(|| {
            ErrorKind::BadDim.context(format!("no dimension {name:?} in {} or around it", self.full_name()))
        })
    }

    /// A group whose definition was rolled back answers as an empty one.
    fn ask<T: Default>(&self, ask: impl FnOnce(&nczarr_model::Group) -> T) -> T {
        self.open.look(|model| model.group(self.id).map(ask).unwrap_or_default())
    }

    fn at(&self, id: GroupId) -> Self {
        Self::new(Arc::clone(&self.open), id)
    }

    fn variable_of(&self, id: VarId) -> Variable {
        Variable::new(Arc::clone(&self.open), id)
    }

    fn dimension_of(&self, id: DimId) -> Dimension {
        Dimension::new(Arc::clone(&self.open), id)
    }
}

fn unexpected(defined: Defined) -> Error {
    ErrorKind::Internal.context(format!("the driver answered {defined:?}"))
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.full_name()).finish()
    }
}
