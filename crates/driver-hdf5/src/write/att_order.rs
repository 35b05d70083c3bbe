//! The order of attributes in the file, where it differs from that of the session.
//!
//! HDF5 stores attributes in the order of creation. netCDF-C creates an attribute again if its name, type or
//! number of values changes, so the attribute moves to the end. It does the same if the stored form is not
//! that of netCDF. In the session that makes the change, the attribute keeps its place.

use std::collections::{HashMap, HashSet};

use nczarr_model::{Att, Defined, Edit, GroupId, Model, Result, Values, VarId, name};

/// A variable; a group if there is no variable.
type AttPlace = (GroupId, Option<VarId>);

fn place(group: GroupId, var: Option<VarId>) -> AttPlace {
    (if var.is_some() { GroupId::ROOT } else { group }, var)
}

/// The names of stored attributes, in the order of the file, for objects whose attributes were changed.
#[derive(Debug, Clone, Default)]
pub(super) struct AttOrders {
    /// A file exists. Before that, attributes are created in the order of the session.
    stored: bool,
    orders: HashMap<AttPlace, Vec<String>>,
    /// Attributes of an opened file in a form that netCDF would not give them.
    foreign: HashSet<(AttPlace, String)>,
}

impl AttOrders {
    /// Makes the orders of a file that was opened.
    ///
    /// `foreign`: the attributes in a form that netCDF would not give them.
    pub(super) fn of_opened(foreign: Vec<(GroupId, Option<VarId>, String)>) -> Self {
        let foreign = foreign.into_iter().map(|(group, var, name)| (place(group, var), name)).collect();
        Self { stored: true, foreign, ..Self::default() }
    }

    /// Applies an edit to the model, and notes which attribute it moves to the end.
    pub(super) fn apply(
        &mut self,
        model: &mut Model,
        edit: &Edit<'_>,
        apply: impl FnOnce(&mut Model) -> Result<Defined>,
    ) -> Result<Defined> {
        let (group, var, old) = match *edit {
            Edit::PutAtt { group, var, name, .. }
            | Edit::RenameAtt { group, var, name, .. }
            | Edit::DelAtt { group, var, name }
                if self.stored =>
            {
                (group, var, name::nfc(name))
            }
            _ => return apply(model),
        };
        let names = || model.atts(group, var).map(|atts| atts.keys().cloned().collect::<Vec<_>>());
        let mut order = match self.orders.remove(&place(group, var)) {
            Some(order) => order,
            None => names()?,
        };
        let stays = match *edit {
            Edit::PutAtt { values, .. } => {
                let alike = |old: &Values| old.nc_type() == values.nc_type() && old.len() == values.len();
                !self.foreign.contains(&(place(group, var), old.to_string()))
                    && model.atts(group, var)?.get(&*old).is_none_or(alike)
            }
            Edit::RenameAtt { to, .. } => *name::nfc(to) == *old,
            _ => false,
        };
        let applied = apply(model);
        if applied.is_ok() && !stays {
            order.retain(|name| **name != *old);
            self.foreign.remove(&(place(group, var), old.into_owned()));
        }
        self.orders.insert(place(group, var), order);
        applied
    }

    /// Brings the orders up to date with a model that is about to be stored.
    pub(super) fn settle(&mut self, model: &Model) {
        self.stored = true;
        self.orders.retain(|&(group, var), order| {
            let Ok(atts) = model.atts(group, var) else { return false };
            order.retain(|name| atts.contains_key(name));
            let new: Vec<_> = atts.keys().filter(|name| !order.contains(name)).cloned().collect();
            order.extend(new);
            !order.iter().eq(atts.keys())
        });
    }

    /// Forgets all changes, after an abort.
    pub(super) fn clear(&mut self) {
        self.orders.clear();
    }

    /// Returns the attributes of an object in the order of the file, once the orders are settled.
    pub(super) fn sorted<'a>(
        &'a self,
        group: GroupId,
        var: Option<VarId>,
        atts: &'a Att,
    ) -> Vec<(&'a String, &'a Values)> {
        match self.orders.get(&place(group, var)) {
            Some(order) => order.iter().filter_map(|name| atts.get_key_value(name)).collect(),
            None => atts.iter().collect(),
        }
    }
}
