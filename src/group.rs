//! [`Group`]: lookups in one group. `define` has its definitions, `attributes` its attributes.
//!
//! Paths (`g1/t`, `/g1/t`) are relative to the group unless they start with `/`. In a path, `\/`, `\\` and
//! `\ ` stand for the escaped character.

mod attributes;
mod define;

use std::fmt;
use std::sync::Arc;

use nczarr_model::{DimId, GroupId, Result, VarId, name};

use crate::file::OpenDataset;
use crate::{Dimension, Variable};

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
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.id(), nczarr::model::GroupId::ROOT);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// The name; `/` for the root.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.add_group("forecast")?.name(), "forecast");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.ask(|group| group.name.clone())
    }

    /// The path from the root, escaped.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-full-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let inner = file.add_group("a")?.add_group("b")?;
    /// assert_eq!(inner.full_name(), "/a/b");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
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
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-parent")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let group = file.add_group("a")?;
    /// assert_eq!(group.parent().map(|parent| parent.name()).as_deref(), Some("/"));
    /// assert!(file.root().parent().is_none());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn parent(&self) -> Option<Self> {
        self.ask(|group| group.parent).map(|id| self.at(id))
    }

    /// Returns the child groups, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-groups")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_group("a")?;
    /// file.add_group("b")?;
    /// assert_eq!(file.groups().len(), 2);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn groups(&self) -> Vec<Self> {
        self.ask(|group| group.groups.values().map(|&id| self.at(id)).collect())
    }

    /// Returns the group at a path.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-group")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_group("a")?.add_group("b")?;
    /// assert_eq!(file.group("a/b")?.name(), "b");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoGrp`](crate::ErrorKind::NoGrp) that names the missing segment.
    pub fn group(&self, path: &str) -> Result<Self> {
        let group = self.open.model().group_at(self.id, path);
        Ok(self.at(group.map_err(|error| self.open.located(error))?))
    }

    /// Returns the variables, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-variables")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let names: Vec<String> = file.variables().iter().map(|variable| variable.name()).collect();
    /// assert_eq!(names, ["v"]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn variables(&self) -> Vec<Variable> {
        self.ask(|group| group.vars.values().map(|&id| self.variable_of(id)).collect())
    }

    /// Returns the variable at a path.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-variable")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.variable("v")?.rank(), 1);
    /// assert!(file.variable("w").is_err());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`](crate::ErrorKind::NotVar) with the existing variables, or
    /// [`ErrorKind::NoGrp`](crate::ErrorKind::NoGrp).
    pub fn variable(&self, path: &str) -> Result<Variable> {
        let variable = self.open.model().var_at(self.id, path);
        Ok(self.variable_of(variable.map_err(|error| self.open.located(error))?))
    }

    /// Returns the dimensions of this group, in the order of definition.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-dimensions")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.dimensions()[0].name(), "x");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|group| group.dims.values().map(|&id| self.dimension_of(id)).collect())
    }

    /// Returns the dimension of this name, in this group or the nearest ancestor.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-group-dimension")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.dimension("x")?.len(), 3);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadDim`](crate::ErrorKind::BadDim) if there is none.
    pub fn dimension(&self, name: &str) -> Result<Dimension> {
        let dimension = self.find_dimension(name);
        Ok(self.dimension_of(dimension.map_err(|error| self.open.located(error))?))
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

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.full_name()).finish()
    }
}
