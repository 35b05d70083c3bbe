//! The part of the source that is copied: `-v`, `-V`, `-g`, `-G`, `-u` and `--skip-unreadable`.

use std::collections::{BTreeMap, HashSet};

use nczarr::dispatch::Dataset;
use nczarr_model::{Error, GroupId, Model, Result, Var, VarId};

use super::args::CopyArgs;
use crate::find;

/// The selection; without flags, everything.
#[derive(Debug, Default)]
pub struct Selection {
    /// Whether unlimited dimensions become fixed.
    pub fixed: bool,
    /// Whether unreadable data are left out.
    pub skips: bool,
    /// Variables left out because they are unreadable, and the reasons.
    pub unreadable: BTreeMap<VarId, Error>,
    vars: Option<HashSet<VarId>>,
    data_of: Option<HashSet<VarId>>,
    data_in: Option<HashSet<GroupId>>,
    /// Groups with their variables.
    groups: Option<HashSet<GroupId>>,
    /// Groups defined only as parents of others.
    around: HashSet<GroupId>,
}

impl Selection {
    /// Resolves the flags for a dataset.
    ///
    /// # Errors
    ///
    /// Names that are not in the dataset.
    pub fn of(args: &CopyArgs, model: &Model) -> Result<Self> {
        let vars = |flag: &str, list: &Option<String>| -> Result<Option<HashSet<VarId>>> {
            list.as_deref().map(|list| Ok(find::vars(model, flag, list)?.into_iter().collect())).transpose()
        };
        let groups = |flag: &str, list: &Option<String>| -> Result<Option<HashSet<GroupId>>> {
            list.as_deref().map(|list| Ok(find::groups(model, flag, list)?.into_iter().collect())).transpose()
        };
        let mut selection = Self {
            fixed: args.fixed,
            skips: args.skip_unreadable,
            unreadable: BTreeMap::new(),
            vars: vars("-V", &args.only_vars)?,
            data_of: match &args.data_of {
                // Empty text names no variable: only definitions are copied.
                Some(list) if list.is_empty() => Some(HashSet::new()),
                list => vars("-v", list)?,
            },
            data_in: groups("-g", &args.data_in)?,
            groups: groups("-G", &args.only_groups)?,
            around: HashSet::new(),
        };
        for &id in selection.groups.iter().flatten() {
            let mut group = Some(id);
            while let Some(id) = group {
                selection.around.insert(id);
                group = model.group(id)?.parent;
            }
        }
        Ok(selection)
    }

    /// Finds the unreadable ones among the selected variables. Other variables are not checked.
    ///
    /// A variable is left out if only its definition is selected and its type is unknown.
    ///
    /// # Errors
    ///
    /// The reason why a variable with selected values is unreadable, unless such variables are left out.
    pub fn find_unreadable(&mut self, source: &dyn Dataset, model: &Model) -> Result<()> {
        for (id, var) in model.vars() {
            if !self.asks_for(id, var) {
                continue;
            }
            let outcome = match (self.has_data(model, id), &var.problem) {
                (true, _) => source.data(id).map(drop),
                (false, Some(problem)) => Err(problem.clone()),
                (false, None) => Ok(()),
            };
            match outcome {
                Err(error) if self.has_data(model, id) && !self.skips => return Err(error),
                Err(error) => drop(self.unreadable.insert(id, error)),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Returns whether a group is defined.
    pub fn has_group(&self, id: GroupId) -> bool {
        self.groups.is_none() || self.around.contains(&id)
    }

    /// Returns whether a variable is defined.
    pub fn has_var(&self, id: VarId, var: &Var) -> bool {
        self.asks_for(id, var) && !self.unreadable.contains_key(&id)
    }

    /// Returns whether the flags select a variable.
    pub fn asks_for(&self, id: VarId, var: &Var) -> bool {
        self.vars.as_ref().is_none_or(|vars| vars.contains(&id))
            && self.groups.as_ref().is_none_or(|groups| groups.contains(&var.group))
    }

    /// Returns whether the values of a variable are copied.
    pub fn has_data(&self, model: &Model, id: VarId) -> bool {
        model.var(id).is_ok_and(|var| {
            self.has_var(id, var)
                && self.data_of.as_ref().is_none_or(|vars| vars.contains(&id))
                && self.data_in.as_ref().is_none_or(|groups| groups.contains(&var.group))
        })
    }
}
