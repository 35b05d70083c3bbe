//! Filters of variables.

use std::ffi::{c_int, c_uint};

use nczarr::dispatch::FormatX;
use nczarr::model::{Edit, FilterSpec, VarId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, Result};

use super::storage;
use crate::boundary::pointer::{InPtr, OutPtr};
use crate::open_file::Node;
use crate::table;

const MAX_LEVEL: u32 = 9;
const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;
const SZIP: u32 = 4;
const BLOSC: u32 = 32001;
const BZIP2: u32 = 307;
const ZSTD: u32 = 32015;

c_functions! {
    /// Adds shuffle, deflate or both.
    fn nc_def_var_deflate(ncid: c_int, varid: c_int, shuffle: c_int, deflate: c_int, deflate_level: c_int) {
        let (node, var) = definable(ncid, varid)?;
        if let Some(user) = &node.user {
            return user.def_var_deflate(var, shuffle, deflate, deflate_level);
        }
        if deflate != 0 {
            check_absent(&node, var, SZIP)?;
        }
        let level = match u32::try_from(deflate_level) {
            Ok(level) => level,
            Err(_) if deflate == 0 => 0,
            Err(_) => return Err(ErrorKind::Inval.context(format!("deflate level {deflate_level}"))),
        };
        if deflate != 0 && level > MAX_LEVEL {
            return Err(ErrorKind::Inval.context(format!("deflate level {level} (expected 0 to {MAX_LEVEL})")));
        }
        if shuffle != 0 || (deflate != 0 && level > 0) {
            storage::chunk_for_filters(&node, var)?;
        }
        node.nc().def_var_deflate(var, shuffle != 0, deflate != 0, level)?;
        arrange(&node, var)
    }

    /// Returns whether shuffle and deflate are applied, and the level.
    fn nc_inq_var_deflate(
        ncid: c_int, varid: c_int, shufflep: OutPtr<c_int>, deflatep: OutPtr<c_int>,
        deflate_levelp: OutPtr<c_int>,
    ) {
        let node = table::find(ncid)?;
        let all = node.nc().inq_var_all(node.var(varid)?)?;
        shufflep.set(all.shuffle.into());
        deflatep.set(all.deflate.is_some().into());
        deflate_levelp.set(all.deflate.unwrap_or(0) as c_int);
        Ok(())
    }

    /// Adds the Fletcher-32 checksum.
    fn nc_def_var_fletcher32(ncid: c_int, varid: c_int, fletcher32: c_int) {
        let (node, var) = definable(ncid, varid)?;
        if let Some(user) = &node.user {
            return user.def_var_fletcher32(var, fletcher32);
        }
        if fletcher32 != 0 {
            storage::chunk_for_filters(&node, var)?;
        }
        node.nc().def_var_fletcher32(var, fletcher32 != 0)?;
        arrange(&node, var)
    }

    /// Returns whether there is a Fletcher-32 checksum.
    fn nc_inq_var_fletcher32(ncid: c_int, varid: c_int, fletcher32p: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        fletcher32p.set(node.nc().inq_var_all(node.var(varid)?)?.fletcher32.into());
        Ok(())
    }

    /// Adds szip.
    fn nc_def_var_szip(ncid: c_int, varid: c_int, options_mask: c_int, pixels_per_block: c_int) {
        let (node, var) = definable(ncid, varid)?;
        check_absent(&node, var, DEFLATE)?;
        check_szip(&node, var, pixels_per_block)?;
        add(&node, var, SZIP, &unsigned(&[options_mask, pixels_per_block])?)
    }

    /// Returns the parameters of szip; zeros without szip.
    fn nc_inq_var_szip(
        ncid: c_int, varid: c_int, options_maskp: OutPtr<c_int>, pixels_per_blockp: OutPtr<c_int>,
    ) {
        let node = table::find(ncid)?;
        let params = params_of(&node, node.var(varid)?, SZIP)?.unwrap_or_default();
        options_maskp.set(params.first().copied().unwrap_or(0) as c_int);
        pixels_per_blockp.set(params.get(1).copied().unwrap_or(0) as c_int);
        Ok(())
    }

    /// Adds a filter by its HDF5 id.
    fn nc_def_var_filter(ncid: c_int, varid: c_int, id: c_uint, nparams: usize, params: InPtr<c_uint>) {
        let (node, var) = definable(ncid, varid)?;
        if let Some(other) = [(SZIP, DEFLATE), (DEFLATE, SZIP)].iter().find(|pair| pair.0 == id) {
            check_absent(&node, var, other.1)?;
        }
        add(&node, var, id, params.values(nparams, "params")?)
    }

    /// Returns the HDF5 ids of all filters, in the order of encoding.
    fn nc_inq_var_filter_ids(ncid: c_int, varid: c_int, nfilters: OutPtr<usize>, ids: OutPtr<c_uint>) {
        let node = table::find(ncid)?;
        let found = node.nc().inq_var_filter_ids(node.var(varid)?)?;
        nfilters.set(found.len());
        ids.set_all(found);
        Ok(())
    }

    /// Returns the parameters of a filter.
    fn nc_inq_var_filter_info(
        ncid: c_int, varid: c_int, id: c_uint, nparams: OutPtr<usize>, params: OutPtr<c_uint>,
    ) {
        let node = table::find(ncid)?;
        let found = node.nc().inq_var_filter_info(node.var(varid)?, id)?;
        nparams.set(found.len());
        params.set_all(found);
        Ok(())
    }

    /// Returns the first filter.
    fn nc_inq_var_filter(
        ncid: c_int, varid: c_int, idp: OutPtr<c_uint>, nparams: OutPtr<usize>, params: OutPtr<c_uint>,
    ) {
        let node = table::find(ncid)?;
        let var = node.var(varid)?;
        let Some(&id) = node.nc().inq_var_filter_ids(var)?.first() else {
            idp.set(0);
            nparams.set(0);
            return Ok(());
        };
        let found = node.nc().inq_var_filter_info(var, id)?;
        idp.set(id);
        nparams.set(found.len());
        params.set_all(found);
        Ok(())
    }

    /// Checks that a filter exists.
    fn nc_inq_filter_avail(ncid: c_int, id: c_uint) {
        let node = table::find(ncid)?;
        match &node.user {
            Some(user) => user.inq_filter_avail(id),
            None => node.nc().inq_filter_avail(id),
        }
    }

    /// Adds bzip2.
    fn nc_def_var_bzip2(ncid: c_int, varid: c_int, level: c_int) {
        let (node, var) = definable(ncid, varid)?;
        if !(1..=9).contains(&level) {
            return Err(ErrorKind::Inval.context(format!("bzip2 level {level} (expected 1 to 9)")));
        }
        add(&node, var, BZIP2, &unsigned(&[level])?)
    }

    /// Returns whether bzip2 is applied, and the level.
    fn nc_inq_var_bzip2(ncid: c_int, varid: c_int, hasfilterp: OutPtr<c_int>, levelp: OutPtr<c_int>) {
        one_level(ncid, varid, BZIP2, hasfilterp, levelp)
    }

    /// Adds zstd.
    fn nc_def_var_zstandard(ncid: c_int, varid: c_int, level: c_int) {
        let (node, var) = definable(ncid, varid)?;
        if !(-131_072..=22).contains(&level) {
            return Err(ErrorKind::Inval.context(format!("zstd level {level} (expected at most 22)")));
        }
        add(&node, var, ZSTD, &[level as c_uint])
    }

    /// Returns whether zstd is applied, and the level.
    fn nc_inq_var_zstandard(ncid: c_int, varid: c_int, hasfilterp: OutPtr<c_int>, levelp: OutPtr<c_int>) {
        one_level(ncid, varid, ZSTD, hasfilterp, levelp)
    }

    /// Adds blosc.
    fn nc_def_var_blosc(
        ncid: c_int, varid: c_int, subcompressor: c_uint, level: c_uint, blocksize: c_uint, addshuffle: c_uint,
    ) {
        let (node, var) = definable(ncid, varid)?;
        let params = [0, 0, 0, blocksize, level, addshuffle, subcompressor];
        add(&node, var, BLOSC, &params)
    }

    /// Returns whether blosc is applied, and its parameters.
    fn nc_inq_var_blosc(
        ncid: c_int, varid: c_int, hasfilterp: OutPtr<c_int>, subcompressorp: OutPtr<c_uint>,
        levelp: OutPtr<c_uint>, blocksizep: OutPtr<c_uint>, addshufflep: OutPtr<c_uint>,
    ) {
        let node = table::find(ncid)?;
        let params = params_of(&node, node.var(varid)?, BLOSC)?;
        hasfilterp.set(params.is_some().into());
        if let Some(params) = params {
            let param = |index: usize| params.get(index).copied().unwrap_or(0);
            blocksizep.set(param(3));
            levelp.set(param(4));
            addshufflep.set(param(5));
            subcompressorp.set(param(6));
        }
        Ok(())
    }
}

