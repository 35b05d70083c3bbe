//! Converts a header to a model and a layout, and checks its consistency.
//!
//! Sizes are computed, never taken from the header. The header may state a size that no writer stores. If the
//! offsets and the file size confirm the computed size, the stated one is ignored. Otherwise a length or the
//! size is damaged, and the variable cannot be read. Overlapping sections are rejected.

use nczarr_dispatch::Fault;
use nczarr_model::{ErrorKind, FILL_VALUE, GroupId, Model, Result, Var, VarFill, VarId};

use crate::encoding::TOO_LARGE;
use crate::kind::CdfVersion;
use crate::layout::{FileLayout, VarSlot};
use crate::offsets;
use crate::parse::{ClassicHeader, HeaderVar};

/// The content of a file.
#[derive(Debug)]
pub(crate) struct LoadedHeader {
    pub(crate) kind: CdfVersion,
    pub(crate) model: Model,
    pub(crate) layout: FileLayout,
    /// The number of records, even without a record variable.
    pub(crate) records: u64,
    /// The size of a complete file.
    pub(crate) whole: u64,
    /// Oddities.
    pub(crate) faults: Vec<Fault>,
    /// Whether an invalid UTF-8 name was replaced, so that writing would change it.
    pub(crate) odd_names: bool,
}

/// Interprets a header for a file of `size` bytes.
///
/// # Errors
/// `NC_ENOTNC` for overlapping offsets; `NC_EUNLIMIT`, `NC_EUNLIMPOS`, `NC_EVARSIZE` or `NC_ENAMEINUSE` for a
/// violated rule.
pub(crate) fn load(header: ClassicHeader, size: u64) -> Result<LoadedHeader> {
    let mut faults = Vec::new();
    let kind = header.kind;
    let declared = header.records.unwrap_or(0);
    let mut model = Model::new();
    model.reserve(header.dims.len(), header.vars.len());
    let mut has_records = false;
    for (name, len) in header.dims {
        let unlimited = len == 0;
        if unlimited && has_records {
            return Err(
                ErrorKind::Unlimit.context(format!("dimension {name:?}: a second unlimited dimension"))
            );
        }
        has_records |= unlimited;
        model.add_dim(GroupId::ROOT, name, if unlimited { declared } else { len }, unlimited)?;
    }
    model.group_mut(GroupId::ROOT)?.atts = header.atts;
    let mut stated = Vec::with_capacity(header.vars.len());
    for var in header.vars {
        stated.push((var.vsize, var.begin));
        model.add_var(variable(var))?;
    }
    let mut slots = offsets::sizes(&model)?;
    for (slot, (_, begin)) in slots.iter_mut().zip(&stated) {
        slot.begin = *begin;
    }
    let mut layout = FileLayout { header: header.len, slots, ..FileLayout::default() };
    layout.derive();
    let records = match header.records {
        Some(records) => records,
        None => {
            let records = counted(&layout, size);
            let text = format!("the header has no number of records; the file has {records}");
            faults.push(Fault::unusual("/", text));
            records
        }
    };
    doubt_sizes(&mut model, &layout, &stated, kind, header.records, size, &mut faults)?;
    doubt_records(&mut model, &layout)?;
    check_places(kind, &model, &layout)?;
    let whole = layout.size(records).ok_or_else(|| {
        ErrorKind::NotNc
            .context(format!("{records} records of {} bytes exceed the size of a file", layout.recsize))
    })?;
    if let Some((id, problem)) = moved(&layout, records, size) {
        let path = model.var_path(id)?;
        model.var_mut(id)?.problem.get_or_insert(ErrorKind::VarMeta.context(problem).at(path));
    }
    if let Some((_, dim)) = model.dims().find(|(_, dim)| dim.unlimited) {
        dim.grow(records);
    }
    Ok(LoadedHeader { kind, model, layout, records, whole, faults, odd_names: header.odd_names })
}

