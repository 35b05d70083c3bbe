//! What of the source is copied: `-v`, `-V`, `-g`, `-G` and `-u`.

use std::collections::HashSet;

use model::{GroupId, Model, Result, Var, VarId};

use crate::args::Copy;
use crate::find;

/// What was asked for; nothing said: all.
#[derive(Debug, Default)]
pub struct Selection {
    /// Whether unlimited dimensions become fixed.
    pub fixed: bool,
    vars: Option<HashSet<VarId>>,
    data_of: Option<HashSet<VarId>>,
    data_in: Option<HashSet<GroupId>>,
    /// Groups with their variables.
    groups: Option<HashSet<GroupId>>,
    /// Groups that are there for those inside them.
    around: HashSet<GroupId>,
}

impl Selection {
    /// What the flags say of a dataset.
    ///
    /// # Errors
    /// Names that mean nothing there.
    pub fn of(args: &Copy, model: &Model) -> Result<Self> {
        let vars = |flag: &str, list: &Option<String>| -> Result<Option<HashSet<VarId>>> {
            list.as_deref().map(|list| Ok(find::vars(model, flag, list)?.into_iter().collect())).transpose()
        };
        let groups = |flag: &str, list: &Option<String>| -> Result<Option<HashSet<GroupId>>> {
            list.as_deref().map(|list| Ok(find::groups(model, flag, list)?.into_iter().collect())).transpose()
        };
        let mut selection = Self {
            fixed: args.fixed,
            vars: vars("-V", &args.only_vars)?,
            data_of: vars("-v", &args.data_of)?,
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

    /// Whether a group is defined.
    pub fn has_group(&self, id: GroupId) -> bool {
        self.groups.is_none() || self.around.contains(&id)
    }

    /// Whether a variable is defined.
    pub fn has_var(&self, id: VarId, var: &Var) -> bool {
        self.vars.as_ref().is_none_or(|vars| vars.contains(&id))
            && self.groups.as_ref().is_none_or(|groups| groups.contains(&var.group))
    }

    /// Whether the values of a variable are copied.
    pub fn has_data(&self, model: &Model, id: VarId) -> bool {
        model.var(id).is_ok_and(|var| {
            self.has_var(id, var)
                && self.data_of.as_ref().is_none_or(|vars| vars.contains(&id))
                && self.data_in.as_ref().is_none_or(|groups| groups.contains(&var.group))
        })
    }
}
