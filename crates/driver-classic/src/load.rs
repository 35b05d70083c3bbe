//! A header as a model and a layout: what its lists mean together, and whether that can be.
//!
//! Sizes are computed, never taken from the header. A size there that is nothing any writer would have stored is no
//! matter where the places of the variables and the end of the file confirm what was computed; else it means that a
//! length or the size itself is damaged, and the variable is not read. Sections that overlap are refused.

use nczarr_dispatch::Fault;
use nczarr_model::{ErrorKind, FILL_VALUE, GroupId, Model, Result, Var, VarFill, VarId};

use crate::kind::Kind;
use crate::layout::{self, Layout, Slot};
use crate::parse::{Header, HeaderVar};
use crate::write::TOO_LARGE;

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) kind: Kind,
    pub(crate) model: Model,
    pub(crate) layout: Layout,
    /// The number of records, also where there is no record variable.
    pub(crate) records: u64,
    /// Bytes of a file that has everything the header speaks of.
    pub(crate) whole: u64,
    /// What was odd.
    pub(crate) faults: Vec<Fault>,
    /// A name that is not UTF-8 was read as well as possible: written again, it would be another one.
    pub(crate) odd_names: bool,
}

/// Gives a header its meaning, given the size of the file.
///
/// # Errors
/// `NC_ENOTNC` for places that overlap; `NC_EUNLIMIT`, `NC_EUNLIMPOS`, `NC_EVARSIZE`, `NC_ENAMEINUSE` as the rule says.
pub(crate) fn load(header: Header, size: u64) -> Result<Loaded> {
    let mut faults = Vec::new();
    let kind = header.kind;
    let told = header.records.unwrap_or(0);
    let mut model = Model::new();
    model.reserve(header.dims.len(), header.vars.len());
    let mut has_records = false;
    for (name, len) in header.dims {
        let unlimited = len == 0;
        if unlimited && has_records {
            return Err(ErrorKind::Unlimit.context(format!("dimension {name:?} is a second one without length")));
        }
        has_records |= unlimited;
        model.add_dim(GroupId::ROOT, name, if unlimited { told } else { len }, unlimited)?;
    }
    model.group_mut(GroupId::ROOT)?.atts = header.atts;
    let mut stated = Vec::with_capacity(header.vars.len());
    for var in header.vars {
        stated.push((var.vsize, var.begin));
        model.add_var(variable(var))?;
    }
    let mut slots = layout::sizes(&model)?;
    for (slot, (_, begin)) in slots.iter_mut().zip(&stated) {
        slot.begin = *begin;
    }
    let mut layout = Layout { header: header.len, slots, ..Layout::default() };
    layout.derive();
    let records = match header.records {
        Some(records) => records,
        None => {
            let records = counted(&layout, size);
            let text = format!("the header does not say how many records there are; the file has room for {records}");
            faults.push(Fault::unusual("/", text));
            records
        }
    };
    doubt_sizes(&mut model, &layout, &stated, kind, (header.records, size), &mut faults)?;
    doubt_records(&mut model, &layout)?;
    check_places(kind, &model, &layout)?;
    let whole = layout.size(records).ok_or_else(|| {
        ErrorKind::NotNc.context(format!("{records} records of {} bytes are more than a file can hold", layout.recsize))
    })?;
    if let Some((id, problem)) = moved(&layout, records, size) {
        let path = model.var_path(id)?;
        model.var_mut(id)?.problem.get_or_insert(ErrorKind::VarMeta.context(problem).at(path));
    }
    if let Some((_, dim)) = model.dims().find(|(_, dim)| dim.unlimited) {
        dim.grow(records);
    }
    Ok(Loaded { kind, model, layout, records, whole, faults, odd_names: header.odd_names })
}

fn variable(var: HeaderVar) -> Var {
    let fill = match var.atts.get(FILL_VALUE) {
        Some(value) if value.nc_type() == var.ty && value.len() == 1 => VarFill::Value(value.clone()),
        _ => VarFill::Default,
    };
    Var { name: var.name, xtype: var.ty, dims: var.dims, atts: var.atts, fill, ..Var::default() }
}

/// Puts in doubt the variables with a size, as the header states it, that is nothing any writer would have stored, and
/// that nothing else confirms. `stated`: sizes and places; `told`: the number of records, if the header tells, and the
/// size of the file.
fn doubt_sizes(
    model: &mut Model,
    layout: &Layout,
    stated: &[(u64, u64)],
    kind: Kind,
    told: (Option<u64>, u64),
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let next = following(layout);
    for (at, (slot, &(vsize, _))) in layout.slots.iter().zip(stated).enumerate() {
        let Some(problem) = doubt(kind, slot, vsize, told.1) else { continue };
        let id = VarId(at as u32);
        let path = model.var_path(id)?;
        if confirmed(layout, slot, next.get(at).copied().flatten(), told) {
            faults.push(Fault::unusual(path, format_args!("{problem}; its place confirms the first")));
            continue;
        }
        let problem = format!("{problem}: one of them is damaged");
        model.var_mut(id)?.problem = Some(ErrorKind::VarMeta.context(problem).at(path));
    }
    Ok(())
}

/// Where the next variable of the same section begins, by variable.
fn following(layout: &Layout) -> Vec<Option<u64>> {
    let mut next = vec![None; layout.slots.len()];
    let mut ahead = [None; 2];
    for (next, slot) in next.iter_mut().zip(&layout.slots).rev() {
        *next = ahead[usize::from(slot.record)].replace(slot.begin);
    }
    next
}

