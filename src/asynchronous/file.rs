//! [`AsyncFile`]: an open dataset whose calls are futures.

use std::fmt;
use std::sync::Arc;

use nczarr_model::Result;

use super::{AsyncVariable, Call, Workers};
use crate::File;

/// An open dataset whose calls are futures. Clones are handles to the same dataset.
///
/// The last handle closes the dataset on a thread of its workers, and can only log errors.
/// [`AsyncFile::close`] returns them.
#[derive(Clone)]
pub struct AsyncFile(Arc<AttachedFile>);

/// The handles of a dataset share it.
struct AttachedFile {
    /// Absent only while it is dropped.
    file: Option<File>,
    workers: Workers,
    place: Arc<str>,
}

impl AsyncFile {
    pub(super) fn new(file: File, workers: Workers) -> Self {
        let place = file.place().to_string().into();
        Self(Arc::new(AttachedFile { file: Some(file), workers, place }))
    }

    /// Returns the dataset for calls on this thread. Inquiries need no storage; other calls block the thread.
    pub fn as_sync(&self) -> &File {
        self.0.file.as_ref().expect("it is taken only when the last handle is dropped")
    }

    /// Returns the workers of its calls.
    pub fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// Returns the variable at a path, as [`Group::variable`](crate::Group::variable), without a request.
    ///
    /// # Errors
    /// [`ErrorKind::NotVar`](crate::ErrorKind::NotVar) or [`ErrorKind::NoGrp`](crate::ErrorKind::NoGrp).
    pub fn variable(&self, path: &str) -> Result<AsyncVariable> {
        Ok(AsyncVariable::new(self.as_sync().variable(path)?, self.clone()))
    }

    /// Runs a call of the dataset.
    ///
    /// ```
    /// # use nczarr::asynchronous::AsyncFile;
    /// async fn store(file: &AsyncFile) -> nczarr::Result<()> {
    ///     file.call(|file| file.sync()).await
    /// }
    /// ```
    ///
    /// # Errors
    /// Errors of `work`; `NC_EINTERNAL` if it panics.
    pub fn call<T: Send + 'static>(&self, work: impl FnOnce(&File) -> Result<T> + Send + 'static) -> Call<T> {
        let file = self.clone();
        Call::new(self.workers().clone(), Arc::clone(&self.0.place), move || work(file.as_sync()))
    }

    /// Writes all changes and closes the dataset, for all its handles.
    ///
    /// If you stop the call, the dataset still closes in the background. So no change is lost.
    ///
    /// # Errors
    /// The storage's error. The dataset is closed nevertheless.
    pub fn close(self) -> Call<()> {
        self.call(|file| file.clone().close())
    }
}

impl fmt::Debug for AsyncFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFile").field("path", &self.0.place).finish_non_exhaustive()
    }
}

impl Drop for AttachedFile {
    fn drop(&mut self) {
        let file = self.file.take();
        // Without a thread, it is closed here.
        let _ = self.workers.submit(Box::new(move || drop(file)));
    }
}
