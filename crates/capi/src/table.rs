//! The table of open datasets: a slot for each, the lowest free one first.
//!
//! An id is `slot << 16 | group`. The lock is held for a look-up only, so calls on different datasets, and
//! reads of one dataset, run at the same time.

use std::ffi::c_int;
use std::sync::{Arc, PoisonError, RwLock};

use nczarr::model::GroupId;
use nczarr::{ErrorKind, Result};

use crate::boundary::{exit, guard};
use crate::open_file::{Node, OpenFile};

const GROUP_BITS: u32 = 16;
const GROUP_MASK: c_int = (1 << GROUP_BITS) - 1;
/// Ids are positive numbers.
const MOST_SLOTS: usize = (c_int::MAX >> GROUP_BITS) as usize;

/// An entry of the table.
enum Slot {
    Free,
    /// A dataset that is being opened, and needs its id for that.
    Reserved,
    Open(Arc<OpenFile>),
}

impl Slot {
    fn file(&self) -> Option<&Arc<OpenFile>> {
        match self {
            Self::Open(file) => Some(file),
            _ => None,
        }
    }
}

/// Slot 1 is entry 0.
static SLOTS: RwLock<Vec<Slot>> = RwLock::new(Vec::new());

/// Adds a dataset and returns the id of its root.
pub fn insert(file: OpenFile) -> Result<c_int> {
    insert_with(|_| Ok(file))
}

/// Adds a dataset that is opened with its id.
pub fn insert_with(open: impl FnOnce(c_int) -> Result<OpenFile>) -> Result<c_int> {
    exit::close_at_exit();
    let slot = reserve()?;
    let ncid = id_of(slot, GroupId::ROOT);
    let opened = open(ncid);
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    let (entry, result) = match opened {
        Ok(file) => (Slot::Open(Arc::new(file)), Ok(ncid)),
        Err(error) => (Slot::Free, Err(error)),
    };
    // The table is empty in a process that ends.
    if let Some(place) = slots.get_mut(slot) {
        *place = entry;
    }
    result
}

fn reserve() -> Result<usize> {
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    let free = slots.iter().position(|slot| matches!(slot, Slot::Free)).unwrap_or(slots.len());
    if free >= MOST_SLOTS {
        return Err(ErrorKind::NFile.context(format!("{free} datasets are open")));
    }
    if free == slots.len() {
        slots.push(Slot::Free);
    }
    slots[free] = Slot::Reserved;
    Ok(free)
}

/// Returns the id of a group in a slot.
pub fn id_of(slot: usize, group: GroupId) -> c_int {
    ((slot as c_int + 1) << GROUP_BITS) | group.0 as c_int
}

/// Finds the dataset of an id, whatever its group.
pub fn find_file(ncid: c_int) -> Result<(usize, Arc<OpenFile>)> {
    let unknown = || ErrorKind::BadId.context(format!("no open dataset has the id {ncid}"));
    let slot = usize::try_from(ncid >> GROUP_BITS).ok().and_then(|slot| slot.checked_sub(1));
    let slot = slot.ok_or_else(unknown)?;
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    let file = slots.get(slot).and_then(Slot::file).ok_or_else(unknown)?;
    Ok((slot, Arc::clone(file)))
}

/// Finds the dataset and group of an id.
pub fn find(ncid: c_int) -> Result<Node> {
    let (slot, file) = find_file(ncid)?;
    file.check_usable()?;
    file.check_described()?;
    let group = GroupId((ncid & GROUP_MASK) as u32);
    if group != GroupId::ROOT {
        file.dataset.model().with(|model| model.group(group).map(drop)).map_err(|error| {
            ErrorKind::BadId.context(format!("id {ncid} names no group")).caused_by(error)
        })?;
    }
    Ok(Node::new(slot, group, file))
}

/// Finds the dataset of the id of a root group: `NC_EBADGRPID` for any other group.
pub fn find_root(ncid: c_int) -> Result<(usize, Arc<OpenFile>)> {
    let found = find_file(ncid)?;
    if ncid & GROUP_MASK != 0 {
        return Err(ErrorKind::BadGrpId.context("the id names a group, not a dataset"));
    }
    Ok(found)
}

/// Finds a dataset by a property.
pub fn find_by(wanted: impl Fn(&OpenFile) -> bool) -> Option<Arc<OpenFile>> {
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    slots.iter().filter_map(Slot::file).find(|file| wanted(file)).map(Arc::clone)
}

/// Closes all datasets that can be written, in a process that ends. Errors go to the log.
pub fn close_all() {
    let slots: Vec<_> = SLOTS.write().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
    let files: Vec<_> = slots.iter().filter_map(Slot::file).collect();
    for file in files.iter().filter(|file| file.writable && file.check_usable().is_ok()) {
        guard(|| file.dataset.close());
    }
}

/// Removes a dataset, if it is still the one in the slot.
pub fn remove(slot: usize, file: &Arc<OpenFile>) {
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = slots.get_mut(slot)
        && entry.file().is_some_and(|found| Arc::ptr_eq(found, file))
    {
        *entry = Slot::Free;
    }
}
