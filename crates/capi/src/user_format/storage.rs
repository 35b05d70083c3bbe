//! The stored form of variables of a user-defined format. The table decides about it.

use std::ffi::c_int;

use nczarr::dispatch::Dataset as _;
use nczarr::model::{Edit, FilterSpec, Var, VarId};
use nczarr::{Chunking, ErrorKind, Result};

use super::{Turn, UserDataset};
use crate::boundary::dispatch_table::{TablePtr, UserVar, is_lacking};
use crate::var::storage::{CHUNKED, COMPACT, CONTIGUOUS, endian_code, endian_of, quantize_code, quantize_of};

const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;

/// Adds the stored form that a table describes to a variable.
pub fn load_storage(table: TablePtr, place: (c_int, c_int), found: &UserVar, var: &mut Var) -> Result<()> {
    let is_chunked = found.storage == CHUNKED && !found.chunks.is_empty() && !found.chunks.contains(&0);
    var.chunking = match found.storage {
        _ if is_chunked => Chunking::Chunked(found.chunks.iter().map(|&size| size as u64).collect()),
        COMPACT => Chunking::Compact,
        _ => Chunking::Contiguous,
    };
    var.endian = endian_of(found.endian)?;
    var.quantize = match table.inq_var_quantize(place) {
        Err(error) if is_lacking(&error) => None,
        found => found.and_then(|(mode, digits)| quantize_of(mode, digits))?,
    };
    var.filters = match table.inq_var_filter_ids(place) {
        Err(error) if is_lacking(&error) => flagged(found),
        ids => {
            let of = |id: u32| Ok(spec(id, table.inq_var_filter_info(place, id)?));
            ids?.into_iter().map(of).collect::<Result<_>>()?
        }
    };
    Ok(())
}

/// Returns the filters that have flags of their own.
fn flagged(found: &UserVar) -> Vec<FilterSpec> {
    let level = |level: c_int| vec![u32::try_from(level).unwrap_or(0)];
    let shuffle = found.shuffle.then(|| spec(SHUFFLE, Vec::new()));
    let deflate = found.deflate.map(|number| spec(DEFLATE, level(number)));
    let fletcher32 = found.fletcher32.then(|| spec(FLETCHER32, Vec::new()));
    shuffle.into_iter().chain(deflate).chain(fletcher32).collect()
}

fn spec(id: u32, params: Vec<u32>) -> FilterSpec {
    let known = nczarr::registry();
    let known = known.and_then(|registry| Ok(registry.filter_by_id(id)?.info().name.to_owned()));
    // The library need not know the filter, which the table applies.
    let name = known.unwrap_or_default();
    FilterSpec { hdf5_id: Some(id), name, params, codec: None }
}

impl UserDataset {
    /// Adds shuffle, deflate or both, with the flags of C.
    pub fn def_var_deflate(&self, var: VarId, shuffle: c_int, deflate: c_int, level: c_int) -> Result<()> {
        let params = vec![u32::try_from(level).unwrap_or(0)];
        let new = [
            (shuffle != 0).then(|| spec(SHUFFLE, Vec::new())),
            (deflate != 0).then(|| spec(DEFLATE, params)),
        ];
        let new: Vec<_> = new.into_iter().flatten().collect();
        self.define_filters(var, &new, |place| self.table.def_var_deflate(place, shuffle, deflate, level))
    }

    /// Adds the Fletcher-32 checksum, with the flag of C.
    pub fn def_var_fletcher32(&self, var: VarId, fletcher32: c_int) -> Result<()> {
        let new = (fletcher32 != 0).then(|| spec(FLETCHER32, Vec::new()));
        self.define_filters(var, new.as_slice(), |place| self.table.def_var_fletcher32(place, fletcher32))
    }

    /// Adds a filter by its HDF5 id.
    pub fn def_var_filter(&self, var: VarId, id: u32, params: &[u32]) -> Result<()> {
        let new = [spec(id, params.to_vec())];
        self.define_filters(var, &new, |place| self.table.def_var_filter(place, id, params))
    }

    pub fn inq_filter_avail(&self, id: u32) -> Result<()> {
        self.table.inq_filter_avail(self.ncid, id)
    }

    fn define_filters(
        &self,
        var: VarId,
        new: &[FilterSpec],
        call: impl FnOnce((c_int, c_int)) -> Result<()>,
    ) -> Result<()> {
        self.editor()?;
        let _turn = Turn::take();
        let edits: Vec<_> = new.iter().map(|filter| Edit::DefVarFilter { var, filter }).collect();
        // The model refuses what it cannot show, before the table changes anything.
        let mut trial = self.model.snapshot().as_ref().clone();
        edits.iter().try_for_each(|edit| trial.apply(edit).map(drop))?;
        call(self.look_numbers(|numbers| numbers.var(var))?)?;
        edits.iter().try_for_each(|edit| self.model.define(edit).map(drop))
    }

    /// Passes an edit of the stored form to the table. `NC_ENOTNC4` for one that netCDF lacks.
    pub(super) fn define_storage(&self, edit: &Edit<'_>) -> Result<()> {
        let place = |var: VarId| self.look_numbers(|numbers| numbers.var(var));
        let table = self.table;
        match *edit {
            Edit::DefVarChunking { var, chunking } => match chunking {
                Chunking::Chunked(sizes) => {
                    let sizes =
                        sizes.iter().map(|&size| usize::try_from(size)).collect::<Result<Vec<_>, _>>();
                    let sizes = sizes.map_err(|_| ErrorKind::BadChunk.context("a chunk is too large"))?;
                    table.def_var_chunking(place(var)?, CHUNKED, Some(&sizes))
                }
                Chunking::Default => table.def_var_chunking(place(var)?, CHUNKED, None),
                Chunking::Contiguous => table.def_var_chunking(place(var)?, CONTIGUOUS, None),
                Chunking::Compact => table.def_var_chunking(place(var)?, COMPACT, None),
            },
            Edit::DefVarEndian { var, endian } => table.def_var_endian(place(var)?, endian_code(endian)),
            Edit::DefVarQuantize { var, quantize } => {
                let (mode, digits) = quantize_code(quantize);
                table.def_var_quantize(place(var)?, mode, digits)
            }
            _ => Err(ErrorKind::NotNc4.context("user-defined formats have no such property of variables")),
        }
    }
}
