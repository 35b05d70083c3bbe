//! Writes a model and a layout as a header.
//!
//! Source: the grammar of the netCDF classic format specification; netCDF-C for the number in place of a too
//! large size.

use nczarr_model::{Att, Dim, ErrorKind, Model, NcType, Result};

use crate::encoding::{ATTRIBUTES, DIMENSIONS, TOO_LARGE, VARIABLES, big_endian};
use crate::kind::CdfVersion;
use crate::layout::{FileLayout, VarSlot};
use crate::name_rooms::NameRooms;

/// The offset of the number of records.
pub(crate) const RECORDS_AT: u64 = 4;

/// Returns the header of a dataset with this layout.
///
/// # Errors
/// `NC_EINVAL` for numbers that exceed the format.
pub(crate) fn header(
    kind: CdfVersion,
    model: &Model,
    rooms: &NameRooms,
    layout: &FileLayout,
    records: u64,
) -> Result<Vec<u8>> {
    let mut writer = HeaderWriter { bytes: vec![b'C', b'D', b'F', kind.version()], kind };
    writer.bytes.extend_from_slice(&self::records(kind, records));
    writer.list(DIMENSIONS, model.dims().len())?;
    for (id, dim) in model.dims() {
        writer.name(&dim.name, rooms.of_dim(id.index()))?;
        writer.count(fixed_len(dim))?;
    }
    writer.atts(&model.root().atts, |name| rooms.of_att(None, name))?;
    writer.list(VARIABLES, model.vars().len())?;
    for ((id, var), slot) in model.vars().zip(&layout.slots) {
        let at = |error: nczarr_model::Error| error.at(model.var_path(id).unwrap_or_default());
        writer.name(&var.name, rooms.of_var(id.index()))?;
        writer.count(var.dims.len() as u64)?;
        for dim in &var.dims {
            writer.count(dim.index() as u64)?;
        }
        writer.atts(&var.atts, |name| rooms.of_att(Some(id), name)).map_err(at)?;
        writer.word(ty_code(var.xtype));
        writer.size(slot);
        writer.number(slot.begin, kind.offset_width());
    }
    Ok(writer.bytes)
}

/// Returns the bytes of the number of records.
pub(crate) fn records(kind: CdfVersion, records: u64) -> Vec<u8> {
    // The number always fits, since growth is checked.
    records.to_be_bytes()[8 - kind.count_width()..].to_vec()
}

/// Returns the size of the header, which does not depend on the offsets.
///
/// # Errors
/// As [`header`].
pub(crate) fn header_len(
    kind: CdfVersion,
    model: &Model,
    rooms: &NameRooms,
    slots: &[VarSlot],
) -> Result<u64> {
    let layout = FileLayout { slots: slots.to_vec(), ..FileLayout::default() };
    Ok(header(kind, model, rooms, &layout, 0)?.len() as u64)
}

/// Returns the length of a dimension in the header.
fn fixed_len(dim: &Dim) -> u64 {
    if dim.unlimited { 0 } else { dim.len() }
}

fn ty_code(ty: NcType) -> u32 {
    ty.code().unsigned_abs()
}

struct HeaderWriter {
    bytes: Vec<u8>,
    kind: CdfVersion,
}

impl HeaderWriter {
    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_be_bytes());
    }

    fn number(&mut self, number: u64, width: usize) {
        self.bytes.extend_from_slice(&number.to_be_bytes()[8 - width..]);
    }

    fn count(&mut self, count: u64) -> Result<()> {
        let most = if self.kind == CdfVersion::Cdf5 { u64::MAX } else { u32::MAX.into() };
        if count > most {
            return Err(ErrorKind::Inval.context(format!("the number {count} does not fit the header")));
        }
        self.number(count, self.kind.count_width());
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn list(&mut self, tag: u32, entries: usize) -> Result<()> {
        self.word(if entries == 0 { 0 } else { tag });
        self.count(entries as u64)
    }

    /// Writes a name in at least `room` bytes. The rest is zeros.
    fn name(&mut self, name: &str, room: usize) -> Result<()> {
        let len = name.len().max(room);
        self.count(len as u64)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.resize(start + len, 0);
        self.pad();
        Ok(())
    }

    fn atts(&mut self, atts: &Att, room: impl Fn(&str) -> usize) -> Result<()> {
        self.list(ATTRIBUTES, atts.len())?;
        for (name, values) in atts {
            self.name(name, room(name))?;
            self.word(ty_code(values.nc_type()));
            self.count(values.len() as u64)?;
            self.bytes.extend_from_slice(&big_endian(values)?);
            self.pad();
        }
        Ok(())
    }

    fn size(&mut self, slot: &VarSlot) {
        match self.kind {
            CdfVersion::Cdf5 => self.number(slot.len, 8),
            _ => self.word(u32::try_from(slot.len).unwrap_or(TOO_LARGE)),
        }
    }
}
