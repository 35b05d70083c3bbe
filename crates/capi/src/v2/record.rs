//! Records: one element of the unlimited dimension in all variables.
//!
//! Functions whose names begin with `nc_` return a code. No public header declares them.

use std::ffi::{c_int, c_long};

use nczarr::model::VarId;
use nczarr::{ErrorKind, Result};

use super::v2_functions;
use crate::boundary::pointer::{InPtr, OutPtr, SourcePtr, TargetPtr};
use crate::memory_type::MemoryType;
use crate::open_file::Node;
use crate::table;
use crate::transfer::get::get;
use crate::transfer::put::put;
use crate::transfer::region::Region;

v2_functions! {
    /// Returns the variables with records, and the size of a record in each.
    fn ncrecinq(ncid: c_int, nrecvars: OutPtr<c_int>, recvarids: OutPtr<c_int>, recsizes: OutPtr<c_long>) {
        let found = record_vars(&table::find(ncid)?)?;
        nrecvars.set(found.len() as c_int);
        recvarids.set_all(found.iter().map(|var| var.number));
        recsizes.set_all(found.iter().map(|var| var.bytes as c_long));
        Ok(found.len() as c_int)
    }

    /// Reads a record of each variable that has memory for it.
    fn ncrecget(ncid: c_int, recnum: c_long, datap: InPtr<TargetPtr>) {
        get_record(ncid, record_number(recnum)?, datap).map(|()| 0)
    }

    /// Writes a record of each variable that has values for it.
    fn ncrecput(ncid: c_int, recnum: c_long, datap: InPtr<SourcePtr>) {
        put_record(ncid, record_number(recnum)?, datap).map(|()| 0)
    }
}

c_functions! {
    /// Returns the variables with records, and the size of a record in each.
    fn nc_inq_rec(ncid: c_int, nrecvars: OutPtr<usize>, recvarids: OutPtr<c_int>, recsizes: OutPtr<usize>) {
        let found = record_vars(&table::find(ncid)?)?;
        nrecvars.set(found.len());
        recvarids.set_all(found.iter().map(|var| var.number));
        recsizes.set_all(found.iter().map(|var| var.bytes));
        Ok(())
    }

    /// Reads a record of each variable that has memory for it.
    fn nc_get_rec(ncid: c_int, recnum: usize, datap: InPtr<TargetPtr>) {
        get_record(ncid, recnum, datap)
    }

    /// Writes a record of each variable that has values for it.
    fn nc_put_rec(ncid: c_int, recnum: usize, datap: InPtr<SourcePtr>) {
        put_record(ncid, recnum, datap)
    }
}

/// A variable whose first dimension is the unlimited one.
struct RecordVar {
    number: c_int,
    /// The lengths of the other dimensions.
    shape: Vec<usize>,
    /// The size of a record.
    bytes: usize,
}

fn record_vars(node: &Node) -> Result<Vec<RecordVar>> {
    node.look_types(|types| {
        let model = types.model;
        let group = model.group(node.group)?;
        let unlimited = group.dims.values().find(|&&dim| model.dim(dim).is_ok_and(|dim| dim.unlimited));
        let mut found = Vec::new();
        for (number, &var) in group.vars.values().enumerate() {
            let dims = &model.var(var)?.dims;
            if dims.first().is_some_and(|first| Some(first) == unlimited) {
                let shape = shape_of(model, var)?;
                let size = types.size(model.var(var)?.xtype)?;
                let bytes = shape.iter().fold(size, |bytes, &len| bytes.saturating_mul(len));
                found.push(RecordVar { number: number as c_int, shape, bytes });
            }
        }
        Ok(found)
    })
}

fn shape_of(model: &nczarr::model::Model, var: VarId) -> Result<Vec<usize>> {
    Ok(model.shape(var)?.iter().skip(1).map(|&len| len as usize).collect())
}

fn record_number(record: c_long) -> Result<usize> {
    usize::try_from(record).map_err(|_| ErrorKind::InvalCoords.context(format!("record {record}")))
}

fn get_record(ncid: c_int, record: usize, datap: InPtr<TargetPtr>) -> Result<()> {
    each_record(ncid, record, |index, var, region| {
        let target = datap.values(index + 1, "datap")?[index];
        if target.is_null() { Ok(()) } else { get(ncid, var, region, MemoryType::Own, &target) }
    })
}

fn put_record(ncid: c_int, record: usize, datap: InPtr<SourcePtr>) -> Result<()> {
    each_record(ncid, record, |index, var, region| {
        let source = datap.values(index + 1, "datap")?[index];
        if source.is_null() { Ok(()) } else { put(ncid, var, region, MemoryType::Own, &source) }
    })
}

/// Calls `transfer` with the region of a record in each variable.
fn each_record(
    ncid: c_int,
    record: usize,
    transfer: impl Fn(usize, c_int, &Region) -> Result<()>,
) -> Result<()> {
    for (index, var) in record_vars(&table::find(ncid)?)?.iter().enumerate() {
        let mut start = vec![0; var.shape.len() + 1];
        start[0] = record;
        let count: Vec<usize> = [1].into_iter().chain(var.shape.iter().copied()).collect();
        InPtr::lend(&start, |start| {
            InPtr::lend(&count, |count| transfer(index, var.number, &Region::Block(start, count)))
        })?;
    }
    Ok(())
}