/// Whether the size of a variable is what the places of the others, or the end of the file, leave it, to the byte.
fn confirmed(layout: &Layout, slot: &Slot, next: Option<u64>, (records, size): (Option<u64>, u64)) -> bool {
    let ends_at = |end: Option<u64>, padding: u64| end.is_some_and(|end| end == size || end - padding == size);
    let padding = layout.own_len(slot).saturating_sub(slot.bytes);
    match (next, slot.record) {
        (Some(next), _) => slot.begin.checked_add(slot.len) == Some(next),
        (None, false) if layout.recsize > 0 => slot.begin.checked_add(slot.len) == Some(layout.begin_rec),
        (None, false) => ends_at(slot.begin.checked_add(slot.len), padding),
        // The last part of a record. Where there is none, nothing is read.
        (None, true) => match records {
            Some(0) => true,
            Some(records) => ends_at(layout.size(records), padding),
            None => false,
        },
    }
}

/// What is wrong with the size that the header states. Writers have stored it without padding, as much of it as fits
/// 32 bits, the number that stands for too large a size, and 0 for a record variable without records. What does not fit
/// is believed only of a file that is as large, of records if they are there; in CDF-5 everything fits.
fn doubt(kind: Kind, slot: &Slot, stated: u64, size: u64) -> Option<String> {
    let low = |size: u64| size & u64::from(u32::MAX);
    let large = kind != Kind::Cdf5 && slot.len >= u64::from(TOO_LARGE) && (slot.record || slot.bytes <= size);
    let fine = stated == slot.len
        || stated == slot.bytes
        || (large && (stated == u64::from(TOO_LARGE) || stated == low(slot.len)))
        || (slot.record && stated == 0);
    let (len, found) = (slot.len, stated);
    (!fine).then(|| format!("its dimensions and type make {len} bytes, the header says {found}"))
}

/// Where the size of the last record variable is in doubt, so is the size of all records. Those of the others are
/// confirmed by where the next one begins.
fn doubt_records(model: &mut Model, layout: &Layout) -> Result<()> {
    let records = layout.slots.iter().enumerate().filter(|(_, slot)| slot.record);
    let ids: Vec<_> = records.map(|(at, _)| VarId(at as u32)).collect();
    let Some((&last, others)) = ids.split_last() else { return Ok(()) };
    let Some(problem) = model.var(last)?.problem.clone() else { return Ok(()) };
    for &id in others {
        let path = model.var_path(id)?;
        let what = "the size of a record is not known, since that of the last variable in it is not";
        let error = ErrorKind::VarMeta.context(what).caused_by(problem.clone()).at(path);
        model.var_mut(id)?.problem.get_or_insert(error);
    }
    Ok(())
}

/// The number of records that a file of this size has, the padding of the last one perhaps left out.
fn counted(layout: &Layout, size: u64) -> u64 {
    let padding =
        layout.slots.iter().rev().find(|slot| slot.record).map_or(0, |slot| layout.own_len(slot) - slot.bytes);
    let bytes = size.saturating_add(padding).saturating_sub(layout.begin_rec);
    bytes.checked_div(layout.recsize).unwrap_or(0)
}

/// Whether the variable that lies last was moved by damage to where it begins: there is room before it, which is legal,
/// and the file ends before its values do, which a file that is whole does not.
fn moved(layout: &Layout, records: u64, size: u64) -> Option<(VarId, String)> {
    let last_of = |record| layout.slots.iter().enumerate().rfind(move |(_, slot)| slot.record == record);
    let has_records = records > 0 && layout.recsize > 0;
    let (at, slot) = last_of(has_records)?;
    let others = layout.slots.iter().enumerate().filter(|&(other, _)| other != at);
    // Parts of a record follow one another without room, as `check_places` has seen.
    if has_records && others.clone().any(|(_, other)| other.record) {
        return None;
    }
    let before = others.filter(|(_, slot)| !slot.record).map(|(_, slot)| slot.begin.saturating_add(slot.len)).max();
    let before = before.unwrap_or(layout.header);
    let rest = layout.recsize.saturating_mul(records.saturating_sub(1));
    let end = slot.begin.saturating_add(if slot.record { rest } else { 0 }).saturating_add(slot.bytes);
    (slot.begin > before && end > size).then(|| {
        let begin = slot.begin;
        let what =
            format!("it begins at byte {begin} and what is before it ends at {before}; values end at {end}, the file");
        (VarId(at as u32), format!("{what} at {size}: where it begins is damaged, or the file was cut"))
    })
}

/// Refuses places that overlap one another or the header.
fn check_places(kind: Kind, model: &Model, layout: &Layout) -> Result<()> {
    let mut end = layout.header;
    for record in [false, true] {
        for (at, slot) in layout.slots.iter().enumerate().filter(|(_, slot)| slot.record == record) {
            if slot.begin < end || slot.begin > kind.furthest() {
                let path = model.var_path(VarId(at as u32)).unwrap_or_default();
                let (begin, most) = (slot.begin, kind.furthest());
                let what = format!(
                    "{path}: it begins at byte {begin}; what is before it ends at {end}, and no place is further than {most}"
                );
                return Err(ErrorKind::NotNc.context(what));
            }
            let after = slot.begin.checked_add(slot.len).filter(|&after| after <= i64::MAX as u64);
            // Of the last variable only the values count.
            end = match after {
                Some(after) => after,
                None => return Err(ErrorKind::NotNc.context("a variable lies where no file reaches")),
            };
        }
    }
    let last = layout.slots.iter().filter(|slot| slot.record).map(|slot| slot.begin + layout.own_len(slot)).max();
    if let Some(last) = last
        && last - layout.begin_rec > layout.recsize
    {
        let what = format!("records of {} bytes, whose parts reach {} bytes", layout.recsize, last - layout.begin_rec);
        return Err(ErrorKind::NotNc.context(what));
    }
    Ok(())
}