fn variable(var: HeaderVar) -> Var {
    let fill = match var.atts.get(FILL_VALUE) {
        Some(value) if value.nc_type() == var.ty && value.len() == 1 => VarFill::Value(value.clone()),
        _ => VarFill::Default,
    };
    Var { name: var.name, xtype: var.ty, dims: var.dims, atts: var.atts, fill, ..Var::default() }
}

/// Marks variables whose stated size no writer stores and nothing else confirms. `stated`: sizes and offsets;
/// `records`: the number in the header, if it has one; `size`: of the file.
fn doubt_sizes(
    model: &mut Model,
    layout: &FileLayout,
    stated: &[(u64, u64)],
    kind: CdfVersion,
    records: Option<u64>,
    size: u64,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let next = following(layout);
    for (at, (slot, &(vsize, _))) in layout.slots.iter().zip(stated).enumerate() {
        let Some(problem) = doubt(kind, slot, vsize, size) else { continue };
        let id = VarId(at as u32);
        let path = model.var_path(id)?;
        if confirmed(layout, slot, next.get(at).copied().flatten(), records, size) {
            faults.push(Fault::unusual(path, format_args!("{problem}; the offsets confirm the first")));
            continue;
        }
        let problem = format!("{problem}: one of them is damaged");
        model.var_mut(id)?.problem = Some(ErrorKind::VarMeta.context(problem).at(path));
    }
    Ok(())
}

/// Returns the offset of the next variable in the same section, for each variable.
fn following(layout: &FileLayout) -> Vec<Option<u64>> {
    let mut next = vec![None; layout.slots.len()];
    let mut ahead = [None; 2];
    for (next, slot) in next.iter_mut().zip(&layout.slots).rev() {
        *next = ahead[usize::from(slot.record)].replace(slot.begin);
    }
    next
}

/// Whether the size of a variable exactly equals the space before the next one, or before the end of the
/// file.
fn confirmed(
    layout: &FileLayout,
    slot: &VarSlot,
    next: Option<u64>,
    records: Option<u64>,
    size: u64,
) -> bool {
    let ends_at =
        |end: Option<u64>, padding: u64| end.is_some_and(|end| end == size || end - padding == size);
    let padding = layout.own_len(slot).saturating_sub(slot.bytes);
    match (next, slot.record) {
        (Some(next), _) => slot.begin.checked_add(slot.len) == Some(next),
        (None, false) if layout.recsize > 0 => slot.begin.checked_add(slot.len) == Some(layout.begin_rec),
        (None, false) => ends_at(slot.begin.checked_add(slot.len), padding),
        // The last part of a record. Without records nothing is read.
        (None, true) => match records {
            Some(0) => true,
            Some(records) => ends_at(layout.size(records), padding),
            None => false,
        },
    }
}

/// Returns the problem with a stated size. Writers store the size with or without padding, and 0 for some
/// record variables. CDF-1 and CDF-2 store a size beyond 32 bits truncated, or as [`TOO_LARGE`]. The file
/// must then be large enough for a fixed variable.
fn doubt(kind: CdfVersion, slot: &VarSlot, stated: u64, size: u64) -> Option<String> {
    let low = |size: u64| size & u64::from(u32::MAX);
    let large =
        kind != CdfVersion::Cdf5 && slot.len >= u64::from(TOO_LARGE) && (slot.record || slot.bytes <= size);
    let fine = stated == slot.len
        || stated == slot.bytes
        || (large && (stated == u64::from(TOO_LARGE) || stated == low(slot.len)))
        || (slot.record && stated == 0);
    let (len, found) = (slot.len, stated);
    (!fine).then(|| format!("wrong size in the header (expected {len} bytes, found {found})"))
}

