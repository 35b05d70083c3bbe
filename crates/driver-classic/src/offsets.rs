//! Computes the offsets of all variables.
//!
//! Fixed variables follow the header in the order of definition; then come the records, each with one part
//! per record variable. Parts are padded to four bytes, except for a single record variable.
//!
//! Source: the format specification; netCDF-C, `NC_begins` and `NC_check_vlens`, for kept gaps and rejected
//! sizes.

use nczarr_dispatch::HeaderPadding;
use nczarr_model::{ErrorKind, Model, Result, VarId};

use crate::kind::CdfVersion;
use crate::layout::{FileLayout, VarSlot};
use crate::name_rooms::NameRooms;
use crate::write;

/// Returns the size of each variable, or of one of its records, without offsets.
///
/// # Errors
/// `NC_EVARSIZE` that names a too large variable; `NC_EUNLIMPOS`.
pub(crate) fn sizes(model: &Model) -> Result<Vec<VarSlot>> {
    let mut slots = Vec::with_capacity(model.vars().len());
    for (id, _) in model.vars() {
        slots.push(size(model, id).map_err(|error| error.at(model.var_path(id).unwrap_or_default()))?);
    }
    Ok(slots)
}

fn size(model: &Model, id: VarId) -> Result<VarSlot> {
    let var = model.var(id)?;
    let item =
        var.xtype.size().ok_or_else(|| ErrorKind::BadType.context(format!("type {}", var.xtype.name())))?;
    let mut bytes = Some(item as u64);
    let mut record = false;
    for (place, &dim) in var.dims.iter().enumerate() {
        let dim = model.dim(dim)?;
        match (dim.unlimited, place) {
            (true, 0) => record = true,
            (true, _) => {
                let what = format!("the unlimited dimension {:?} is not the first", dim.name);
                return Err(ErrorKind::UnlimPos.context(what));
            }
            (false, _) => bytes = bytes.and_then(|bytes| bytes.checked_mul(dim.len())),
        }
    }
    // Padding must fit too.
    match bytes.filter(|&bytes| bytes <= i64::MAX as u64 - 3) {
        Some(bytes) => Ok(VarSlot { begin: 0, bytes, len: bytes.next_multiple_of(4), record }),
        None => Err(ErrorKind::VarSize.context("larger than any file")),
    }
}

/// Rejects variables that are too large for the format. Only the last one may be: the last fixed variable if
/// there are no records, else the last record variable.
fn check_sizes(kind: CdfVersion, model: &Model, slots: &[VarSlot]) -> Result<()> {
    let has_records = slots.iter().any(|slot| slot.record);
    for record in [false, true] {
        let mut these = slots.iter().enumerate().filter(|(_, slot)| slot.record == record);
        let last = these.clone().next_back().map(|(at, _)| at);
        let large = these.find(|(at, slot)| {
            let may_be = kind != CdfVersion::Cdf5 && Some(*at) == last && record == has_records;
            slot.bytes > kind.largest() && !may_be
        });
        if let Some((at, slot)) = large {
            let path = model.var_path(VarId(at as u32)).unwrap_or_default();
            let what = format!(
                "{path}: too large before another variable (expected at most {} bytes, found {})",
                slot.bytes,
                kind.largest()
            );
            return Err(ErrorKind::VarSize.context(what));
        }
    }
    Ok(())
}

