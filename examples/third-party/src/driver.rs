//! A driver for datasets without storage: `5#mode=ramp` has one variable that counts from 0 to 4.

use std::sync::Arc;

use nczarr::dispatch::{Dataset, DatasetInfo, Driver, DriverInfo, DriverPlugin, Format, FormatX, MemMut, OpenRequest, VarData, inventory};
use nczarr::model::{CheckedSlab, GroupId, Model, ModelCell, Var, VarId};
use nczarr::{ErrorKind, NcType, Result, Values};

static INFO: DriverInfo = DriverInfo::new("ramp", FormatX::Udf(0), "numbers that count").modes(&["ramp"]);

/// Opens ramps.
pub struct Ramp;

impl Driver for Ramp {
    fn info(&self) -> &DriverInfo { &INFO }
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        let len = request.target.utf8_path()?.parse().map_err(|error| ErrorKind::NotNc.context("a ramp is a length").caused_by(error))?;
        let mut model = Model::new();
        let dims = vec![model.add_dim(GroupId::ROOT, "x", len, false)?];
        model.add_var(Var { name: "x".to_owned(), xtype: NcType::Int64, dims, ..Var::default() })?;
        Ok(Arc::new(Numbers(ModelCell::new(model))))
    }
}

#[derive(Debug)]
struct Numbers(ModelCell);

impl Dataset for Numbers {
    fn info(&self) -> DatasetInfo { DatasetInfo::new(&INFO, Format::NetCdf4) }
    fn model(&self) -> &ModelCell { &self.0 }
    fn data(&self, _: VarId) -> Result<Arc<dyn VarData>> { Ok(Arc::new(Counting)) }
    fn close(&self) -> Result<()> { Ok(()) }
}

#[derive(Debug)]
struct Counting;

impl VarData for Counting {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let numbers = (0..slab.count[0]).map(|i| (slab.start[0] + i * slab.step(0)) as i64).collect();
        out.put_values(&Values::Int64(numbers))
    }
}

inventory::submit! { DriverPlugin(&Ramp) }