/// If the size of the last record variable is doubtful, the size of a record is too. So all record variables
/// get a problem. Offsets confirm the sizes of the others.
fn doubt_records(model: &mut Model, layout: &FileLayout) -> Result<()> {
    let records = layout.slots.iter().enumerate().filter(|(_, slot)| slot.record);
    let ids: Vec<_> = records.map(|(at, _)| VarId(at as u32)).collect();
    let Some((&last, others)) = ids.split_last() else { return Ok(()) };
    let Some(problem) = model.var(last)?.problem.clone() else { return Ok(()) };
    for &id in others {
        let path = model.var_path(id)?;
        let what = "the size of records is unknown, since that of their last variable is damaged";
        let error = ErrorKind::VarMeta.context(what).caused_by(problem.clone()).at(path);
        model.var_mut(id)?.problem.get_or_insert(error);
    }
    Ok(())
}

/// Returns the number of records in a file of this size; padding of the last may be missing.
fn counted(layout: &FileLayout, size: u64) -> u64 {
    let padding = layout
        .slots
        .iter()
        .rev()
        .find(|slot| slot.record)
        .map_or(0, |slot| layout.own_len(slot) - slot.bytes);
    let bytes = size.saturating_add(padding).saturating_sub(layout.begin_rec);
    bytes.checked_div(layout.recsize).unwrap_or(0)
}

/// Finds a last variable whose offset is damaged: there is a gap before it, which is legal, and the file ends
/// before its values.
fn moved(layout: &FileLayout, records: u64, size: u64) -> Option<(VarId, String)> {
    let last_of = |record| layout.slots.iter().enumerate().rfind(move |(_, slot)| slot.record == record);
    let has_records = records > 0 && layout.recsize > 0;
    let (at, slot) = last_of(has_records)?;
    let others = layout.slots.iter().enumerate().filter(|&(other, _)| other != at);
    // Parts of a record are contiguous, as `check_places` verified.
    if has_records && others.clone().any(|(_, other)| other.record) {
        return None;
    }
    let before =
        others.filter(|(_, slot)| !slot.record).map(|(_, slot)| slot.begin.saturating_add(slot.len)).max();
    let before = before.unwrap_or(layout.header);
    let rest = layout.recsize.saturating_mul(records.saturating_sub(1));
    let end = slot.begin.saturating_add(if slot.record { rest } else { 0 }).saturating_add(slot.bytes);
    (slot.begin > before && end > size).then(|| {
        let begin = slot.begin;
        let what = format!(
            "it begins at byte {begin} and the data before it end at {before}; values end at {end}, the file"
        );
        (VarId(at as u32), format!("{what} at {size}: where it begins is damaged, or the file was cut"))
    })
}

/// Rejects offsets that overlap one another or the header.
fn check_places(kind: CdfVersion, model: &Model, layout: &FileLayout) -> Result<()> {
    let mut end = layout.header;
    for record in [false, true] {
        for (at, slot) in layout.slots.iter().enumerate().filter(|(_, slot)| slot.record == record) {
            if slot.begin < end || slot.begin > kind.furthest() {
                let path = model.var_path(VarId(at as u32)).unwrap_or_default();
                let (begin, most) = (slot.begin, kind.furthest());
                let what = format!(
                    "{path}: it begins at byte {begin}; the data before it end at {end}, and no offset exceeds {most}"
                );
                return Err(ErrorKind::NotNc.context(what));
            }
            let after = slot.begin.checked_add(slot.len).filter(|&after| after <= i64::MAX as u64);
            // Only the values of the last variable count.
            end = match after {
                Some(after) => after,
                None => {
                    return Err(ErrorKind::NotNc.context("a variable's offset exceeds the size of a file"));
                }
            };
        }
    }
    let last =
        layout.slots.iter().filter(|slot| slot.record).map(|slot| slot.begin + layout.own_len(slot)).max();
    if let Some(last) = last
        && last - layout.begin_rec > layout.recsize
    {
        let what = format!(
            "records of {} bytes, whose parts reach {} bytes",
            layout.recsize,
            last - layout.begin_rec
        );
        return Err(ErrorKind::NotNc.context(what));
    }
    Ok(())
}
