//! The CDL text of an open dataset.

use nczarr::dispatch::{Format, FormatX};
use nczarr::model::Slab;
use nczarr::{File, MemMut, NcString, NcType, OutBuf, Result, Values};
use nczarr_cdl::{DataSource, Facts, Options};

struct Source<'f>(&'f File);

impl DataSource for Source<'_> {
    fn read(&mut self, var: nczarr::model::VarId, start: &[u64], count: &[u64]) -> Result<Values> {
        let variable = self.0.variable_by_id(var)?;
        let slab = Slab::new(start, count);
        let (ty, len, model) = (variable.nc_type(), slab.len() as usize, self.0.model());
        if !model.is_fixed(ty)? {
            let mut strings = vec![NcString::new(); len];
            variable.read(&slab, MemMut::Strings(&mut strings))?;
            return Ok(match ty {
                NcType::User(id) => Values::Packed(id, strings),
                _ => Values::String(strings),
            });
        }
        let size = model.type_size(ty)?.unwrap_or(1);
        let mut bytes = vec![0; len * size];
        variable.read(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })?;
        Ok(match ty {
            NcType::User(id) => Values::User(id, bytes),
            _ => Values::from_native_bytes(ty, &bytes).expect("whole elements"),
        })
    }

    fn chunk_shape(&mut self, var: nczarr::model::VarId) -> Option<Vec<u64>> {
        self.0.variable_by_id(var).ok()?.chunk_shape().ok()?
    }

    fn is_nil_where_empty(
        &mut self,
        var: nczarr::model::VarId,
        start: &[u64],
        count: &[u64],
    ) -> Result<bool> {
        let data = self.0.dataset().data(var)?;
        let shape = self.0.dataset().model().snapshot().shape(var)?;
        let slab = Slab::new(start, count).check(&shape, |_| false)?;
        Ok(data.is_fixed_text() && !data.is_absent(&slab)?)
    }
}

/// The CDL text of `file`.
///
/// # Errors
/// Returns the library's error.
pub fn dump(file: &File, options: &Options) -> Result<String> {
    let info = file.info();
    let facts = Facts {
        format: info.format.name().to_owned(),
        classic: matches!(info.format, Format::Classic | Format::Offset64 | Format::Cdf5),
        hdf4: info.formatx == FormatX::Hdf4,
        plain_text: info.formatx == FormatX::NcZarr && info.flavour != "nczarr",
        properties: info.properties,
        superblock: info.superblock,
        foreign: info.foreign,
    };
    let mut text = Vec::new();
    nczarr_cdl::print(&file.model(), &facts, options, &mut Source(file), &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