/// Finds a variable whose filters may be changed.
fn definable(ncid: c_int, varid: c_int) -> Result<(Node, VarId)> {
    let node = table::find(ncid)?;
    let var = node.var_of_layout(varid)?;
    Ok((node, var))
}

/// Adds a filter.
fn add(node: &Node, var: VarId, id: u32, params: &[c_uint]) -> Result<()> {
    if let Some(user) = &node.user {
        return user.def_var_filter(var, id, params);
    }
    node.nc().inq_filter_avail(id)?;
    storage::chunk_for_filters(node, var)?;
    node.nc().def_var_filter(var, id, params)?;
    arrange(node, var)
}

/// Puts the filters of a netCDF-4 file in the order of netCDF-C: the checksum, shuffle, and all others.
fn arrange(node: &Node, var: VarId) -> Result<()> {
    if node.formatx != FormatX::Hdf5 {
        return Ok(());
    }
    let rank = |filter: &FilterSpec| match filter.hdf5_id {
        Some(FLETCHER32) => 0,
        Some(SHUFFLE) => 1,
        _ => 2,
    };
    let mut filters = node.look(|model| Ok(model.var(var)?.filters.clone()))?;
    if filters.is_sorted_by_key(rank) {
        return Ok(());
    }
    filters.sort_by_key(rank);
    node.nc_to_edit()?.edit(&Edit::DefVarFilters { var, filters: &filters }).map(drop)
}

