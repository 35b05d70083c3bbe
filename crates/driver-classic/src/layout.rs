//! [`Layout`]: where the data of each variable lie.
//!
//! Fixed variables follow the header in the order of definition; then come the records, each with one part of every
//! record variable. Each part takes a multiple of four bytes, except where there is one record variable alone.
//!
//! Source: the format specification; where a redefined file keeps its gaps, and which sizes are refused, as
//! `NC_begins` and `NC_check_vlens` of netCDF-C decide.

use nczarr_dispatch::HeaderPadding;
use nczarr_model::{ErrorKind, Model, Result, VarId};

use crate::kind::Kind;
use crate::write;

/// The place of a variable, or of its part of the first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) begin: u64,
    /// Bytes of its values.
    pub(crate) bytes: u64,
    /// The same with padding.
    pub(crate) len: u64,
    pub(crate) record: bool,
}

/// Where everything lies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of the header.
    pub(crate) header: u64,
    /// By variable.
    pub(crate) slots: Vec<Slot>,
    /// Where the first variable begins; 0 if there is none.
    pub(crate) begin_var: u64,
    /// Where the records begin, or would; 0 if there is no variable.
    pub(crate) begin_rec: u64,
    /// Bytes from one record to the next; 0 if there is no record variable.
    pub(crate) recsize: u64,
}

impl Layout {
    /// Bytes of the file, if all of it is there. `None` if that does not fit a file.
    pub(crate) fn size(&self, records: u64) -> Option<u64> {
        let end = if self.recsize > 0 {
            self.recsize.checked_mul(records)?.checked_add(self.begin_rec)?
        } else {
            let mut ends = self.slots.iter().map(|slot| slot.begin.checked_add(slot.len));
            ends.try_fold(self.header, |most, end| Some(most.max(end?)))?
        };
        (end <= i64::MAX as u64).then_some(end)
    }

    /// Bytes of a variable's part of a record that are its own, padding included.
    pub(crate) fn own_len(&self, slot: &Slot) -> u64 {
        if slot.record { slot.len.min(self.recsize) } else { slot.len }
    }

    /// The room behind the header and behind the fixed variables, and the alignment with which a file of the same header has
    /// the same places. A section that begins beyond `size`, where the file ends, has none.
    pub(crate) fn spacing(&self, size: u64) -> HeaderPadding {
        let end = self.slots.iter().filter(|slot| !slot.record).map(|slot| slot.begin.saturating_add(slot.len)).max();
        let room = |begin: u64, end: u64| match begin.checked_sub(end) {
            Some(free) if begin <= size => (free, if begin.is_multiple_of(4) { 0 } else { 1 }),
            _ => (0, 0),
        };
        let (h_minfree, v_align) = room(self.begin_var, self.header);
        let (v_minfree, r_align) = room(self.begin_rec, end.unwrap_or(self.begin_var));
        HeaderPadding { h_minfree, v_align, v_minfree, r_align }
    }

    /// Fills in, from the slots, what follows from where they begin.
    pub(crate) fn derive(&mut self) {
        let of = |record| self.slots.iter().filter(move |slot: &&Slot| slot.record == record);
        let end = of(false).map(|slot| slot.begin.saturating_add(slot.len)).max().unwrap_or(0);
        self.begin_rec = of(true).map(|slot| slot.begin).min().unwrap_or(end);
        self.begin_var = of(false).map(|slot| slot.begin).min().unwrap_or(self.begin_rec);
        self.recsize = recsize(&self.slots);
    }
}

/// Bytes from one record to the next. Saturates.
pub(crate) fn recsize(slots: &[Slot]) -> u64 {
    let mut records = slots.iter().filter(|slot| slot.record);
    match (records.next(), records.next()) {
        (None, _) => 0,
        // A record variable alone is not padded.
        (Some(only), None) => only.bytes,
        (Some(first), Some(second)) => {
            records.fold(first.len.saturating_add(second.len), |sum, slot| sum.saturating_add(slot.len))
        }
    }
}

/// The size of each variable, or of one of its records, without places.
///
/// # Errors
/// `NC_EVARSIZE` naming the variable that is too large; `NC_EUNLIMPOS`.
pub(crate) fn sizes(model: &Model) -> Result<Vec<Slot>> {
    let mut slots = Vec::with_capacity(model.vars().len());
    for (id, _) in model.vars() {
        slots.push(size(model, id).map_err(|error| error.at(model.var_path(id).unwrap_or_default()))?);
    }
    Ok(slots)
}

fn size(model: &Model, id: VarId) -> Result<Slot> {
    let var = model.var(id)?;
    let item = var.xtype.size().ok_or_else(|| ErrorKind::BadType.context(format!("type {}", var.xtype.name())))?;
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
    // Padding must fit as well.
    match bytes.filter(|&bytes| bytes <= i64::MAX as u64 - 3) {
        Some(bytes) => Ok(Slot { begin: 0, bytes, len: bytes.next_multiple_of(4), record }),
        None => Err(ErrorKind::VarSize.context("it has more bytes than a file can")),
    }
}

/// Refuses variables that are too large for the format. Only the last one may be, behind which nothing lies: that is
/// the last fixed one if there are no records, else the last record variable.
fn check_sizes(kind: Kind, model: &Model, slots: &[Slot]) -> Result<()> {
    let has_records = slots.iter().any(|slot| slot.record);
    for record in [false, true] {
        let mut these = slots.iter().enumerate().filter(|(_, slot)| slot.record == record);
        let last = these.clone().next_back().map(|(at, _)| at);
        let large = these.find(|(at, slot)| {
            let may_be = kind != Kind::Cdf5 && Some(*at) == last && record == has_records;
            slot.bytes > kind.largest() && !may_be
        });
        if let Some((at, slot)) = large {
            let path = model.var_path(VarId(at as u32)).unwrap_or_default();
            let what =
                format!("{path}: {} bytes; behind at most {} another variable may lie", slot.bytes, kind.largest());
            return Err(ErrorKind::VarSize.context(what));
        }
    }
    Ok(())
}

