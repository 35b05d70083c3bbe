//! [`HdfDataset`]: an open file. The model answers inquiries. The data of a variable are opened at their
//! first use.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Options, Registry, VarData};
use nczarr_model::{ErrorKind, ModelCell, Result, VarId};

use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::messages::Dataspace;
use super::var::{self, VarContext};
use super::virtual_dataset::{self, Nesting};
use super::walk::DatasetStorage;

/// An open dataset.
#[derive(Debug)]
pub(crate) struct HdfDataset {
    pub(crate) file: Arc<HdfFile>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) info: DatasetInfo,
    pub(crate) model: ModelCell,
    /// How each variable is stored.
    pub(crate) stored: Vec<Option<(DatasetStorage, Dataspace)>>,
    /// The data of variables that were opened before, by variable.
    pub(crate) vars: RwLock<Vec<Option<Arc<dyn VarData>>>>,
    pub(crate) closed: AtomicBool,
}

impl Dataset for HdfDataset {
    fn info(&self) -> DatasetInfo {
        self.info.clone()
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.registry)
    }

    fn data(&self, id: VarId) -> Result<Arc<dyn VarData>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(ErrorKind::BadId.context("the dataset is closed"));
        }
        if let Some(Some(data)) = self.vars.read().unwrap_or_else(PoisonError::into_inner).get(id.index()) {
            return Ok(Arc::clone(data));
        }
        let model = self.model.snapshot();
        let var = model.var(id)?;
        if let Some(problem) = &var.problem {
            return Err(problem.clone());
        }
        let stored = self.stored.get(id.index()).and_then(Option::as_ref);
        let (stored, space) = stored.ok_or_else(|| ErrorKind::NotVar.context(format!("{id:?}")))?;
        let making = VarContext {
            file: stored.other.clone().unwrap_or_else(|| Arc::clone(&self.file)),
            options: self.options.clone(),
            registry: Arc::clone(&self.registry),
            nest: Nesting::default(),
        };
        let data = var::make(&making, &model, id, stored, space).map_err(|error| error.at(&var.name))?;
        let mut vars = self.vars.write().unwrap_or_else(PoisonError::into_inner);
        if vars.len() <= id.index() {
            vars.resize(id.index() + 1, None);
        }
        vars[id.index()] = Some(Arc::clone(&data));
        Ok(data)
    }

    fn external_files(&self) -> Vec<PathBuf> {
        let (others, own): (Vec<_>, Vec<_>) =
            self.stored.iter().flatten().map(|(stored, _)| stored).partition(|stored| stored.other.is_some());
        let mut files = virtual_dataset::files(&self.file, own.iter().map(|stored| &stored.layout));
        for stored in others {
            if let Some(other) = &stored.other
                && let FileBytes::File(_, path) = &*other.store
            {
                files.push(path.clone());
                files.extend(virtual_dataset::files(other, [&stored.layout].into_iter()));
            }
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.vars.write().unwrap_or_else(PoisonError::into_inner).clear();
        // Unlocks the file for a later writer.
        if let FileBytes::File(file, path) = &*self.file.store
            && let Err(error) = file.unlock()
        {
            tracing::debug!(path = %path.display(), %error, "the file could not be unlocked");
        }
        Ok(())
    }
}
