//! [`LeftAtts`]: the rules of netCDF-C for changed attributes in netCDF-4 files.
//!
//! netCDF-C forgets that an attribute is stored when the program sets it again. If the program then deletes
//! it before the next `nc_enddef` or `nc_sync`, the stored attribute stays, and returns when the file is
//! opened again.
//!
//! HDF5 numbers the attributes of an object in 16 bits. netCDF-C creates an attribute anew if its type or
//! number of values changes.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr::dispatch::Dataset;
use nczarr::model::name::nfc;
use nczarr::model::{Edit, GroupId, Model, VarId};
use nczarr::{ErrorKind, Result, Values};

/// The owner of an attribute, and its name.
type AttKey = (GroupId, Option<VarId>, String);

#[derive(Default)]
struct State {
    /// Attributes that were set since the file was last stored, with their stored values.
    set: HashMap<AttKey, Option<Values>>,
    /// Stored values of deleted attributes.
    left: HashMap<AttKey, Values>,
    /// Attributes that storing creates.
    new: HashSet<AttKey>,
    /// The number of attributes that were created, by owner.
    created: HashMap<(GroupId, Option<VarId>), u32>,
}

/// Most attributes that HDF5 creates on an object.
const MOST_CREATED: u32 = 65_535;

/// The changed attributes of a netCDF-4 file.
#[derive(Default)]
pub struct LeftAtts {
    state: Mutex<State>,
}

fn key(group: GroupId, var: Option<VarId>, name: &str) -> AttKey {
    (group, var, nfc(name).into_owned())
}

fn is_there(model: &Model, (group, var, name): &AttKey) -> bool {
    model.atts(*group, *var).is_ok_and(|atts| atts.contains_key(name))
}

impl LeftAtts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an attribute was set. `before`: the values that it had. `is_new`: storing it creates it.
    pub fn note_set(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        before: Option<Values>,
        is_new: bool,
    ) {
        if is_new {
            self.state().new.insert(key(group, var, name));
        }
        self.state().set.entry(key(group, var, name)).or_insert(before);
    }

    /// Notes that an attribute was deleted.
    pub fn note_deleted(&self, group: GroupId, var: Option<VarId>, name: &str) {
        let key = key(group, var, name);
        let mut state = self.state();
        match state.set.remove(&key) {
            Some(Some(stored)) => {
                state.left.insert(key, stored);
            }
            // It was new, so what an earlier deletion left stays.
            Some(None) => {}
            None => {
                state.left.remove(&key);
            }
        }
    }

    /// Notes that all attributes are stored.
    ///
    /// # Errors
    /// `NC_EATTMETA` if HDF5 could not create one of them.
    pub fn note_stored(&self, dataset: &dyn Dataset) -> Result<()> {
        let mut state = self.state();
        state.set.clear();
        let mut outcome = Ok(());
        for (group, var, name) in std::mem::take(&mut state.new) {
            let created = state.created.entry((group, var)).or_default();
            *created += 1;
            if *created > MOST_CREATED {
                let what = format!(
                    "attribute {name:?}: HDF5 creates at most {MOST_CREATED} attributes of an object"
                );
                outcome = Err(ErrorKind::AttMeta.context(what));
                // Storing it again fails too.
                *created = MOST_CREATED;
                state.new.insert((group, var, name));
            }
        }
        if !state.left.is_empty() {
            dataset.model().with(|model| state.left.retain(|key, _| !is_there(model, key)));
        }
        outcome
    }

    /// Puts the attributes that stay into the dataset, before it is closed. Removes those that HDF5 could not
    /// create; [`LeftAtts::note_stored`] reported them.
    ///
    /// # Errors
    /// Errors of the dataset.
    pub fn restore(&self, dataset: &dyn Dataset) -> Result<()> {
        let (left, lost) = {
            let mut state = self.state();
            (std::mem::take(&mut state.left), state.new.clone())
        };
        for key in lost {
            if dataset.model().with(|model| is_there(model, &key)) {
                dataset.editor()?.apply(&Edit::DelAtt { group: key.0, var: key.1, name: &key.2 })?;
            }
        }
        for (key, values) in left {
            if !dataset.model().with(|model| is_there(model, &key)) {
                let (group, var, name) = (key.0, key.1, &*key.2);
                dataset.editor()?.apply(&Edit::PutAtt { group, var, name, values: &values })?;
            }
        }
        Ok(())
    }
}