/// Checks that a variable lacks a filter that excludes another: deflate and szip.
fn check_absent(node: &Node, var: VarId, id: u32) -> Result<()> {
    match params_of(node, var, id)? {
        Some(_) => Err(ErrorKind::Inval.context("deflate and szip exclude one another")),
        None => Ok(()),
    }
}

/// Checks the block of szip: an even number of at most 32 pixels, and of at most the variable's.
fn check_szip(node: &Node, var: VarId, pixels: c_int) -> Result<()> {
    let wrong = || ErrorKind::Inval.context(format!("szip: {pixels} pixels per block"));
    let block = u64::try_from(pixels).map_err(|_| wrong())?;
    let (len, unlimited) = node.look(|model| {
        let dims = &model.var(var)?.dims;
        let unlimited = dims.iter().any(|&dim| model.dim(dim).is_ok_and(|dim| dim.unlimited));
        let shape = model.shape(var)?;
        Ok((shape.iter().fold(1u64, |len, &dim| len.saturating_mul(dim)), unlimited))
    })?;
    if block == 0 || block > 32 || block % 2 != 0 || (block > len && !unlimited) {
        return Err(wrong());
    }
    Ok(())
}

fn unsigned(params: &[c_int]) -> Result<Vec<u32>> {
    let negative = |_| ErrorKind::Inval.context(format!("filter parameters {params:?}"));
    params.iter().map(|&param| u32::try_from(param).map_err(negative)).collect()
}

/// Returns the parameters of a filter, if the variable has it.
fn params_of(node: &Node, var: VarId, id: u32) -> Result<Option<Vec<u32>>> {
    match node.nc().inq_var_filter_info(var, id) {
        Err(error) if error.kind() == ErrorKind::NoFilter => Ok(None),
        found => found.map(Some),
    }
}

fn one_level(
    ncid: c_int,
    varid: c_int,
    id: u32,
    hasfilterp: OutPtr<c_int>,
    levelp: OutPtr<c_int>,
) -> Result<()> {
    let node = table::find(ncid)?;
    let params = params_of(&node, node.var(varid)?, id)?;
    hasfilterp.set(params.is_some().into());
    if let Some(level) = params.and_then(|params| params.first().copied()) {
        levelp.set(level as c_int);
    }
    Ok(())
}
