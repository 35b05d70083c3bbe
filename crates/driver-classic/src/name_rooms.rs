//! [`NameRooms`]: space in the header for names that became shorter.
//!
//! netCDF-C keeps the length of the header if a name becomes shorter in data mode, and fills the rest of the
//! name with zeros. This library stores the short name, unless the rules of netCDF-C apply.

use std::collections::HashMap;

use nczarr_model::{Att, Edit, Model, VarId, name};

/// An object with a name in the header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum NameOwner {
    Dim(usize),
    Var(usize),
    Att(Option<VarId>, String),
}

/// The bytes that the header has for names, where they are more than the name needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameRooms {
    rooms: HashMap<NameOwner, usize>,
}

impl NameRooms {
    pub(crate) fn of_dim(&self, at: usize) -> usize {
        self.get(&NameOwner::Dim(at))
    }

    pub(crate) fn of_var(&self, at: usize) -> usize {
        self.get(&NameOwner::Var(at))
    }

    pub(crate) fn of_att(&self, var: Option<VarId>, name: &str) -> usize {
        if self.rooms.is_empty() { 0 } else { self.get(&NameOwner::Att(var, name.to_owned())) }
    }

    fn get(&self, object: &NameOwner) -> usize {
        self.rooms.get(object).copied().unwrap_or(0)
    }

    /// Makes the rooms of a stored header. `padded`: names that zeros fill up, by their number in the
    /// header, and their stored length.
    pub(crate) fn of_stored(model: &Model, padded: &[(usize, usize)]) -> Self {
        let mut rooms = HashMap::new();
        if !padded.is_empty() {
            let stored: HashMap<usize, usize> = padded.iter().copied().collect();
            let atts = |var, atts: &Att| {
                atts.keys().map(|name| NameOwner::Att(var, name.clone())).collect::<Vec<_>>()
            };
            let dims = (0..model.dims().len()).map(NameOwner::Dim);
            let vars = model.vars().flat_map(|(id, var)| {
                std::iter::once(NameOwner::Var(id.index())).chain(atts(Some(id), &var.atts))
            });
            let all = dims.chain(atts(None, &model.root().atts)).chain(vars).enumerate();
            rooms.extend(all.filter_map(|(at, owner)| stored.get(&at).map(|&len| (owner, len))));
        }
        Self { rooms }
    }

    /// Whether an edit may change the space of a name.
    pub(crate) fn concerns(edit: &Edit<'_>) -> bool {
        matches!(
            edit,
            Edit::RenameDim { .. } | Edit::RenameVar { .. } | Edit::RenameAtt { .. } | Edit::DelAtt { .. }
        )
    }

    /// Notes an edit of a model. In data mode, the new name keeps the space of the old one.
    pub(crate) fn note(&mut self, model: &Model, edit: &Edit<'_>, is_defining: bool) {
        let (object, old, new) = match *edit {
            Edit::RenameDim { dim, .. } => {
                let object = NameOwner::Dim(dim.index());
                (object.clone(), model.dim(dim).map(|dim| dim.name.len()), object)
            }
            Edit::RenameVar { var, .. } => {
                let object = NameOwner::Var(var.index());
                (object.clone(), model.var(var).map(|var| var.name.len()), object)
            }
            Edit::RenameAtt { var, name, to, .. } => {
                let (old, new) = (name::nfc(name).into_owned(), name::nfc(to).into_owned());
                let len = old.len();
                (NameOwner::Att(var, old), Ok(len), NameOwner::Att(var, new))
            }
            Edit::DelAtt { var, name, .. } => {
                self.rooms.remove(&NameOwner::Att(var, name::nfc(name).into_owned()));
                return;
            }
            _ => return,
        };
        let kept = self.rooms.remove(&object).unwrap_or(0);
        if let (Ok(len), false) = (old, is_defining) {
            self.rooms.insert(new, kept.max(len));
        }
    }
}
