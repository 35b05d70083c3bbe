//! [`FileLayout`]: the positions of all variables, and what follows from them.

use nczarr_dispatch::HeaderPadding;

/// The position of a variable, or of its part of the first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VarSlot {
    pub(crate) begin: u64,
    /// The size of its values.
    pub(crate) bytes: u64,
    /// The size with padding.
    pub(crate) len: u64,
    pub(crate) record: bool,
}

/// The positions in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileLayout {
    /// The size of the header.
    pub(crate) header: u64,
    /// By variable.
    pub(crate) slots: Vec<VarSlot>,
    /// The offset of the first variable; 0 if there is none.
    pub(crate) begin_var: u64,
    /// The offset of the records; 0 if there is no variable.
    pub(crate) begin_rec: u64,
    /// The distance between records; 0 without record variables.
    pub(crate) recsize: u64,
}

impl FileLayout {
    /// Returns the size of a complete file. `None` if it exceeds the size of a file.
    pub(crate) fn size(&self, records: u64) -> Option<u64> {
        let end = if self.recsize > 0 {
            self.recsize.checked_mul(records)?.checked_add(self.begin_rec)?
        } else {
            let mut ends = self.slots.iter().map(|slot| slot.begin.checked_add(slot.len));
            ends.try_fold(self.header, |most, end| Some(most.max(end?)))?
        };
        (end <= i64::MAX as u64).then_some(end)
    }

    /// Returns the largest number of records that fits the size of a file.
    pub(crate) fn most_records(&self) -> u64 {
        (i64::MAX as u64).saturating_sub(self.begin_rec).checked_div(self.recsize).unwrap_or(u64::MAX)
    }

    /// Returns the bytes of a variable's part of a record that belong to it, including padding.
    pub(crate) fn own_len(&self, slot: &VarSlot) -> u64 {
        if slot.record { slot.len.min(self.recsize) } else { slot.len }
    }

    /// Returns the free space after the header and after the fixed variables, and the alignment that
    /// reproduces this layout. A section beyond `size`, the end of the file, has no free space.
    pub(crate) fn spacing(&self, size: u64) -> HeaderPadding {
        let end = self
            .slots
            .iter()
            .filter(|slot| !slot.record)
            .map(|slot| slot.begin.saturating_add(slot.len))
            .max();
        let room = |begin: u64, end: u64| match begin.checked_sub(end) {
            Some(free) if begin <= size => (free, if begin.is_multiple_of(4) { 0 } else { 1 }),
            _ => (0, 0),
        };
        let (h_minfree, v_align) = room(self.begin_var, self.header);
        let (v_minfree, r_align) = room(self.begin_rec, end.unwrap_or(self.begin_var));
        HeaderPadding { h_minfree, v_align, v_minfree, r_align }
    }

    /// Computes the derived values from the slots.
    pub(crate) fn derive(&mut self) {
        let of = |record| self.slots.iter().filter(move |slot: &&VarSlot| slot.record == record);
        let end = of(false).map(|slot| slot.begin.saturating_add(slot.len)).max().unwrap_or(0);
        self.begin_rec = of(true).map(|slot| slot.begin).min().unwrap_or(end);
        self.begin_var = of(false).map(|slot| slot.begin).min().unwrap_or(self.begin_rec);
        self.recsize = recsize(&self.slots);
    }
}

/// Returns the distance between records; saturates.
pub(crate) fn recsize(slots: &[VarSlot]) -> u64 {
    let mut records = slots.iter().filter(|slot| slot.record);
    match (records.next(), records.next()) {
        (None, _) => 0,
        // A single record variable is not padded.
        (Some(only), None) => only.bytes,
        (Some(first), Some(second)) => {
            records.fold(first.len.saturating_add(second.len), |sum, slot| sum.saturating_add(slot.len))
        }
    }
}