/// Computes the offsets of a model's variables. `rooms`: the space for names. `old`: the layout of the file.
///
/// # Errors
/// `NC_EVARSIZE` for variables that are too large or too far; as [`sizes`] and
/// [`header_len`](write::header_len).
pub(crate) fn decide(
    kind: CdfVersion,
    model: &Model,
    rooms: &NameRooms,
    spacing: HeaderPadding,
    old: Option<&FileLayout>,
) -> Result<FileLayout> {
    let mut slots = sizes(model)?;
    check_sizes(kind, model, &slots)?;
    let header = write::header_len(kind, model, rooms, &slots)?;
    if slots.is_empty() {
        return Ok(FileLayout { header, ..FileLayout::default() });
    }
    let before = old.map_or((0, 0), |old| (old.begin_var, old.begin_rec));
    let too_far = || ErrorKind::VarSize.context("the offset of the data exceeds the format");
    let begin_var = section(before.0, header, spacing.h_minfree, spacing.v_align).ok_or_else(too_far)?;
    let begin_var = begin_var.max(before.0);
    let end = place(kind, model, &mut slots, false, begin_var, old)?;
    let begin_rec = section(before.1, end, spacing.v_minfree, spacing.r_align).ok_or_else(too_far)?;
    place(kind, model, &mut slots, true, begin_rec.max(before.1), old)?;
    let mut layout = FileLayout { header, slots, ..FileLayout::default() };
    layout.derive();
    if !layout.slots.iter().any(|slot| slot.record) {
        layout.begin_rec = begin_rec;
    }
    Ok(layout)
}

/// Returns the start of a section after `end`: its old start, if that is aligned and leaves enough free
/// space.
fn section(before: u64, end: u64, free: u64, align: u64) -> Option<u64> {
    // The default alignment is four bytes.
    let align = if align == 0 { 4 } else { align };
    let least = end.checked_add(free)?;
    if before >= least && before.is_multiple_of(align) {
        return Some(before);
    }
    least.checked_next_multiple_of(align)
}