/// Decides where the variables of a model lie. `old`: the layout that the file has.
///
/// # Errors
/// `NC_EVARSIZE` for variables that are too large or would begin too far behind; as [`sizes`] and
/// [`header_len`](write::header_len).
pub(crate) fn decide(kind: Kind, model: &Model, spacing: HeaderPadding, old: Option<&Layout>) -> Result<Layout> {
    let mut slots = sizes(model)?;
    check_sizes(kind, model, &slots)?;
    let header = write::header_len(kind, model, &slots)?;
    if slots.is_empty() {
        return Ok(Layout { header, ..Layout::default() });
    }
    let before = old.map_or((0, 0), |old| (old.begin_var, old.begin_rec));
    let too_far = || ErrorKind::VarSize.context("the data would begin further behind than the format can tell");
    let begin_var = section(before.0, header, spacing.h_minfree, spacing.v_align).ok_or_else(too_far)?;
    let begin_var = begin_var.max(before.0);
    let end = place(kind, model, &mut slots, false, begin_var, old)?;
    let begin_rec = section(before.1, end, spacing.v_minfree, spacing.r_align).ok_or_else(too_far)?;
    place(kind, model, &mut slots, true, begin_rec.max(before.1), old)?;
    let mut layout = Layout { header, slots, ..Layout::default() };
    layout.derive();
    if !layout.slots.iter().any(|slot| slot.record) {
        layout.begin_rec = begin_rec;
    }
    Ok(layout)
}

/// Where a section begins that follows what ends at `end`: where it began, if it is aligned and leaves enough free.
fn section(before: u64, end: u64, free: u64, align: u64) -> Option<u64> {
    // Everything is aligned to four bytes if nothing else is said.
    let align = if align == 0 { 4 } else { align };
    let least = end.checked_add(free)?;
    if before >= least && before.is_multiple_of(align) {
        return Some(before);
    }
    least.checked_next_multiple_of(align)
}

/// Lays the variables of one section one after another; answers where the last one ends.
fn place(kind: Kind, model: &Model, slots: &mut [Slot], record: bool, begin: u64, old: Option<&Layout>) -> Result<u64> {
    let mut next = begin;
    for (at, slot) in slots.iter_mut().enumerate().filter(|(_, slot)| slot.record == record) {
        // Data never move towards the start of the file. Parts of a record follow one another.
        if !record && let Some(was) = old.and_then(|old| old.slots.get(at)) {
            next = next.max(was.begin);
        }
        let end = next.checked_add(slot.len).filter(|&end| end <= i64::MAX as u64 && next <= kind.furthest());
        let Some(end) = end else {
            let path = model.var_path(VarId(at as u32)).unwrap_or_default();
            let what = format!("{path}: it would begin at {next}; the furthest place is {}", kind.furthest());
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

    /// A model of a record dimension, dimensions of these lengths, and variables of types and places in the list of
    /// dimensions (0: the record dimension).
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
        let spacing = |h_minfree, v_align, v_minfree, r_align| HeaderPadding { h_minfree, v_align, v_minfree, r_align };
        let one = model(&[3], &[(NcType::Int, &[1]), (NcType::Short, &[0, 1])]);
        let header = decide(Kind::Cdf1, &one, HeaderPadding::default(), None).unwrap();
        assert_eq!(header.begin_var, header.header);
        assert_eq!(header.begin_rec, header.begin_var + 12);
        let roomy = decide(Kind::Cdf1, &one, spacing(100, 64, 10, 32), None).unwrap();
        assert_eq!(roomy.begin_var, (header.header + 100).next_multiple_of(64));
        assert_eq!(roomy.begin_rec, (roomy.begin_var + 12 + 10).next_multiple_of(32));
        // One more variable of each sort.
        let more =
            model(&[3], &[(NcType::Int, &[1]), (NcType::Short, &[0, 1]), (NcType::Byte, &[1]), (NcType::Byte, &[0])]);
        let kept = decide(Kind::Cdf1, &more, HeaderPadding::default(), Some(&roomy)).unwrap();
        assert_eq!(kept.begin_var, roomy.begin_var, "the header has room");
        assert_eq!(kept.begin_rec, roomy.begin_rec, "and so have the fixed variables");
        assert_eq!(kept.slots[2].begin, roomy.begin_var + 12);
        assert_eq!(kept.slots[3].begin, roomy.begin_rec + 8);
        assert_eq!(kept.recsize, 8 + 4);
        let tight = decide(Kind::Cdf1, &more, HeaderPadding::default(), Some(&header)).unwrap();
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
                let mut first = decide(Kind::Cdf2, &model, asked, None).unwrap();
                let second = decide(Kind::Cdf2, &model, first.spacing(u64::MAX), None).unwrap();
                // Where records would begin if there were some is not in a file.
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
    fn sizes_that_no_file_has() {
        let long = i64::MAX as u64 / 2;
        for (lens, places) in [(vec![long, 9], &[1, 2][..]), (vec![long], &[0, 1])] {
            let error = sizes(&model(&lens, &[(NcType::Double, places)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::VarSize);
        }
        let error = sizes(&model(&[2], &[(NcType::Int, &[1, 0])])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnlimPos);
    }
}
