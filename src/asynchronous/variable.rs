//! [`AsyncVariable`]: a variable whose reads and writes are futures.

use std::fmt;
use std::sync::Arc;

use nczarr_model::Result;

use super::{AsyncFile, Call, ChunkStream};
use crate::{Array, Extents, Number, Variable};

/// A variable whose reads and writes are futures. Clones are handles to the same variable.
#[derive(Clone)]
pub struct AsyncVariable {
    variable: Variable,
    file: AsyncFile,
    place: Arc<str>,
}

impl AsyncVariable {
    pub(super) fn new(variable: Variable, file: AsyncFile) -> Self {
        let place = format!("{}: {}", file.as_sync().place(), variable.full_name()).into();
        Self { variable, file, place }
    }

    /// Returns the variable for calls on this thread. Inquiries need no storage; other calls block the
    /// thread.
    pub fn as_sync(&self) -> &Variable {
        &self.variable
    }

    /// Returns the dataset.
    pub fn file(&self) -> &AsyncFile {
        &self.file
    }

    /// Reads a part of the variable, as [`Variable::get`].
    ///
    /// ```
    /// # use nczarr::asynchronous::AsyncVariable;
    /// async fn row(t: &AsyncVariable) -> nczarr::Result<Vec<f64>> {
    ///     Ok(t.get::<f64>((1, ..)).await?.into_vec())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Variable::get`]; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) after the time of
    /// [`Call::timeout`]; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) after
    /// [`Canceller::cancel`](super::Canceller::cancel).
    pub fn get<T: Number>(&self, extents: impl Extents + Send + 'static) -> Call<Array<T>> {
        self.call(move |variable| variable.get(extents))
    }

    /// Writes a part of the variable, as [`Variable::put`].
    ///
    /// As in a call without a future, parts of chunks may wait in the cache until `sync` or `close`. After a
    /// stop or a failure some chunks are written and others are not. Each is whole.
    ///
    /// ```
    /// # use nczarr::asynchronous::AsyncVariable;
    /// async fn put(t: &AsyncVariable) -> nczarr::Result<()> {
    ///     t.put(vec![1.0f32, 2.0, 3.0], (0, ..)).await?;
    ///     t.file().call(|file| file.sync()).await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`] and [`AsyncVariable::get`].
    pub fn put<T: Number>(
        &self,
        values: impl AsRef<[T]> + Send + 'static,
        extents: impl Extents + Send + 'static,
    ) -> Call<()> {
        self.call(move |variable| variable.put(values.as_ref(), extents))
    }

    /// Reads all chunks in C order, as [`Variable::chunks`]. The stream includes absent chunks.
    ///
    /// ```
    /// # use nczarr::asynchronous::AsyncVariable;
    /// async fn sum(t: &AsyncVariable) -> nczarr::Result<f64> {
    ///     let (mut sum, mut chunks) = (0.0, t.chunks::<f64>());
    ///     while let Some(chunk) = chunks.next().await {
    ///         sum += chunk?.values().iter().sum::<f64>();
    ///     }
    ///     Ok(sum)
    /// }
    /// ```
    pub fn chunks<T: Number>(&self) -> ChunkStream<T> {
        ChunkStream::new(self.clone(), self.call(|variable| Ok(variable.chunks()?.detach())))
    }

    /// Reads the chunks that are stored, in C order, as [`Variable::stored_chunks`].
    pub fn stored_chunks<T: Number>(&self) -> ChunkStream<T> {
        ChunkStream::new(self.clone(), self.call(|variable| Ok(variable.stored_chunks()?.detach())))
    }

    /// Runs any call of the variable.
    ///
    /// ```
    /// # use nczarr::asynchronous::AsyncVariable;
    /// async fn names(v: &AsyncVariable) -> nczarr::Result<Vec<String>> {
    ///     Ok(v.call(|v| v.get_strings(..)).await?.into_vec())
    /// }
    /// ```
    ///
    /// # Errors
    /// Errors of `work`; `NC_EINTERNAL` if it panics.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Variable) -> Result<T> + Send + 'static,
    ) -> Call<T> {
        let this = self.clone();
        Call::new(self.file.workers().clone(), Arc::clone(&self.place), move || work(&this.variable))
    }
}

impl fmt::Debug for AsyncVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncVariable").field("path", &self.place).finish_non_exhaustive()
    }
}