/// Places the variables of one section; returns the end of the last.
fn place(
    kind: CdfVersion,
    model: &Model,
    slots: &mut [VarSlot],
    record: bool,
    begin: u64,
    old: Option<&FileLayout>,
) -> Result<u64> {
    let mut next = begin;
    for (at, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.record == record) {
        // Data never move towards the start of the file. Parts of a record are contiguous.
        if !record && let Some(was) = old.and_then(|old| old.slots.get(at)) {
            next = next.max(was.begin);
        }
        let end = next.checked_add(slot.len).filter(|&end| end <= i64::MAX as u64 && next <= kind.furthest());
        let Some(end) = end else {
            let path = model.var_path(VarId(at as u32)).unwrap_or_default();
            let what = format!("{path}: offset {next} exceeds the format (at most {})", kind.furthest());
            return Err(ErrorKind::VarSize.context(what));
        };
        slot.begin = next;
        next = end;
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use nczarr_model::{GroupId, NcType, Var};

    use super::*;
    use crate::layout::recsize;

    /// Builds a model with a record dimension, the given dimensions, and variables. A variable has a type and
    /// dimension numbers, and number 0 is the record dimension.
    fn model(lens: &[u64], vars: &[(NcType, &[usize])]) -> Model {
        let mut model = Model::new();
        let mut dims = vec![model.add_dim(GroupId::ROOT, "t", 0, true).unwrap()];
        for (at, &len) in lens.iter().enumerate() {
            dims.push(model.add_dim(GroupId::ROOT, format!("d{at}"), len, false).unwrap());
        }
        for (at, (xtype, places)) in vars.iter().enumerate() {
            let dims = places.iter().map(|&place| dims[place]).collect();
            model.add_var(Var { name: format!("v{at}"), xtype: *xtype, dims, ..Var::default() }).unwrap();
        }
        model
    }

    #[test]
    fn a_record_variable_alone_is_not_padded_and_several_are() {
        use NcType::{Byte, Double, Short};
        for (vars, expected) in [
            (vec![(Byte, &[0, 1][..])], 5),
            (vec![(Short, &[0, 1])], 10),
            (vec![(Byte, &[0, 1]), (Double, &[1])], 5),
            (vec![(Byte, &[0, 1]), (Byte, &[0])], 8 + 4),
            (vec![(Short, &[0, 1]), (Double, &[0]), (Byte, &[0])], 12 + 8 + 4),
            (vec![(Double, &[1])], 0),
        ] {
            let slots = sizes(&model(&[5], &vars)).unwrap();
            assert_eq!(recsize(&slots), expected, "{vars:?}");
        }
    }

    #[test]
    fn room_and_alignment_are_kept_when_there_is_enough() {
        let spacing =
            |h_minfree, v_align, v_minfree, r_align| HeaderPadding { h_minfree, v_align, v_minfree, r_align };
        let one = model(&[3], &[(NcType::Int, &[1]), (NcType::Short, &[0, 1])]);
        let header =
            decide(CdfVersion::Cdf1, &one, &NameRooms::default(), HeaderPadding::default(), None).unwrap();
        assert_eq!(header.begin_var, header.header);
        assert_eq!(header.begin_rec, header.begin_var + 12);
        let roomy =
            decide(CdfVersion::Cdf1, &one, &NameRooms::default(), spacing(100, 64, 10, 32), None).unwrap();
        assert_eq!(roomy.begin_var, (header.header + 100).next_multiple_of(64));
        assert_eq!(roomy.begin_rec, (roomy.begin_var + 12 + 10).next_multiple_of(32));
        // One more variable of each kind.
        let more = model(
            &[3],
            &[(NcType::Int, &[1]), (NcType::Short, &[0, 1]), (NcType::Byte, &[1]), (NcType::Byte, &[0])],
        );
        let kept =
            decide(CdfVersion::Cdf1, &more, &NameRooms::default(), HeaderPadding::default(), Some(&roomy))
                .unwrap();
        assert_eq!(kept.begin_var, roomy.begin_var, "the header has room");
        assert_eq!(kept.begin_rec, roomy.begin_rec, "and so have the fixed variables");
        assert_eq!(kept.slots[2].begin, roomy.begin_var + 12);
        assert_eq!(kept.slots[3].begin, roomy.begin_rec + 8);
        assert_eq!(kept.recsize, 8 + 4);
        let tight =
            decide(CdfVersion::Cdf1, &more, &NameRooms::default(), HeaderPadding::default(), Some(&header))
                .unwrap();
        assert_eq!(tight.begin_var, tight.header);
        assert_eq!(tight.begin_rec, tight.begin_var + 12 + 4);
    }

    #[test]
    fn the_room_a_layout_has_makes_the_same_layout() {
        let vars: [&[(NcType, &[usize])]; 4] = [
            &[(NcType::Int, &[1]), (NcType::Short, &[0, 1])],
            &[(NcType::Byte, &[0, 1]), (NcType::Byte, &[0, 1])],
            &[(NcType::Byte, &[1]), (NcType::Byte, &[1])],
            &[],
        ];
        for vars in vars {
            for (h_minfree, v_align, v_minfree, r_align) in
                [(0, 0, 0, 0), (100, 64, 10, 32), (3, 1, 5, 1), (0, 6, 0, 10)]
            {
                let asked = HeaderPadding { h_minfree, v_align, v_minfree, r_align };
                let model = model(&[3], vars);
                let mut first = decide(CdfVersion::Cdf2, &model, &NameRooms::default(), asked, None).unwrap();
                let second =
                    decide(CdfVersion::Cdf2, &model, &NameRooms::default(), first.spacing(u64::MAX), None)
                        .unwrap();
                // A file without records does not store the place where they would begin.
                first.begin_rec = second.begin_rec;
                assert_eq!(second, first, "{vars:?} {asked:?}");
                if !vars.is_empty() {
                    assert_eq!(
                        first.spacing(first.begin_var - 1),
                        HeaderPadding::default(),
                        "beyond the end of the file"
                    );
                }
            }
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        let long = i64::MAX as u64 / 2;
        for (lens, places) in [(vec![long, 9], &[1, 2][..]), (vec![long], &[0, 1])] {
            let error = sizes(&model(&lens, &[(NcType::Double, places)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::VarSize);
        }
        let error = sizes(&model(&[2], &[(NcType::Int, &[1, 0])])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnlimPos);
    }
}
