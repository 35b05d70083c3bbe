//! Builds the model of a dataset from the inquiries of its table.

use std::ffi::{CString, c_int};

use nczarr::dispatch::byte_len;
use nczarr::model::{Chunking, DimId, GroupId, Model, Var, VarFill};
use nczarr::{ErrorKind, NcType, Result, Values};

use crate::boundary::dispatch_table::TablePtr;
use crate::open_file::NC_GLOBAL;
use crate::transfer::zeroed;

const FILL_VALUE: &str = "_FillValue";

/// Reads dimensions, attributes and variables of the root group.
///
/// # Errors
/// Those of the table; `NC_EBADTYPE` for a type that is not atomic.
pub fn load(table: TablePtr, ncid: c_int) -> Result<Model> {
    let [ndims, nvars, natts, unlimited] = table.inq(ncid)?;
    let mut model = Model::default();
    let most = usize::try_from(ndims).unwrap_or(0);
    let unlimited = table.inq_unlimdims(ncid, most).unwrap_or_else(|| vec![unlimited]);
    for dim in 0..ndims {
        let (name, len) =
            table.inq_dim(ncid, dim).map_err(|error| error.at(format_args!("dimension {dim}")))?;
        model.add_dim(GroupId::ROOT, text(name)?, len as u64, unlimited.contains(&dim))?;
    }
    for place in 0..natts {
        let (name, values) = attribute(table, ncid, NC_GLOBAL, place)?;
        model.group_mut(GroupId::ROOT)?.atts.insert(name, values);
    }
    for var in 0..nvars {
        let var = variable(table, ncid, var).map_err(|error| error.at(format_args!("variable {var}")))?;
        model.add_var(var)?;
    }
    Ok(model)
}

fn variable(table: TablePtr, ncid: c_int, varid: c_int) -> Result<Var> {
    let found = table.inq_var(ncid, varid)?;
    let dim = |id: &c_int| {
        let known = u32::try_from(*id).map(DimId);
        known.map_err(|_| ErrorKind::BadDim.context(format!("dimension {id}")))
    };
    let mut var = Var {
        name: text(found.name)?,
        xtype: atomic(found.xtype)?,
        dims: found.dims.iter().map(dim).collect::<Result<_>>()?,
        ..Var::default()
    };
    var.chunking = match found.chunks {
        Some(sizes) => Chunking::Chunked(sizes.iter().map(|&size| size as u64).collect()),
        None => Chunking::Contiguous,
    };
    for place in 0..found.natts as c_int {
        let (name, values) = attribute(table, ncid, varid, place)?;
        if name == FILL_VALUE && values.nc_type() == var.xtype && values.len() == 1 {
            var.fill = VarFill::Value(values.clone());
        }
        var.atts.insert(name, values);
    }
    if found.no_fill {
        var.fill = VarFill::NoFill;
    }
    Ok(var)
}

/// Reads the attribute at a place.
fn attribute(table: TablePtr, ncid: c_int, varid: c_int, place: c_int) -> Result<(String, Values)> {
    let name = table.inq_attname(ncid, varid, place);
    let name = text(name.map_err(|error| error.at(format_args!("attribute {place}")))?)?;
    let values = || {
        let key = CString::new(name.as_bytes()).map_err(|_| ErrorKind::BadName.context("a zero byte"))?;
        let (code, len) = table.inq_att(ncid, varid, &key)?;
        let ty = atomic(code)?;
        let Some(size) = ty.size() else {
            return Ok(Values::String(table.get_att_texts(ncid, varid, &key, code, len)?));
        };
        let mut bytes = zeroed(byte_len(len as u64, size)?)?;
        if len > 0 {
            table.get_att(ncid, varid, &key, code, &mut bytes)?;
        }
        let wrong = || ErrorKind::BadType.context(format!("values of type {}", ty.name()));
        Values::from_native_bytes(ty, &bytes).ok_or_else(wrong)
    };
    let values = values().map_err(|error| error.at(format_args!("attribute {name:?}")))?;
    Ok((name, values))
}

fn atomic(code: c_int) -> Result<NcType> {
    let ty = NcType::from_code(code).filter(|ty| ty.is_atomic());
    ty.ok_or_else(|| ErrorKind::BadType.context(format!("type {code} (expected an atomic type)")))
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let what = format!("name {:?} is not UTF-8", String::from_utf8_lossy(error.as_bytes()));
        ErrorKind::BadName.context(what)
    })
}
