//! [`Hdf4Dataset`]: an open file.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{Dataset, DatasetInfo, Options, Registry, VarData};
use nczarr_model::{ErrorKind, ModelCell, Result, VarId};

use crate::data::VarLocation;
use crate::file::Hdf4File;

/// An open file.
#[derive(Debug)]
pub(crate) struct Hdf4Dataset {
    pub(crate) file: Arc<Hdf4File>,
    pub(crate) model: ModelCell,
    /// The place of each variable's data; `None` if the model has a problem for it.
    pub(crate) data: Vec<Option<VarLocation>>,
    /// The arrays opened before, by variable.
    pub(crate) arrays: Mutex<Vec<Option<Arc<dyn VarData>>>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Options,
    pub(crate) info: DatasetInfo,
}

impl Dataset for Hdf4Dataset {
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
        let model = self.model.snapshot();
        if let Some(problem) = &model.var(id)?.problem {
            return Err(problem.clone());
        }
        let kept = |arrays: &Vec<Option<Arc<dyn VarData>>>| arrays.get(id.index()).cloned().flatten();
        if let Some(array) = kept(&self.arrays.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(array);
        }
        let here = self.data.get(id.index()).and_then(Option::as_ref);
        let here = here.ok_or_else(|| ErrorKind::Internal.context("a variable without data"))?;
        let path = model.var_path(id)?;
        let array = here.array(path.clone(), &self.file, &self.registry, &self.options);
        let array = array.map_err(|error| error.at(path))?;
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        if arrays.len() <= id.index() {
            arrays.resize(id.index() + 1, None);
        }
        arrays[id.index()] = Some(Arc::clone(&array));
        Ok(array)
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.file.store.image()
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}
