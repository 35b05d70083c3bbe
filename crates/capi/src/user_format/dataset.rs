//! [`UserDataset`]: an open dataset of a user-defined format.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr::dispatch::{Dataset, DatasetInfo, DriverInfo, Editor, Format, FormatX, VarData};
use nczarr::model::{Model, ModelCell, VarId};
use nczarr::{Error, ErrorKind, Result};

use super::data::UserVarData;
use super::load::load;
use crate::boundary::dispatch_table::TablePtr;
use crate::boundary::pointer::OutPtr;

const FORMATS: [Format; 5] =
    [Format::Classic, Format::Offset64, Format::NetCdf4, Format::NetCdf4Classic, Format::Cdf5];

/// An open dataset. All its objects are in the root group. The table and the model have the same numbers.
#[derive(Debug)]
pub struct UserDataset {
    pub(super) table: TablePtr,
    pub(super) ncid: c_int,
    pub(super) model: ModelCell,
    pub(super) writable: bool,
    number: usize,
    format: Format,
    /// The reason why the table does not describe the dataset. Calls that need the model return it.
    problem: Option<Error>,
    closed: AtomicBool,
}

impl UserDataset {
    /// Describes a dataset that a table opened.
    pub fn opened(table: TablePtr, number: usize, ncid: c_int, writable: bool) -> Self {
        let (model, problem) = match load(table, ncid) {
            Ok(model) => (model, None),
            Err(error) => (Model::default(), Some(error)),
        };
        Self::new(table, number, ncid, writable, (model, problem))
    }

    /// Describes a dataset that a table created. It is in define mode.
    pub fn created(table: TablePtr, number: usize, ncid: c_int) -> Self {
        let dataset = Self::new(table, number, ncid, true, (Model::default(), None));
        dataset.model.begin();
        dataset
    }

    fn new(
        table: TablePtr,
        number: usize,
        ncid: c_int,
        writable: bool,
        (model, problem): (Model, Option<Error>),
    ) -> Self {
        let code = OutPtr::result_of(|format| table.inq_format(ncid, format)).unwrap_or_default();
        let format = FORMATS.into_iter().find(|format| format.code() == code).unwrap_or(Format::NetCdf4);
        let (model, closed) = (ModelCell::new(model), AtomicBool::new(false));
        Self { table, ncid, model, writable, number, format, problem, closed }
    }

    /// Checks that the table described the dataset.
    pub fn check_described(&self) -> Result<()> {
        self.problem.clone().map_or(Ok(()), Err)
    }

    pub fn inq_format(&self, format: OutPtr<c_int>) -> Result<()> {
        self.table.inq_format(self.ncid, format)
    }

    pub fn inq_format_extended(&self, format: OutPtr<c_int>, mode: OutPtr<c_int>) -> Result<()> {
        self.table.inq_format_extended(self.ncid, format, mode)
    }

    /// Enters define mode.
    pub fn redef(&self) -> Result<()> {
        self.table.redef(self.ncid)?;
        self.model.begin();
        Ok(())
    }

    /// Ends define mode.
    pub fn enddef(&self, padding: [u64; 4]) -> Result<()> {
        let padding = padding.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        self.table.enddef(self.ncid, padding)?;
        self.model.end();
        Ok(())
    }
}

impl Dataset for UserDataset {
    fn info(&self) -> DatasetInfo {
        let driver = DriverInfo::new("user", FormatX::Udf(self.number as u8), "a user-defined format");
        DatasetInfo::new(&driver, self.format).writable(self.writable)
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>> {
        self.check_described()?;
        let dims = self.model.snapshot().var(var)?.dims.clone();
        Ok(Arc::new(UserVarData::new(self.table, self.ncid, var, dims, self.model.snapshot(), self.writable)))
    }

    fn editor(&self) -> Result<&dyn Editor> {
        if !self.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        self.check_described().map(|()| self as &dyn Editor)
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // If that fails, the dataset stays open.
        self.table.close(self.ncid).inspect_err(|_| self.closed.store(false, Ordering::Release))
    }

    fn sync(&self) -> Result<()> {
        self.table.sync(self.ncid)
    }

    fn abort(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.table.abort(self.ncid)
    }
}
