//! [`UserDataset`]: an open dataset of a user-defined format.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr::dispatch::{Dataset, DatasetInfo, DriverInfo, Editor, Format, FormatX, VarData};
use nczarr::model::{Model, ModelCell, Var, VarId};
use nczarr::{Error, ErrorKind, Result};

use super::data::UserVarData;
use super::load::load;
use super::numbers::{NewObject, Numbers};
use crate::boundary::dispatch_table::TablePtr;
use crate::boundary::pointer::OutPtr;

const FORMATS: [Format; 5] =
    [Format::Classic, Format::Offset64, Format::NetCdf4, Format::NetCdf4Classic, Format::Cdf5];

/// An open dataset.
#[derive(Debug)]
pub struct UserDataset {
    pub(super) table: TablePtr,
    pub(super) ncid: c_int,
    pub(super) model: ModelCell,
    numbers: RwLock<Numbers>,
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
        let (loaded, problem) = match load(table, ncid) {
            Ok(loaded) => (loaded, None),
            Err(error) => ((Model::default(), Numbers::of_root(ncid)), Some(error)),
        };
        Self::new(table, number, ncid, writable, loaded, problem)
    }

    /// Describes a dataset that a table created. It is in define mode.
    pub fn created(table: TablePtr, number: usize, ncid: c_int) -> Self {
        let empty = (Model::default(), Numbers::of_root(ncid));
        let dataset = Self::new(table, number, ncid, true, empty, None);
        dataset.model.begin();
        dataset
    }

    fn new(
        table: TablePtr,
        number: usize,
        ncid: c_int,
        writable: bool,
        (model, numbers): (Model, Numbers),
        problem: Option<Error>,
    ) -> Self {
        let code = OutPtr::result_of(|format| table.inq_format(ncid, format)).unwrap_or_default();
        let format = FORMATS.into_iter().find(|format| format.code() == code).unwrap_or(Format::NetCdf4);
        let (model, numbers) = (ModelCell::new(model), RwLock::new(numbers));
        let closed = AtomicBool::new(false);
        Self { table, ncid, model, numbers, writable, number, format, problem, closed }
    }

    /// Looks at the numbers of the table. `look` must not call it.
    pub(super) fn look_numbers<T>(&self, look: impl FnOnce(&Numbers) -> Result<T>) -> Result<T> {
        look(&self.numbers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes the number of an object that the table defined.
    pub(super) fn note_number(&self, object: NewObject) -> Result<()> {
        self.numbers.write().unwrap_or_else(PoisonError::into_inner).add(object)
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
        let model = self.model.snapshot();
        let Var { xtype, dims, .. } = model.var(var)?;
        let (xtype, dims) = (*xtype, dims.clone());
        let (table, writable) = (self.table, self.writable);
        let ((ncid, var), code) =
            self.look_numbers(|numbers| Ok((numbers.var(var)?, numbers.type_code(xtype)?)))?;
        Ok(Arc::new(UserVarData { table, ncid, var, xtype, code, dims, model, writable }))
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
