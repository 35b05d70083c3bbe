//! Helpers that the tests share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_dispatch::{Clobber, Dataset, MemMut, MemRef, Options, Place, Registry};
use nczarr_driver_classic::ClassicDriver;
use nczarr_model::{DimId, GroupId, NcType, Result, Values, VarId};
use nczarr_nc_table::NcDispatch as _;
use nczarr_runtime::OutBuf;

pub const ROOT: GroupId = GroupId::ROOT;

pub fn registry() -> Arc<Registry> {
    Arc::new(Registry::new().with_driver(ClassicDriver))
}

/// A temporary folder and a path in it.
pub fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub fn with_mode(path: &Path, mode: &str) -> String {
    format!("{}#mode={mode}", path.display())
}

pub fn create(path: &Path, mode: &str) -> Arc<dyn Dataset> {
    registry()
        .create(&Place::url(with_mode(path, mode)), Clobber::Refuse, false, &Options::default())
        .unwrap()
}

pub fn try_open(path: &Path, writable: bool) -> Result<Arc<dyn Dataset>> {
    registry().open(&Place::url(path.display().to_string()), writable, &Options::default())
}

pub fn open(path: &Path, writable: bool) -> Arc<dyn Dataset> {
    try_open(path, writable).unwrap()
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

pub fn try_put(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &Values) -> Result<()> {
    let bytes = values.to_native_bytes().unwrap();
    ds.put_vara(var, start, count, MemRef::Fixed { ty: values.nc_type(), bytes: &bytes })
}

pub fn put(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &Values) {
    try_put(ds, var, start, count, values).unwrap();
}

/// Reads elements of a variable in its own type.
pub fn try_get(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64]) -> Result<Values> {
    let ty = ds.inq_var_all(var)?.xtype;
    let len = count.iter().product::<u64>() as usize * ty.size().unwrap();
    let mut bytes = vec![0xAA; len];
    ds.get_vara(var, start, count, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })?;
    Ok(Values::from_native_bytes(ty, &bytes).unwrap())
}

pub fn get(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64]) -> Values {
    try_get(ds, var, start, count).unwrap()
}

/// Reads a whole variable.
pub fn all(ds: &dyn Dataset, name: &str) -> Values {
    let var = ds.inq_varid(ROOT, name).unwrap();
    let shape = ds.model().snapshot().shape(var).unwrap();
    get(ds, var, &vec![0; shape.len()], &shape)
}

/// Returns the names of the files in a folder.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
