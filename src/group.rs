//! [`Group`]: lookups, definitions and attributes of one group.
//!
//! Paths (`g1/t`, `/g1/t`) are relative to the group unless they start with `/`. In them `\/`, `\\` and `\ `
//! stand for the escaped character.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{Defined, DimId, Edit, Error, ErrorKind, GroupId, NcType, Result, VarId, name};

use crate::file::OpenDataset;
use crate::{Attribute, Dimension, IntoValues, Number, Variable};

/// A group of an open dataset.
#[derive(Clone)]
pub struct Group {
    open: Arc<OpenDataset>,
    id: GroupId,
}

impl Group {
    pub(crate) fn new(open: Arc<OpenDataset>, id: GroupId) -> Self {
        Self { open, id }
    }

    pub(crate) fn opened(&self) -> &Arc<OpenDataset> {
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

    /// Returns the parent; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.ask(|group| group.parent).map(|id| self.at(id))
    }

    /// Returns the child groups, in the order of definition.
    pub fn groups(&self) -> Vec<Self> {
        self.ask(|group| group.groups.values().map(|&id| self.at(id)).collect())
    }

    /// Returns the group at a path.
    ///
    /// # Errors
    /// [`ErrorKind::NoGrp`] that names the missing segment.
    pub fn group(&self, path: &str) -> Result<Self> {
        Ok(self.at(self.open.model().group_at(self.id, path)?))
    }

    /// Returns the variables, in the order of definition.
    pub fn variables(&self) -> Vec<Variable> {
        self.ask(|group| group.vars.values().map(|&id| self.variable_of(id)).collect())
    }

    /// Returns the variable at a path.
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`] with the existing variables, or [`ErrorKind::NoGrp`].
    pub fn variable(&self, path: &str) -> Result<Variable> {
        Ok(self.variable_of(self.open.model().var_at(self.id, path)?))
    }

    /// Returns the dimensions of this group, in the order of definition.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|group| group.dims.values().map(|&id| self.dimension_of(id)).collect())
    }

    /// Returns the dimension of this name, in this group or the nearest ancestor.
    ///
    /// # Errors
    /// [`ErrorKind::BadDim`] if there is none.
    pub fn dimension(&self, name: &str) -> Result<Dimension> {
        Ok(self.dimension_of(self.find_dimension(name)?))
    }

    /// Returns the attributes, in the order of definition.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.ask(|group| group.atts.iter().map(|(name, values)| Attribute::new(name, values.clone())).collect())
    }

    /// Returns the attribute of this name, if there is one. The root also has unlisted attributes, such as
    /// `_NCProperties`.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.open.attribute(self.id, None, name)
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_EBADNAME`, `NC_ENAMEINUSE` for a reserved name.
    pub fn put_attribute(&self, name: &str, values: impl IntoValues) -> Result<()> {
        self.open.put_att(self.id, None, name, values.into_values())
    }

    /// Renames an attribute.
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

    /// Adds a dimension that writes may extend.
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

    /// Adds a variable of numbers. Dimensions are found from this group by name; without dimensions it is a
    /// scalar.
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

    /// Copies a variable of this or another dataset to this group: definition, layout, attributes and data.
    /// Dimensions are found from this group by name. Memory is bounded for any size of data.
    ///
    /// # Errors
    /// `NC_EBADDIM` or `NC_EDIMSIZE` if a dimension is missing or has another length; `NC_ENAMEINUSE`; errors
    /// of reading and writing.
    pub fn copy_variable(&self, from: &Variable) -> Result<Variable> {
        let (source, target) = (from.open.dataset()?, self.open.dataset()?);
        Ok(self.variable_of(nczarr_dispatch::copy_var(&**source, from.id, &**target, self.id)?))
    }

    /// Renames the group; the root cannot be renamed.
    ///
    /// # Errors
    /// `NC_EBADGRPID` for the root, `NC_ENAMEINUSE`, `NC_EBADNAME`, `NC_EPERM`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::RenameGroup { group: self.id, name }).map(drop)
    }

    fn find_dimension(&self, name: &str) -> Result<DimId> {
        self.open.look(|model| model.find_dim(self.id, name)).ok_or_else(|| {
            ErrorKind::BadDim.context(format!("no dimension {name:?} in {} or its ancestors", self.full_name()))
        })
    }

    /// A group whose definition was rolled back behaves as an empty one.
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
    ErrorKind::Internal.context(format!("unexpected result of a definition: {defined:?}"))
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.full_name()).finish()
    }
}
