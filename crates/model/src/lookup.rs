//! Finds objects of the tree by name and path, and returns paths of objects.
//!
//! Every lookup accepts the stored form of a name, or its NFC form.

use crate::{DimId, Error, ErrorKind, Group, GroupId, Model, Result, TypeId, Values, VarId, name};

impl Model {
    /// Finds the dimension `name` in `group` or the nearest ancestor.
    pub fn find_dim(&self, group: GroupId, name: &str) -> Option<DimId> {
        self.search_up(group, |group| name::find(&group.dims, name).copied())
    }

    /// Finds the type `name` in `group` or the nearest ancestor.
    pub fn find_type(&self, group: GroupId, name: &str) -> Option<TypeId> {
        self.search_up(group, |group| name::find(&group.types, name).copied())
    }

    /// Finds the variable `name` of `group` itself.
    pub fn find_var(&self, group: GroupId, name: &str) -> Option<VarId> {
        name::find(&self.group(group).ok()?.vars, name).copied()
    }

    /// Finds the child group `name` of `group`.
    pub fn find_group(&self, group: GroupId, name: &str) -> Option<GroupId> {
        name::find(&self.group(group).ok()?.groups, name).copied()
    }

    /// Finds the attribute `name` of `var`, or of `group` if that is `None`.
    ///
    /// # Errors
    /// [`ErrorKind::NotAtt`] if there is none, [`ErrorKind::NotVar`], [`ErrorKind::BadGrpId`].
    pub fn find_att(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<&Values> {
        name::find(self.atts(group, var)?, name).ok_or_else(|| self.no_att(group, var, name))
    }

    pub(crate) fn no_att(&self, group: GroupId, var: Option<VarId>, name: &str) -> Error {
        let owner = match var {
            Some(var) => self.var_path(var),
            None => self.group_path(group),
        };
        ErrorKind::NotAtt.context(format!("{}: no attribute {name:?}", owner.unwrap_or_default()))
    }

    fn search_up<T>(&self, group: GroupId, find: impl Fn(&Group) -> Option<T>) -> Option<T> {
        let mut group = Some(group);
        while let Some(here) = group {
            let here = self.group(here).ok()?;
            if let Some(found) = find(here) {
                return Some(found);
            }
            group = here.parent;
        }
        None
    }

    /// Returns the names from the root to `group`, without the root.
    ///
    /// # Errors
    /// As [`Model::group`].
    pub fn group_names(&self, group: GroupId) -> Result<Vec<&str>> {
        let mut names = Vec::new();
        let mut here = self.group(group)?;
        while let Some(parent) = here.parent {
            names.push(here.name.as_str());
            here = self.group(parent)?;
        }
        names.reverse();
        Ok(names)
    }

    /// Returns the stored form of a fully qualified name: plain names joined by `/`, never escaped.
    ///
    /// # Errors
    /// As [`Model::group`].
    pub fn fqn(&self, group: GroupId, name: &str) -> Result<String> {
        let mut path = String::new();
        for segment in self.group_names(group)?.into_iter().chain((!name.is_empty()).then_some(name)) {
            path.push('/');
            path.push_str(segment);
        }
        Ok(if path.is_empty() { "/".to_owned() } else { path })
    }

    /// Returns the fully qualified name of a variable for messages, escaped by [`name::escape`].
    ///
    /// # Errors
    /// As [`Model::var`].
    pub fn var_path(&self, id: VarId) -> Result<String> {
        let var = self.var(id)?;
        self.path(var.group, &var.name)
    }

    /// Returns the fully qualified name of a group for messages.
    ///
    /// # Errors
    /// As [`Model::group`].
    pub fn group_path(&self, id: GroupId) -> Result<String> {
        self.path(id, "")
    }

    fn path(&self, group: GroupId, name: &str) -> Result<String> {
        let mut path = String::with_capacity(name.len() + 1);
        for segment in self.group_names(group)?.into_iter().chain((!name.is_empty()).then_some(name)) {
            path.push('/');
            name::escape_to(&mut path, segment);
        }
        Ok(if path.is_empty() { "/".to_owned() } else { path })
    }

    /// Finds the group at an escaped path such as `/g1/g2`, relative to `from` unless it starts with `/`.
    ///
    /// # Errors
    /// [`ErrorKind::NoGrp`] that names the first missing segment.
    pub fn group_at(&self, from: GroupId, path: &str) -> Result<GroupId> {
        let (mut here, names) = self.resolve(from, path);
        for segment in names {
            here = self
                .find_group(here, &segment)
                .ok_or_else(|| ErrorKind::NoGrp.context(format!("{path:?}: no group {segment:?}")))?;
        }
        Ok(here)
    }

    /// Finds the variable at an escaped path such as `/g1/v`, relative to `from` unless it starts with `/`.
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`] or [`ErrorKind::NoGrp`] that names the missing segment.
    pub fn var_at(&self, from: GroupId, path: &str) -> Result<VarId> {
        // A plain name without escapes is the most frequent case.
        if !path.contains(['/', '\\'])
            && let Some(id) = self.find_var(from, path)
        {
            return Ok(id);
        }
        let (mut here, mut names) = self.resolve(from, path);
        let last =
            names.pop().ok_or_else(|| ErrorKind::NotVar.context(format!("{path:?} names no variable")))?;
        for segment in names {
            here = self
                .find_group(here, &segment)
                .ok_or_else(|| ErrorKind::NoGrp.context(format!("{path:?}: no group {segment:?}")))?;
        }
        self.find_var(here, &last).ok_or_else(|| {
            let known: Vec<_> =
                self.group(here).map(|group| group.vars.keys().cloned().collect()).unwrap_or_default();
            ErrorKind::NotVar
                .context(format!("{path:?}: no variable {last:?}; there are: {}", known.join(", ")))
        })
    }

    fn resolve(&self, from: GroupId, path: &str) -> (GroupId, Vec<String>) {
        let from = if path.starts_with('/') { GroupId::ROOT } else { from };
        (from, name::split_path(path))
    }
}
