//! Helpers to define, write and read.

use std::path::Path;
use std::sync::Arc;

use nczarr_dispatch::{Clobber, Dataset, MemMut, MemRef, Options, Place, Registry};
use nczarr_driver_hdf5::Hdf5Driver;
use nczarr_model::{DimId, GroupId, NcString, NcType, Result, Slab, Values, VarId};
use nczarr_nc_table::NcDispatch as _;
use nczarr_runtime::OutBuf;

pub const ROOT: GroupId = GroupId::ROOT;

pub fn registry() -> Arc<Registry> {
    Arc::new(Registry::new().with_driver(Hdf5Driver))
}

/// Makes a dataset in memory.
pub fn create(mode: &str) -> Arc<dyn Dataset> {
    let target = format!("x.nc#mode={mode}");
    registry()
        .create_in_memory(&Place::url(&target), Clobber::Refuse, false, &Options::default(), false)
        .unwrap()
}

pub fn create_at(path: &Path) -> Result<Arc<dyn Dataset>> {
    registry().create(&Place::path(path).mode("nc4"), Clobber::Refuse, false, &Options::default())
}

pub fn dim(ds: &dyn Dataset, name: &str, len: u64) -> DimId {
    ds.def_dim(ROOT, name, Some(len)).unwrap()
}

pub fn var(ds: &dyn Dataset, name: &str, ty: NcType, dims: &[DimId]) -> VarId {
    ds.def_var(ROOT, name, ty, dims).unwrap()
}

pub fn enddef(ds: &dyn Dataset) {
    ds._enddef(0, 0, 0, 0).unwrap();
}

pub fn put(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &Values) {
    let data = ds.data(var).unwrap();
    let bytes = values.to_native_bytes();
    let memory = match values {
        Values::String(strings) | Values::Packed(_, strings) => MemRef::Strings(strings),
        _ => MemRef::Fixed { ty: values.nc_type(), bytes: bytes.as_ref().unwrap() },
    };
    let shape = ds.model().snapshot().shape(var).unwrap();
    let slab = Slab::new(start, count).check(&shape, |_| true).unwrap();
    data.put(&slab, memory).unwrap();
}

/// Reads a whole variable.
pub fn all(ds: &dyn Dataset, var: VarId) -> Values {
    let model = ds.model().snapshot();
    let (shape, ty) = (model.shape(var).unwrap(), model.var(var).unwrap().xtype);
    let start = vec![0; shape.len()];
    let (slab, count) = (Slab::new(&start, &shape), shape.iter().product::<u64>() as usize);
    let slab = slab.check(&shape, |_| false).unwrap();
    let data = ds.data(var).unwrap();
    if !model.is_fixed(ty).unwrap() {
        let mut strings = vec![NcString::new(); count];
        data.get(&slab, MemMut::Strings(&mut strings)).unwrap();
        return match ty {
            NcType::User(id) => Values::Packed(id, strings),
            _ => Values::String(strings),
        };
    }
    let mut bytes = vec![0xAA; count * model.type_size(ty).unwrap().unwrap()];
    data.get(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) }).unwrap();
    Values::from_native_bytes(ty, &bytes).unwrap()
}
